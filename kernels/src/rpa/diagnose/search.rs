//! From broken rules to causes: every hypothesis is tried, the best is undone, and what is still broken is looked at again.
//!
//! Candidates are ordered by what they leave broken in their own arrays, by how much has to come together for them, by all that
//! they leave broken or disputed, and at last by how many sequences come out as decodes or whole prefills: most of a server's are.
//!
//! Invariant: a cause is given only if undoing it leaves less broken; whatever is left is given under its rule.

use std::cmp::Reverse;

use super::{Candidate, Cause, Repair, State, count, cumulative, layout, lengths, pages};
use crate::rpa::contract::{Breach, Scope, Standing};

/// Most slips that are looked for in one batch.
const MAX_STEPS: usize = 5;

/// What a batch breaks, explained.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Slips that were made, each with the readings that explain the same.
    pub steps: Vec<Step>,
    /// The batch with the first reading of every step undone.
    pub repaired: State,
    /// What it still breaks.
    pub left: Vec<Breach>,
}

impl Explanation {
    /// Why the repaired batch isn't the only one that could have been meant.
    pub fn unsure(&self) -> Option<String> {
        let unsure = self.steps.iter().find_map(|step| step.cause.unsure.clone());
        let left =
            || self.left.first().map(|breach| format!("{} stays broken: {}", breach.rule.id, breach.detail));
        unsure.or_else(left)
    }
}

/// One slip.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The likeliest reading.
    pub cause: Cause,
    /// Other readings, each with why it comes behind.
    pub others: Vec<(Cause, String)>,
}

/// Explains what `state` breaks; `form` are the slips that reading it has undone. Wrong types come last: where all else is right,
/// they are seldom what made a batch fail.
pub fn explain(form: Vec<Cause>, state: State) -> Explanation {
    let alone = |cause| Step { cause, others: Vec::new() };
    let (types, shapes): (Vec<Cause>, Vec<Cause>) =
        form.into_iter().partition(|cause| cause.slip.starts_with("metadata-"));
    let mut steps: Vec<Step> = shapes.into_iter().map(alone).collect();
    let mut state = state;
    let mut left = state.breaches();
    while !left.is_empty() && steps.len() < MAX_STEPS {
        let Some(step) = best(&state, &left) else { break };
        state.apply(&step.cause.repair);
        steps.push(step);
        left = state.breaches();
    }
    let named = layout::named(&state, &left);
    steps.extend(named.into_iter().chain(types).map(alone));
    Explanation { steps, repaired: state, left }
}

/// How well a hypothesis explains; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    leaves_own: bool,
    tier: u8,
    broken: usize,
    disputed: usize,
    natural: Reverse<u32>,
}

/// Which rules a repair may be expected to mend.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Layout,
    Pages,
    Lengths,
}

fn group(breach: &Breach) -> Group {
    match breach.rule.scope {
        Scope::Static => Group::Layout,
        Scope::Batch | Scope::Sequence if breach.rule.id == "page-index-in-range" => Group::Pages,
        Scope::Batch | Scope::Sequence => Group::Lengths,
    }
}

fn broken_and_disputed(breaches: &[Breach]) -> (usize, usize) {
    let disputed = breaches.iter().filter(|breach| breach.rule.standing == Standing::Disputed).count();
    (breaches.len() - disputed, disputed)
}

fn best(state: &State, breaches: &[Breach]) -> Option<Step> {
    let now = broken_and_disputed(breaches);
    let kinds: [(Group, Vec<Candidate>); 3] = [
        (Group::Layout, layout::candidates(state)),
        (
            Group::Lengths,
            cumulative::candidates(state, breaches)
                .into_iter()
                .chain(lengths::candidates(state, breaches))
                .collect(),
        ),
        (Group::Pages, pages::candidates(state, breaches)),
    ];
    let mut scored: Vec<(Score, Cause)> = Vec::new();
    for (own, candidates) in kinds {
        for Candidate { cause, tier } in candidates {
            if scored.iter().any(|(_, other)| other.repair == cause.repair) {
                continue; // two names of one thing
            }
            let repaired = state.repaired(&cause.repair);
            let left = repaired.breaches();
            let (broken, disputed) = broken_and_disputed(&left);
            if (broken, disputed) >= now {
                continue;
            }
            let leaves_own =
                left.iter().any(|breach| group(breach) == own && breach.rule.standing != Standing::Disputed);
            let natural = Reverse(repaired.natural());
            scored.push((Score { leaves_own, tier, broken, disputed, natural }, cause));
        }
    }
    scored.sort_by_key(|(score, _)| *score); // stable: the order of the hypotheses settles ties
    let mut scored = scored.into_iter();
    let (first, mut cause) = scored.next()?;
    let others: Vec<(Cause, String)> = scored
        .filter(|(score, other)| {
            score.broken <= first.broken && !score.leaves_own && touches_same(&other.repair, &cause.repair)
        })
        .take(3)
        .map(|(score, other)| {
            let behind = behind(&first, &score);
            (other, behind)
        })
        .collect();
    if let Some((rival, _)) = others.iter().find(|(_, behind)| behind == EQUALLY) {
        let unsure = || format!("{} explains it as well", rival.sentence);
        cause.unsure = cause.unsure.or_else(|| Some(unsure()));
    }
    Some(Step { cause, others })
}

const EQUALLY: &str = "explains it as well";

/// Why a reading with `score` comes behind the one with `first`.
fn behind(first: &Score, score: &Score) -> String {
    let thousandth = |share: u32| format!("{} %", share / 10);
    if score.tier > first.tier {
        "needs more coincidence".to_owned()
    } else if score.disputed > first.disputed {
        let more = count(score.disputed - first.disputed, "sequence");
        format!("would leave {more} without query tokens")
    } else if score.natural > first.natural {
        let (then, now) = (thousandth(score.natural.0), thousandth(first.natural.0));
        format!("only {then} of the sequences would be decodes or whole prefills, not {now}")
    } else {
        EQUALLY.to_owned()
    }
}

/// Whether two repairs are rivals: they are about the lengths both, or about the same other array.
fn touches_same(a: &Repair, b: &Repair) -> bool {
    let pages_only = |repair: &Repair| {
        repair.pages_of_cache.is_some() || repair.page_indices.is_some() && repair.num_seqs.is_none()
    };
    pages_only(a) == pages_only(b)
}
