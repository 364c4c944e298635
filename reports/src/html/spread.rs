//! How r is distributed, a histogram for each pair of element types.
//!
//! Invariant: bars are counts of the report; the line at r = 1 stands between the last count within the bound and the first
//! beyond.

use maud::{Markup, html};

use super::number::grouped;
use super::{Section, summary};
use crate::{R_BINS, R_UNIT, RDistribution, Report};

/// Width of a bar with its gap.
const STEP: usize = 24;
/// Height of the highest bar.
const HEIGHT: f64 = 110.0;
/// Where bars stand.
const BASE: f64 = 140.0;

/// The section; absent where no row was compared.
pub(crate) fn section(report: &Report) -> Option<Section> {
    let r = &report.summary.r;
    if r.is_empty() {
        return None;
    }
    let body = html! {
        p {
            "For each output row of a kept batch its largest r: the error of an element over the largest error that a right \
             kernel can make. A row with r above 1 is wrong. Bars are counts on a logarithmic scale, powers of two apart."
        }
        div.columns {
            @for (dtypes, distribution) in r { (histogram(dtypes, distribution)) }
        }
    };
    Some(Section { id: "spread", title: "How close the answers are", body })
}

fn histogram(dtypes: &str, distribution: &RDistribution) -> Markup {
    let most = distribution.rows.iter().max().copied().unwrap_or(0);
    let beyond: u64 = distribution.rows.iter().skip(R_UNIT + 1).sum();
    let all: u64 = distribution.rows.iter().sum();
    let edge = (R_UNIT + 1) * STEP + 1;
    html! {
        figure.histogram {
            figcaption {
                strong { "q, kv: " (dtypes) }
                ". " (grouped(all)) " rows, "
                @if beyond == 0 { "none above 1" } @else { strong { (grouped(beyond)) " above 1" } }
                ". Largest within the bound " (format!("{:.4}", distribution.largest))
                @if let Some(at) = &distribution.largest_at { " at " (summary::place(at)) }
                "."
            }
            div.scroll tabindex="0" {
                svg.spread viewBox={ "0 0 " (R_BINS * STEP) " 165" } role="img"
                    aria-label={ "Histogram of r for " (dtypes) ": " (described(distribution)) } {
                    @for (bin, &count) in distribution.rows.iter().enumerate() {
                        @if count > 0 {
                            @let height = bar(count, most);
                            rect class=(if bin > R_UNIT { "over" } else { "within" }) x=(bin * STEP + 3) width=(STEP - 4)
                                y=(BASE - height) height=(height) {
                                title { (grouped(count)) " rows with r " (range(bin)) }
                            }
                            text.small text-anchor="middle" x=(bin * STEP + STEP / 2 + 1) y=(BASE - height - 4.0) { (short(count)) }
                        }
                    }
                    line.axis x1="0" x2=(R_BINS * STEP) y1=(BASE) y2=(BASE) {}
                    line.unit x1=(edge) x2=(edge) y1="2" y2=(BASE + 6.0) {}
                    text.small text-anchor="end" x=(edge - 4) y="11" { "right" }
                    text.small x=(edge + 4) y="11" { "wrong" }
                    @for (bin, text) in [(0, "0"), (R_UNIT - 15, "1/32,768"), (R_UNIT - 10, "1/1,024"), (R_UNIT - 5, "1/32"), (R_UNIT, "1"), (R_UNIT + 3, "8")] {
                        @let x = if bin == 0 { STEP / 2 } else { (bin + 1) * STEP + 1 };
                        text.small text-anchor="middle" x=(x) y=(BASE + 17.0) { (text) }
                    }
                }
            }
        }
    }
}

/// Logarithmic, with something to see for a single row.
fn bar(count: u64, most: u64) -> f64 {
    let log = |count: u64| (count as f64 + 1.0).log2();
    (HEIGHT * log(count) / log(most.max(1))).round().max(2.0)
}

/// What a count is of.
fn range(bin: usize) -> String {
    let edge = |bin: usize| {
        let exponent = bin as i64 - R_UNIT as i64;
        if exponent < 0 { format!("1/{}", 1u64 << -exponent) } else { (1u64 << exponent).to_string() }
    };
    match bin {
        0 => "exactly 0".to_owned(),
        1 => format!("up to {}", edge(1)),
        bin if bin == R_BINS - 1 => format!("above {}", edge(bin - 1)),
        bin => format!("above {} and up to {}", edge(bin - 1), edge(bin)),
    }
}

/// At most four characters: `870`, `12k`, `3M`.
fn short(count: u64) -> String {
    match count {
        0..=999 => count.to_string(),
        1000..=999_999 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}

fn described(distribution: &RDistribution) -> String {
    let counted = distribution.rows.iter().enumerate().filter(|(_, count)| **count > 0);
    counted.map(|(bin, count)| format!("{count} rows {}", range(bin))).collect::<Vec<_>>().join(", ")
}
