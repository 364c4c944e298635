//! The gaps report as one HTML page in the style of the others.
//!
//! Invariant: whatever it quotes is escaped; nothing is loaded, there is no script, wide tables scroll by themselves.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::words::checks_of;
use super::{
    ContractTable, Counts, Gap, GapsReport, RuleRow, Side, SlipRow, SweepReport, by_count, effect_words,
    gap_class, made_of,
};
use crate::html::{Section, findings, grouped, page, strip};

/// Renders `report` as a whole HTML document.
pub fn gaps_to_html(report: &GapsReport) -> String {
    let contract = &report.contract;
    let section = |id, title, body| Section { id, title, body };
    let mut sections = vec![
        section("contract", "The contract, measured", rules(contract)),
        section("gaps", "Gaps", gaps(&report.gaps)),
        section("slips", "Slips", slips(&report.slips, contract.has_checks())),
    ];
    if let Some(sweep) = &report.sweep {
        sections.push(section("static", "The static side, swept", swept(sweep)));
    }
    sections.push(section("probes", "Probes one by one", probes(&contract.rules)));
    let header = html! {
        (strip::patterns())
        p.tool { (report.tool) }
        h1 { "Validation gaps of " (contract.kernel) }
        p.lead {
            "Which inputs may the kernel be given, which of them do its checks refuse, and what happens to the rest? \
             Each rule was probed on both sides of its boundary; every effect below is what the kernel did when it was run."
        }
        (figures(report))
        dl.facts {
            dt { "kernel" } dd { (packages(contract)) }
            dt { "source" } dd { code { (contract.source_sha256) } }
            dt { "batches on" } dd { (contract.variants.len()) " variants" }
            @if contract.has_checks() { dt { "static calls on" } dd { (contract.static_variants.join(", ")) } }
            dt { "made by" } dd { code { (report.command) } }
        }
        p.limits {
            strong { "Never seen from here: " }
            "bugs of the TPU compiler itself, a device's own arithmetic, and timing."
        }
    };
    page(&format!("Validation gaps of {}", contract.kernel), &header, &sections, &html! {})
}

fn packages(contract: &ContractTable) -> String {
    let packages: Vec<String> =
        contract.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
    packages.join(", ")
}

fn figures(report: &GapsReport) -> Markup {
    let rules = &report.contract.rules;
    let silent = rules.iter().filter(|rule| rule.messages.is_empty()).count();
    let tried: u64 = rules.iter().map(|rule| rule.kept.tried + rule.broken.tried).sum();
    let static_gaps = report.sweep.as_ref().map_or(0, |sweep| sweep.gaps.len());
    html! {
        dl.figures {
            div { dt { "rules" } dd { (rules.len()) small { (silent) " of them named by no check" } } }
            div { dt { "calls and batches probed" } dd { (grouped(tried)) } }
            div { dt { "gaps of batches" } dd { (report.gaps.len()) } }
            @if report.sweep.is_some() { div { dt { "gaps of the static side" } dd { (static_gaps) } } }
            div { dt { "slips" } dd { (report.slips.len()) small { (grouped(report.slips.iter().map(|slip| slip.cases).sum())) " batches" } } }
        }
    }
}

fn counts<'a>(counts: &'a Counts, say: impl Fn(&'a str) -> &'a str) -> Markup {
    html! {
        ul.counts {
            @for (word, count) in by_count(counts) { li { span.number { (grouped(count)) } " " (say(word)) } }
        }
    }
}

fn rules(contract: &ContractTable) -> Markup {
    let rules = &contract.rules;
    html! {
        p {
            "Columns two to four count probes just outside the rule. " (checks_of(contract))
            @if contract.has_checks() { " A name in these columns is that of the check that refuses." }
        }
        div.scroll tabindex="0" {
            table.plain.tallies {
                thead {
                    tr {
                        th scope="col" { "rule" } th scope="col" { "static check" } th scope="col" { "dynamic check" }
                        th scope="col" { "effect when broken" } th scope="col" { "gaps" }
                    }
                }
                tbody {
                    @for rule in rules {
                        tr {
                            th scope="row" {
                                code { (rule.id) } " " small { (rule.standing) }
                                span.sentence { (rule.sentence) }
                                @for message in &rule.messages { span.sentence { "Named by “" (message) "”" } }
                            }
                            td { (counts(&rule.broken.r#static, |word| word)) }
                            td { (counts(&rule.broken.dynamic, |word| word)) }
                            td { (counts(&rule.broken.effects, effect_words)) }
                            td { (counts(&rule.gaps, gap_class)) }
                        }
                    }
                }
            }
        }
        h3 { "What the checks do just inside" }
        p { "Rules whose kept side some check refuses, or the kernel gets wrong; for all others the checks accept and the kernel is right." }
        @let odd: Vec<&RuleRow> = rules.iter().filter(|rule| is_odd(&rule.kept)).collect();
        @if odd.is_empty() { p { "None." } } @else {
            div.scroll tabindex="0" {
                table.plain {
                    thead { tr { th scope="col" { "rule" } th scope="col" { "static check" } th scope="col" { "dynamic check" } th scope="col" { "effect" } } }
                    tbody {
                        @for rule in odd {
                            tr {
                                th scope="row" { code { (rule.id) } }
                                td { (counts(&rule.kept.r#static, |word| word)) }
                                td { (counts(&rule.kept.dynamic, |word| word)) }
                                td { (counts(&rule.kept.effects, effect_words)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn is_odd(kept: &Side) -> bool {
    let other = |counts: &Counts, fine: &[&str]| counts.keys().any(|word| !fine.contains(&word.as_str()));
    other(&kept.r#static, &["accepts"])
        || other(&kept.dynamic, &["accepts"])
        || other(&kept.effects, &["right", "lowers", "not asked"])
}

fn gaps(gaps: &[Gap]) -> Markup {
    let mut by_class: BTreeMap<&str, Vec<&Gap>> = BTreeMap::new();
    for gap in gaps {
        by_class.entry(gap_class(&gap.finding.kind)).or_default().push(gap);
    }
    html! {
        p {
            "Each with the smallest batch that shows it: no sequence, no token and no oddity of it can be left out. “Known” means that \
             its cause is explained."
        }
        (findings::legend(false))
        h3 { "By what happens" }
        @for (class, gaps) in by_class {
            h4.kind { (findings::capital(class)) span.count { (gaps.len()) } }
            @for gap in gaps {
                (findings::card_with(&gap.finding, false, html! {
                    @if !gap.attribution.is_empty() {
                        h5 { "Who is hit" }
                        ul { @for sentence in &gap.attribution { li { (sentence) } } }
                    }
                    (kept(gap))
                }))
            }
        }
    }
}

/// Where the case comes from, where it is kept, what explains it.
fn kept(gap: &Gap) -> Markup {
    html! {
        p.note {
            (made_of(gap)) ". "
            @match &gap.regression {
                Some(name) => { "Kept as " code { "corpus/" (name) } },
                None => { strong { "No regression shows it yet" } },
            }
            @if let Some(entry) = &gap.known { ", explained by " code { (entry) } " in " code { "corpus/known.toml" } }
            "."
        }
        @if let (None, Err(why)) = (&gap.finding.repro, &gap.script) { p.note { "No script shows it: " (why) "." } }
    }
}

fn slips(slips: &[SlipRow], has_checks: bool) -> Markup {
    html! {
        p {
            "Mistakes that callers make when they build the metadata, each in many batches."
            @if has_checks { " The static check sees no values and accepts them all." }
        }
        div.scroll tabindex="0" {
            table.plain.tallies {
                thead {
                    tr {
                        th scope="col" { "slip" } th scope="col" { "contract" } th scope="col" { "rules broken" }
                        th scope="col" { "dynamic check" } th scope="col" { "kernel" } th.number scope="col" { "others hit" }
                    }
                }
                tbody {
                    @for slip in slips {
                        tr {
                            th scope="row" { code { (slip.slip) } }
                            td { (slip.keeping) }
                            td { (counts(&slip.rules, |word| word)) }
                            td { (counts(&slip.dynamic, |word| word)) }
                            td { (counts(&slip.effects, effect_words)) }
                            td.number { @if slip.others > 0 { (grouped(slip.others)) " of " (grouped(slip.cases)) } }
                        }
                    }
                }
            }
        }
    }
}

fn swept(sweep: &SweepReport) -> Markup {
    html! {
        p {
            "Every option at its edges, every shape off by one, every element type that the signature doesn't forbid ("
            (super::counts_text(&sweep.singles, str::to_owned)) " edits of " (sweep.variants.join(", ")) "), and "
            (grouped(sweep.pairs)) " pairs of these, of which " (grouped(sweep.explained)) " show what one of the edits shows alone. The real static check was asked first; what it accepts was lowered."
        }
        @if sweep.unasked > 0 { p.warn { (grouped(sweep.unasked)) " calls without an answer." } }
        h3 { "Outcomes" }
        div.scroll tabindex="0" {
            table.plain {
                thead { tr { th scope="col" { "contract" } th scope="col" { "outcome" } } }
                tbody {
                    @for (keeping, outcomes) in &sweep.outcomes {
                        tr { th scope="row" { (keeping) } td { (counts(outcomes, |word| word)) } }
                    }
                }
            }
        }
        h3 { "Gaps" }
        @if sweep.gaps.is_empty() { p { "None." } }
        @for gap in &sweep.gaps {
            (findings::card_with(&gap.finding, false, kept(gap)))
        }
        h3 { "Refusals, and in which words" }
        div.scroll tabindex="0" {
            table.plain {
                thead { tr { th scope="col" { "by" } th.number scope="col" { "calls" } th scope="col" { "first words" } } }
                tbody {
                    @for (by, count, words) in &sweep.words {
                        tr { th scope="row" { code { (by) } } td.number { (grouped(*count)) } td { (words) } }
                    }
                }
            }
        }
    }
}

fn probes(rules: &[RuleRow]) -> Markup {
    html! {
        p { "The words are those of the real checks on the first variant; the effects are over all variants." }
        @for rule in rules {
            details {
                summary { code { (rule.id) } " " small { (rule.probes.len()) " probes" } }
                div.scroll tabindex="0" {
                    table.plain {
                        thead { tr { th scope="col" { "probe" } th scope="col" { "static check" } th scope="col" { "dynamic check" } th scope="col" { "effect" } } }
                        tbody {
                            @for probe in &rule.probes {
                                tr {
                                    th scope="row" { (probe.name) span.sentence { @if probe.kept { "keeps the rule" } @else { "breaks the rule" } } }
                                    td { (probe.r#static) }
                                    td { (probe.dynamic) }
                                    td { (counts(&probe.effects, effect_words)) @if !probe.example.is_empty() { span.sentence { (probe.example) "." } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
