//! The cases of a replay, in order.
//!
//! Invariant: each case is here, with what it breaks, what was said of it, and what it shows.

use maud::html;

use super::Section;
use crate::Report;

/// The section; absent for a campaign, whose cases are too many to list.
pub(super) fn section(report: &Report) -> Option<Section> {
    if report.cases.is_empty() {
        return None;
    }
    let body = html! {
        @for case in &report.cases {
            @let is_met = case.outcome == "met";
            details.finding.(if is_met { "known" } else { "new" }) open[!is_met] {
                summary {
                    span.badge { (case.outcome) }
                    span.what { (case.name) }
                    span.count { (case.keeping) }
                }
                div.body {
                    @if !case.breaches.is_empty() { ul { @for breach in &case.breaches { li { "breaks " (breach) } } } }
                    dl.pairs {
                        dt { "static check" @if !case.validators.asked { " (port)" } } dd { (case.validators.r#static) }
                        dt { "dynamic check" @if !case.validators.asked { " (port)" } } dd { (case.validators.dynamic) }
                        dt { "kernel" } dd { (case.kernel) }
                    }
                    @for signature in &case.shows { p.note { "shows " code { (signature) } } }
                }
            }
        }
    };
    Some(Section { id: "cases", title: "Cases", body })
}
