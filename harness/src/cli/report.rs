//! `countersign report`: a run's report in another form, from its JSON alone.

use std::fs;
use std::path::PathBuf;

use clap::ValueEnum;
use countersign_reports::{Report, from_json, to_html, to_json, to_junit, to_markdown, to_sarif};

use super::console::{Failure, print};

const EXAMPLES: &str = "\
Examples:
  countersign report countersign --output report.html
  countersign report countersign --format md
  countersign report countersign --format sarif --output countersign.sarif
  countersign report nightly/report.json --format json";

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A run's folder, or its report.json.
    run: PathBuf,
    /// The form.
    #[arg(long, value_enum, default_value = "html")]
    format: Format,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// `--format`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// One page with everything in it, to read and to forward.
    Html,
    /// As the schema in `reports/schema` says, for machines.
    Json,
    /// For a comment or a terminal.
    Md,
    /// A list of tests, for CI systems: a replayed case each, or a finding each.
    Junit,
    /// Findings at the kernel's lines, for code hosts.
    Sarif,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let path = if arguments.run.is_dir() { arguments.run.join("report.json") } else { arguments.run.clone() };
    let text = fs::read_to_string(&path).map_err(|error| Failure::file(&path, error))?;
    let report = from_json(&text).map_err(|error| {
        Failure::new(
            format!("{}: {error}", path.display()),
            "give a run's folder, or the report.json that this version of countersign wrote there",
        )
    })?;
    let text = render(&report, arguments.format)?;
    match &arguments.output {
        Some(file) => fs::write(file, text).map_err(|error| Failure::file(file, error))?,
        None => print(&text)?,
    }
    Ok(0)
}

pub(super) fn render(report: &Report, format: Format) -> Result<String, Failure> {
    let ours = |error: &dyn std::fmt::Display| Failure::new(error.to_string(), "please report this");
    match format {
        Format::Html => Ok(to_html(report)),
        Format::Json => to_json(report).map_err(|error| ours(&error)),
        Format::Md => Ok(to_markdown(report)),
        Format::Junit => to_junit(report).map_err(|error| ours(&error)),
        Format::Sarif => to_sarif(report).map_err(|error| ours(&error)),
    }
}
