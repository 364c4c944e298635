//! A night as Markdown.
//!
//! Invariant: says nothing that the model doesn't hold.

use super::{Night, NightTarget};
use crate::html::grouped;

/// Renders `night`; ends with a newline.
pub fn night_to_markdown(night: &Night) -> String {
    let mut out = format!("# {}\n\n{}, night {}, {}", night.verdict(), night.tool, night.number, night.date);
    out += &format!(", {:.0} s, {} worker(s), seed {}", night.seconds, night.jobs, night.seed);
    out += if night.interrupted { ", **interrupted**\n" } else { "\n" };
    if !night.findings.is_empty() {
        out += "\n| finding | | case |\n|---|---|---|\n";
        for each in &night.findings {
            let since =
                if each.new { "**new**".to_owned() } else { format!("since night {}", each.first_night) };
            let signature = each.signature.replace('|', "\\|");
            out += &format!(
                "| `{signature}`: {} | {since} | {} |\n",
                each.detail.replace('|', "\\|"),
                each.file
            );
        }
    }
    out += &format!(
        "\n{} cases replayed, {} expectations no longer met.\n\n",
        grouped(night.replayed),
        night.stale
    );
    out += "| target | cases | a second | known passed over | unsupported | corpus | covered |\n|---|---|---|---|---|---|---|\n";
    for target in &night.targets {
        out += &format!(
            "| {} {} | {} | {:.0} | {} | {} | {} to {} | {} |\n",
            target.kernel,
            target.target,
            grouped(target.cases),
            target.cases_per_second,
            grouped(target.known),
            target.unsupported,
            target.corpus_before,
            target.corpus_after,
            covered(target)
        );
    }
    for (title, lines) in lists(night) {
        if !lines.is_empty() {
            out += &format!("\n## {title}\n\n");
            lines.iter().for_each(|line| out += &format!("- {line}\n"));
        }
    }
    for trend in &night.trends {
        let points: Vec<String> = trend
            .points
            .iter()
            .map(|(night, value)| format!("{night}: {}", super::trend::number(*value)))
            .collect();
        out += &format!("\n{} by night: {}\n", trend.title, points.join(", "));
    }
    out
}

/// `2,478 of 3,303`.
pub(super) fn covered(target: &NightTarget) -> String {
    match target.points {
        Some(points) => format!("{} of {}", grouped(target.covered), grouped(points)),
        None => grouped(target.covered),
    }
}

/// Lists of sentences, each under its title.
pub(super) fn lists(night: &Night) -> [(&'static str, &[String]); 4] {
    [
        ("Known entries that have expired", &night.expired),
        ("What went wrong on the way", &night.troubles),
        ("Worth a look", &night.warnings),
        ("No longer shown, or explained by now", &night.gone),
    ]
}
