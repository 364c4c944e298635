//! The kernel's source with what was learned at each line: coverage, findings, and mutants killed and left over.
//!
//! Invariant: every line with a mark, a finding or a mutant of the document is here; marks are words as well as signs.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::{MutantReport, Signoff};
use crate::html::grouped;
use crate::{FindingReport, LineCoverage, SourceText};

/// What is known of one line.
#[derive(Default)]
struct About<'a> {
    coverage: Option<&'a LineCoverage>,
    findings: Vec<&'a FindingReport>,
    killed: u64,
    equivalent: u64,
    open: Vec<&'a MutantReport>,
}

/// The listing of each kernel's source, with a summary.
pub(super) fn listings(signoff: &Signoff) -> Markup {
    let kernels = signoff.campaign.report.kernels.iter();
    html! { @for source in kernels.filter_map(|kernel| kernel.source.as_ref()) { (listing(signoff, source)) } }
}

fn gathered<'a>(signoff: &'a Signoff, source: &SourceText) -> BTreeMap<u32, About<'a>> {
    let mut lines: BTreeMap<u32, About<'a>> = BTreeMap::new();
    let covered = signoff.campaign.report.kernels.iter().flat_map(|kernel| &kernel.coverage.lines);
    for line in covered.filter(|line| line.file == source.file) {
        lines.entry(line.line).or_default().coverage = Some(line);
    }
    let findings = signoff.regressions.report.findings.iter().chain(&signoff.campaign.report.findings);
    for finding in findings {
        let stack = finding.fault.iter().flat_map(|fault| &fault.stack);
        if let Some(frame) = stack.into_iter().find(|frame| frame.file == source.file) {
            lines.entry(frame.line).or_default().findings.push(finding);
        }
    }
    for mutant in signoff.mutation.iter().flat_map(|mutation| &mutation.mutants) {
        if mutant.file.as_ref() != Some(&source.file) {
            continue;
        }
        let Some(line) = mutant.line else { continue };
        let about = lines.entry(line).or_default();
        match mutant.fate.as_str() {
            "killed" => about.killed += 1,
            "equivalent" => about.equivalent += 1,
            _ => about.open.push(mutant),
        }
    }
    lines
}

/// CSS class, sign and word of a line's coverage.
fn marks(line: &LineCoverage) -> (&'static str, &'static str, &'static str) {
    match line.hit {
        0 => ("miss", "✗", "not reached"),
        hit if hit < line.ops || !line.missed.is_empty() => {
            ("part", "◐", "reached, but not all of it happened")
        }
        _ => ("hit", "✓", "reached"),
    }
}

fn listing(signoff: &Signoff, source: &SourceText) -> Markup {
    let lines = gathered(signoff, source);
    let sum = |count: fn(&About<'_>) -> u64| lines.values().map(count).sum::<u64>();
    html! {
        p {
            "Lines with ops of the lowered kernel carry a mark: "
            span.mark.hit { "✓" } " reached, " span.mark.part { "◐" } " reached, but something that can happen there never did, "
            span.mark.miss { "✗" } " not reached. Beside them stand faults whose innermost line of the kernel it is, and mutants of ops of the \
             line: " (grouped(sum(|about| about.killed))) " killed, " (grouped(sum(|about| about.open.len() as u64))) " left over, "
            (grouped(sum(|about| about.equivalent))) " equivalent."
        }
        details open {
            summary { (source.file) ", " (grouped(source.lines.len() as u64)) " lines" }
            div.scroll.tall tabindex="0" role="region" aria-label={ "Source of " (source.file) } {
                table.listing {
                    thead {
                        tr {
                            th scope="col" { "line" } th scope="col" { "covered" } th scope="col" { "findings" } th scope="col" { "mutants" }
                            th scope="col" { "source" }
                        }
                    }
                    tbody { @for (number, text) in (1..).zip(&source.lines) { (row(number, text, lines.get(&number))) } }
                }
            }
        }
    }
}

fn row(number: u32, text: &str, about: Option<&About<'_>>) -> Markup {
    let Some(about) = about else {
        return html! { tr { th scope="row" { (number) } td {} td {} td {} td { (text) } } };
    };
    let (class, sign, word) = about.coverage.map_or(("", "", ""), marks);
    html! {
        tr.(class) {
            th scope="row" { (number) }
            td.mark {
                @if let Some(line) = about.coverage {
                    span title={ (word) ", " (line.hit) " of " (line.ops) " ops" @if !line.missed.is_empty() { "; never " (line.missed.join(", ")) } } { (sign) }
                }
            }
            td.note-cell { @if !about.findings.is_empty() { a href="#findings" title=(signatures(&about.findings)) { (about.findings.len()) } } }
            td.note-cell {
                @if about.killed > 0 { span title="killed" { "†" (about.killed) } }
                @if !about.open.is_empty() { " " strong.open title=(about.open.iter().map(|mutant| told(mutant)).collect::<Vec<_>>().join("\n")) { "!" (about.open.len()) } }
                @if about.equivalent > 0 { " " span title="equivalent" { "=" (about.equivalent) } }
            }
            td { (text) }
        }
    }
}

fn signatures(findings: &[&FindingReport]) -> String {
    findings.iter().map(|finding| finding.signature.as_str()).collect::<Vec<_>>().join("\n")
}

/// `narrow of arith.maximumf on f32-q4-kv4: survived`.
pub(super) fn told(mutant: &MutantReport) -> String {
    let constant = mutant.constant.as_ref().map(|number| format!(" {number}")).unwrap_or_default();
    format!("{} of {}{constant} on {}: {}", mutant.operator, mutant.op, mutant.variant, mutant.fate)
}
