//! What a report shows of a finding besides its words: the batch to be drawn, the fault with its stacks, the case's text.
//!
//! Invariant: maps a trial to the report's model and adds no judgement; pure.

use countersign_kernels::Variant;
use countersign_kernels::contract::Breach;
use countersign_mosaic::Fault;
use countersign_mosaic::ir::Frame;
use countersign_reports::{
    BatchReport, BreachReport, EntryReport, FaultReport, MAX_COLUMNS, MAX_SEQUENCES, SequenceReport,
    StackFrame,
};

use crate::case::{Case, Patch};
use crate::corpus::CorpusFile;
use crate::loaded::base_name;
use crate::show;
use crate::traced::Followed;
use crate::trial::{Conduct, Trial};

/// Most single elements of the payload that are named.
const MAX_PATCHES: usize = 8;

/// Of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What the kernel did, in a sentence.
    pub kernel: String,
    /// The fault, if there was one.
    pub fault: Option<FaultReport>,
    /// The batch; absent for a case that is only traced.
    pub batch: Option<BatchReport>,
    /// The case as the text of a case file.
    pub case_file: String,
    /// What the sequences that break a rule do to the others, where somebody looked.
    pub others: Option<String>,
    /// What JAX's interpreter says where the machine and the reference disagree.
    pub third: Option<String>,
}

impl Evidence {
    /// Of `case`, as `trial` showed it; `followed` is the path to its fault.
    pub fn of(trial: &Trial, case: &Case, followed: Option<&Followed>) -> Evidence {
        let fault = match &trial.conduct {
            Conduct::Fault(fault) => Some(fault_report(fault, followed)),
            Conduct::NotRun | Conduct::Finished(_) | Conduct::Hang | Conduct::Unsupported(_) => None,
        };
        let file = CorpusFile { case: case.clone(), origin: None, expect: None };
        Evidence {
            kernel: trial.conduct.to_string(),
            fault,
            batch: case.statics.is_none().then(|| batch_report(trial, case)),
            case_file: file.to_toml(),
            others: None,
            third: None,
        }
    }
}

/// A call stack, innermost frame first.
fn frames(stack: &[Frame]) -> Vec<StackFrame> {
    let frame = |frame: &Frame| StackFrame {
        file: base_name(&frame.file).to_owned(),
        line: frame.line,
        function: frame.function.clone(),
    };
    stack.iter().map(frame).collect()
}

fn fault_report(fault: &Fault, followed: Option<&Followed>) -> FaultReport {
    FaultReport {
        class: fault.class.name().to_owned(),
        op: fault.op.clone(),
        grid: fault.grid.clone(),
        message: fault.message.clone(),
        stack: frames(&fault.stack),
        other: fault.other.as_ref().map(|other| frames(&other.stack)).unwrap_or_default(),
        other_role: fault.other.as_ref().map(|other| other.role.to_owned()),
        place: fault.place.as_ref().map(ToString::to_string),
        meaning: followed.map(|followed| followed.meaning.clone()).unwrap_or_default(),
        path: followed.map(|followed| followed.path.clone()).unwrap_or_default(),
    }
}

fn batch_report(trial: &Trial, case: &Case) -> BatchReport {
    let (variant, meta) = (&trial.variant, &case.metadata);
    let columns = meta.pages_per_seq;
    let kept = meta.kv_lens.len().min(MAX_SEQUENCES);
    let used = meta.sequences_in_table();
    let sequences = meta.kv_lens.iter().take(kept).enumerate().map(|(sequence, &kv_len)| SequenceReport {
        kv_len,
        pages: meta
            .page_indices
            .iter()
            .skip(sequence * columns)
            .take(columns.min(MAX_COLUMNS))
            .copied()
            .collect(),
        remarks: if sequence < used { show::remarks(variant, meta, sequence) } else { Vec::new() },
    });
    let wrong = match &trial.conduct {
        Conduct::Finished(comparison) => ranges(&comparison.wrong_tokens),
        Conduct::NotRun | Conduct::Fault(_) | Conduct::Hang | Conduct::Unsupported(_) => Vec::new(),
    };
    BatchReport {
        rows: variant.tokens,
        rows_of: Some(variant.family.model().rows().array).filter(|array| *array != "q").map(str::to_owned),
        page_size: variant.page_size,
        pages: variant.pages,
        table_rows: meta.kv_lens.len(),
        columns,
        query_block: variant.queries_per_block,
        kv_block: variant.pages_per_block,
        num_seqs: meta.num_seqs,
        cu_q_lens: meta.cu_q_lens.iter().take(kept + 1).copied().collect(),
        sequences: sequences.collect(),
        wrong_rows: wrong,
        breaches: trial.contract.breaches.iter().take(MAX_SEQUENCES).map(breach_report).collect(),
        payload: payload(case, variant),
    }
}

fn breach_report(breach: &Breach) -> BreachReport {
    let entries = breach
        .entries
        .iter()
        .take(MAX_COLUMNS)
        .map(|entry| EntryReport { array: entry.array.to_owned(), index: entry.index.clone() });
    BreachReport {
        rule: breach.rule.id.to_owned(),
        sentence: breach.rule.sentence.to_owned(),
        standing: breach.rule.standing.name().to_owned(),
        detail: breach.detail.clone(),
        entries: entries.collect(),
    }
}

fn payload(case: &Case, variant: &Variant) -> Vec<String> {
    let payload = &case.payload;
    let mut lines = vec![format!(
        "{} with seed {}, q {}, cache {}",
        payload.pattern,
        payload.seed,
        variant.q_dtype.name(),
        variant.kv_dtype.name()
    )];
    lines.extend(payload.patches.iter().take(MAX_PATCHES).map(patch));
    let more = payload.patches.len().saturating_sub(MAX_PATCHES);
    if more > 0 {
        lines.push(format!("and {more} more elements"));
    }
    lines
}

fn patch(patch: &Patch) -> String {
    let Patch { target, sequence, token, head, lane, value } = patch;
    let lane = lane.map_or_else(|| "all lanes".to_owned(), |lane| format!("lane {lane}"));
    format!("{} of sequence {sequence}, token {token}, head {head}, {lane} = {value:?}", target.name())
}

/// Ascending numbers as ranges, each its first and the one after its last.
fn ranges(ascending: &[usize]) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &value in ascending {
        match ranges.last_mut() {
            Some((_, end)) if *end == value => *end += 1,
            _ => ranges.push((value, value + 1)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn neighbours_make_a_range() {
        assert_eq!(ranges(&[]), []);
        assert_eq!(ranges(&[3, 4, 5, 9, 11, 12]), [(3, 6), (9, 10), (11, 13)]);
    }
}
