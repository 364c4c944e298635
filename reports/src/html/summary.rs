//! The first screen: the verdict, what was tested, how much, and what can't be seen from here.
//!
//! Invariant: says what the exit code says; what makes a run worth less (unpinned, unasked, interrupted) stands here too.

use maud::{Markup, html};

use super::number::{counted, grouped, percent};
use crate::{KernelReport, Place, Report, Summary};

/// The document's title.
pub(super) fn title(report: &Report) -> String {
    format!("{} · {}", verdict(report), report.tool)
}

fn verdict(report: &Report) -> String {
    let summary = &report.summary;
    let kernels: Vec<&str> = report.kernels.iter().map(|kernel| kernel.id.as_str()).collect();
    let of = if kernels.is_empty() { String::new() } else { format!(" in {}", kernels.join(", ")) };
    match report.exit_code {
        2 => "No verdict: countersign itself failed".to_owned(),
        1 if summary.findings_new == 0 => format!(
            "{}{of}",
            counted(summary.findings_stale, "expectation no longer met", "expectations no longer met")
        ),
        1 => format!("{}{of}", counted(summary.findings_new, "new finding", "new findings")),
        3 => format!("Incomplete: nothing new so far{of}"),
        _ => format!("Nothing new{of}"),
    }
}

/// Verdict, figures, facts and limits.
pub(super) fn header(report: &Report) -> Markup {
    let state = match report.exit_code {
        0 => "clean",
        1 => "news",
        _ => "incomplete",
    };
    html! {
        p.tool { (report.tool) " · " (report.command) }
        h1.(state) { (verdict(report)) }
        p.lead {
            (counted(report.summary.cases, "ragged batch", "ragged batches")) " were put to the kernel and to a reference \
             in f64. Every output row that has a defined value was compared under an error bound derived from the arithmetic."
        }
        (figures(report))
        @for kernel in &report.kernels { (facts(report, kernel)) }
        @if report.kernels.is_empty() { dl.facts { (run(report)) } }
        p.limits {
            strong { "Not seen from here: " }
            "bugs of the TPU compiler itself and of its layouts; a device's arithmetic beyond what the bound's profile says; timing."
        }
        (words())
    }
}

fn figures(report: &Report) -> Markup {
    let summary = &report.summary;
    let lines = || report.kernels.iter().flat_map(|kernel| &kernel.coverage.lines);
    let reached = lines().filter(|line| line.hit > 0).count() as u64;
    let new = summary.findings_new;
    html! {
        dl.figures {
            div.news[new > 0] { dt { "new findings" } dd { (grouped(new)) } }
            div { dt { "known findings" } dd { (grouped(summary.findings_known)) small { "each with its cause" } } }
            @if report.command == "replay" {
                div.news[summary.findings_stale > 0] {
                    dt { "expectations no longer met" } dd { (grouped(summary.findings_stale)) }
                }
            }
            div {
                dt { "cases" }
                dd {
                    (grouped(summary.cases))
                    small {
                        "kept " (percent(summary.kept, summary.cases)) ", disputed " (percent(summary.disputed, summary.cases))
                        ", broken " (percent(summary.broken, summary.cases))
                    }
                }
            }
            div {
                dt { "largest r, of at most 1" }
                dd {
                    (format!("{:.4}", summary.largest_r))
                    @if let Some(at) = &summary.largest_r_at { small { (place(at)) } }
                }
            }
            @if lines().next().is_some() {
                div {
                    dt { "kernel lines reached" }
                    dd { (grouped(reached)) " of " (grouped(lines().count() as u64)) }
                }
            }
            div {
                dt { "rows of kept batches compared" }
                dd { (share(summary.kept_rows_compared_share)) }
            }
        }
        (doubts(summary))
    }
}

/// What makes a run worth less; all of it, also where it is nothing.
fn doubts(summary: &Summary) -> Markup {
    let doubts = [
        ("unsupported", summary.unsupported, "cases that the machine could not execute"),
        ("unasked", summary.unasked, "findings about which the real validator could not be asked"),
        (
            "faults of our own",
            summary.internal_errors,
            "panics, findings that did not repeat, ports that differ",
        ),
    ];
    html! {
        ul.doubts {
            @for (name, count, meaning) in doubts {
                li.some[count > 0] { strong { (grouped(count)) } " " (name) span.note { ": " (meaning) } }
            }
            li.some[summary.interrupted] {
                @if summary.interrupted {
                    strong { "interrupted" } span.note { ": what was found until then is here" }
                } @else {
                    "not interrupted"
                }
            }
        }
    }
}

fn facts(report: &Report, kernel: &KernelReport) -> Markup {
    let failed: Vec<_> = kernel
        .variants
        .iter()
        .filter_map(|variant| Some((&variant.name, variant.failure.as_ref()?)))
        .collect();
    html! {
        dl.facts {
            dt { "kernel" }
            dd {
                strong { (kernel.id) }
                @for (name, version) in &kernel.packages { " · " (name) " " (version) }
                @if kernel.unpinned {
                    " · " strong.warn { "unpinned" } ": the user's own environment, as it was"
                } @else {
                    " · pinned"
                }
            }
            dt { "source" }
            dd { "sha256 " code { (kernel.source_hash) } }
            (run(report))
            @for (name, failure) in failed { dt { "not run" } dd { (name) ": " (failure) } }
            @for variant in &kernel.variants {
                @for warning in &variant.warnings { dt { "may not compile" } dd { (variant.name) ": " (warning) } }
            }
        }
    }
}

fn run(report: &Report) -> Markup {
    let timing = &report.timing;
    html! {
        @if let Some(campaign) = &report.campaign {
            dt { "drawn" }
            dd {
                "seed " (campaign.seed) ", over " (counted(campaign.variants.len() as u64, "variant", "variants"))
                @if let Some(only) = &campaign.only { ", only " (only) " batches" }
            }
        }
        @if let Some(profile) = &report.profile {
            dt { "profile" }
            dd { (profile) span.note { ": how the machine computes, and what the bound allows for" } }
        }
        dt { "run" }
        dd {
            (format!("{:.1} s, {:.0} cases/s on ", timing.seconds, timing.cases_per_second))
            (counted(timing.jobs as u64, "thread", "threads"))
        }
    }
}

/// What the page's words mean, for a reader who has never seen the tool.
fn words() -> Markup {
    html! {
        details.words {
            summary { "The words on this page" }
            dl {
                dt { "kept, disputed, broken" }
                dd {
                    "How a batch stands to the contract between caller and kernel: it keeps every rule; it breaks only rules that \
                     upstream itself contradicts; it breaks a rule that upstream states or that every correct caller keeps."
                }
                dt { "new, known" }
                dd {
                    "A finding is known where an entry of a known file explains it on this batch, with its cause; else it is new."
                }
                dt { "static check, dynamic check" }
                dd { "The kernel's own validators: of shapes and options, and of the values of the metadata." }
                dt { "r" }
                dd { "Error of an output element, divided by the largest error that a right kernel can make. Above 1 is wrong." }
                dt { "fault" }
                dd {
                    "What no output shows: a read of memory that the batch doesn't own, a race of copies, a wait that never ends, \
                     a copy that nobody waits for."
                }
            }
        }
    }
}

/// `case 12, f32-q4-kv4, token 3, head 1, lane 5`.
pub(super) fn place(place: &Place) -> String {
    let Place { variant, case, token, head, lane } = place;
    format!("case {}, {variant}, token {token}, head {head}, lane {lane}", grouped(*case))
}

fn share(share: f64) -> String {
    if share >= 1.0 { "100 %".to_owned() } else { format!("{:.2} %", (share * 10_000.0).floor() / 100.0) }
}
