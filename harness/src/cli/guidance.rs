//! `countersign guidance`: what it is worth that the search is guided by the kernel's coverage, on bugs put into the kernel and on
//! coverage itself.
//!
//! Invariant: exits with 1 where a bug isn't found with guidance, and never for what guidance is worth. Executions are functions
//! of the seeds; only seconds aren't.

use std::time::Instant;

use countersign_kernels::catalogue::Tier;
use countersign_kernels::rpa::seeded::Bug;
use serde_json::{Value, json};

use super::console::{CaseProgress, Failure, print};
use super::{PythonArgument, session};
use crate::campaign::Subject as _;
use crate::fuzzing::{Guidance, Rate, coverage_at, mann_whitney, median, rate_of, steps_until_found};
use crate::known::KnownFile;
use crate::loaded::Loaded;
use crate::ordered::in_parallel;

const EXAMPLES: &str = "\
Examples:
  countersign guidance                                  all of it: some ten minutes on two quiet cores
  countersign guidance --bug window-edge --seeds 3      one bug
  countersign guidance --only coverage --at 256,1024    the coverage alone
  countersign guidance --only rates                     how rare each bug is";

/// Both ways to search, in the order of the tables.
const WAYS: [Guidance; 2] = [Guidance::Coverage, Guidance::None];

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// How many of the generator's kept cases show each bug.
    Rates,
    /// How soon each bug is found.
    Bugs,
    /// How much is covered.
    Coverage,
}

/// Arguments of `guidance`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A part alone; may be repeated [default: all].
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
    /// Put only this bug into the kernel; may be repeated [default: each in turn].
    #[arg(long, value_name = "NAME", value_parser = bug_named)]
    bug: Vec<&'static Bug>,
    /// Searches each way, with seeds from 1 on.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Executions after which a search for a bug gives up.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    budget: u64,
    /// Executions after which coverage is read.
    #[arg(long, value_name = "N,…", default_values_t = [256, 1024, 4096], value_delimiter = ',')]
    at: Vec<u64>,
    /// Kept cases on which a bug's rate is measured.
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,
    /// Threads [default: one per core]. Seconds are only worth something where each has its core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    python: PythonArgument,
}

fn bug_named(name: &str) -> Result<&'static Bug, String> {
    Bug::named(name).ok_or_else(|| {
        let known: Vec<&str> = Bug::ALL.iter().map(|bug| bug.name).collect();
        format!("known: {}", known.join(", "))
    })
}

/// What came of one way to search for one bug: by seed, the execution that found it, and the seconds until then.
type Searches = Vec<(Option<u64>, f64)>;

/// A bug in the kernel, and what was measured of it; what wasn't asked for is empty.
struct Seeded {
    bug: &'static Bug,
    variants: usize,
    rate: Rate,
    searches: [Searches; 2],
}

/// Points covered, by seed and then by mark, each way.
type Covered = [Vec<Vec<u64>>; 2];

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, "jax-rpa")?;
    let variants = kernel.variants(Tier::Small).cloned().collect();
    let known = super::fuzz::known(&[])?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, variants)?;
    let asked = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut bugs = Vec::new();
    if asked(Part::Rates) || asked(Part::Bugs) {
        let every: Vec<&str> = Bug::ALL.iter().map(|bug| bug.name).collect();
        let every = every.into_iter().filter_map(Bug::named).collect();
        let chosen = if arguments.bug.is_empty() { every } else { arguments.bug.clone() };
        for bug in chosen {
            bugs.push(seeded(&loaded, &known, bug, arguments, asked(Part::Rates), asked(Part::Bugs))?);
        }
    }
    let covered = asked(Part::Coverage).then(|| coverage(&loaded, &known, arguments));
    print(&match arguments.json {
        true => json(arguments, &bugs, covered.as_ref()).to_string() + "\n",
        false => text(arguments, &loaded, &bugs, covered.as_ref()),
    })?;
    let missed = |seeded: &Seeded| seeded.searches[0].iter().any(|(found, _)| found.is_none());
    Ok(u8::from(bugs.iter().any(missed)))
}

fn jobs(arguments: &Arguments) -> usize {
    arguments.jobs.map_or_else(super::fuzz::cores, usize::from)
}

fn seeded(
    loaded: &Loaded,
    known: &KnownFile,
    bug: &'static Bug,
    arguments: &Arguments,
    rates: bool,
    searches: bool,
) -> Result<Seeded, Failure> {
    let (kernel, variants) = loaded
        .edited(&|variant, module| bug.put_into(variant, module))
        .ok()
        .filter(|(_, variants)| *variants > 0)
        .ok_or_else(|| {
            Failure::new(format!("{} can't be put into this kernel", bug.name), "leave it out with --bug")
        })?;
    let mut rate = Rate::default();
    if rates {
        let parts: Vec<u64> = (0..16).collect();
        let part = |part: &u64| rate_of(&kernel, known, 1, (*part..arguments.cases).step_by(parts.len()));
        for part in in_parallel(jobs(arguments), &parts, part) {
            rate = Rate { wrong: rate.wrong + part.wrong, cases: rate.cases + part.cases };
        }
    }
    let seeds: Vec<u64> = (1..=arguments.seeds).filter(|_| searches).collect();
    let progress = std::sync::Mutex::new(CaseProgress::new(2 * seeds.len()));
    let search = |guidance| {
        in_parallel(jobs(arguments), &seeds, |&seed| {
            let start = Instant::now();
            let found = steps_until_found(&kernel, known, guidance, seed, arguments.budget);
            if let Ok(mut progress) = progress.lock() {
                progress.done(bug.name);
            }
            (found, start.elapsed().as_secs_f64())
        })
    };
    Ok(Seeded { bug, variants, rate, searches: WAYS.map(search) })
}

fn coverage(loaded: &Loaded, known: &KnownFile, arguments: &Arguments) -> Covered {
    let seeds: Vec<u64> = (1..=arguments.seeds).collect();
    let progress = std::sync::Mutex::new(CaseProgress::new(2 * seeds.len()));
    WAYS.map(|guidance| {
        in_parallel(jobs(arguments), &seeds, |&seed| {
            let points = coverage_at(loaded, known, guidance, seed, &arguments.at);
            if let Ok(mut progress) = progress.lock() {
                progress.done("coverage");
            }
            points
        })
    })
}

/// What searches took, in executions, where those that gave up took the budget; and in seconds.
fn costs(searches: &Searches, budget: u64) -> [Vec<f64>; 2] {
    let executions = searches.iter().map(|(found, _)| found.unwrap_or(budget) as f64);
    [executions.collect(), searches.iter().map(|(_, seconds)| *seconds).collect()]
}

fn worst(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn text(arguments: &Arguments, loaded: &Loaded, bugs: &[Seeded], covered: Option<&Covered>) -> String {
    let mut out = String::new();
    if bugs.iter().any(|seeded| seeded.rate.cases > 0) {
        out += "| bug | loses a sequence's last key | variants | wrong on kept cases |\n|---|---|---|---|\n";
        for Seeded { bug, variants, rate, .. } in bugs {
            let share = 100.0 * rate.wrong as f64 / rate.cases.max(1) as f64;
            let (wrong, cases, all) = (rate.wrong, rate.cases, loaded.variants().len());
            let Bug { name, when, .. } = bug;
            out += &format!(
                "| `{name}` | where {when} | {variants} of {all} | {share:.2} % ({wrong} of {cases}) |\n"
            );
        }
        out.push('\n');
    }
    if bugs.iter().any(|seeded| !seeded.searches[0].is_empty()) {
        out += "| bug | search | found | executions: median | worst | seconds: median | worst | p |\n|---|---|---|---|---|---|---|---|\n";
        for Seeded { bug, searches, .. } in bugs {
            let both = searches.each_ref().map(|searches| costs(searches, arguments.budget));
            let p = mann_whitney(&both[0][0], &both[1][0]);
            for (way, searches) in searches.iter().enumerate() {
                let found = searches.iter().filter(|(found, _)| found.is_some()).count();
                let [executions, seconds] = &both[way];
                out += &format!(
                    "| `{}` | {} | {found} of {} | {:.0} | {:.0} | {:.1} | {:.1} | {} |\n",
                    bug.name,
                    name(WAYS[way]),
                    searches.len(),
                    median(executions),
                    worst(executions),
                    median(seconds),
                    worst(seconds),
                    if way == 0 { format!("{p:.4}") } else { String::new() },
                );
            }
        }
        out.push('\n');
    }
    if let Some(covered) = covered {
        out += "| executions | points with guidance: median | least | without: median | least | p |\n|---|---|---|---|---|---|\n";
        for (mark, at) in arguments.at.iter().enumerate() {
            let both = at_mark(covered, mark);
            let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
            out += &format!(
                "| {at} | {:.0} | {:.0} | {:.0} | {:.0} | {:.4} |\n",
                median(&both[0]),
                least(&both[0]),
                median(&both[1]),
                least(&both[1]),
                mann_whitney(&both[0], &both[1]),
            );
        }
        out += &format!("\n{} seeds, of {} points\n", arguments.seeds, loaded.coverage_points());
    }
    out
}

fn at_mark(covered: &Covered, mark: usize) -> [Vec<f64>; 2] {
    covered.each_ref().map(|seeds| seeds.iter().map(|marks| marks[mark] as f64).collect())
}

fn name(guidance: Guidance) -> &'static str {
    match guidance {
        Guidance::Coverage => "guided",
        Guidance::None => "unguided",
    }
}

fn json(arguments: &Arguments, bugs: &[Seeded], covered: Option<&Covered>) -> Value {
    let searches = |seeded: &Seeded| {
        let way = |(way, searches): (usize, &Searches)| {
            let executions: Vec<Option<u64>> = searches.iter().map(|(found, _)| *found).collect();
            let seconds: Vec<f64> = searches.iter().map(|(_, seconds)| *seconds).collect();
            json!({"search": name(WAYS[way]), "executions": executions, "timing": {"seconds": seconds}})
        };
        seeded.searches.iter().enumerate().map(way).collect::<Vec<Value>>()
    };
    let bug = |seeded: &Seeded| {
        let Seeded { bug, variants, rate, .. } = seeded;
        json!({
            "bug": bug.name,
            "when": bug.when,
            "variants": variants,
            "wrong": rate.wrong,
            "kept_cases": rate.cases,
            "searches": searches(seeded),
        })
    };
    json!({
        "bugs": bugs.iter().map(bug).collect::<Vec<_>>(),
        "budget": arguments.budget,
        "coverage": covered.map(|covered| json!({
            "at": arguments.at,
            "guided": covered[0],
            "unguided": covered[1],
        })),
    })
}
