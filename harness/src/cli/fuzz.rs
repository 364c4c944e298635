//! `countersign fuzz`: a campaign from arguments to report.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use countersign_kernels::catalogue::Tier;
use countersign_kernels::contract::Keeping;
use countersign_kernels::custom::advice;
use countersign_kernels::engine::Policy;
use countersign_kernels::env::{Environment, Progress as _};
use countersign_reports::{Report, Timing, to_html, to_json, to_markdown};
use serde_json::json;

use super::console::{Failure, SetupProgress, print, today};
use super::session::{self, AskWorker};
use super::shard::{self, ShardArgument};
use super::table::{self, row};
use super::variant::VariantArgument;
use super::{OrdersArgument, ProfileArgument, PythonArgument, sweep};
use crate::campaign::{self, Confirmed, EventLog, Found, Observer, Plan, Progress, Shard, Subject, Totals};
use crate::case::Case;
use crate::confirm::confirm;
use crate::corpus::{CorpusFile, Origin};
use crate::known::KnownFile;
use crate::loaded::Loaded;
use crate::minimise::minimise_all;
use crate::repro::{self, Besides};
use crate::suspects::Finder;

const EXAMPLES: &str = "\
Examples:
  countersign fuzz
  countersign fuzz --cases 5000 --only kept
  countersign fuzz --time 10m --seed random --out nightly
  countersign fuzz --variant f32-q4-kv4 --variant bf16-q4-kv4
  countersign fuzz --variant q_heads=64,kv_heads=8,page_size=128
  countersign fuzz --profile v5e --only kept
  countersign fuzz --static --variant f32-q4-kv4 --cases 200
  countersign fuzz --cases 100000 --shard 0/4 --out part-0   # on each of four machines, then `countersign merge`
  countersign fuzz --python ~/jax-dev/.venv --time 30s";

/// Used where no seed is given, so that two runs of the same command do the same.
const DEFAULT_SEED: u64 = 1;
/// Used where neither time nor cases are given.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

/// Arguments of `fuzz`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Seed; case i is a function of it and i. `random` draws one, and says which.
    #[arg(long, value_name = "N|random", default_value_t = DEFAULT_SEED, value_parser = parse_seed)]
    seed: u64,
    /// Stop after so many cases.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    cases: Option<u64>,
    /// Stop after so long, e.g. 30s, 10m, 8h [default: 60s, unless --cases is given].
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time: Option<Duration>,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Sweep the static side instead of batches: every option at its edges, every shape off by one, every element type, then
    /// --cases pairs of these (100 unless given), each lowered by the real entry point where its check accepts it. Without
    /// --variant, of the catalogue's first variant.
    #[arg(long = "static", conflicts_with = "only")]
    static_side: bool,
    /// Only batches that keep all rules, break disputed ones only, or break others.
    #[arg(long, value_enum)]
    only: Option<Only>,
    #[command(flatten)]
    shard: ShardArgument,
    #[command(flatten)]
    variant: VariantArgument,
    /// The kernel's id in the catalogue.
    #[arg(long, value_name = "ID", default_value = "jax-rpa")]
    kernel: String,
    /// Folder for the report, the event log and the findings.
    #[arg(long, value_name = "DIR", default_value = "countersign")]
    out: PathBuf,
    /// Known findings of your own, besides the built-in ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    profile: ProfileArgument,
    #[command(flatten)]
    orders: OrdersArgument,
    #[command(flatten)]
    python: PythonArgument,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Only {
    Kept,
    Disputed,
    Broken,
}

impl From<Only> for Keeping {
    fn from(only: Only) -> Keeping {
        match only {
            Only::Kept => Keeping::Kept,
            Only::Disputed => Keeping::Disputed,
            Only::Broken => Keeping::Broken,
        }
    }
}

pub(super) fn parse_seed(text: &str) -> Result<u64, String> {
    use std::hash::{BuildHasher, Hasher};
    match text {
        // The standard library seeds its hashers from the system's randomness.
        "random" => Ok(std::collections::hash_map::RandomState::new().build_hasher().finish()),
        _ => text.parse().map_err(|_| "a seed is a number from 0 to 2^64 - 1, or `random`".to_owned()),
    }
}

pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => 0,
    };
    let seconds = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(seconds))
        .filter(|&seconds| seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(|| "a time is e.g. 30s, 10m or 8h".to_owned())
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    let mut variants = arguments.variant.variants(kernel, Tier::Small)?;
    let known = known(&arguments.known)?;
    let out = &arguments.out;
    let shard = arguments.shard.shard()?;
    if arguments.static_side {
        if arguments.variant.is_empty() {
            variants.truncate(1);
        }
        let effort = sweep::Effort {
            seed: arguments.seed,
            pairs: arguments.cases,
            time: arguments.time,
            jobs: arguments.jobs.map_or_else(cores, usize::from),
        };
        let environment = session::environment(arguments.python.python.clone(), kernel)?;
        return sweep::run(kernel, &variants, &effort, &known, &environment, out, arguments.json);
    }
    let mut log = EventLog::open(out).map_err(|error| Failure::file(out, error))?;

    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let asked = variants.clone();
    let loaded = session::load(&environment, kernel, variants)?;
    for (variant, reason) in loaded.failures() {
        if kernel.variant(&variant.name).is_none() {
            return Err(Failure::new(format!("`{}` {reason}", variant.name), advice(variant, reason)));
        }
        eprintln!("{} can't be run: {reason}", variant.name);
    }

    let jobs = arguments.jobs.map_or_else(cores, usize::from);
    let only = arguments.only.map(Keeping::from);
    let policy = Policy { orders: arguments.orders.orders, ..Policy::of(arguments.profile.profile) };
    let plan = Plan { seed: arguments.seed, cases: arguments.cases, jobs, only, policy, known: &known };
    let time = arguments.time.or(if arguments.cases.is_none() { Some(DEFAULT_TIME) } else { None });
    eprintln!("{}", opening(&plan, &loaded, time, kernel.id.as_str(), environment.is_unpinned()));
    log.event(
        "started",
        json!({
            "kernel": kernel.id,
            "seed": plan.seed,
            "cases": plan.cases,
            "profile": policy.profile.name,
            "tool": campaign::tool(),
        }),
    )
    .map_err(|error| Failure::file(out, error))?;

    let interrupted = watch_interrupts()?;
    let failed = AtomicBool::new(false);
    let started = Instant::now();
    let go_on = || {
        let in_time = time.is_none_or(|time| started.elapsed() < time);
        in_time && !interrupted.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed)
    };
    let part = shard.unwrap_or(Shard::WHOLE);
    let mine = plan.cases.map(|cases| part.share(cases));
    let progress = Progress::new(mine, loaded.coverage_points(), false);
    let mut console = Console { subject: &loaded, plan: &plan, log, progress, failed: &failed, error: None };
    let totals = campaign::run_shard(&loaded, &plan, part, &go_on, &mut console);
    let seconds = started.elapsed().as_secs_f64();
    let Console { mut log, progress, error, .. } = console;
    progress.end();
    if let Some(error) = error {
        return Err(Failure::file(out, error));
    }
    // A time budget that ran out is no interruption; a Ctrl-C is one.
    if let Some(shard) = shard {
        let done = mine == Some(totals.cases);
        let file = shard::file((shard, &loaded, &asked), &plan, &totals, !done, seconds);
        log.event("ended", json!({ "shard": shard.to_string(), "cases": totals.cases }))
            .map_err(|error| Failure::file(out, error))?;
        return shard::write(out, &file);
    }
    let run = Run { loaded: &loaded, plan: &plan, totals: &totals, environment: &environment, out, seconds };
    conclude(&run, interrupted, &mut log, arguments.json)
}

/// A campaign that has been run.
pub(super) struct Run<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) plan: &'a Plan<'a>,
    pub(super) totals: &'a Totals,
    pub(super) environment: &'a Environment,
    pub(super) out: &'a Path,
    pub(super) seconds: f64,
}

/// From its sums to its report: findings minimised, run again and told.
pub(super) fn conclude(
    run: &Run<'_>,
    interrupted: &AtomicBool,
    log: &mut EventLog,
    json: bool,
) -> Result<u8, Failure> {
    let &Run { loaded, plan, totals, environment, out, seconds } = run;
    let mut validator = AskWorker::new(environment, loaded.kernel());
    let confirmed = confirm_all(loaded, plan, totals, interrupted, log, &mut validator)
        .map_err(|error| Failure::file(out, error))?;
    let timing = Timing {
        seconds,
        cases_per_second: totals.cases as f64 / seconds.max(1e-9),
        jobs: plan.jobs,
        out: Some(absolute(out)),
    };
    let interrupted = interrupted.load(Ordering::Relaxed);
    let kernel_report = loaded.report(&totals.coverage);
    let report = campaign::finish(loaded, plan, totals, &confirmed, kernel_report, interrupted, timing);
    let document = write_report(out, &report)?;
    log.event("ended", json!({ "exit_code": report.exit_code, "cases": totals.cases }))
        .map_err(|error| Failure::file(out, error))?;
    for why in confirmed.iter().filter_map(|each| each.confirmation.unasked.as_deref()).take(1) {
        eprintln!("The real validator could not be asked: {why}");
    }
    let table = closing(&report, out);
    if json {
        eprint!("{table}");
        print(&document)?;
    } else {
        print(&table)?;
    }
    Ok(report.exit_code)
}

/// The built-in entries, then those of `files`.
pub(super) fn known(files: &[PathBuf]) -> Result<KnownFile, Failure> {
    let mut known = KnownFile::builtin()?;
    for file in files {
        known.extend(KnownFile::read(file)?);
    }
    Ok(known)
}

/// Writes `report.json`, `report.md` and `report.html`; the JSON.
pub(super) fn write_report(out: &Path, report: &Report) -> Result<String, Failure> {
    let json = to_json(report).map_err(|error| Failure::new(error.to_string(), "please report this"))?;
    fs::create_dir_all(out).map_err(|error| Failure::file(out, error))?;
    let (page, markdown) = (to_html(report), to_markdown(report));
    for (name, text) in [("report.json", &json), ("report.md", &markdown), ("report.html", &page)] {
        let path = out.join(name);
        campaign::write_whole(&path, text.as_bytes()).map_err(|error| Failure::file(&path, error))?;
    }
    Ok(json)
}

pub(super) fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A flag that the first Ctrl-C raises; the second ends the process at once.
pub(super) fn watch_interrupts() -> Result<&'static AtomicBool, Failure> {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(3);
        }
    })
    .map_err(|error| Failure::new(format!("Ctrl-C can't be watched: {error}"), "please report this"))?;
    Ok(&INTERRUPTED)
}

fn opening(plan: &Plan<'_>, loaded: &Loaded, time: Option<Duration>, kernel: &str, unpinned: bool) -> String {
    let budget = match (plan.cases, time) {
        (Some(cases), Some(time)) => format!("{cases} cases or {} s", time.as_secs()),
        (Some(cases), None) => format!("{cases} cases"),
        (None, Some(time)) => format!("{} s", time.as_secs()),
        (None, None) => "without end".to_owned(),
    };
    format!(
        "fuzzing {kernel}{} in {} variants as {}, seed {}, {budget}, {} thread(s)",
        if unpinned { " (unpinned)" } else { "" },
        loaded.variants().len(),
        plan.policy.profile.name,
        plan.seed,
        plan.jobs
    )
}

/// Minimises, confirms and stores what was found. After a Ctrl-C, cases stay as large as they are by then.
fn confirm_all(
    loaded: &Loaded,
    plan: &Plan<'_>,
    totals: &Totals,
    interrupted: &AtomicBool,
    log: &mut EventLog,
    validator: &mut AskWorker<'_>,
) -> io::Result<Vec<Confirmed>> {
    let progress = SetupProgress::new();
    progress.step(&format!("making the cases of {} finding(s) smaller", totals.findings.len()));
    let tried = minimise_all(loaded, plan, totals, &|| !interrupted.load(Ordering::Relaxed));
    progress.step("asking the real validators");
    let mut confirmed = Vec::with_capacity(tried.len());
    let mut finder = Finder::default();
    for (found, tried) in totals.findings.iter().zip(tried) {
        let confirmation = confirm(loaded, plan, found, &tried, validator);
        let shown = &confirmation.shown;
        let minimal = tried.and_then(Result::ok).filter(|minimal| minimal.draft == *shown);
        if let Some(minimal) = &minimal {
            let text =
                found_file(loaded, plan, found, &confirmation.finding.detail, shown.case.clone()).to_toml();
            log.minimised(found, minimal, &text)?;
        }
        let script = confirmation.trial.as_ref().map(|trial| {
            let others = confirmation.evidence.as_ref().and_then(|evidence| evidence.others.as_deref());
            let besides = Besides { others, ..Besides::default() };
            repro::script(loaded.kernel(), &confirmation.shown.case, trial, &confirmation.finding, besides)
        });
        let repro = match script {
            Some(Ok(script)) => Some(log.repro(found, &script)?),
            Some(Err(_)) | None => None,
        };
        let news = found.known.is_none() && !interrupted.load(Ordering::Relaxed);
        let suspects = if news { finder.suspects(loaded, plan, &confirmation.shown) } else { None };
        let suspects = suspects.map(|suspects| suspects.to_string());
        confirmed.push(Confirmed { confirmation, minimal, repro, suspects });
    }
    Ok(confirmed)
}

/// A finding's case as a file.
pub(super) fn found_file(
    loaded: &Loaded,
    plan: &Plan<'_>,
    found: &Found,
    detail: &str,
    case: Case,
) -> CorpusFile {
    let signature = &found.finding.signature;
    CorpusFile {
        case: case.self_contained(loaded.kernel(), loaded.variants()),
        origin: Some(Origin {
            when: today(),
            from: format!("seed {}, case {}", plan.seed, found.index),
            cause: format!("shows {signature}: {detail}"),
        }),
        expect: None,
    }
}

struct Console<'a> {
    subject: &'a Loaded,
    plan: &'a Plan<'a>,
    log: EventLog,
    progress: Progress,
    failed: &'a AtomicBool,
    error: Option<io::Error>,
}

impl Console<'_> {
    /// The first error that makes the log incomplete ends the campaign.
    fn check(&mut self, result: io::Result<()>) {
        if let Err(error) = result
            && self.error.is_none()
        {
            self.error = Some(error);
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

impl Observer for Console<'_> {
    fn case(&mut self, totals: &Totals, fresh: &[usize]) {
        for found in fresh.iter().map(|&position| &totals.findings[position]) {
            let signature = &found.finding.signature;
            let case = campaign::draw(self.subject, self.plan, found.index).case;
            let file = found_file(self.subject, self.plan, found, &found.finding.detail, case);
            let written = self.log.finding(found, &file.to_toml());
            self.check(written);
            if found.known.is_none() {
                self.progress.say(&format!("new: {signature} (case {})", found.index));
            }
        }
        let written = self.log.progress(totals);
        self.check(written);
        self.progress.update(totals);
    }

    fn panicked(&mut self, totals: &Totals) {
        if let Some(error) = totals.internal_errors.last() {
            let (seed, case, message) = (self.plan.seed, error.case, &error.message);
            self.progress
                .say(&format!("fault of countersign itself in case {case} of seed {seed}: {message}"));
            let event = json!({ "case": case, "seed": seed, "message": message });
            let written = self.log.event("internal error", event);
            self.check(written);
        }
    }
}

fn closing(report: &Report, out: &Path) -> String {
    let summary = &report.summary;
    let percent = |part: u64| format!("{:.1} %", 100.0 * part as f64 / summary.cases.max(1) as f64);
    let coverage = report.kernels.iter().flat_map(|kernel| kernel.coverage.variants.values());
    let (hit, points) = coverage.fold((0, 0), |(hit, points), (h, p)| (hit + h, points + p));
    let lines = || report.kernels.iter().flat_map(|kernel| &kernel.coverage.lines);
    let hits = |classes: &std::collections::BTreeMap<String, u64>| {
        let missed: Vec<&str> =
            classes.iter().filter(|(_, count)| **count == 0).map(|(name, _)| name.as_str()).collect();
        let least = classes.values().min().copied().unwrap_or(0);
        let missed =
            if missed.is_empty() { String::new() } else { format!("; never: {}", missed.join(", ")) };
        format!("{} classes, each at least {least} times{missed}", classes.len())
    };
    let mut rows = vec![
        row!["cases", format!("{} ({:.0}/s)", summary.cases, report.timing.cases_per_second)],
        row![
            "kept, disputed, broken",
            format!("{}, {}, {}", percent(summary.kept), percent(summary.disputed), percent(summary.broken))
        ],
        row!["boundary classes", hits(&summary.hits.boundary)],
        row!["slips", hits(&summary.hits.slip)],
        row!["payload patterns", hits(&summary.hits.pattern)],
        row!["variants", hits(&summary.hits.variant)],
        row!["kept rows compared", format!("{:.2} %", 100.0 * summary.kept_rows_compared_share)],
        row!["largest r", format!("{:.4}", summary.largest_r)],
        row!["coverage of the IR", format!("{hit} of {points} points")],
        row![
            "lines of the kernel",
            format!("{} of {} reached", lines().filter(|line| line.hit > 0).count(), lines().count())
        ],
        row!["findings", format!("{} new, {} known", summary.findings_new, summary.findings_known)],
    ];
    let odd = [
        ("unsupported", summary.unsupported),
        ("unasked", summary.unasked),
        ("faults of countersign itself", summary.internal_errors),
    ];
    rows.extend(odd.iter().filter(|(_, count)| *count > 0).map(|(name, count)| row![name, count]));
    if summary.interrupted {
        rows.push(row!["interrupted", "yes"]);
    }
    let mut text = table::render(&rows);
    for finding in report.findings.iter().filter(|finding| finding.cause.is_none()) {
        text += &format!(
            "\nnew: {}\n     {} ({} case(s))\n     {}\n",
            finding.signature, finding.title, finding.count, finding.detail
        );
        if let Some(suspects) = &finding.suspects {
            text += &format!("     {suspects}\n");
        }
        if let Some(file) = &finding.file {
            text += &format!("     countersign replay {}\n", out.join(file).display());
        }
    }
    for error in &report.internal_errors {
        text += &format!(
            "\nfault of countersign itself: {} in case {}: {}\n",
            error.kind, error.case, error.message
        );
    }
    text + &format!("\nreport: {}\n", out.join("report.html").display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_seeds_are_read() {
        assert_eq!(parse_time("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(parse_time("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_time("1h"), Ok(Duration::from_secs(3600)));
        assert_eq!(parse_time("5"), Ok(Duration::from_secs(5)));
        for wrong in ["", "s", "0s", "-1s", "1.5s", "3d", "99999999999999999999h", "18446744073709551615h"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_seed("7"), Ok(7));
        assert!(parse_seed("seven").is_err());
        assert_ne!(parse_seed("random"), parse_seed("random"));
    }
}
