//! `countersign compare`: two releases of a kernel on the same cases.
//!
//! Invariant: exits with 1 where the second shows a finding that the first doesn't, 3 where a case couldn't be run by both.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{KernelEntry, Tier, kernel_name};
use countersign_reports::{FindingChange, ReleasesReport, releases_to_html, releases_to_json};

use super::console::{Failure, print};
use super::fuzz::{cores, watch_interrupts};
use super::table::{self, row};
use super::{PythonArgument, items, session};
use crate::campaign;
use crate::releases::{self, Plan, Shared};

const EXAMPLES: &str = "\
Examples:
  countersign compare jax-rpa@0.7.2 jax-rpa@0.10.2
  countersign compare jax-rpa@0.6.0 jax-rpa --cases 5000 --html compared.html";

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A kernel, e.g. jax-rpa@0.7.2; `jax-rpa@0.10.2` is jax-rpa itself.
    first: String,
    /// The kernel to compare it with, of the same family.
    second: String,
    /// Generated cases, the same for both; the regressions of the corpus come besides.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,
    /// Seed of the cases.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Also write it as a page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue(&arguments.python)?;
    let kernels = [&arguments.first, &arguments.second].map(|id| session::kernel(&catalogue, id));
    let [first, second] = kernels;
    let kernels = [first?, second?];
    if kernels[0].family != kernels[1].family {
        return Err(Failure::new(
            "the two are of different families",
            "compare kernels that take the same batches",
        ));
    }
    let drawn = common(kernels);
    if drawn.is_empty() {
        return Err(Failure::new(
            "the two have no variant in common",
            "variants are compared by their names",
        ));
    }
    let mut variants = drawn.clone();
    let mut regressions = Vec::new();
    for item in items::read("builtin".as_ref(), &catalogue)? {
        let is_ours = kernels.iter().any(|kernel| kernel_name(&kernel.id) == item.file.case.kernel);
        if !item.name.starts_with("regressions/") || !is_ours || item.file.case.statics.is_some() {
            continue;
        }
        let position =
            variants.iter().position(|variant| variant.same_call(&item.variant)).unwrap_or_else(|| {
                variants.push(item.variant.clone());
                variants.len() - 1
            });
        regressions.push(Shared { name: item.name.clone(), position, case: item.file.case });
    }
    let load = |kernel: &KernelEntry| {
        let environment = session::environment(arguments.python.python.clone(), kernel)?;
        session::load(&environment, kernel, variants.clone())
    };
    let loaded = [load(kernels[0])?, load(kernels[1])?];
    let interrupted = watch_interrupts()?;
    let plan = Plan {
        seed: arguments.seed,
        cases: arguments.cases,
        drawn: drawn.len(),
        regressions: &regressions,
        jobs: arguments.jobs.map_or_else(cores, usize::from),
    };
    let mut report =
        releases::compare([&loaded[0], &loaded[1]], &plan, &|| !interrupted.load(Ordering::Relaxed));
    for side in 0..2 {
        let has = |variant: &Variant| kernels[side].variants(Tier::Small).any(|own| own.name == variant.name);
        let lacks = kernels[1 - side].variants(Tier::Small).filter(|variant| !has(variant));
        report.sides[side].lacks = lacks.map(|variant| variant.name.clone()).collect();
    }
    if let Some(path) = &arguments.html {
        campaign::write_whole(path, releases_to_html(&report).as_bytes())
            .map_err(|error| Failure::file(path, error))?;
    }
    if arguments.json {
        let json = releases_to_json(&report)
            .map_err(|error| Failure::new(error.to_string(), "please report this"))?;
        print(&json)?;
    } else {
        print(&describe(&report))?;
    }
    Ok(match (report.shown_by_one(1).next(), report.unsupported) {
        (Some(_), _) => 1,
        (None, 1..) => 3,
        (None, 0) if interrupted.load(Ordering::Relaxed) => 3,
        (None, 0) => 0,
    })
}

/// Small variants that both have, under one name and with the same call.
fn common(kernels: [&KernelEntry; 2]) -> Vec<Variant> {
    let has = |variant: &&Variant| {
        kernels[1].variants(Tier::Small).any(|other| other.name == variant.name && other.same_call(variant))
    };
    kernels[0].variants(Tier::Small).filter(has).cloned().collect()
}

fn describe(report: &ReleasesReport) -> String {
    let [first, second] = &report.sides;
    let mut text = format!(
        "{} and {}: {} generated cases of seed {} and {} regressions, {} variants; {} cases that one of them can't run\n",
        first.kernel,
        second.kernel,
        report.generated,
        report.seed,
        report.regressions,
        report.variants.len(),
        report.unsupported
    );
    for side in &report.sides {
        if !side.lacks.is_empty() {
            text +=
                &format!("{} lacks {} variants: {}\n", side.kernel, side.lacks.len(), side.lacks.join(", "));
        }
        for (variant, why) in &side.failures {
            text += &format!("{} can't run {variant}: {why}\n", side.kernel);
        }
    }
    text += &match &report.source {
        None => "source: one of them isn't on disk as it was lowered\n".to_owned(),
        Some(lines) if lines.is_empty() => "source: the same text\n".to_owned(),
        Some(lines) => {
            let count = |sign: char| lines.iter().filter(|line| line.starts_with(sign)).count();
            let removed_added = format!("{} lines less, {} more\n", count('-'), count('+'));
            let shown: String = lines.iter().take(12).map(|line| format!("  {line}\n")).collect();
            format!("source: {removed_added}{shown}") + if lines.len() > 12 { "  …\n" } else { "" }
        }
    };
    let of = |(hit, all): (u64, u64)| format!("{hit} of {all}");
    let mut rows = vec![
        row!["", first.kernel, second.kernel],
        row!["ops", report.ops[0], report.ops[1]],
        row!["coverage points hit", of(report.points[0]), of(report.points[1])],
        row!["lines reached", of(report.lines[0]), of(report.lines[1])],
    ];
    rows.extend(report.op_changes.iter().map(|(op, [a, b])| row![op, a, b]));
    let largest = |side: usize| report.errors.values().map(|r| r[side]).fold(0.0, f64::max);
    rows.push(row!["largest error / bound", format!("{:.4}", largest(0)), format!("{:.4}", largest(1))]);
    text += &table::render(&rows);
    let drift = report.errors.iter().max_by(|a, b| drift(a.1).total_cmp(&drift(b.1)));
    if let Some((variant, [a, b])) = drift {
        text += &format!("largest drift of that: {a:.4} to {b:.4}, {variant}\n");
    }
    text += &format!(
        "{} cases are not treated alike; {} findings are shown by equally many cases of both\n",
        report.changed, report.findings_alike
    );
    let gained: Vec<&FindingChange> = report.shown_by_one(1).collect();
    let lost: Vec<&FindingChange> = report.shown_by_one(0).collect();
    for (what, changes) in [("gained", gained), ("lost", lost)] {
        text += &format!("{what}: {}\n", changes.len());
        for FindingChange { signature, cases, first, .. } in changes {
            let first = first.as_deref().unwrap_or("-");
            text += &format!("  {signature} ({} cases, the first {first})\n", cases[0] + cases[1]);
        }
    }
    for FindingChange { signature, cases: [a, b], .. } in
        report.findings.iter().filter(|change| change.cases.iter().all(|&cases| cases > 0))
    {
        text += &format!("other counts: {signature}: {a} and {b} cases\n");
    }
    text + "Nothing is said about speed.\n"
}

fn drift([a, b]: &[f64; 2]) -> f64 {
    (a - b).abs()
}
