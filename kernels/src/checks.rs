//! What a kernel's own checks say of a call and of its values, whatever the kernel's family (ports; the real ones are asked through
//! [`crate::worker`]).
//!
//! Invariant: a family without checks accepts everything, and says that it has none ([`crate::family::Model::has_checks`]).

use countersign_reference::Metadata;

pub use crate::rpa::validator::{
    CHECKS, Check, Number, Shaped, StaticCall, Verdict, check_of_message, numpy_name,
};

use crate::variant::Variant;

/// What the entry point's own check says of a call.
pub fn static_check(call: &StaticCall) -> Verdict {
    call.family.model().static_check(call)
}

/// What the check of values says of a variant's call.
pub fn dynamic_check(variant: &Variant, metadata: &Metadata) -> Verdict {
    dynamic_check_call(&StaticCall::with_metadata(variant, metadata), metadata)
}

/// What the check of values says; to be asked where the other one accepts.
pub fn dynamic_check_call(call: &StaticCall, metadata: &Metadata) -> Verdict {
    call.family.model().dynamic_check(call, metadata)
}
