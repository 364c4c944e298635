//! What is measured: the chosen variants with their longest cases, the interpreter's probe, and the variants of the axes.
//!
//! Invariant: a case is a function of its variant; no clock and no chance in here.

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{KernelEntry, Tier};
use countersign_kernels::contract::Keeping;
use countersign_kernels::custom;
use countersign_kernels::env::Environment;
use countersign_reference::Metadata;

use super::super::console::Failure;
use super::super::session;
use super::super::variant::VariantArgument;
use super::parts::{Part, Parts};
use super::{growth, unsound};
use crate::campaign::Subject;
use crate::case::{Case, Payload, VariantRef};
use crate::generate::generate;
use crate::loaded::Loaded;
use crate::payload::Pattern;

/// The variant that all shapes of our own are made from.
pub(super) const BASE: &str = "f32-q4-kv4";
/// Seed of the cases.
pub(super) const SEED: u64 = 7;
/// Generated cases of which the longest are taken: short ones measure only the set-up.
pub(super) const DRAWN: u64 = 8;
/// The batch that JAX's interpreter was first timed with: shapes, and (query tokens, kv length) of its sequences.
pub(super) const PROBE: &str = "f32-q4-kv4,tokens=64,pages=32,max_seqs=8,pages_per_seq=3,sm_scale=1.0";
const PROBE_SEQUENCES: [(i32, i32); 3] = [(5, 18), (1, 29), (20, 40)];

/// Loaded variants, by what they are for.
pub(super) struct Subjects {
    /// All of them.
    pub(super) loaded: Loaded,
    /// The chosen ones alone, for campaigns.
    pub(super) drawn_from: Loaded,
    probe: bool,
}

impl Subjects {
    /// Exports and loads what `parts` need.
    pub(super) fn load(
        environment: &Environment,
        kernel: &KernelEntry,
        argument: &VariantArgument,
        probe: bool,
        parts: Parts,
    ) -> Result<Subjects, Failure> {
        let chosen = match probe && argument.is_empty() {
            true => Vec::new(),
            false => argument.variants(kernel, Tier::Small)?,
        };
        let probe = parts.times_cases() && (probe || argument.is_empty());
        let mut extra: Vec<String> = Vec::new();
        extra.extend(probe.then(|| PROBE.to_owned()));
        if parts.has(Part::Growth) {
            extra.extend(growth::variants());
        }
        let own = |text: &String| {
            custom::variant(kernel, text).map_err(|error| unsound(format!("{text}: {}", error.message)))
        };
        let extra = extra.iter().map(own).collect::<Result<Vec<Variant>, Failure>>()?;
        let count = chosen.len();
        let loaded = session::load(environment, kernel, chosen.into_iter().chain(extra).collect())?;
        let drawn_from = loaded.only(0..count);
        Ok(Subjects { loaded, drawn_from, probe })
    }

    /// Positions of the chosen variants that can be run.
    pub(super) fn chosen(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        let runs = |position: &usize| {
            let name = &self.drawn_from.variants()[*position].name;
            self.drawn_from.failures().all(|(variant, _)| variant.name != *name)
        };
        (0..self.drawn_from.variants().len()).filter(runs)
    }

    /// What can't be run.
    pub(super) fn notes(&self) -> Vec<String> {
        self.loaded.failures().map(|(variant, why)| format!("{} can't be run: {why}", variant.name)).collect()
    }

    /// The `count` cases with the longest caches among the first few kept ones, each with its index.
    pub(super) fn longest(&self, position: usize, count: u64) -> Vec<(u64, Case)> {
        let variant = std::slice::from_ref(&self.loaded.variants()[position]);
        let kernel = &self.loaded.kernel().id;
        let draw = |index| generate(SEED, index, kernel, variant, Some(Keeping::Kept)).case;
        let mut drawn: Vec<(u64, Case)> = (0..DRAWN).map(|index| (index, draw(index))).collect();
        let tokens = |case: &Case| -> i64 {
            let sequences = case.metadata.sequences_in_table();
            case.metadata.kv_lens.iter().take(sequences).map(|&len| i64::from(len)).sum()
        };
        drawn.sort_by_key(|(index, case)| (-tokens(case), *index));
        drawn.truncate(count as usize);
        drawn
    }

    /// The probe's position and case, unless only variants were asked for.
    pub(super) fn probe(&self) -> Result<Option<(usize, Case)>, Failure> {
        if !self.probe {
            return Ok(None);
        }
        let position = self.extra(PROBE)?;
        Ok(Some((position, self.case(position, &PROBE_SEQUENCES))))
    }

    /// Position of a variant of one's own.
    pub(super) fn extra(&self, name: &str) -> Result<usize, Failure> {
        let found = self.loaded.variants().iter().position(|variant| variant.name == name);
        found.ok_or_else(|| unsound(format!("{name} isn't loaded")))
    }

    /// A case with sequences of (query tokens, kv length), their pages in order, and ordinary numbers.
    pub(super) fn case(&self, position: usize, sequences: &[(i32, i32)]) -> Case {
        let variant = &self.loaded.variants()[position];
        let mut metadata = Metadata {
            kv_lens: vec![0; variant.max_seqs],
            page_indices: vec![0; variant.max_seqs * variant.pages_per_seq],
            pages_per_seq: variant.pages_per_seq,
            cu_q_lens: vec![0; variant.max_seqs + 1],
            num_seqs: sequences.len() as i32,
        };
        let mut page = 0..;
        for (index, &(q_len, kv_len)) in sequences.iter().enumerate() {
            metadata.kv_lens[index] = kv_len;
            metadata.cu_q_lens[index + 1] = metadata.cu_q_lens[index] + q_len;
            let used = (kv_len as usize).div_ceil(variant.page_size);
            let row = &mut metadata.page_indices[index * variant.pages_per_seq..][..used];
            row.iter_mut().zip(&mut page).for_each(|(slot, page)| *slot = page);
        }
        Case {
            kernel: self.loaded.kernel().id.clone(),
            variant: VariantRef::Named(variant.name.clone()),
            metadata,
            payload: Payload::pattern(Pattern::Normal.name().to_owned(), SEED),
            checksum: None,
            statics: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_kernels::catalogue::Catalogue;

    use super::*;

    /// Loaded variants are found by their names, which `custom` puts in an order of its own.
    #[test]
    fn variants_of_ones_own_are_named_as_they_are_written() {
        let catalogue = Catalogue::builtin().unwrap();
        let kernel = catalogue.kernel("jax-rpa").unwrap();
        for text in growth::variants().into_iter().chain([PROBE.to_owned()]) {
            assert_eq!(custom::variant(kernel, &text).unwrap().name, text);
        }
    }
}
