//! Coverage on the kernel's own source, line by line.
//!
//! Invariant: a line without a mark has no op in the lowered kernel; nothing is claimed of it.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::Section;
use super::number::grouped;
use crate::{KernelReport, LineCoverage, Report};

/// The section; absent where no kernel has coverage.
pub(super) fn section(report: &Report) -> Option<Section> {
    if report.kernels.iter().all(|kernel| kernel.coverage.lines.is_empty()) {
        return None;
    }
    let body = html! { @for kernel in &report.kernels { (coverage(kernel)) } };
    Some(Section { id: "source", title: "Coverage of the kernel's source", body })
}

/// How much of a line was reached.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    All,
    Part,
    None,
}

impl Reach {
    fn of(line: &LineCoverage) -> Reach {
        match line.hit {
            0 => Reach::None,
            hit if hit < line.ops => Reach::Part,
            _ => Reach::All,
        }
    }

    /// CSS class, sign, and word.
    fn marks(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Reach::All => ("hit", "✓", "reached"),
            Reach::Part => ("part", "◐", "reached in part"),
            Reach::None => ("miss", "✗", "not reached"),
        }
    }
}

fn coverage(kernel: &KernelReport) -> Markup {
    let lines = &kernel.coverage.lines;
    let count = |reach: Reach| lines.iter().filter(|line| Reach::of(line) == reach).count() as u64;
    let (hit, points) =
        kernel.coverage.variants.values().fold((0, 0), |(hit, points), (h, p)| (hit + h, points + p));
    let text = |line: &LineCoverage| -> Option<&str> {
        let source = kernel.source.as_ref().filter(|source| source.file == line.file)?;
        source.lines.get(usize::try_from(line.line).ok()?.checked_sub(1)?).map(|text| text.trim())
    };
    let open: Vec<&LineCoverage> = lines.iter().filter(|line| Reach::of(line) != Reach::All).collect();
    html! {
        p {
            "Of the " (grouped(lines.len() as u64)) " lines that ops of the lowered " (kernel.id) " come from, "
            strong { (grouped(count(Reach::All))) " were reached" } ", " (grouped(count(Reach::Part))) " in part, and "
            strong { (grouped(count(Reach::None))) " not" } ". In the IR itself " (grouped(hit)) " of " (grouped(points))
            " coverage points were reached, over all variants. A line is reached in part where some of its ops, in some variant, \
             stand in a block that no case entered."
        }
        @if !open.is_empty() {
            div.scroll tabindex="0" {
                table.plain.lines {
                    thead {
                        tr { th scope="col" { "line" } th.number scope="col" { "ops reached" } th scope="col" { "source" } }
                    }
                    tbody {
                        @for line in open {
                            @let (class, sign, word) = Reach::of(line).marks();
                            tr {
                                th scope="row" { span.mark.(class) title=(word) { (sign) } " " (line.file) ":" (line.line) }
                                td.number { (grouped(line.hit)) " of " (grouped(line.ops)) }
                                td { @if let Some(text) = text(line) { code { (text) } } }
                            }
                        }
                    }
                }
            }
        }
        (never(kernel, &text))
        (listing(kernel))
    }
}

/// What no case did at lines whose ops it reached.
fn never<'k>(kernel: &'k KernelReport, text: &impl Fn(&'k LineCoverage) -> Option<&'k str>) -> Markup {
    let lines: Vec<&LineCoverage> =
        kernel.coverage.lines.iter().filter(|line| line.hit > 0 && !line.missed.is_empty()).collect();
    html! {
        @if !lines.is_empty() {
            details {
                summary { "What never happened at " (grouped(lines.len() as u64)) " lines that were reached: sides of branches, turns of loops, masks, copies" }
                div.scroll tabindex="0" {
                    table.plain.lines {
                        thead { tr { th scope="col" { "line" } th scope="col" { "never" } th scope="col" { "source" } } }
                        tbody {
                            @for line in lines {
                                tr {
                                    th scope="row" { (line.file) ":" (line.line) }
                                    td { (line.missed.join(", ")) }
                                    td { @if let Some(text) = text(line) { code { (text) } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The whole source with a mark a line.
fn listing(kernel: &KernelReport) -> Markup {
    let Some(source) = &kernel.source else {
        return html! { p.note { "The source's text is not in this report: the file was no longer the one that was lowered." } };
    };
    let marks: BTreeMap<usize, &LineCoverage> = kernel
        .coverage
        .lines
        .iter()
        .filter(|line| line.file == source.file)
        .map(|line| (line.line as usize, line))
        .collect();
    html! {
        details {
            summary { (source.file) ", " (grouped(source.lines.len() as u64)) " lines, with a mark for each line that was or was not reached" }
            p.shades {
                @for reach in [Reach::All, Reach::Part, Reach::None] {
                    @let (class, sign, word) = reach.marks();
                    span.mark.(class) { (sign) } " " (word) " "
                }
                "; no mark: no op of the lowered kernel comes from the line"
            }
            div.scroll.tall tabindex="0" {
                table.listing {
                    @for (index, text) in source.lines.iter().enumerate() {
                        @match marks.get(&(index + 1)) {
                            Some(line) => {
                                @let (class, sign, word) = Reach::of(line).marks();
                                tr.(class) {
                                    th scope="row" { (index + 1) }
                                    td.mark title={ (word) ", " (line.hit) " of " (line.ops) " ops" } { (sign) }
                                    td { (text) }
                                }
                            }
                            None => tr { th scope="row" { (index + 1) } td {} td { (text) } },
                        }
                    }
                }
            }
        }
    }
}
