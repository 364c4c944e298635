//! Which case of the corpus keeps which gap, so that a report can name it.
//!
//! Invariant: a case keeps a gap only where it expects it, and the same entry of the known files explains both.

use countersign_kernels::Variant;

use crate::case::Case;
use crate::corpus::Expect;
use crate::known::{Facts, KnownFile};
use crate::replay::Item;
use crate::signature::{OptionNames, Signature};

/// What the regressions of a kernel expect.
#[derive(Debug, Default)]
pub struct Regressions<'a> {
    kept: Vec<Kept<'a>>,
}

#[derive(Debug)]
struct Kept<'a> {
    name: &'a str,
    case: &'a Case,
    signature: Signature,
    entry: Option<usize>,
}

impl<'a> Regressions<'a> {
    /// Of `items`, in their order; `variants` have the block sizes that a condition may ask for.
    pub fn of(items: &'a [Item], variants: &[Variant], known: &KnownFile) -> Regressions<'a> {
        let mut kept = Vec::new();
        for item in items {
            let Some(Expect::Signatures(expected)) = &item.file.expect else { continue };
            let tuned = variants.iter().find(|variant| variant.same_call(&item.variant));
            let facts = Facts::of(tuned.unwrap_or(&item.variant), &item.file.case.metadata);
            for signature in expected.iter().filter_map(|text| Signature::parse(text).ok()) {
                let entry = known.explain(&signature, &facts);
                kept.push(Kept { name: &item.name, case: &item.file.case, signature, entry });
            }
        }
        Regressions { kept }
    }

    /// The case that shows a gap of that kind, place and effect, with any options, under the same entry: `case` itself if it is
    /// one of them, else the first.
    pub fn find(&self, signature: &Signature, entry: Option<usize>, case: &Case) -> Option<&'a str> {
        let gap = Signature { options: OptionNames::Any, ..signature.clone() };
        let same = |kept: &&Kept<'_>| gap.covers(&kept.signature) && kept.entry == entry;
        let mut all = self.kept.iter().filter(same);
        let first = all.clone().next();
        all.find(|kept| kept.case == case).or(first).map(|kept| kept.name)
    }
}
