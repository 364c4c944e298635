//! A sign-off as one page: verdict, claims, waivers, findings, what was tested, the annotated source, how close answers are, mutants.
//!
//! Invariant: a function of the document alone; nothing is loaded, there is no script, whatever is quoted is escaped.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::annotated;
use super::{Claim, MutantReport, MutationReport, Signoff, Standing, Verdict, Waiver};
use crate::compiled::{matrix, refusals};
use crate::html::{Section, drawn, findings, grouped, page, spread, strip};
use crate::night::plot;
use crate::{CompileReport, FindingReport, Report, Trend};

/// Renders `signoff` as a whole HTML document.
pub fn signoff_to_html(signoff: &Signoff) -> String {
    let campaign = &signoff.campaign.report;
    let mut sections = vec![
        Section { id: "claims", title: "Claims", body: claims(&signoff.claims) },
        Section { id: "waivers", title: "Waivers", body: waivers(&signoff.waivers) },
    ];
    sections.extend(findings::section(&found(signoff)));
    sections.extend(drawn::section(campaign));
    let body = annotated::listings(signoff);
    sections.push(Section { id: "source", title: "The kernel's source, annotated", body });
    sections.extend(spread::section(campaign));
    if let Some(mutation) = &signoff.mutation {
        sections.push(Section { id: "mutants", title: "Mutants", body: mutants(mutation) });
    }
    if let Some(report) = &signoff.compiled {
        sections.push(Section {
            id: "compiled",
            title: "What the TPU compiler makes of it",
            body: compiled(report),
        });
    }
    if !signoff.timing.trends.is_empty() {
        let body = trends(&signoff.timing.trends);
        sections.push(Section { id: "trends", title: "Over the nights", body });
    }
    sections.push(Section { id: "controls", title: "Controls and relations", body: controls(signoff) });
    sections.push(Section { id: "inputs", title: "What was signed", body: inputs(signoff) });
    let title = format!("{}: {}", signoff.kernel, signoff.sentence());
    let footer = html! { footer { p { (signoff.tool) ", sign-off of version " (signoff.version) "." } } };
    page(&title, &header(signoff), &sections, &footer)
}

fn header(signoff: &Signoff) -> Markup {
    let (met, all) = (of(signoff, Standing::Met), signoff.claims.len());
    let refused = signoff.verdict == Verdict::Refused;
    html! {
        (strip::patterns())
        p.tool { (signoff.tool) " · sign-off" }
        h1.news[refused] { (signoff.kernel) ": " (signoff.sentence()) }
        p.lead {
            "Lowered with " (signoff.lowered_with()) ". Signed on " (signoff.timing.date) ", seed " (signoff.seed) "."
            @if signoff.unpinned { " " strong { "Unpinned: it comes from the user's own environment or file." } }
            @if let Some(mutant) = &signoff.mutant { " " strong.warn { "A fault was put into this kernel on purpose: " (mutant) "." } }
        }
        dl.figures {
            div.news[refused] { dt { "claims met" } dd { (met) small { "of " (all) ", " (of(signoff, Standing::NotMeasured)) " not measured" } } }
            div { dt { "waivers" } dd { (signoff.waivers.len()) } }
            div { dt { "generated batches" } dd { (grouped(signoff.campaign.report.summary.cases)) } }
            div { dt { "regressions" } dd { (signoff.regressions.report.cases.len()) } }
            @if let Some(mutation) = &signoff.mutation {
                div { dt { "mutation score" } dd { (format!("{:.3}", mutation.score)) small { (mutation.killed) " of " (mutation.killed + mutation.survived + mutation.not_run) } } }
            }
        }
        p.limits { strong { "Never seen from here: " } (signoff.not_seen.join("; ")) "." }
    }
}

fn of(signoff: &Signoff, standing: Standing) -> usize {
    signoff.claims.iter().filter(|claim| claim.standing == standing).count()
}

fn claims(claims: &[Claim]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="The claims as a table" {
            table.plain.claims {
                thead { tr { th scope="col" { "claim" } th scope="col" { "standing" } th scope="col" { "asked for" } th scope="col" { "measured" } } }
                tbody {
                    @for claim in claims {
                        @let (class, sign) = match claim.standing { Standing::Met => ("hit", "✓"), Standing::Failed => ("miss", "✗"), Standing::NotMeasured => ("part", "–") };
                        tr {
                            th scope="row" {
                                strong { (claim.id) } span.sentence { (claim.sentence) }
                            }
                            td.standing { span.mark.(class) aria-hidden="true" { (sign) } " " (claim.standing.name()) }
                            td { (claim.required) }
                            td {
                                (claim.measured)
                                @if !claim.details.is_empty() {
                                    details open[claim.standing == Standing::Failed] {
                                        summary { (claim.details.len()) @if claim.details.len() == 1 { " remark" } @else { " remarks" } }
                                        ul { @for detail in &claim.details { li { (detail) } } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn waivers(waivers: &[Waiver]) -> Markup {
    html! {
        @if !waivers.is_empty() {
            p {
                "Each is a finding that is open upstream and explained in a known file. It holds only on batches that meet its \
                 condition, and no longer than to its day."
            }
            @for waiver in waivers {
                details.finding.known {
                    summary {
                        span.badge { "waived" }
                        span.what { (waiver.signature) }
                        span.count { "until " (waiver.expires) }
                    }
                    div.body {
                        dl.pairs {
                            dt { "where" } dd { code { (waiver.when) } }
                            dt { "why" } dd { (waiver.reason) }
                            dt { "shown by" } dd { (waiver.shown_by()) }
                            @if let Some(link) = &waiver.link { dt { "link" } dd { (link) } }
                        }
                    }
                }
            }
        }
    }
}

/// What the corpus and the campaign show, as one report.
fn found(signoff: &Signoff) -> Report {
    let (corpus, campaign) = (&signoff.regressions.report, &signoff.campaign.report);
    // A case of the corpus has a name and no number in a run.
    let named = |finding: &FindingReport| {
        let case = corpus.cases.get(finding.case as usize);
        FindingReport { file: case.map(|case| format!("corpus/{}", case.name)), ..finding.clone() }
    };
    let findings = corpus.findings.iter().map(named).chain(campaign.findings.iter().cloned()).collect();
    let errors = corpus.internal_errors.iter().chain(&campaign.internal_errors).cloned().collect();
    Report {
        findings,
        internal_errors: errors,
        kernels: campaign.kernels.clone(),
        cases: Vec::new(),
        ..campaign.clone()
    }
}

fn mutants(mutation: &MutationReport) -> Markup {
    let mut by: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    for mutant in &mutation.mutants {
        let fates = ["killed", "survived", "equivalent", "not run"];
        let at = fates.iter().position(|fate| *fate == mutant.fate).unwrap_or(3);
        by.entry(&mutant.operator).or_default()[at] += 1;
    }
    let open: Vec<&MutantReport> = mutation
        .mutants
        .iter()
        .filter(|mutant| ["survived", "not run"].contains(&mutant.fate.as_str()))
        .collect();
    html! {
        p {
            "A mutant is the kernel with one small fault in its IR, run on up to " (grouped(mutation.cases)) " kept batches until something \
             new is found. " strong { "Score " (format!("{:.3}", mutation.score)) } ": " (mutation.killed) " killed, " (mutation.survived)
            " survived, " (mutation.not_run) " not run; " (mutation.equivalent) " more are equivalent ("
            (format!("{:.3}", mutation.score_with_equivalents)) " with these against us). The kernel itself was called wrong "
            (mutation.false_alarms.len()) " times in " (grouped(mutation.controls)) " kept batches."
        }
        div.scroll tabindex="0" role="region" aria-label="Mutants by operator" {
            table.plain {
                thead { tr { th scope="col" { "operator" } @for fate in ["killed", "survived", "equivalent", "not run"] { th.number scope="col" { (fate) } } } }
                tbody { @for (operator, counts) in by { tr { th scope="row" { (operator) } @for count in counts { td.number { (count) } } } } }
            }
        }
        h3 { "Left over" }
        @if open.is_empty() { p { "None." } } @else {
            ul {
                @for mutant in open {
                    li {
                        (annotated::told(mutant))
                        @if let (Some(file), Some(line)) = (&mutant.file, mutant.line) { ", " (file) ":" (line) }
                        @if let Some(why) = &mutant.why { ": " (why) }
                    }
                }
            }
        }
    }
}

fn compiled(report: &CompileReport) -> Markup {
    html! {
        p { "Compiled ahead of time with " (report.compiler) ", on a machine without a TPU; nothing was run." }
        (matrix(report))
        h3 { "What was refused" }
        (refusals(report))
    }
}

fn trends(trends: &[Trend]) -> Markup {
    html! {
        p.note { "From the history of `countersign nightly` on the machine that this was made on; no claim rests on it." }
        div.columns { @for trend in trends { (plot(trend)) } }
    }
}

fn controls(signoff: &Signoff) -> Markup {
    let controls = &signoff.controls;
    let profiles: Vec<&String> =
        controls.largest_r.values().next().map(|row| row.keys().collect()).unwrap_or_default();
    html! {
        p {
            (grouped(controls.cases)) " batches that must be right, of every variant, payload pattern and device profile: "
            (controls.alarms.len()) " were called wrong. Largest error, as a part of its bound:"
        }
        div.scroll tabindex="0" role="region" aria-label="Largest error over bound" {
            table.plain {
                thead { tr { th scope="col" { "q/cache" } @for profile in &profiles { th.number scope="col" { (profile) } } } }
                tbody { @for (types, row) in &controls.largest_r { tr { th scope="row" { (types) } @for r in row.values() { td.number { (r) } } } } }
            }
        }
        @if let Some(relations) = &signoff.relations {
            h3 { "Relations" }
            div.scroll tabindex="0" role="region" aria-label="The relations as a table" {
                table.plain {
                    thead { tr { th scope="col" { "relation" } th scope="col" { "holds" } th.number scope="col" { "held" } th.number scope="col" { "failed" } th.number scope="col" { "doesn't apply" } } }
                    tbody {
                        @for one in &relations.relations {
                            tr { th scope="row" { (one.relation) } td { (one.exactness) } td.number { (grouped(one.held)) } td.number { (one.failures.len()) } td.number { (grouped(one.not_applicable)) } }
                        }
                    }
                }
            }
            p.note { "Not asked, since they need another module: " (relations.not_asked.join(", ")) "." }
        }
    }
}

fn inputs(signoff: &Signoff) -> Markup {
    html! {
        p { "SHA-256 of everything that the evidence was made from, and of the evidence itself. " code { "countersign signoff verify signoff.json" } " computes them again and replays the evidence." }
        @for (title, hashes) in [("Inputs", &signoff.inputs), ("Evidence", &signoff.hashes)] {
            details open[title == "Evidence"] {
                summary { (title) ", " (hashes.len()) }
                div.scroll tabindex="0" role="region" aria-label=(title) {
                    table.plain { tbody { @for (name, hash) in hashes { tr { th scope="row" { (name) } td { code { (hash) } } } } } }
                }
            }
        }
        details {
            summary { "The policy" }
            pre.scroll tabindex="0" { (signoff.policy) }
        }
    }
}
