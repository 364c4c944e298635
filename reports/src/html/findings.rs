//! A card per finding: which input is wrong, what the kernel does with it, what the validators say, how to see it again.
//!
//! Invariant: every finding of the report is here; new ones first and open, known ones folded and grouped by their kind.

use maud::{Markup, html};

use super::number::counted;
use super::{Section, picture, stack};
use crate::markdown::made_smaller;
use crate::{FaultReport, FindingReport, FindingStatus, Report, SourceText, effect_words};

/// The section; absent where there is no finding and no fault of ours.
pub(crate) fn section(report: &Report) -> Option<Section> {
    if report.findings.is_empty() && report.internal_errors.is_empty() {
        return None;
    }
    let about = About {
        sources: report.kernels.iter().filter_map(|kernel| kernel.source.as_ref()).collect(),
        profile: report.profile.as_deref(),
        numbered: true,
    };
    let of = |status| -> Vec<&FindingReport> {
        report.findings.iter().filter(|finding| finding.status == status).collect()
    };
    let known = of(FindingStatus::Known);
    let body = html! {
        @if !report.internal_errors.is_empty() {
            h3 { "Faults of countersign itself" }
            ul {
                @for error in &report.internal_errors {
                    li { "case " (error.case) ": " (error.kind) ": " (error.message) }
                }
            }
        }
        @if !report.findings.is_empty() { (legend(known.len() < report.findings.len())) }
        @for (title, findings) in [
            ("New", of(FindingStatus::New)),
            ("Fixed, and here again", of(FindingStatus::Returned)),
        ] {
            @if !findings.is_empty() {
                h3 { (title) }
                @for (title, same) in kinds(&findings) {
                    h4.kind { (capital(title)) (many(&same)) }
                    @for finding in same { (card(finding, true, &about)) }
                }
            }
        }
        @if !known.is_empty() {
            h3 { "Known" }
            p.note {
                "Each of these is explained by an entry of a known file, which holds only on batches that meet its condition. \
                 Open a line to see batch, cause and place."
            }
            @for (title, same) in kinds(&known) {
                details.group {
                    summary { h4 { (capital(title)) } (many(&same)) }
                    @for finding in same { (card(finding, false, &about)) }
                }
            }
        }
    };
    Some(Section { id: "findings", title: "Findings", body })
}

fn many(findings: &[&FindingReport]) -> Markup {
    html! { span.count { (counted(findings.len() as u64, "finding", "findings")) } }
}

/// Findings by title: those about correct batches first, then the most frequent.
fn kinds<'a>(findings: &[&'a FindingReport]) -> Vec<(&'a str, Vec<&'a FindingReport>)> {
    let mut kinds: Vec<(&str, Vec<&FindingReport>)> = Vec::new();
    for finding in findings {
        match kinds.iter_mut().find(|(title, _)| *title == finding.title) {
            Some((_, same)) => same.push(finding),
            None => kinds.push((&finding.title, vec![finding])),
        }
    }
    for (_, same) in &mut kinds {
        same.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.signature.cmp(&b.signature)));
    }
    kinds.sort_by_key(|(_, same)| {
        let about_validator = same.iter().all(|finding| finding.kind.starts_with("gap:"));
        (about_validator, std::cmp::Reverse(same.iter().map(|finding| finding.count).sum::<u64>()))
    });
    kinds
}

/// What cards need of the report besides their finding.
struct About<'a> {
    /// Texts of the kernels' sources.
    sources: Vec<&'a SourceText>,
    /// The device profile.
    profile: Option<&'a str>,
    /// Whether a finding's case has a number in a run.
    numbered: bool,
}

fn card(finding: &FindingReport, open: bool, about: &About<'_>) -> Markup {
    card_of(finding, open, about, &html! {})
}

/// A card outside a run's report, with `more` under what the kernel does.
pub(crate) fn card_with(finding: &FindingReport, open: bool, more: Markup) -> Markup {
    card_of(finding, open, &About { sources: Vec::new(), profile: None, numbered: false }, &more)
}

fn card_of(finding: &FindingReport, open: bool, about: &About<'_>, more: &Markup) -> Markup {
    let (status, class) = match finding.status {
        FindingStatus::New => ("new", "new"),
        FindingStatus::Returned => ("back", "new"),
        FindingStatus::Known => ("known", "known"),
    };
    let place = if finding.locus == "-" { &finding.kind } else { &finding.locus };
    html! {
        details.finding.(class) open[open] {
            summary {
                span.badge { (status) }
                span.what {
                    (place) span.arrow { " → " } (effect(&finding.effect))
                    @if finding.options != "-" { span.options { "with " (finding.options.replace('+', ", ")) } }
                }
                span.count { (counted(finding.count, "case", "cases")) }
            }
            div.body {
                (input(finding))
                @if let Some(batch) = &finding.batch { (picture::batch(batch, finding)) }
                (conduct(finding, &about.sources))
                (more)
                (validators(finding))
                @if let Some(cause) = &finding.cause {
                    h5 { "Why" }
                    p { (cause.trim()) @if let Some(link) = &finding.link { " " (reference(link)) } }
                }
                (again(finding, about))
            }
        }
    }
}

/// Which rules the batch breaks.
fn input(finding: &FindingReport) -> Markup {
    let breaches = finding.batch.as_ref().map(|batch| batch.breaches.as_slice()).unwrap_or_default();
    html! {
        h5 { "The input" }
        @match (&finding.batch, breaches) {
            (None, _) => p { (finding.detail) },
            (Some(_), []) => p { "The batch keeps every rule of the contract." },
            (Some(_), _) => ul.breaches {
                @for (position, breach) in breaches.iter().enumerate() {
                    li {
                        @if position == 0 || breaches[position - 1].rule != breach.rule {
                            strong { "Breaks " code { (breach.rule) } } " (" (breach.standing) "): “" (breach.sentence) "”"
                            br;
                        }
                        "Here " (breach.detail) "."
                    }
                }
            },
        }
    }
}

fn conduct(finding: &FindingReport, sources: &[&SourceText]) -> Markup {
    html! {
        h5 { "The kernel" }
        @match (&finding.fault, &finding.kernel) {
            (Some(fault), _) => {
                p {
                    "Faults: " strong { (effect(&fault.class)) } " at " code { (fault.op) }
                    @if !fault.grid.is_empty() { ", grid point " (format!("{:?}", fault.grid)) }
                    ". " (capital(&fault.message)) "."
                    @if let Some(place) = &fault.place { " It is " (place) "." }
                }
                (stack::stack(&fault.stack, sources))
                @if !fault.other.is_empty() {
                    p { (fault.other_role.as_deref().map_or("The other side".to_owned(), capital)) ":" }
                    (stack::stack(&fault.other, sources))
                }
                (values(fault))
            }
            (None, Some(kernel)) => p { (kernel) "." },
            (None, None) => p { (finding.detail) ". The case did not show this again when it was run once more." },
        }
        @if let Some(others) = &finding.others { p { (others) "." } }
        @if let Some(third) = &finding.third { p { strong { "Third opinion: " } (third) "." } }
        @if let Some(suspects) = &finding.suspects { p { (suspects) "." } }
    }
}

/// What the values mean that led to the fault, and the values themselves.
fn values(fault: &FaultReport) -> Markup {
    html! {
        @if !fault.meaning.is_empty() {
            ul { @for sentence in &fault.meaning { li { (capital(sentence)) "." } } }
        }
        @if !fault.path.is_empty() {
            details {
                summary { "The values that led there, from the fault back" }
                div.scroll tabindex="0" { pre { @for line in &fault.path { (line) "\n" } } }
            }
        }
    }
}

fn validators(finding: &FindingReport) -> Markup {
    let words = &finding.validators;
    html! {
        h5 { "The validators" @if !words.asked { " (our port; the real ones could not be asked)" } }
        dl.pairs {
            dt { "static check" } dd { (words.r#static) }
            dt { "dynamic check" } dd { (words.dynamic) }
        }
    }
}

fn again(finding: &FindingReport, about: &About<'_>) -> Markup {
    // `exact` is what a replay uses unless it is told otherwise.
    let option = match about.profile {
        None => String::new(),
        Some(profile) if profile.split('@').next() == Some("exact") => String::new(),
        Some(profile) => format!(" --profile {profile}"),
    };
    html! {
        h5 { "See it again" }
        @if let Some(file) = &finding.file {
            @let trace = if finding.fault.is_some() { " --trace" } else { "" };
            pre.commands tabindex="0" { "countersign replay " (file) (option) "\ncountersign show " (file) (trace) }
            @if let Some(repro) = &finding.repro {
                p { "Without countersign, with jax and numpy alone:" }
                pre.commands tabindex="0" { "python " (repro) }
            }
            p.note { "From the run's folder. First seen in case " (finding.case) ", shown on " (finding.variant) ", signature " code { (finding.signature) } "." }
            @if let Some(minimised) = &finding.minimised {
                p.note { "The case was " (made_smaller(minimised)) "." }
            }
        } @else {
            p.note {
                @if about.numbered { "Case " (finding.case) " on " } @else { "On " }
                (finding.variant) ", signature " code { (finding.signature) } "."
            }
            @if let Some(repro) = &finding.repro {
                p { "Without countersign, with jax and numpy alone:" }
                pre.commands tabindex="0" { "python " (repro) }
            }
        }
        @if let Some(text) = &finding.case_file {
            details.case {
                summary { "The case as text" }
                p.note { "Without the run's folder: save this as " code { "case.toml" } " and run " code { "countersign replay case.toml" (option) } "." }
                pre.scroll tabindex="0" { (text) }
            }
        }
    }
}

/// What the marks in the pictures mean.
pub(crate) fn legend(open: bool) -> Markup {
    html! {
        details.words open[open] {
            summary { "How to read the pictures" }
            ul.legend {
                li { span.swatch.s0 { "0" } " a sequence: its rows of q (or of the output), and its row of the page table, in one colour under one number" }
                li { span.swatch.pad {} " rows past the last token: padding" }
                li { span.cell.bad { "7" sup { "!" } } " the entry that breaks the rule" }
                li { span.pg style="--f:60%" { "4" } " physical page 4 of the cache: the plain part holds the sequence's tokens, the hatched part lies past kv_len" }
                li { span.pg.un { "9" } " an entry of the page table that kv_len does not use: anything may stand there" }
                li { span.wrongs { "✗ 3 wrong rows" } " rows of the output that leave their error bound or come from undefined memory" }
                li { span.past-note { "past num_seqs" } " entries that no sequence of the batch uses: anything may stand there" }
            }
        }
    }
}

/// An effect or fault class in words that need no explanation.
pub(super) fn effect(name: &str) -> &str {
    effect_words(name)
}

/// A link is followed only to the web; else it is text.
fn reference(link: &str) -> Markup {
    html! {
        @if link.starts_with("https://") || link.starts_with("http://") {
            a href=(link) rel="noreferrer" { (link) }
        } @else {
            (link)
        }
    }
}

pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
