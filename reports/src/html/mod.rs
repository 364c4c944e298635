//! The report as one HTML page that can be forwarded: style and pictures inline, nothing loaded, no script.
//!
//! ```text
//! page ─ summary ─ findings ─┬─ picture ─ strip (a batch)
//!                            └─ stack
//!      ─ tallies (rules, slips) ─ drawn (heat map, pairs, classes) ─ source (coverage) ─ spread (r) ─ cases
//! ```
//!
//! Invariant: a function of the report alone, byte for byte. Whatever a report quotes is escaped. Colour is never the only
//! sign of anything.

mod cases;
pub(crate) mod drawn;
pub(crate) mod findings;
mod number;
mod page;
mod pairs;
mod picture;
mod source;
pub(crate) mod spread;
mod stack;
pub(crate) mod strip;
mod summary;
mod tallies;

pub(crate) use number::grouped;
pub(crate) use page::{Section, page, page_with_style};

use maud::html;

use crate::Report;

/// Renders `report` as a whole HTML document.
pub fn to_html(report: &Report) -> String {
    let sections: Vec<Section> = [
        findings::section(report),
        cases::section(report),
        tallies::section(report),
        drawn::section(report),
        source::section(report),
        spread::section(report),
    ]
    .into_iter()
    .flatten()
    .collect();
    let footer =
        html! { footer { p { (report.tool) ", report of schema version " (report.schema_version) "." } } };
    let header = html! { (strip::patterns()) (summary::header(report)) };
    page(&summary::title(report), &header, &sections, &footer)
}
