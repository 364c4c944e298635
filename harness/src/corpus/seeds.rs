//! One named case for each slip and for each boundary class: what a campaign looks for, ready to be replayed and read.
//!
//! Invariant: a function of the generator and of the variants named here, never of what else the catalogue holds. What a
//! replay of a seed must show isn't said here: it takes a kernel to know.

use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::contract::{self, Keeping};

use super::{CorpusFile, Origin};
use crate::case::CaseError;
use crate::generate::{BoundaryClass, Edge, Form, Generated, Length, Slip, Unit, generate};

const WHEN: &str = "2026-12-02";
/// The campaign whose cases are looked through.
const SEED: u64 = 1;
/// How many of them.
const CASES: u64 = 1000;

/// Variants that seeds are made of. Seeds start at different ones, so that they are spread over all.
const VARIANTS: [&str; 14] = [
    "f32-q4-kv4",
    "f32-q8-kv4",
    "f32-q3-kv1-long",
    "f32-q2-kv1-wide",
    "f32-q8-kv2-window",
    "f32-q8-kv1-cap",
    "f32-q4-kv2-page1",
    "f32-q16-kv8",
    "f32-q2-kv2-scale1",
    "bf16-q4-kv4",
    "bf16-q16-kv16",
    "bf16-q8-kv2-window-cap",
    "bf16-q3-kv1",
    "bf16-q8-kv1-page1",
];

/// The seeds, each with its path in the corpus: slips first, then boundary classes. None has an `[expect]`.
///
/// # Errors
/// If the catalogue has lost a variant, or the generator no longer meets a slip or class; a test excludes both.
pub fn seeds(kernel: &KernelEntry) -> Result<Vec<(String, CorpusFile)>, CaseError> {
    let variants: Vec<&Variant> = VARIANTS
        .iter()
        .map(|name| kernel.variant(name).ok_or_else(|| CaseError::new(format!("no variant `{name}`"))))
        .collect::<Result<_, _>>()?;
    let mut seeds: Vec<(String, CorpusFile)> = Vec::new();
    for (position, slip) in Slip::ALL.into_iter().enumerate() {
        let file = shortest(
            kernel,
            &rotated(&variants, position),
            slip.keeping(),
            &|variant| slip.realisable(variant),
            &|generated| generated.tags.slip == Some(slip) && is_new(&seeds, generated),
        );
        seeds.push(named(slip.name(), "slip", slip_sentence(slip).to_owned(), file)?);
    }
    for (position, class) in BoundaryClass::ALL.into_iter().enumerate() {
        let keeping = if class.is_disputed() { Keeping::Disputed } else { Keeping::Kept };
        let file = shortest(
            kernel,
            &rotated(&variants, position),
            keeping,
            &|variant| class.realisable(variant),
            &|generated| {
                let alone = keeping == Keeping::Disputed || generated.tags.slip.is_none();
                alone && generated.tags.classes.contains(&class) && is_new(&seeds, generated)
            },
        );
        seeds.push(named(&class.name(), "boundary class", class_sentence(class), file)?);
    }
    Ok(seeds)
}

/// Whether no seed so far is of this case.
fn is_new(seeds: &[(String, CorpusFile)], generated: &Generated) -> bool {
    seeds.iter().all(|(_, file)| file.case != generated.case)
}

fn rotated<'v>(variants: &[&'v Variant], by: usize) -> Vec<&'v Variant> {
    variants.iter().cycle().skip(by % variants.len()).take(variants.len()).copied().collect()
}

/// Of the first variant that suits and shows it: the case that breaks the fewest rules, then the one of the shortest file.
fn shortest(
    kernel: &KernelEntry,
    variants: &[&Variant],
    keeping: Keeping,
    suits: &dyn Fn(&Variant) -> bool,
    shows: &dyn Fn(&Generated) -> bool,
) -> Option<CorpusFile> {
    variants.iter().filter(|variant| suits(variant)).find_map(|&variant| {
        let alone = std::slice::from_ref(variant);
        let candidates = (0..CASES)
            .map(|index| generate(SEED, index, &kernel.id, alone, Some(keeping)))
            .filter(|generated| shows(generated));
        let file = |Generated { case, .. }: Generated| CorpusFile { case, origin: None, expect: None };
        candidates.map(file).min_by_key(|file| {
            let rules = contract::check_metadata(variant, &file.case.metadata).rules().len();
            let text = file.to_toml();
            (rules, text.lines().count(), text.len())
        })
    })
}

fn named(
    name: &str,
    what: &str,
    cause: String,
    file: Option<CorpusFile>,
) -> Result<(String, CorpusFile), CaseError> {
    let mut file =
        file.ok_or_else(|| CaseError::new(format!("no case of {CASES} of any variant shows `{name}`")))?;
    let from =
        format!("The {what} `{name}`: the shortest of the generator's first {CASES} cases that show it.");
    file.origin = Some(Origin { when: WHEN.to_owned(), from, cause });
    Ok((format!("seeds/{name}.toml"), file))
}

const fn slip_sentence(slip: Slip) -> &'static str {
    match slip {
        Slip::CuLeadingZeroMissing => "cu_q_lens without its leading zero.",
        Slip::CuLengthsNotSums => "cu_q_lens holds the lengths instead of their sums.",
        Slip::CuLengthsAfterZero => "A zero, then the lengths instead of their sums.",
        Slip::CuExclusiveShift => "Two leading zeros: an exclusive sum where an inclusive one belongs.",
        Slip::CuEntryPlusOne => "An inner entry one too large.",
        Slip::CuEntryMinusOne => "An inner entry one too small.",
        Slip::CuLastPlusOne => "The last entry one too large.",
        Slip::CuLastMinusOne => "The last entry one too small: a token is lost, which nobody can see.",
        Slip::CuTotalOneAboveRows => "One token more than q has rows.",
        Slip::CuTotalFarAboveRows => "Built for a larger token budget.",
        Slip::CuRepeatedEntry => "Two equal entries: a sequence without query tokens, with a cache.",
        Slip::CuDecreasingStep => "An entry below its predecessor.",
        Slip::CuNegative => "A negative entry.",
        Slip::CuStartsAboveZero => "All entries shifted up.",
        Slip::CuNearInt32Max => "An entry near the largest int32.",
        Slip::CuNearInt32Min => "An entry near the smallest int32.",
        Slip::NumSeqsZero => "num_seqs is 0.",
        Slip::NumSeqsOneLess => "num_seqs one too small: a sequence is lost, which nobody can see.",
        Slip::NumSeqsOneMore => "num_seqs one too large; zeros follow.",
        Slip::NumSeqsCountsPadding => "num_seqs counts padding rows: wholly empty sequences at the end.",
        Slip::NumSeqsOneAboveTable => "num_seqs one more than the table's rows.",
        Slip::NumSeqsFarAboveTable => "num_seqs far above the table's rows.",
        Slip::NumSeqsNegative => "num_seqs negative.",
        Slip::EmptySequence => "A wholly empty sequence before others.",
        Slip::KvLenBelowQLen => "kv_len one below q_len: the cache not written before the call.",
        Slip::KvLenZero => "kv_len 0 of a sequence with query tokens.",
        Slip::KvLenPageMultiplePlusOne => {
            "kv_len one above its pages, within the table: a page of another's is read."
        }
        Slip::KvLenPageMultipleMinusOne => "kv_len one below its pages' size.",
        Slip::KvLenPastTable => "kv_len one above what a table row can hold.",
        Slip::KvLenNegative => "A negative kv_len.",
        Slip::PageTotalPages => "A page index of the number of pages.",
        Slip::PageMinusOne => "Page index -1, a common filler.",
        Slip::PageInt32Max => "A page index near the largest int32.",
        Slip::PageInt32Min => "A page index near the smallest int32.",
        Slip::PageRepeatedWithin => "A page twice in a sequence.",
        Slip::PageRepeatedAcross => "A page in two sequences.",
        Slip::OwnedNan => "A NaN among the batch's own values.",
        Slip::OwnedInfinity => "An infinity among the batch's own values.",
    }
}

fn class_sentence(class: BoundaryClass) -> String {
    let tokens = |length| match length {
        Length::Query => "A sequence's query tokens",
        Length::Cache => "A sequence's tokens in the cache",
        Length::Total => "The batch's query tokens",
    };
    match class {
        BoundaryClass::Zero(length) => format!("{}: none.", tokens(length)),
        BoundaryClass::One(length) => format!("{}: just one.", tokens(length)),
        BoundaryClass::Multiple(length, unit, edge) => {
            let edge = match edge {
                Edge::Below => "one fewer than ",
                Edge::At => "",
                Edge::Above => "one more than ",
            };
            let unit = match unit {
                Unit::Page => "a page's tokens",
                Unit::QueryBlock => "a query block's rows",
                Unit::KvBlock => "a KV block's tokens",
                Unit::Lanes => "128, a vector register's lanes",
            };
            format!("{}: {edge}a multiple of {unit}.", tokens(length))
        }
        BoundaryClass::Form(form) => form_sentence(form).to_owned(),
    }
}

const fn form_sentence(form: Form) -> &'static str {
    match form {
        Form::TotalAtRows => "As many query tokens as q has rows.",
        Form::TotalOneBelowRows => "One query token fewer than q has rows.",
        Form::CacheAtReach => "A sequence fills its row of the page table.",
        Form::CacheOneBelowReach => "A sequence fills its row of the page table but for one token.",
        Form::DecodeOnly => "Every sequence has one query token.",
        Form::PrefillOnly => "Every sequence's cache holds its query tokens alone.",
        Form::ChunkedPrefill => "A sequence has several query tokens and more in the cache.",
        Form::Mixed => "Decode beside a sequence of several query tokens.",
        Form::OneSequence => "One sequence.",
        Form::FullTable => "As many sequences as the page table has rows.",
        Form::CacheOneBelowWindow => "A kv_len one below the sliding window.",
        Form::CacheAtWindow => "A kv_len of the sliding window.",
        Form::CacheOneBeyondWindow => "A kv_len one beyond the sliding window.",
        Form::EndsAtQueryBlock => "A sequence but the last ends where a query block ends.",
        Form::PrefixSharing => "Two sequences use the same page.",
        Form::ContiguousPages => "Every sequence's pages are consecutive.",
        Form::ScatteredPages => "A sequence's pages aren't consecutive.",
        Form::TableNotMultipleOfBlock => {
            "Columns of the page table that aren't a multiple of a KV block's pages."
        }
        Form::ZeroPastNumSeqs => "Zeros past num_seqs.",
        Form::TotalPastNumSeqs => "cu_q_lens repeats the total past num_seqs.",
        Form::GarbageCuQLens => "cu_q_lens holds garbage past num_seqs, which the contract allows.",
        Form::GarbageKvLens => "kv_lens past num_seqs exceeds the page table, which the contract allows.",
        Form::NegativeKvLens => "kv_lens is negative past num_seqs, which the contract allows.",
        Form::GarbagePageRows => {
            "Rows of the page table past num_seqs name no page, which the contract allows."
        }
        Form::GarbagePageTails => "Entries past a sequence's pages name no page, which the contract allows.",
    }
}
