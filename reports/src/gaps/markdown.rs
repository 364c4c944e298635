//! The gaps report as Markdown.
//!
//! Invariant: says nothing that the model does not hold; a table's cells hold no bar and no line break.

use std::fmt::Write;

use super::words::checks_of;
use super::{Counts, Gap, GapsReport, counts_text, effect_words, gap_class, made_of};

/// Renders `report`; ends with a newline.
pub fn gaps_to_markdown(report: &GapsReport) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = render(report, &mut out);
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn plain(counts: &Counts) -> String {
    cell(&counts_text(counts, str::to_owned))
}

fn effects(counts: &Counts) -> String {
    cell(&counts_text(counts, |word| effect_words(word).to_owned()))
}

fn render(report: &GapsReport, out: &mut String) -> std::fmt::Result {
    let contract = &report.contract;
    let packages: Vec<String> =
        contract.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
    writeln!(out, "# Validation gaps of {}\n", contract.kernel)?;
    writeln!(
        out,
        "{}; source {}; made by `{}`.\n",
        packages.join(", "),
        contract.source_sha256,
        report.command
    )?;
    writeln!(
        out,
        "Each rule was probed on both sides of its boundary: batches on {} variants{}. {}",
        contract.variants.len(),
        match contract.has_checks() {
            true => format!(", static calls on {}", contract.static_variants.join(" and ")),
            false => String::new(),
        },
        checks_of(contract)
    )?;

    writeln!(out, "\n## The contract, measured\n")?;
    writeln!(
        out,
        "| rule | standing | static check | dynamic check | effect when broken | gaps |\n|---|---|---|---|---|---|"
    )?;
    for rule in &contract.rules {
        writeln!(
            out,
            "| `{}`: {}{} | {} | {} | {} | {} | {} |",
            rule.id,
            cell(&rule.sentence),
            rule.messages.iter().map(|words| format!(" Named by “{}”", cell(words))).collect::<String>(),
            rule.standing,
            plain(&rule.broken.r#static),
            plain(&rule.broken.dynamic),
            effects(&rule.broken.effects),
            cell(&counts_text(&rule.gaps, |kind| gap_class(kind).to_owned()))
        )?;
    }

    writeln!(
        out,
        "\n## Gaps\n\nEach with the smallest batch that shows it: no sequence, no token and no oddity of it can be left out."
    )?;
    for gap in &report.gaps {
        one(gap, out)?;
    }

    writeln!(out, "\n## Slips\n")?;
    writeln!(
        out,
        "| slip | contract | rules broken | dynamic check | kernel | others hit |\n|---|---|---|---|---|---|"
    )?;
    for slip in &report.slips {
        writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} of {} |",
            slip.slip,
            slip.keeping,
            plain(&slip.rules),
            plain(&slip.dynamic),
            effects(&slip.effects),
            slip.others,
            slip.cases
        )?;
    }

    if let Some(sweep) = &report.sweep {
        writeln!(out, "\n## The static side, swept\n")?;
        writeln!(
            out,
            "{} edits of {} and {} pairs of them, of which {} show what one of the edits shows alone; {} without an answer.\n",
            counts_text(&sweep.singles, str::to_owned),
            sweep.variants.join(", "),
            sweep.pairs,
            sweep.explained,
            sweep.unasked
        )?;
        writeln!(out, "| contract | outcome |\n|---|---|")?;
        for (keeping, outcomes) in &sweep.outcomes {
            writeln!(out, "| {keeping} | {} |", plain(outcomes))?;
        }
        for gap in &sweep.gaps {
            one(gap, out)?;
        }
        writeln!(out, "\n### Refusals, and in which words\n\n| by | calls | first words |\n|---|---|---|")?;
        for (by, count, words) in &sweep.words {
            writeln!(out, "| `{}` | {count} | {} |", cell(by), cell(words))?;
        }
    }
    writeln!(
        out,
        "\n## Limits\n\nNot seen: bugs of the TPU compiler itself and of its layouts, a device's own arithmetic, and timing."
    )
}

fn one(gap: &Gap, out: &mut String) -> std::fmt::Result {
    let finding = &gap.finding;
    writeln!(
        out,
        "\n### {}: {} → {}\n",
        gap_class(&finding.kind),
        finding.locus,
        effect_words(&finding.effect)
    )?;
    writeln!(out, "`{}`\n\n{}\n", finding.signature, finding.detail.trim_end_matches('.').to_owned() + ".")?;
    writeln!(out, "- static check: {}", finding.validators.r#static)?;
    writeln!(out, "- dynamic check: {}", finding.validators.dynamic)?;
    for sentence in &gap.attribution {
        writeln!(out, "- {sentence}")?;
    }
    if let Some(cause) = &finding.cause {
        writeln!(out, "- why: {}", cause.trim().replace('\n', " "))?;
    }
    if let Some(others) = &finding.others {
        writeln!(out, "- {others}")?;
    }
    writeln!(out, "- {}", made_of(gap))?;
    match &gap.regression {
        Some(name) => writeln!(out, "- regression: `corpus/{name}`")?,
        None => writeln!(out, "- no regression shows it yet")?,
    }
    if let Some(entry) = &gap.known {
        writeln!(out, "- explained by `{entry}` in `corpus/known.toml`")?;
    }
    match (&finding.repro, &gap.script) {
        (Some(path), _) => writeln!(out, "- without countersign: `python {path}`")?,
        (None, Err(why)) => writeln!(out, "- no script: {why}")?,
        (None, Ok(_)) => {}
    }
    if let Some(text) = &finding.case_file {
        writeln!(out, "\n```toml\n{}\n```", text.trim_end())?;
    }
    Ok(())
}
