//! A compile matrix as one HTML page: the matrix, what was refused, and a picture of the borders.
//!
//! Invariant: a function of the report alone; nothing is loaded, no script runs. No cell is told by its colour alone.

use maud::{Markup, html};

use super::{CompileReport, CompileVerdict, CompiledCell, CompiledRow, size};
use crate::html::{Section, page};

/// Renders `report` as a whole HTML document.
pub fn compiled_to_html(report: &CompileReport) -> String {
    let section = |id, title, body| Section { id, title, body };
    let mut sections = Vec::new();
    if !report.variants.is_empty() {
        sections.push(section("matrix", "Variants by generation", matrix(report)));
        sections.push(section("refusals", "What was refused", refusals(report)));
    }
    if !report.borders.is_empty() {
        sections.push(section("borders", "Where it stops compiling", borders(&report.borders)));
    }
    let header = html! {
        p.tool { (report.tool) }
        h1 { "What the TPU compiler makes of " (report.kernel) }
        p.lead {
            "Compiled ahead of time with " (report.compiler) ", on a machine without a TPU. Nothing was run: that a kernel compiles "
            "says nothing about what it computes, nor how fast."
        }
        p.note { @for (name, version) in &report.packages { (name) " " (version) " " } }
    };
    page(&format!("countersign compile: {}", report.kernel), &header, &sections, &html! {})
}

/// A sign besides the colour.
const fn sign(verdict: CompileVerdict) -> &'static str {
    match verdict {
        CompileVerdict::Compiles => "✓",
        CompileVerdict::RefusedByCheck => "check",
        CompileVerdict::DoesNotLower => "lowering",
        CompileVerdict::TooLarge => "too large",
        CompileVerdict::RefusedByCompiler => "refused",
        CompileVerdict::TimedOut => "time",
        CompileVerdict::Failed => "died",
    }
}

/// Variants by generation, each with the size of its code.
pub(crate) fn matrix(report: &CompileReport) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table.plain {
                thead { tr { th scope="col" { "variant" } @for name in &report.generations { th.number scope="col" { (name) } } } }
                tbody {
                    @for row in &report.variants {
                        tr {
                            th scope="row" { code { (row.name) } }
                            @for cell in &row.cells {
                                td.number.warn[cell.verdict != CompileVerdict::Compiles] title=(cell.words()) {
                                    @match cell.code_bytes {
                                        Some(bytes) => { (size(bytes)) },
                                        None => { (sign(cell.verdict)) },
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        p.note { "A size is that of the code." }
    }
}

/// What doesn't compile, in whose words.
pub(crate) fn refusals(report: &CompileReport) -> Markup {
    let refused: Vec<(&str, &CompiledCell)> =
        report.cells().filter(|(_, cell)| cell.verdict != CompileVerdict::Compiles).collect();
    html! {
        @if refused.is_empty() { p { "Nothing." } }
        dl.facts {
            @for (name, cell) in refused {
                dt { code { (name) } " on " (cell.label) }
                dd {
                    (cell.words())
                    @match &cell.cause {
                        Some(cause) => { p.note { "Known: " (cause) } },
                        None if cell.is_news() => { p.warn { "New: the kernel's check accepts it." } },
                        None => {},
                    }
                }
            }
        }
    }
}

/// Each axis as a strip of boxes, a value a box.
fn borders(rows: &[CompiledRow]) -> Markup {
    const LEFT: usize = 330;
    const BOX: usize = 66;
    const LINE: usize = 30;
    let widest = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let (width, height) = (LEFT + widest * BOX, rows.len() * LINE);
    let fill = |verdict: CompileVerdict| match verdict {
        CompileVerdict::Compiles => "var(--s2)",
        CompileVerdict::RefusedByCheck | CompileVerdict::DoesNotLower => "var(--pad)",
        CompileVerdict::TooLarge => "var(--s5)",
        CompileVerdict::RefusedByCompiler => "var(--s3)",
        CompileVerdict::TimedOut | CompileVerdict::Failed => "var(--s1)",
    };
    html! {
        p { "Each row changes one option and leaves the others; hold the pointer over a box for the compiler's words." }
        div.scroll tabindex="0" {
            svg viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="img"
                aria-label="Which values of each option compile; the table below says the same" {
                @for (line, row) in rows.iter().enumerate() {
                    text x="0" y=(line * LINE + 19) fill="var(--ink)" font-size="13" { (row.name) }
                    @for (place, cell) in row.cells.iter().enumerate() {
                        g {
                            title { (format!("{} {}: {}", row.name, cell.label, cell.words())) }
                            rect x=(LEFT + place * BOX) y=(line * LINE + 2) width=(BOX - 3) height=(LINE - 5)
                                fill=(fill(cell.verdict)) {}
                            text x=(LEFT + place * BOX + BOX / 2 - 2) y=(line * LINE + 19) text-anchor="middle" fill="var(--ink)"
                                font-size="12" {
                                (cell.label) @if cell.verdict != CompileVerdict::Compiles { " ✗" }
                            }
                        }
                    }
                }
            }
        }
        div.scroll tabindex="0" {
            table.plain {
                thead { tr { th scope="col" { "option" } th scope="col" { "compiles" } th scope="col" { "does not" } } }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { (row.name) }
                            td { (labels(row, true)) }
                            td {
                                @for cell in row.cells.iter().filter(|cell| cell.verdict != CompileVerdict::Compiles) {
                                    div { code { (cell.label) } " " (cell.words()) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn labels(row: &CompiledRow, compiles: bool) -> String {
    let mine = row.cells.iter().filter(|cell| (cell.verdict == CompileVerdict::Compiles) == compiles);
    mine.map(|cell| cell.label.as_str()).collect::<Vec<_>>().join(", ")
}
