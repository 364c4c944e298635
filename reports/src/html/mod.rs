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
mod drawn;
pub(crate) mod findings;
mod number;
mod pairs;
mod picture;
mod source;
mod spread;
mod stack;
pub(crate) mod strip;
mod summary;
mod tallies;

pub(crate) use number::grouped;

use maud::{DOCTYPE, Markup, PreEscaped, html};

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
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (summary::title(report)) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                (strip::patterns())
                header { (summary::header(report)) }
                nav aria-label="Sections" {
                    @for section in &sections { a href={ "#" (section.id) } { (section.title) } }
                }
                main {
                    @for section in &sections {
                        section id=(section.id) aria-labelledby={ (section.id) "-title" } {
                            h2 id={ (section.id) "-title" } { (section.title) }
                            (section.body)
                        }
                    }
                }
                footer { p { (report.tool) ", report of schema version " (report.schema_version) "." } }
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

/// A section of the page, under a heading of level 2.
struct Section {
    /// Anchor.
    id: &'static str,
    /// Heading.
    title: &'static str,
    /// What stands under it.
    body: Markup,
}
