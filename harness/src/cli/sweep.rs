//! `countersign fuzz --static`: the static side swept through the real entry point.
//!
//! Invariant: exit code 1 for a gap that no known file explains, 3 where a call was left without an answer, 2 where the port of
//! a check says something else than the check.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::env::Environment;
use countersign_kernels::worker::Worker;
use countersign_reports::{
    Counts, FindingStatus, Gap, SweepReport, counts_text, effect_words, gap_class, gaps_to_json,
};

use super::console::{CaseProgress, Failure, print};
use super::fuzz::watch_interrupts;
use crate::contract::{Regressions, calls_of, sweep};
use crate::known::KnownFile;
use crate::signature::Signature;

/// Pairs where no number is given.
const DEFAULT_PAIRS: usize = 100;

/// How much to sweep.
pub(super) struct Effort {
    pub(super) seed: u64,
    pub(super) pairs: Option<u64>,
    pub(super) time: Option<Duration>,
    pub(super) jobs: usize,
}

/// Sweeps, writes `static.json` and a case file for each gap to `out`, and prints a table.
pub(super) fn run(
    kernel: &KernelEntry,
    variants: &[Variant],
    effort: &Effort,
    known: &KnownFile,
    environment: &Environment,
    out: &Path,
    json: bool,
) -> Result<u8, Failure> {
    if !kernel.family.model().has_checks() {
        return Err(Failure::new(
            format!("{} has no check of shapes and options that could be swept", kernel.id),
            "`--static` compares what such a check says with what lowers; leave it out to fuzz batches",
        ));
    }
    let interrupted = watch_interrupts()?;
    let regressions = Regressions::default();
    let mut report = measure(kernel, variants, effort, known, &regressions, environment, interrupted);
    let folder = out.join("findings");
    fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    for gap in &mut report.gaps {
        let name = format!("static-{}", slug(gap));
        if let Some(text) = &gap.finding.case_file {
            let path = folder.join(format!("{name}.toml"));
            fs::write(&path, text).map_err(|error| Failure::file(&path, error))?;
        }
        write_script(gap, out, &format!("findings/{name}.py"))?;
    }
    let text =
        gaps_to_json(&report).map_err(|error| Failure::new(error.to_string(), "please report this"))?;
    let path = out.join("static.json");
    fs::write(&path, &text).map_err(|error| Failure::file(&path, error))?;
    let table = describe(&report) + &format!("report: {}\n", path.display());
    if json {
        eprint!("{table}");
        print(&text)?;
    } else {
        print(&table)?;
    }
    let new = report.gaps.iter().any(|gap| gap.finding.status != FindingStatus::Known);
    Ok(match (report.problems.is_empty(), new, report.unasked > 0 || interrupted.load(Ordering::Relaxed)) {
        (false, _, _) => 2,
        (true, true, _) => 1,
        (true, false, true) => 3,
        (true, false, false) => 0,
    })
}

/// A file name for a gap.
pub(super) fn slug(gap: &Gap) -> String {
    Signature::parse(&gap.finding.signature).map_or_else(|_| "gap".to_owned(), |signature| signature.slug())
}

/// Writes the script of a gap, if it has one, to `name` below `out`, and names it in the finding.
pub(super) fn write_script(gap: &mut Gap, out: &Path, name: &str) -> Result<(), Failure> {
    let Ok(script) = &gap.script else { return Ok(()) };
    let path = out.join(name);
    fs::write(&path, script).map_err(|error| Failure::file(&path, error))?;
    gap.finding.repro = Some(name.to_owned());
    Ok(())
}

/// The sweep, until it is interrupted.
pub(super) fn measure(
    kernel: &KernelEntry,
    variants: &[Variant],
    effort: &Effort,
    known: &KnownFile,
    regressions: &Regressions<'_>,
    environment: &Environment,
    interrupted: &AtomicBool,
) -> SweepReport {
    let pairs = effort.pairs.map_or(DEFAULT_PAIRS, |pairs| usize::try_from(pairs).unwrap_or(usize::MAX));
    let calls = calls_of(variants, effort.seed, pairs);
    let started = Instant::now();
    let go_on =
        || effort.time.is_none_or(|time| started.elapsed() < time) && !interrupted.load(Ordering::Relaxed);
    let mut progress = CaseProgress::new(calls.len());
    let start = || Worker::start(environment);
    sweep(kernel, variants, &calls, known, regressions, &start, effort.jobs, &go_on, &mut |name| {
        progress.done(name)
    })
}

fn describe(report: &SweepReport) -> String {
    let mut text = format!(
        "{} edits of {}, {} pairs of them ({} show what one of the edits shows alone), {} without an answer\n",
        counts_text(&report.singles, str::to_owned),
        report.variants.join(", "),
        report.pairs,
        report.explained,
        report.unasked
    );
    for (keeping, outcomes) in &report.outcomes {
        text += &format!("{keeping}: {}\n", counts_text(outcomes, |name| effect_words(name).to_owned()));
    }
    text += "\nrefusals, by whom, with their first words\n";
    for (by, count, words) in &report.words {
        text += &format!("{count:5}  {by}: {words}\n");
    }
    let mut kinds = Counts::new();
    for gap in &report.gaps {
        *kinds.entry(gap.finding.kind.clone()).or_default() += 1;
    }
    text += &format!("\ngaps: {}\n", counts_text(&kinds, |kind| gap_class(kind).to_owned()));
    for gap in &report.gaps {
        let status = match gap.finding.status {
            FindingStatus::Known => "known",
            FindingStatus::New | FindingStatus::Returned => "new",
        };
        text += &format!(
            "{status}: {} ({} calls, first {})\n  {}\n",
            gap.finding.signature, gap.finding.count, gap.origin, gap.finding.detail
        );
    }
    for problem in &report.problems {
        text += &format!("fault of countersign itself: {problem}\n");
    }
    text
}
