//! Names of effects and of kinds of gaps in words that need no explanation.
//!
//! Invariant: total; a name that isn't known stands for itself.

use super::{ContractTable, Gap};

/// What was probed, and what the checks are to production.
pub(super) fn checks_of(contract: &ContractTable) -> &'static str {
    match contract.has_checks() {
        true => {
            "The static check is part of the entry point; the dynamic check is called by upstream's tests only, so what it \
             refuses was run all the same."
        }
        false => "The kernel has no checks that could refuse anything.",
    }
}

/// Where the case of a gap comes from, and how it became as small as it is; a sentence without its full stop.
pub(super) fn made_of(gap: &Gap) -> String {
    let from = format!("From {}, on {}", gap.origin, gap.finding.variant);
    let Some(minimised) = &gap.finding.minimised else { return from };
    let end = if minimised.complete { "" } else { ", and not to the end" };
    let executions = minimised.executions;
    if minimised.before == minimised.after && minimised.complete {
        let size = &minimised.after;
        return format!("{from}; {size}, of which nothing can be left out ({executions} executions)");
    }
    let (before, after) = (&minimised.before, &minimised.after);
    format!("{from}; made smaller, from {before} to {after}, in {executions} executions{end}")
}

/// An effect, fault class or outcome in words.
pub fn effect_words(name: &str) -> &str {
    match name {
        "wrong-rows" => "wrong rows, silently",
        "others-rows" => "wrong rows of other sequences, silently",
        "undefined-output" => "output from undefined memory, silently",
        "hang" => "does not end",
        "refusal" => "refused",
        "message" => "a message that misleads",
        "out-of-bounds" => "out-of-bounds access",
        "undefined-use" => "decision by undefined memory",
        "race" => "race with a copy in flight",
        "deadlock" => "waits for ever",
        "residue" => "copies still in flight at the end",
        "output-revisited" => "output block written twice",
        "arithmetic" => "division that has no result",
        "narrowing" => "position too large for its type",
        "lowering-crash" => "fails to lower, by accident",
        "lowers" => "lowers all the same",
        "right where defined" => "harmless: rows that have a value are right",
        other => other,
    }
}

/// A kind of gap in words, by the first field of a signature.
pub fn gap_class(kind: &str) -> &str {
    match kind {
        "gap:accepts-invalid" => "accepts invalid input",
        "gap:refused-unseen" => "refused only where production never looks",
        "gap:mishandles-disputed" => "mishandles disputed input",
        "gap:misleading-message" => "misleading message",
        "gap:refuses-valid" => "refuses valid input",
        "gap:validator-crash" => "check crashes without a usable message",
        "gap:does-not-lower" => "accepted, but doesn't lower",
        other => other,
    }
}
