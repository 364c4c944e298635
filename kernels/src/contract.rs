//! The contract between a caller and a kernel, whatever the kernel's family: rules, and what breaks them.
//!
//! Invariant: total over all batches; every breach names a rule of the family that was asked.

use countersign_reference::{Batch, Metadata};

pub use crate::rpa::contract::{Breach, Contract, Entry, Keeping, Rule, Scope, Standing, probe};

use crate::checks::StaticCall;
use crate::family::Family;
use crate::variant::Variant;

/// All rules: the variant's static ones, the metadata's, the payload's.
pub fn check(variant: &Variant, batch: &Batch) -> Contract {
    let mut contract = check_metadata(variant, &batch.metadata);
    variant.family.model().check_payload(variant, batch, &mut contract.breaches);
    contract
}

/// The static rules and those of the metadata, without looking at a payload.
pub fn check_metadata(variant: &Variant, metadata: &Metadata) -> Contract {
    let mut breaches = check_static(&StaticCall::with_metadata(variant, metadata));
    breaches.extend(variant.family.model().check_metadata(variant, metadata));
    Contract { breaches }
}

/// All rules of a family, static ones first.
pub fn rules(family: Family) -> &'static [Rule] {
    family.model().rules()
}

/// The static rules that a call breaks.
pub fn check_static(call: &StaticCall) -> Vec<Breach> {
    call.family.model().check_static(call)
}
