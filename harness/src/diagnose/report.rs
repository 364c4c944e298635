//! An examined dump as the report's model: slices of arrays around what is wrong, rules with their places, sentences.
//!
//! Invariant: maps and judges nothing; its size doesn't grow with the batch.

use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::checks::Verdict;
use countersign_kernels::contract::{Breach, Entry, Keeping, Scope, Standing, check, rules};
use countersign_kernels::rpa::diagnose::{Cause, Step, Verdicts};
use countersign_reference::Metadata;
use countersign_reports::{
    BrokenRule, CauseReport, DIAGNOSIS_VERSION, Diagnosis, DumpReport, FixReport, FixedArray, OtherCause,
    Slice, UnjudgedRule, ValidatorWords,
};

use super::cut::Cut;
use super::effect::known_effect;
use super::fix::{self, Corrected};
use super::{Broken, Examined, PLACES};
use crate::campaign::tool;
use crate::case::CaseError;
use crate::confirm::{NO_CHECK, say};
use crate::contract;
use crate::dump::Dump;
use crate::known::{Facts, KnownFile};

/// Entries of an array that are shown.
const SHOWN: usize = 12;
/// Arrays, or rows of the page table, that are shown of one mistake.
const MAX_SLICES: usize = 2;
/// Entries of a corrected array that is given in full.
const IN_FULL: usize = 1024;

/// What there is to say about `examined`.
pub fn report(dump: &Dump, kernel: &KernelEntry, examined: &Examined<'_>, known: &KnownFile) -> Diagnosis {
    let Examined { operands, subject, broken: rules_broken, explanation, .. } = examined;
    let keeping =
        rules_broken.iter().map(|broken| keeping(broken.rule.standing)).max().unwrap_or(Keeping::Kept);
    let broken = broken(kernel, examined, known);
    let family = subject.state.variant.family;
    let unjudged: Vec<UnjudgedRule> = rules(family)
        .iter()
        .filter(|rule| broken.iter().all(|broken| broken.id != rule.id))
        .filter_map(|rule| {
            let wants = if is_of_payload(rule.id) {
                Some("values")
            } else {
                subject.unknown.iter().copied().find(|operand| subject.needs(rule, operand))
            };
            Some(UnjudgedRule { id: rule.id.to_owned(), wants: wants?.to_owned() })
        })
        .collect();
    let kept = rules(family).len() - broken.len() - unjudged.len();
    Diagnosis {
        schema_version: DIAGNOSIS_VERSION,
        tool: tool(),
        kernel: kernel.id.clone(),
        exit_code: u8::from(keeping != Keeping::Kept),
        contract: keeping.name().to_owned(),
        dump: DumpReport {
            format: dump.format.name().to_owned(),
            compressed: operands.stored.values().any(|array| array.is_compressed),
            arrays: operands.arrays.clone(),
            unused: operands.unused.clone(),
            batch: batch(examined),
        },
        causes: explanation.steps.iter().map(|step| cause(step, examined)).collect(),
        broken,
        kept,
        unjudged,
        validators: words(examined, keeping),
        run: None,
        fix: FixReport {
            unambiguous: explanation.unsure().is_none(),
            reason: explanation.unsure(),
            written: None,
            arrays: fix::changed(examined)
                .into_iter()
                .map(|Corrected { operand, shape, values }| FixedArray {
                    array: operand.to_owned(),
                    shape,
                    values: (values.len() <= IN_FULL).then(|| values.to_vec()),
                })
                .collect(),
        },
        saved: None,
        notes: notes(examined),
    }
}

/// Adds what the values of q and the cache break, once they are at hand.
///
/// # Errors
/// If the case is inconsistent in itself.
pub fn with_payload(cut: &Cut, diagnosis: &mut Diagnosis) -> Result<(), CaseError> {
    let batch = cut.case.batch(&cut.variant)?;
    diagnosis.unjudged.retain(|rule| !is_of_payload(&rule.id));
    let mut payload: Vec<Breach> = check(&cut.variant, &batch).breaches;
    payload.retain(|breach| is_of_payload(breach.rule.id));
    for rule in rules(cut.variant.family).iter().filter(|rule| is_of_payload(rule.id)) {
        let of_rule: Vec<&Breach> = payload.iter().filter(|breach| breach.rule.id == rule.id).collect();
        let Some(first) = of_rule.first() else {
            diagnosis.kept += 1;
            continue;
        };
        let at = first.sequence.map_or(String::new(), |sequence| format!("of sequence {sequence}: "));
        diagnosis.causes.push(CauseReport {
            slip: rule.id.to_owned(),
            sentence: format!("values {at}{}", in_the_dump(&first.detail, cut)),
            why: format!("the rule: {}", rule.sentence.trim_end_matches('.')),
            advice: String::new(),
            unsure: Some("it is a matter of the values, not of the metadata".to_owned()),
            found: Vec::new(),
            correct: Vec::new(),
            others: Vec::new(),
        });
        diagnosis.broken.push(BrokenRule {
            id: rule.id.to_owned(),
            sentence: rule.sentence.to_owned(),
            standing: rule.standing.name().to_owned(),
            count: of_rule.len(),
            places: of_rule.iter().take(PLACES).map(|breach| in_the_dump(&breach.detail, cut)).collect(),
            effect: None,
        });
        diagnosis.exit_code = 1;
        diagnosis.fix.unambiguous = false;
        diagnosis.fix.reason.get_or_insert_with(|| "values of q or the cache are wrong, too".to_owned());
        if keeping(rule.standing) == Keeping::Broken || diagnosis.contract == Keeping::Kept.name() {
            diagnosis.contract = keeping(rule.standing).name().to_owned();
        }
    }
    Ok(())
}

/// A place in the cut cache, with the page's number in the dump.
fn in_the_dump(detail: &str, cut: &Cut) -> String {
    const CACHE: &str = "kv_pages[";
    let place = detail.strip_prefix(CACHE).and_then(|place| place.split_once(','));
    let page = place.and_then(|(page, rest)| Some((cut.pages.get(page.parse::<usize>().ok()?)?, rest)));
    page.map_or_else(|| detail.to_owned(), |(page, rest)| format!("{CACHE}{page},{rest}"))
}

fn keeping(standing: Standing) -> Keeping {
    match standing {
        Standing::Disputed => Keeping::Disputed,
        Standing::Stated | Standing::Implied => Keeping::Broken,
    }
}

/// Rules that speak of the values of q and the cache, which aren't read.
fn is_of_payload(rule: &str) -> bool {
    ["owned-values-finite", "scores-below-f32-max", "v-sum-below-f32-max"].contains(&rule)
}

/// What was assumed, and how to say what is missing.
fn notes(examined: &Examined<'_>) -> Vec<String> {
    let missing = examined.subject.unknown.iter();
    let said = missing.map(|name| {
        let keys = if *name == "kv_pages" { "pages=…,page_size=…" } else { "tokens=…" };
        format!("the shape of {name} is not in the file; say it with --variant {keys}")
    });
    examined.operands.notes.iter().cloned().chain(said).collect()
}

/// The batch in a line.
fn batch(examined: &Examined<'_>) -> String {
    let state = &examined.subject.state;
    let unknown = |operand: &str| examined.subject.unknown.contains(&operand);
    let mut parts =
        vec![format!("{} sequences in a table of {} rows", state.metadata.num_seqs, state.rows())];
    let rows = state.variant.family.model().rows().array;
    if !unknown(rows) {
        parts.push(format!("{rows} of {} rows", state.variant.tokens));
    }
    if !unknown("kv_pages") {
        parts.push(format!("{} pages of {} tokens", state.variant.pages, state.variant.page_size));
    }
    parts.join(", ")
}

fn broken(kernel: &KernelEntry, examined: &Examined<'_>, known: &KnownFile) -> Vec<BrokenRule> {
    let Examined { subject, broken, verdicts, .. } = examined;
    // Conditions on sizes mean nothing where sizes are unknown.
    let facts = (!broken.is_empty() && subject.unknown.is_empty())
        .then(|| Facts::of(&subject.state.variant, &subject.state.metadata));
    let reported = |Broken { rule, count, places }: &Broken| BrokenRule {
        id: rule.id.to_owned(),
        sentence: rule.sentence.to_owned(),
        standing: rule.standing.name().to_owned(),
        count: *count,
        places: places.clone(),
        effect: match verdicts.fixed {
            Verdict::Accepts if rule.scope != Scope::Static => {
                Some(effect(known, &kernel.id, rule.id, facts.as_ref()))
            }
            Verdict::Accepts | Verdict::Refuses { .. } | Verdict::Crashes { .. } => None,
        },
    };
    broken.iter().map(reported).collect()
}

/// What the kernel was seen to do with batches that break that rule alone: such as this one, or others.
fn effect(known: &KnownFile, kernel: &str, rule: &str, facts: Option<&Facts>) -> String {
    let on_others =
        || known_effect(known, kernel, rule, None).map(|effect| format!("on other such batches, {effect}"));
    let measured = || contract::effect_of(kernel, rule).map(|effect| effect.sentence());
    known_effect(known, kernel, rule, facts)
        .or_else(on_others)
        .or_else(measured)
        .unwrap_or_else(|| "none is known".to_owned())
}

fn words(examined: &Examined<'_>, keeping: Keeping) -> ValidatorWords {
    if !examined.subject.state.variant.family.model().has_checks() {
        return ValidatorWords { r#static: NO_CHECK.to_owned(), dynamic: NO_CHECK.to_owned(), asked: false };
    }
    let Verdicts { fixed, with_x64, dynamic } = &examined.verdicts;
    let unknown = &examined.subject.unknown;
    let guess = match unknown.as_slice() {
        [] => String::new(),
        unknown => format!(", as far as can be said without {}", unknown.join(" and ")),
    };
    let dynamic = match dynamic {
        None => "not reached".to_owned(),
        Some(Verdict::Accepts) => format!("accepts{guess} (port)"),
        Some(verdict @ (Verdict::Refuses { .. } | Verdict::Crashes { .. })) => {
            let wrongly = match keeping {
                Keeping::Kept => "wrongly, since it looks past num_seqs, too; ",
                Keeping::Disputed | Keeping::Broken => "",
            };
            format!("{} ({wrongly}port; only upstream's tests call this check)", say(verdict))
        }
    };
    let mut fixed = match fixed {
        Verdict::Accepts => format!("accepts{guess} (port)"),
        Verdict::Refuses { .. } | Verdict::Crashes { .. } => {
            format!("{} (port; the kernel never runs)", say(fixed))
        }
    };
    if let Some(verdict) = with_x64 {
        fixed += &format!("; with jax_enable_x64 it {}", say(verdict));
    }
    ValidatorWords { r#static: fixed, dynamic, asked: false }
}

fn cause(step: &Step, examined: &Examined<'_>) -> CauseReport {
    let Step { cause, others } = step;
    let before = &examined.subject.state.metadata;
    let found = slices(cause, before);
    let correct = if cause.stands_in { Vec::new() } else { corrected(cause, &found) };
    CauseReport {
        slip: cause.slip.to_owned(),
        sentence: cause.sentence.clone(),
        why: cause.why.clone(),
        advice: cause.advice.clone(),
        unsure: cause.unsure.clone(),
        found,
        correct,
        others: others
            .iter()
            .map(|(cause, behind)| OtherCause {
                slip: cause.slip.to_owned(),
                sentence: cause.sentence.clone(),
                behind: behind.clone(),
            })
            .collect(),
    }
}

/// The array of that name as one row, or the row of a table that `index` is in: where it starts, and its values.
fn row_of<'m>(metadata: &'m Metadata, array: &str, row: Option<usize>) -> &'m [i32] {
    match (array, row) {
        ("cu_q_lens", _) => &metadata.cu_q_lens,
        ("kv_lens", _) => &metadata.kv_lens,
        ("num_seqs", _) => std::slice::from_ref(&metadata.num_seqs),
        ("page_indices", Some(row)) => {
            metadata.page_indices.chunks(metadata.pages_per_seq.max(1)).nth(row).unwrap_or(&[])
        }
        _ => &[],
    }
}

/// The entries around what is wrong, a slice an array (of a table: a row).
fn slices(cause: &Cause, metadata: &Metadata) -> Vec<Slice> {
    let mut slices: Vec<Slice> = Vec::new();
    for Entry { array, index } in &cause.places {
        let (row, at) = match index[..] {
            [] => (None, 0),
            [at] => (None, at),
            [row, at, ..] => (Some(row), at),
        };
        let is_same = |slice: &&mut Slice| {
            slice.array == *array && (row.is_none() || slice.start.first() == row.as_ref())
        };
        let same = slices.iter_mut().find(is_same);
        if let Some(slice) = same {
            let first = slice.start.last().copied().unwrap_or(0);
            if let Some(place) = at
                .checked_sub(first)
                .filter(|place| *place < slice.values.len() && !slice.marked.contains(place))
            {
                slice.marked.push(place);
            }
            continue;
        }
        if slices.len() >= MAX_SLICES {
            break;
        }
        let values = row_of(metadata, array, row);
        let start = if values.len() <= SHOWN || at < SHOWN - 3 {
            0
        } else {
            (at - SHOWN / 2).min(values.len() - SHOWN)
        };
        let end = (start + SHOWN).min(values.len());
        let start_index =
            if index.is_empty() { Vec::new() } else { row.into_iter().chain([start]).collect() };
        slices.push(Slice {
            array: (*array).to_owned(),
            start: start_index,
            values: values[start..end].to_vec(),
            marked: if at >= start && at < end { vec![at - start] } else { Vec::new() },
            more: end < values.len(),
        });
    }
    slices
}

/// The same places of the repaired arrays, and the beginning of whatever else the repair changes.
fn corrected(cause: &Cause, found: &[Slice]) -> Vec<Slice> {
    let repair = &cause.repair;
    let mut slices = Vec::new();
    let mut add = |array: &str, values: &[i32], columns: Option<usize>| {
        let mut of_array = found.iter().filter(|slice| slice.array == array).peekable();
        let place = |start: &[usize]| -> (Vec<usize>, &[i32]) {
            match (columns, start) {
                (Some(columns), [row, at]) => (
                    vec![*row, *at],
                    values.chunks(columns.max(1)).nth(*row).unwrap_or(&[]).get(*at..).unwrap_or(&[]),
                ),
                (_, start) => {
                    (start.to_vec(), values.get(start.first().copied().unwrap_or(0)..).unwrap_or(&[]))
                }
            }
        };
        if of_array.peek().is_none() {
            let start = if columns.is_some() {
                vec![0, 0]
            } else if array == "num_seqs" {
                Vec::new()
            } else {
                vec![0]
            };
            let (start, values) = place(&start);
            slices.push(slice(array, start, values, SHOWN));
        } else {
            for shown in of_array {
                let (start, values) = place(&shown.start);
                // One entry more, where the array was too short by one.
                slices.push(slice(array, start, values, SHOWN.max(shown.values.len())));
            }
        }
    };
    if let Some(values) = &repair.cu_q_lens {
        add("cu_q_lens", values, None);
    }
    if let Some(values) = &repair.kv_lens {
        add("kv_lens", values, None);
    }
    if let Some((columns, values)) = &repair.page_indices {
        add("page_indices", values, Some(*columns));
    }
    if let Some(value) = &repair.num_seqs {
        add("num_seqs", std::slice::from_ref(value), None);
    }
    slices
}

fn slice(array: &str, start: Vec<usize>, values: &[i32], most: usize) -> Slice {
    let end = most.min(values.len());
    Slice {
        array: array.to_owned(),
        start,
        values: values[..end].to_vec(),
        marked: Vec::new(),
        more: end < values.len(),
    }
}
