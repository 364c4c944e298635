//! Pairs of option values, as a matrix of cases.
//!
//! Invariant: every pair of values of two different options is here: drawn, not drawn, or in no variant.

use maud::{Markup, html};

use super::drawn::{shaded, shades};
use super::number::counted;
use crate::{KernelReport, Report};

/// A value on an axis, by its name in the report's pairs.
struct Value<'a> {
    axis: usize,
    name: &'a str,
    value: &'a str,
    key: String,
}

/// The matrix, each pair once.
pub(super) fn matrix(report: &Report, kernel: &KernelReport) -> Markup {
    let pairs = &report.summary.hits.option_pairs;
    let values: Vec<Value<'_>> = kernel
        .axes
        .iter()
        .enumerate()
        .flat_map(|(axis, of)| {
            of.values.iter().map(move |value| Value {
                axis,
                name: &of.name,
                value,
                key: format!("{}: {value}", of.name),
            })
        })
        .collect();
    let count = |a: &Value<'_>, b: &Value<'_>| {
        pairs.get(&a.key).and_then(|row| row.get(&b.key)).copied().unwrap_or(0)
    };
    let is_realised = |a: &Value<'_>, b: &Value<'_>| {
        let has = |value: &Value<'_>, variant: &crate::VariantReport| {
            variant.options.get(value.name).is_some_and(|own| own == value.value)
        };
        kernel.variants.iter().any(|variant| has(a, variant) && has(b, variant))
    };
    let all: Vec<(&Value<'_>, &Value<'_>)> = values
        .iter()
        .flat_map(|a| values.iter().filter(move |b| a.axis < b.axis).map(move |b| (a, b)))
        .collect();
    let realised = all.iter().filter(|(a, b)| is_realised(a, b)).count();
    let drawn = all.iter().filter(|(a, b)| count(a, b) > 0).count();
    let last_axis = kernel.axes.len().saturating_sub(1);
    let columns = || values.iter().filter(|value| value.axis > 0);
    html! {
        h3 { "Pairs of options" }
        p {
            (counted(all.len() as u64, "pair", "pairs")) " of values of two options; some variant has " (realised)
            " of them, and " (drawn) " occur in cases."
        }
        (shades("no variant has this pair: 0 cases"))
        div.scroll.tall tabindex="0" {
            table.matrix {
                thead {
                    tr {
                        th scope="col" colspan="2" rowspan="2" { "option" }
                        @for axis in kernel.axes.iter().skip(1) {
                            th.axis scope="colgroup" colspan=(axis.values.len()) { (axis.name) }
                        }
                    }
                    tr { @for column in columns() { th.value scope="col" { span { (column.value) } } } }
                }
                tbody {
                    @for (axis, of) in kernel.axes.iter().enumerate().take(last_axis) {
                        @for (position, row) in values.iter().filter(|value| value.axis == axis).enumerate() {
                            tr {
                                @if position == 0 { th.axis scope="rowgroup" rowspan=(of.values.len()) { (of.name) } }
                                th scope="row" { (row.value) }
                                @for column in columns() {
                                    @if column.axis <= row.axis { td.none {} }
                                    @else if is_realised(row, column) { (shaded(count(row, column))) }
                                    @else { td.never { "–" } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
