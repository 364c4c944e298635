//! The smallest batch of each gap: of all that were tried, the one with the fewest sequences, then query tokens, then text.
//!
//! Invariant: gaps are the same whose signatures differ in the options alone; what a corpus file shows goes before anything
//! measured, in the order of offers.

use std::collections::BTreeMap;

use countersign_kernels::Variant;

use crate::case::Case;
use crate::judge::{Finding, judge};
use crate::signature::{OptionNames, Signature};
use crate::trial::Trial;

/// A gap with its smallest case so far.
#[derive(Debug, Clone)]
pub struct Exhibit {
    /// The finding.
    pub finding: Finding,
    /// The case.
    pub case: Case,
    /// Its variant.
    pub variant: Variant,
    /// Where it comes from.
    pub origin: String,
    /// Cases that showed the gap.
    pub count: u64,
    size: (bool, u64, u64, usize),
}

/// Gaps by signature.
#[derive(Debug, Default)]
pub struct Gallery {
    exhibits: BTreeMap<Signature, Exhibit>,
}

impl Gallery {
    /// Looks at a trial.
    pub fn offer(&mut self, origin: &str, case: &Case, trial: &Trial) {
        self.offer_ranked(origin, case, trial, true);
    }

    /// As [`Gallery::offer`], for a case of the corpus: those are small by care.
    pub fn offer_from_corpus(&mut self, origin: &str, case: &Case, trial: &Trial) {
        self.offer_ranked(origin, case, trial, false);
    }

    fn offer_ranked(&mut self, origin: &str, case: &Case, trial: &Trial, measured: bool) {
        for finding in judge(trial).findings {
            let key = Signature { options: OptionNames::Any, ..finding.signature.clone() };
            let metadata = &case.metadata;
            let sequences = u64::from(metadata.num_seqs.unsigned_abs());
            let total: u64 = metadata.cu_q_lens.iter().map(|end| u64::from(end.unsigned_abs())).sum();
            let lengths: u64 = metadata.kv_lens.iter().map(|len| u64::from(len.unsigned_abs())).sum();
            let size = (measured, sequences, total + lengths, case.payload.patches.len());
            let (variant, origin) = (trial.variant.clone(), origin.to_owned());
            let exhibit = Exhibit { finding, case: case.clone(), variant, origin, count: 1, size };
            match self.exhibits.get_mut(&key) {
                None => {
                    self.exhibits.insert(key, exhibit);
                }
                Some(known) => {
                    let count = known.count + 1;
                    if size < known.size {
                        *known = exhibit;
                    }
                    known.count = count;
                }
            }
        }
    }

    /// All gaps, in the order of their signatures.
    pub fn exhibits(&self) -> impl Iterator<Item = &Exhibit> {
        self.exhibits.values()
    }
}
