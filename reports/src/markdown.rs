//! The report as Markdown: what to look at first, first.
//!
//! Invariant: says nothing that the model does not hold.

use std::fmt::Write;

use crate::{FindingReport, FindingStatus, MinimisedReport, Report, Tally};

/// Renders `report`; ends with a newline.
pub fn to_markdown(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = render(report, &mut out);
    out
}

fn render(report: &Report, out: &mut String) -> std::fmt::Result {
    let summary = &report.summary;
    writeln!(out, "# {}: {}\n", report.tool, report.command)?;
    writeln!(out, "{}\n", headline(report))?;

    writeln!(out, "| | |\n|---|---|")?;
    if let Some(campaign) = &report.campaign {
        writeln!(out, "| seed | {} |", campaign.seed)?;
    }
    writeln!(
        out,
        "| cases | {} (kept {}, disputed {}, broken {}) |",
        summary.cases, summary.kept, summary.disputed, summary.broken
    )?;
    writeln!(out, "| new findings | {} |", summary.findings_new)?;
    writeln!(out, "| known findings | {} |", summary.findings_known)?;
    if report.command == "replay" {
        writeln!(out, "| stale | {} |", summary.findings_stale)?;
    }
    writeln!(out, "| unsupported, unasked | {}, {} |", summary.unsupported, summary.unasked)?;
    writeln!(out, "| faults of our own | {} |", summary.internal_errors)?;
    writeln!(out, "| largest r (error over bound) outside findings | {:.4} |", summary.largest_r)?;
    writeln!(
        out,
        "| rows of kept batches compared to a value | {:.2} % |",
        100.0 * summary.kept_rows_compared_share
    )?;
    writeln!(
        out,
        "| time | {:.1} s, {:.0} cases/s |",
        report.timing.seconds, report.timing.cases_per_second
    )?;

    for kernel in &report.kernels {
        let packages: Vec<String> =
            kernel.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let pinned = if kernel.unpinned { ", **unpinned**" } else { "" };
        writeln!(
            out,
            "\n## Kernel {}\n\n{}{pinned}; source {}",
            kernel.id,
            packages.join(", "),
            kernel.source_hash
        )?;
        if !kernel.coverage.variants.is_empty() {
            writeln!(out, "\n| variant | cases | coverage of the IR |\n|---|---|---|")?;
            for (variant, (hit, points)) in &kernel.coverage.variants {
                let cases = summary.hits.variant.get(variant).copied().unwrap_or(0);
                writeln!(out, "| {variant} | {cases} | {hit} of {points} |")?;
            }
        }
        let lines = &kernel.coverage.lines;
        if !lines.is_empty() {
            let reached = lines.iter().filter(|line| line.hit > 0).count();
            writeln!(out, "\nLines of the kernel's source reached: {reached} of {}.", lines.len())?;
            let missed: Vec<String> = lines
                .iter()
                .filter(|line| line.hit == 0)
                .map(|line| format!("{}:{}", line.file, line.line))
                .collect();
            if !missed.is_empty() {
                writeln!(out, "Not reached: {}.", missed.join(", "))?;
            }
        }
    }

    for (title, status) in [
        ("New findings", FindingStatus::New),
        ("Findings that were fixed and came back", FindingStatus::Returned),
        ("Known findings", FindingStatus::Known),
    ] {
        let findings: Vec<&FindingReport> =
            report.findings.iter().filter(|finding| finding.status == status).collect();
        if !findings.is_empty() {
            writeln!(out, "\n## {title}")?;
        }
        for found in findings {
            finding(found, out)?;
        }
    }

    if !report.internal_errors.is_empty() {
        writeln!(out, "\n## Faults of our own\n")?;
        for error in &report.internal_errors {
            writeln!(out, "- case {}: {}: {}", error.case, error.kind, error.message)?;
        }
    }

    tallies("Rules: what became of the batches that break them", report.rules.iter(), out)?;
    tallies("Slips", report.slips.iter(), out)?;

    let hits = &summary.hits;
    for (title, classes) in [
        ("Boundary classes", &hits.boundary),
        ("Slips drawn", &hits.slip),
        ("Payload patterns", &hits.pattern),
    ] {
        if !classes.is_empty() {
            writeln!(out, "\n## {title}\n\n| class | hits |\n|---|---|")?;
        }
        for (class, count) in classes {
            writeln!(out, "| {class} | {count} |")?;
        }
    }

    if !report.cases.is_empty() {
        writeln!(out, "\n## Cases")?;
    }
    for case in &report.cases {
        writeln!(out, "\n### {}: {}\n", case.name, case.outcome)?;
        writeln!(out, "- batch: {}", case.keeping)?;
        for breach in &case.breaches {
            writeln!(out, "- breaks {breach}")?;
        }
        let asked = if case.validators.asked { "" } else { " (port)" };
        writeln!(out, "- static check{asked}: {}", case.validators.r#static)?;
        writeln!(out, "- dynamic check{asked}: {}", case.validators.dynamic)?;
        writeln!(out, "- in production: {}", case.kernel)?;
        for signature in &case.shows {
            writeln!(out, "- shows `{signature}`")?;
        }
    }

    writeln!(
        out,
        "\n## Limits\n\nNot seen: bugs of the TPU compiler itself and of its layouts, a device's arithmetic beyond the stated \
         profile, and timing."
    )
}

fn headline(report: &Report) -> String {
    match report.exit_code {
        0 => "Clean: nothing that isn't known.".to_owned(),
        1 => "**New or stale findings: see below.**".to_owned(),
        2 => "**The harness itself failed: see the faults of our own.**".to_owned(),
        _ => "**Incomplete: interrupted, or something could not be asked or run.**".to_owned(),
    }
}

/// From what a case was made, and how far that got.
pub(crate) fn made_smaller(minimised: &MinimisedReport) -> String {
    let MinimisedReport { original, before, after, executions, complete } = minimised;
    let end = if *complete { "" } else { ", and not to the end" };
    format!("made smaller, from {before} to {after}, in {executions} executions{end}; as found: {original}")
}

fn finding(finding: &FindingReport, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n### {}\n\n`{}`\n\n{}\n", finding.title, finding.signature, finding.detail)?;
    writeln!(
        out,
        "- seen in {} case(s), first in case {}; shown on {}",
        finding.count, finding.case, finding.variant
    )?;
    let asked = if finding.validators.asked { "" } else { " (port; the real one wasn't asked)" };
    writeln!(out, "- static check{asked}: {}", finding.validators.r#static)?;
    writeln!(out, "- dynamic check{asked}: {}", finding.validators.dynamic)?;
    if let Some(others) = &finding.others {
        writeln!(out, "- {others}")?;
    }
    if let Some(third) = &finding.third {
        writeln!(out, "- third opinion: {third}")?;
    }
    if let Some(suspects) = &finding.suspects {
        writeln!(out, "- {suspects}")?;
    }
    if let Some(cause) = &finding.cause {
        writeln!(out, "- cause: {}", cause.trim().replace('\n', " "))?;
    }
    if let Some(link) = &finding.link {
        writeln!(out, "- see {link}")?;
    }
    if let Some(file) = &finding.file {
        writeln!(out, "- replay with `countersign replay {file}` from this folder")?;
    }
    if let Some(repro) = &finding.repro {
        writeln!(out, "- without countersign: `python {repro}`")?;
    }
    if let Some(minimised) = &finding.minimised {
        writeln!(out, "- {}", made_smaller(minimised))?;
    }
    if let Some(fault) = finding.fault.as_ref().filter(|fault| !fault.stack.is_empty()) {
        writeln!(out, "\n```")?;
        for frame in &fault.stack {
            writeln!(out, "{frame}")?;
        }
        if !fault.path.is_empty() {
            writeln!(out, "\nthe values that led there, from the fault back")?;
        }
        for line in &fault.path {
            writeln!(out, "  {line}")?;
        }
        writeln!(out, "```")?;
    }
    Ok(())
}

fn tallies<'a>(
    title: &str,
    rows: impl ExactSizeIterator<Item = (&'a String, &'a Tally)>,
    out: &mut String,
) -> std::fmt::Result {
    if rows.len() > 0 {
        writeln!(
            out,
            "\n## {title}\n\n| | standing | cases | alone | kernel | validators |\n|---|---|---|---|---|---|"
        )?;
    }
    for (name, tally) in rows {
        let join = |map: &std::collections::BTreeMap<String, u64>| {
            map.iter().map(|(word, count)| format!("{word}: {count}")).collect::<Vec<_>>().join("; ")
        };
        writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} |",
            tally.standing,
            tally.cases,
            tally.alone,
            join(&tally.kernel),
            join(&tally.validators)
        )?;
    }
    Ok(())
}
