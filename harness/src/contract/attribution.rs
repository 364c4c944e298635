//! Who is hit by a broken batch: whose rows are wrong, which rows, and through which entry.
//!
//! Invariant: names only what a trial showed; a run that ended in a fault has no rows, and says so.

use std::ops::Range;

use countersign_kernels::contract::Contract;
use countersign_reference::Metadata;

use crate::trial::{Conduct, Trial};

/// Wrong rows of one sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harm {
    /// Whose rows they are.
    pub sequence: usize,
    /// Rows of the output, in ranges, ascending.
    pub rows: Vec<Range<usize>>,
    /// Whether the sequence breaks a rule of its own; if not, it is hit by another's mistake.
    pub own: bool,
}

/// The wrong rows of a trial by their sequence, ascending; empty where rows are right or there are none.
pub fn harms(trial: &Trial, metadata: &Metadata) -> Vec<Harm> {
    let Conduct::Finished(comparison) = &trial.conduct else { return Vec::new() };
    let own = trial.contract.own_sequences();
    let rows_of = |sequence: usize| -> Vec<Range<usize>> {
        let entry =
            |at: usize| metadata.cu_q_lens.get(at).map_or(0, |&end| usize::try_from(end).unwrap_or(0));
        let owned = entry(sequence)..entry(sequence + 1);
        let mut rows: Vec<Range<usize>> = Vec::new();
        for &token in comparison.wrong_tokens.iter().filter(|token| owned.contains(token)) {
            match rows.last_mut() {
                Some(last) if last.end == token => last.end += 1,
                _ => rows.push(token..token + 1),
            }
        }
        rows
    };
    let harm = |&sequence: &usize| Harm { sequence, rows: rows_of(sequence), own: own.contains(&sequence) };
    comparison.wrong_rows.keys().map(harm).collect()
}

/// The same in sentences, with the entries that cause it.
pub fn sentences(trial: &Trial, metadata: &Metadata) -> Vec<String> {
    let cause = causes(&trial.contract);
    match &trial.conduct {
        Conduct::Finished(_) => harms(trial, metadata).iter().map(|harm| sentence(harm, &cause)).collect(),
        Conduct::Fault(_) | Conduct::Hang => {
            let sequences = metadata.sequences_in_table();
            vec![format!(
                "The run ends without an output that could be trusted, so all {sequences} sequences of the batch are hit, \
                 through {cause}."
            )]
        }
        Conduct::NotRun | Conduct::Unsupported(_) => Vec::new(),
    }
}

fn sentence(harm: &Harm, cause: &str) -> String {
    let rows: Vec<String> = harm
        .rows
        .iter()
        .map(|rows| match rows.len() {
            1 => rows.start.to_string(),
            _ => format!("{} to {}", rows.start, rows.end - 1),
        })
        .collect();
    let whose = if harm.own { "which breaks the rule itself" } else { "which breaks no rule itself" };
    format!("Rows {} of sequence {}, {whose}, are wrong through {cause}.", rows.join(", "), harm.sequence)
}

/// The entries at fault, or where there are none the rules.
fn causes(contract: &Contract) -> String {
    let entries: Vec<String> = contract
        .breaches
        .iter()
        .flat_map(|breach| &breach.entries)
        .take(4)
        .map(|entry| {
            let index: Vec<String> = entry.index.iter().map(usize::to_string).collect();
            if index.is_empty() {
                entry.array.to_owned()
            } else {
                format!("{}[{}]", entry.array, index.join(", "))
            }
        })
        .collect();
    if !entries.is_empty() {
        return entries.join(" and ");
    }
    let rules: Vec<&str> = contract.rules().iter().map(|rule| rule.id).collect();
    if rules.is_empty() { "nothing that the contract forbids".to_owned() } else { rules.join(" and ") }
}
