//! What was generated: boundary classes by option, pairs of options, slips, patterns, variants.
//!
//! Invariant: what exists and was never drawn stands there as 0, and what can't exist as a dash.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::number::{grouped, level};
use super::{Section, pairs};
use crate::{KernelReport, Report};

/// The section; absent where nothing was drawn (a replay).
pub(crate) fn section(report: &Report) -> Option<Section> {
    report.campaign.as_ref()?;
    let hits = &report.summary.hits;
    let body = html! {
        @for kernel in &report.kernels {
            (heat(report, kernel))
            (pairs::matrix(report, kernel))
            (variants(report, kernel))
        }
        div.columns {
            (list("Metadata slips", &hits.slip))
            (list("Payload patterns", &hits.pattern))
        }
    };
    Some(Section { id: "drawn", title: "What was drawn", body })
}

/// A shaded count.
pub(super) fn shaded(count: u64) -> Markup {
    html! {
        @if count == 0 { td.zero { "0" } } @else { td class={ "h" (level(count)) } { (grouped(count)) } }
    }
}

/// What the shades and marks of a matrix mean.
pub(super) fn shades(dash: &str) -> Markup {
    html! {
        p.shades {
            "Cases: "
            @for (count, text) in [(1, "1–9"), (10, "10–99"), (100, "100–999"), (1000, "1,000–9,999"), (10_000, "10,000 and more")] {
                span class={ "shade h" (level(count)) } { (text) } " "
            }
            span.shade.zero { "0" } " possible, never drawn "
            span.shade.never { "–" } " " (dash)
        }
    }
}

fn heat(report: &Report, kernel: &KernelReport) -> Markup {
    let classes = &report.summary.hits.boundary_by_variant;
    let columns: Vec<(&str, Vec<Column<'_>>)> =
        kernel.axes.iter().map(|axis| (axis.name.as_str(), Column::of(axis, kernel))).collect();
    let all: BTreeMap<&str, u64> =
        classes.iter().map(|(class, cells)| (class.as_str(), cells.values().sum())).collect();
    let missed: Vec<&str> = all.iter().filter(|(_, count)| **count == 0).map(|(class, _)| *class).collect();
    html! {
        h3 { "Boundary classes by option" }
        p {
            "Where lengths meet pages, blocks, limits and each other. A case counts once in each of its classes, in every column \
             of its variant. "
            @if missed.is_empty() {
                "Each of the " (classes.len()) " classes was met, the rarest "
                (all.values().min().copied().map(grouped).unwrap_or_default()) " times."
            } @else {
                "Never met: " strong { (missed.join(", ")) } "."
            }
        }
        (shades("no valid batch of these variants can be of the class"))
        div.scroll.tall tabindex="0" {
            table.matrix {
                thead {
                    tr {
                        th scope="col" rowspan="2" { "class" }
                        th.all scope="col" rowspan="2" { "all" }
                        @for (axis, columns) in &columns {
                            @if !columns.is_empty() { th.axis scope="colgroup" colspan=(columns.len()) { (axis) } }
                        }
                    }
                    tr {
                        @for (_, columns) in &columns {
                            @for column in columns { th.value scope="col" { span { (column.value) } } }
                        }
                    }
                }
                tbody {
                    @for (class, cells) in classes {
                        tr {
                            th scope="row" { (class) }
                            (shaded(cells.values().sum()))
                            @for column in columns.iter().flat_map(|(_, columns)| columns) {
                                @match column.sum(cells) {
                                    None => td.never { "–" },
                                    Some(count) => (shaded(count)),
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A value of an option that some variant has.
struct Column<'a> {
    value: &'a str,
    variants: Vec<&'a str>,
}

impl<'a> Column<'a> {
    fn of(axis: &'a crate::OptionAxis, kernel: &'a KernelReport) -> Vec<Column<'a>> {
        let column = |value: &'a String| {
            let has = |variant: &&crate::VariantReport| variant.options.get(&axis.name) == Some(value);
            let variants: Vec<&str> =
                kernel.variants.iter().filter(has).map(|variant| variant.name.as_str()).collect();
            (!variants.is_empty()).then_some(Column { value, variants })
        };
        axis.values.iter().filter_map(column).collect()
    }

    /// The cases of a class on its variants; nothing where none of them can be of the class.
    fn sum(&self, cells: &BTreeMap<String, u64>) -> Option<u64> {
        let counts = self.variants.iter().filter_map(|variant| cells.get(*variant));
        counts.copied().reduce(|sum, count| sum + count)
    }
}

fn variants(report: &Report, kernel: &KernelReport) -> Markup {
    html! {
        h3 { "Variants" }
        div.scroll tabindex="0" {
            table.plain.wide {
                thead {
                    tr {
                        th scope="col" { "variant" } th.number scope="col" { "cases" } th.number scope="col" { "IR points reached" }
                        @for axis in &kernel.axes { th scope="col" { (axis.name) } }
                    }
                }
                tbody {
                    @for variant in &kernel.variants {
                        tr {
                            th scope="row" { (variant.name) }
                            td.number { (grouped(report.summary.hits.variant.get(&variant.name).copied().unwrap_or(0))) }
                            @match (&variant.failure, kernel.coverage.variants.get(&variant.name)) {
                                (Some(_), _) => td.number { strong { "not run" } },
                                (None, Some((hit, points))) => td.number { (hit) " of " (points) },
                                (None, None) => td {},
                            }
                            @for axis in &kernel.axes {
                                td { (variant.options.get(&axis.name).map_or("", String::as_str)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Classes with their counts, as bars.
fn list(title: &str, counts: &BTreeMap<String, u64>) -> Markup {
    let most = counts.values().max().copied().unwrap_or(0).max(1);
    html! {
        @if !counts.is_empty() {
            div {
                h3 { (title) }
                table.bars {
                    @for (name, count) in counts {
                        tr.zero[*count == 0] {
                            th scope="row" { (name) }
                            td.number { (grouped(*count)) }
                            td.bar aria-hidden="true" { span style={ "width:" (count * 100 / most) "%" } {} }
                        }
                    }
                }
            }
        }
    }
}
