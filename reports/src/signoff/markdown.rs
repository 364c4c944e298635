//! A sign-off as Markdown: the verdict, the claims, the waivers, and what isn't seen.
//!
//! Invariant: says nothing that the document doesn't.

use std::fmt::Write as _;

use super::{Claim, Signoff};
use crate::CompiledCell;

/// Renders `signoff` as Markdown.
pub fn signoff_to_markdown(signoff: &Signoff) -> String {
    let mut out = format!("# {}: {}\n\n", signoff.kernel, signoff.sentence());
    if let Some(mutant) = &signoff.mutant {
        let _ = writeln!(out, "**A fault was put into this kernel on purpose:** {mutant}\n");
    }
    let unpinned = if signoff.unpinned { ", unpinned" } else { "" };
    let _ = writeln!(
        out,
        "{} on {}, seed {}{unpinned}; lowered with {}. Not seen from here: {}.\n",
        signoff.tool,
        signoff.timing.date,
        signoff.seed,
        signoff.lowered_with(),
        signoff.not_seen.join("; ")
    );
    out += "| claim | standing | required | measured |\n| --- | --- | --- | --- |\n";
    for Claim { id, sentence, standing, required, measured, .. } in &signoff.claims {
        let _ = writeln!(
            out,
            "| **{id}**: {} | {} | {} | {} |",
            cell(sentence),
            standing.name(),
            cell(required),
            cell(measured)
        );
    }
    for claim in signoff.claims.iter().filter(|claim| !claim.details.is_empty()) {
        let _ = writeln!(out, "\n## {}, {}\n", claim.id, claim.standing.name());
        claim.details.iter().for_each(|detail| out += &format!("- {}\n", line(detail)));
    }
    if let Some(mutation) = &signoff.mutation {
        let _ = writeln!(
            out,
            "\n## Mutation score {:.3}\n\n{} killed, {} survived, {} not run, {} equivalent ({:.3} with these against us); {} \
             false alarms in {} controls.",
            mutation.score,
            mutation.killed,
            mutation.survived,
            mutation.not_run,
            mutation.equivalent,
            mutation.score_with_equivalents,
            mutation.false_alarms.len(),
            mutation.controls
        );
    }
    if !signoff.waivers.is_empty() {
        out += "\n## Waivers\n\n| finding | expires | shown by | why |\n| --- | --- | --- | --- |\n";
        for waiver in &signoff.waivers {
            let _ = writeln!(
                out,
                "| `{}` where `{}` | {} | {} | {} |",
                waiver.signature.replace('|', "\\|"),
                waiver.when.replace('|', "\\|"),
                waiver.expires,
                if waiver.calls.is_empty() { &waiver.regressions } else { &waiver.calls }.join(", "),
                cell(&waiver.reason)
            );
        }
    }
    if let Some(compiled) = &signoff.compiled {
        let _ = writeln!(out, "\n## Bytes of code by {}\n", compiled.compiler);
        let _ = writeln!(out, "| variant | {} |", compiled.generations.join(" | "));
        let _ = writeln!(out, "| --- |{}", " --- |".repeat(compiled.generations.len()));
        for row in &compiled.variants {
            let of = |cell: &CompiledCell| match cell.code_bytes {
                Some(bytes) => bytes.to_string(),
                None => cell.verdict.words().to_owned(),
            };
            let cells: Vec<String> = row.cells.iter().map(of).collect();
            let _ = writeln!(out, "| {} | {} |", row.name, cells.join(" | "));
        }
    }
    out += "\n## Inputs\n\n| input | SHA-256 |\n| --- | --- |\n";
    for (name, hash) in signoff.inputs.iter().chain(&signoff.hashes) {
        let _ = writeln!(out, "| {name} | `{hash}` |");
    }
    out
}

/// Text on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text in a table's cell.
fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
}
