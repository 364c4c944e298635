//! Rules and slips: what the validators say and what the kernel does, over all cases that break the rule or make the slip.
//!
//! Invariant: counts are those of the report; a rule's are over batches that break it and nothing else.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::Section;
use super::findings::effect;
use super::number::grouped;
use crate::{Report, Tally};

/// The section; absent where nothing was counted (a replay).
pub(super) fn section(report: &Report) -> Option<Section> {
    if report.rules.is_empty() && report.slips.is_empty() {
        return None;
    }
    let body = html! {
        @if !report.rules.is_empty() {
            h3 { "Rules of the contract" }
            p {
                "A row for each rule that some batch broke. The last two columns count batches that broke this rule and no other; \
                 a batch that the static check refuses never reaches the kernel."
            }
            (table(&report.rules, "rule"))
        }
        @if !report.slips.is_empty() {
            h3 { "Slips" }
            p { "Mistakes that a caller makes when it builds the metadata; one may break several rules." }
            (table(&report.slips, "slip"))
        }
    };
    Some(Section { id: "rules", title: "Rules and slips", body })
}

fn table(tallies: &BTreeMap<String, Tally>, what: &str) -> Markup {
    let rules = what == "rule";
    html! {
        div.scroll tabindex="0" {
            table.plain.tallies {
                thead {
                    tr {
                        th scope="col" { (what) }
                        @if rules { th scope="col" { "standing" } }
                        th.number scope="col" { "cases" }
                        @if rules { th.number scope="col" { "alone" } }
                        th scope="col" { "validators" }
                        th scope="col" { "kernel" }
                    }
                }
                tbody {
                    @for (name, tally) in tallies {
                        tr {
                            th scope="row" {
                                code { (name) }
                                @if !tally.sentence.is_empty() { span.sentence { (tally.sentence) } }
                            }
                            @if rules { td { (tally.standing) } }
                            td.number { (grouped(tally.cases)) }
                            @if rules { td.number { (grouped(tally.alone)) } }
                            td { (counts(&tally.validators, |word| word)) }
                            td { (counts(&tally.kernel, effect)) }
                        }
                    }
                }
            }
        }
    }
}

/// Words with their counts, most first.
fn counts(counts: &BTreeMap<String, u64>, say: impl Fn(&str) -> &str) -> Markup {
    let mut sorted: Vec<(&str, u64)> = counts.iter().map(|(word, count)| (word.as_str(), *count)).collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    html! {
        ul.counts {
            @for (word, count) in sorted { li { span.number { (grouped(count)) } " " (say(word)) } }
        }
    }
}
