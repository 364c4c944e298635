//! A night as a page: what is new first, then what was done, trends last.
//!
//! Invariant: as every page, nothing is loaded and there is no script; whatever is quoted is escaped.

use maud::{Markup, html};

use super::markdown::{covered, lists};
use super::trend::plot;
use super::{Night, NightTarget};
use crate::html::{Section, grouped, page_with_style};

/// Renders `night` as a whole HTML document.
pub fn night_to_html(night: &Night) -> String {
    let state = match night.exit_code {
        0 => "clean",
        1 => "news",
        _ => "incomplete",
    };
    let header = html! {
        p.tool { (night.tool) " · nightly" }
        h1.(state) { (night.verdict()) }
        p.lead {
            "Night " (night.number) ", " (night.date) ": " (format!("{:.0}", night.seconds)) " s, " (night.jobs)
            " worker(s), seed " (night.seed) "."
            @if night.interrupted { " " strong { "Interrupted before its end." } }
            " The cases replayed, findings included, are in " a href="report.html" { "report.html" } "."
        }
        dl.figures {
            div.news[night.news().next().is_some()] { dt { "new findings" } dd { (night.news().count()) } }
            div { dt { "unexplained in all" } dd { (night.findings.len()) } }
            div.news[night.stale > 0] { dt { "expectations no longer met" } dd { (night.stale) small { "of " (grouped(night.replayed)) " cases replayed" } } }
            div { dt { "cases tried" } dd { (grouped(night.targets.iter().map(|target| target.cases).sum())) } }
            div.news[!night.troubles.is_empty()] { dt { "troubles on the way" } dd { (night.troubles.len()) } }
        }
    };
    let mut sections = vec![
        Section { id: "findings", title: "Findings that nothing explains", body: findings(night) },
        Section { id: "targets", title: "What was searched", body: targets(&night.targets) },
    ];
    let ids = ["expired", "troubles", "warnings", "gone"];
    for (id, (title, lines)) in ids.into_iter().zip(lists(night)) {
        let body = if lines.is_empty() {
            html! {}
        } else {
            html! { ul { @for line in lines { li { (line) } } } }
        };
        sections.push(Section { id, title, body });
    }
    let plots = html! {
        @if !night.trends.is_empty() { div.columns { @for trend in &night.trends { (plot(trend)) } } }
    };
    sections.push(Section { id: "trends", title: "Over the nights", body: plots });
    let footer = html! { footer { p { (night.tool) ", night report of version " (night.version) "." } } };
    let title = format!("{} · {}", night.verdict(), night.tool);
    page_with_style(&title, include_str!("night.css"), &header, &sections, &footer)
}

fn findings(night: &Night) -> Markup {
    if night.findings.is_empty() {
        return html! {};
    }
    html! {
        div.scroll tabindex="0" {
            table.plain.stacked {
                thead {
                    tr {
                        @for title in ["signature", "since", "what happened", "case"] { th scope="col" { (title) } }
                    }
                }
                tbody {
                    @for each in &night.findings {
                        tr {
                            td { code { (each.signature) } }
                            td data-title="since" { @if each.new { strong { "new" } } @else { "night " (each.first_night) } }
                            td { (each.detail) @if let Some(how) = &each.minimised { br; small { (how) } } }
                            td { code { (each.file) } }
                        }
                    }
                }
            }
        }
    }
}

fn targets(targets: &[NightTarget]) -> Markup {
    let titles = ["cases", "a second", "known, passed over", "unsupported", "corpus", "covered"];
    let figures = |target: &NightTarget| {
        titles.into_iter().zip([
            grouped(target.cases),
            grouped(target.cases_per_second.round() as u64),
            grouped(target.known),
            grouped(target.unsupported),
            format!("{} → {}", grouped(target.corpus_before), grouped(target.corpus_after)),
            covered(target),
        ])
    };
    html! {
        div.scroll tabindex="0" {
            table.plain.wide.stacked {
                thead {
                    tr {
                        th scope="col" { "kernel" }
                        th scope="col" { "target" }
                        @for title in titles { th.number scope="col" { (title) } }
                    }
                }
                tbody {
                    @for target in targets {
                        tr {
                            td { strong { (target.kernel) } }
                            td { (target.target) }
                            @for (title, figure) in figures(target) { td.number data-title=(title) { (figure) } }
                        }
                    }
                }
            }
        }
    }
}
