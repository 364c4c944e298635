//! Two releases beside each other as one HTML page.
//!
//! Invariant: a function of the report alone; nothing is loaded, no script runs.

use maud::{Markup, html};

use super::{FindingChange, ReleasesReport};
use crate::html::{Section, page};

/// Renders `report` as a whole HTML document.
pub fn releases_to_html(report: &ReleasesReport) -> String {
    let section = |id, title, body| Section { id, title, body };
    let [first, second] = &report.sides;
    let sections = [
        section("findings", "Findings", findings(report)),
        section("cases", "Cases that they don't treat alike", cases(report)),
        section("ir", "IR and coverage", ir(report)),
        section("errors", "Largest errors of right rows, in parts of their bound", errors(report)),
        section("source", "The kernel's source", source(report)),
    ];
    let header = html! {
        p.tool { (report.tool) }
        h1 { (first.kernel) " and " (second.kernel) }
        p.lead {
            (report.generated) " generated cases of seed " (report.seed) " and " (report.regressions) " regressions in "
            (report.variants.len()) " variants; " (report.unsupported) " more that one of them can't run. Nothing is said about speed."
        }
        @for side in &report.sides {
            p.note { (side.kernel) ": " @for (name, version) in &side.packages { (name) " " (version) " " } }
            @for (variant, why) in &side.failures { p.warn { (side.kernel) " can't run " code { (variant) } ": " (why) } }
            @if !side.lacks.is_empty() { p.note { (side.kernel) " lacks " (side.lacks.join(", ")) } }
        }
    };
    page(
        &format!("countersign compare: {} and {}", first.kernel, second.kernel),
        &header,
        &sections,
        &html! {},
    )
}

fn findings(report: &ReleasesReport) -> Markup {
    let [first, second] = &report.sides;
    let gained: Vec<&FindingChange> = report.shown_by_one(1).collect();
    let lost: Vec<&FindingChange> = report.shown_by_one(0).collect();
    let other = report
        .findings
        .iter()
        .filter(|change| change.cases.iter().all(|&cases| cases > 0))
        .collect::<Vec<_>>();
    html! {
        p { (report.findings_alike) " findings are shown by the same number of cases of both." }
        (listed(&format!("Only in {}", second.kernel), &gained))
        (listed(&format!("Only in {}", first.kernel), &lost))
        (listed("In both, by another number of cases", &other))
    }
}

fn listed(title: &str, changes: &[&FindingChange]) -> Markup {
    html! {
        h3 { (title) ": " (changes.len()) }
        @if !changes.is_empty() {
            div.scroll tabindex="0" {
                table.plain {
                    thead { tr { th scope="col" { "finding" } th.number scope="col" { "cases, first" } th.number scope="col" { "cases, second" } th scope="col" { "first in" } } }
                    tbody {
                        @for change in changes {
                            tr {
                                td { code { (change.signature) } div.note { (change.title) } }
                                td.number { (change.cases[0]) }
                                td.number { (change.cases[1]) }
                                td { @if let Some(first) = &change.first { (first) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cases(report: &ReleasesReport) -> Markup {
    html! {
        p { (report.changed) " cases" @if report.changed > report.changes.len() as u64 { ", of which the first " (report.changes.len()) " are here" } "." }
        @if !report.changes.is_empty() {
            div.scroll.tall tabindex="0" {
                table.plain {
                    thead { tr { th scope="col" { "case" } @for side in &report.sides { th scope="col" { (side.kernel) } } } }
                    tbody {
                        @for change in &report.changes {
                            tr { th scope="row" { (change.name) } @for conduct in &change.conduct { td { (conduct) } } }
                        }
                    }
                }
            }
        }
    }
}

fn ir(report: &ReleasesReport) -> Markup {
    let of = |(hit, all): (u64, u64)| format!("{hit} of {all}");
    html! {
        div.scroll tabindex="0" {
            table.plain {
                thead { tr { th scope="col" { "" } @for side in &report.sides { th.number scope="col" { (side.kernel) } } } }
                tbody {
                    tr { th scope="row" { "ops in all modules" } @for ops in report.ops { td.number { (ops) } } }
                    tr { th scope="row" { "coverage points hit" } @for points in report.points { td.number { (of(points)) } } }
                    tr { th scope="row" { "lines of the kernel reached" } @for lines in report.lines { td.number { (of(lines)) } } }
                    @for (op, counts) in &report.op_changes {
                        tr { th scope="row" { code { (op) } } @for count in counts { td.number { (count) } } }
                    }
                }
            }
        }
    }
}

fn errors(report: &ReleasesReport) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table.plain {
                thead { tr { th scope="col" { "variant" } @for side in &report.sides { th.number scope="col" { (side.kernel) } } } }
                tbody {
                    @for (variant, largest) in &report.errors {
                        tr { th scope="row" { code { (variant) } } @for r in largest { td.number { (format!("{r:.4}")) } } }
                    }
                }
            }
        }
    }
}

fn source(report: &ReleasesReport) -> Markup {
    html! {
        @match &report.source {
            None => { p { "One of them is no longer on disk as it was lowered." } },
            Some(lines) if lines.is_empty() => { p { "The same text." } },
            Some(lines) => { pre.commands tabindex="0" { @for line in lines { (line) "\n" } } },
        }
    }
}
