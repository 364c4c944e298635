//! `countersign mutants`: the mutation score of the harness on a kernel.
//!
//! Invariant: exits with 1 where the kernel itself is called wrong, and with 3 where a mutant couldn't be run. A low score is no
//! error here: what score is enough is for a sign-off to say.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use countersign_kernels::catalogue::Tier;
use serde_json::{Value, json};

use super::console::{CaseProgress, Failure, print};
use super::table::{self, row};
use super::variant::VariantArgument;
use super::{PythonArgument, session};
use crate::loaded::Loaded;
use crate::metamorphic;
use crate::mutants::related::{self, Related};
use crate::mutants::upstream::{self, Upstream};
use crate::mutants::{self, Counts, Fate, Mutant, Plan, Score};

const EXAMPLES: &str = "\
Examples:
  countersign mutants
  countersign mutants --count 1000 --cases 1000
  countersign mutants --relations
  countersign mutants --variant f32-q4-kv4 --json";

/// Arguments of `mutants`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// How many mutants, over all operators and variants.
    #[arg(long, value_name = "N", default_value_t = 324, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Kept cases that each is given before it counts as a survivor.
    #[arg(long, value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,
    /// Kept cases of the kernel itself, none of which may be called wrong.
    #[arg(long, value_name = "N", default_value_t = 1080)]
    controls: u64,
    /// Also say how many are noticed by metamorphic relations alone, on so many kept cases each.
    #[arg(long, value_name = "CASES", num_args = 0..=1, default_missing_value = "20", value_parser = clap::value_parser!(u64).range(1..))]
    relations: Option<u64>,
    /// Seed of mutants and cases.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    variant: VariantArgument,
    /// The kernel's id in the catalogue.
    #[arg(long, value_name = "ID", default_value = "jax-rpa")]
    kernel: String,
    /// Known findings of your own, besides the built-in ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    if arguments.relations.is_some() && !kernel.family.model().is_attention() {
        return Err(Failure::new(
            format!("the relations are those of attention, and {} is none", kernel.id),
            "leave out --relations",
        ));
    }
    let variants = arguments.variant.variants(kernel, Tier::Small)?;
    let known = super::fuzz::known(&arguments.known)?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, variants)?;
    let plan = Plan {
        seed: arguments.seed,
        mutants: usize::from(arguments.count),
        cases: arguments.cases,
        orders: arguments.cases.div_ceil(10),
        controls: arguments.controls,
        jobs: arguments.jobs.map_or_else(super::fuzz::cores, usize::from),
        known: &known,
    };
    let progress = Mutex::new(CaseProgress::new(plan.mutants));
    let start = Instant::now();
    let score = mutants::run(&loaded, &plan, &|mutant, fate| {
        if let Ok(mut progress) = progress.lock() {
            progress.done(&line(mutant, fate));
        }
    });
    drop(progress);
    let score =
        score.map_err(|why| Failure::new(why, "`countersign kernels show` says which variants there are"))?;
    let ours = start.elapsed();
    let upstream = upstream::run(&loaded, plan.jobs, &score)
        .map_err(|why| Failure::new(why, "this is a fault of countersign itself"))?;
    let upstream = upstream.as_ref();
    let theirs = start.elapsed() - ours;
    let seconds = [ours, theirs].map(|time| time.as_secs_f64());
    let related = arguments.relations.map(|cases| {
        let plan = metamorphic::Plan { seed: plan.seed, cases, jobs: plan.jobs };
        related::run(&loaded, &plan, &score)
    });
    print(&match arguments.json {
        true => json(&score, upstream, related.as_ref(), seconds).to_string() + "\n",
        false => {
            let relations = related.as_ref().map(alone).unwrap_or_default();
            text(&loaded, &plan, &score) + &beside(&score, upstream, seconds) + &relations
        }
    })?;
    let alarms = score.alarms.len() + upstream.map_or(0, |upstream| upstream.alarms.len());
    Ok(match (alarms == 0, score.counts().not_run) {
        (false, _) => 1,
        (true, 1..) => 3,
        (true, 0) => 0,
    })
}

/// `kernel.py:503`, or nothing.
fn place(mutant: &Mutant) -> String {
    mutant.stack.first().map(|(file, line)| format!("{file}:{line}")).unwrap_or_default()
}

fn line(mutant: &Mutant, fate: &Fate) -> String {
    let what = match fate {
        Fate::Killed { .. } => "killed",
        Fate::Survived => "survived",
        Fate::Equivalent(_) => "equivalent",
        Fate::NotRun(_) => "not run",
    };
    format!("{} {} {} {what}", mutant.mutation.operator.name(), mutant.op, place(mutant))
}

fn text(loaded: &Loaded, plan: &Plan<'_>, score: &Score) -> String {
    let columns = |name: &str, sites: usize, counts: &Counts| {
        let Counts { killed, survived, equivalent, not_run } = counts;
        row![name, sites, killed, survived, equivalent, not_run]
    };
    let mut rows = vec![row!["operator", "places", "killed", "survived", "equivalent", "not run"]];
    for (operator, counts) in score.by_operator() {
        rows.push(columns(operator.name(), score.sites.get(&operator).copied().unwrap_or(0), &counts));
    }
    let counts = score.counts();
    rows.push(columns("all", score.sites.values().sum(), &counts));
    let mut out = table::render(&rows);
    let list = |title: &str, lines: Vec<String>| match lines.is_empty() {
        true => String::new(),
        false => {
            format!("\n{title}:\n{}", lines.iter().map(|line| format!("  {line}\n")).collect::<String>())
        }
    };
    let told = |mutant: &Mutant| {
        let source = loaded.source(mutant.position).and_then(|source| {
            let (file, number) = mutant.stack.first()?;
            let line = source.text.lines().nth(*number as usize - 1).filter(|_| *file == source.file)?;
            Some(format!("\n      {}", line.trim()))
        });
        let (operator, op) = (mutant.mutation.operator.name(), &mutant.op);
        let (number, at) = (mutant.mutation.op, mutant.mutation.place);
        let variant = &mutant.variant;
        format!(
            "{operator} {op} {}{}  ({variant}, op {number}, place {at}){}",
            mutant.constant.as_ref().map(|number| format!("{number} ")).unwrap_or_default(),
            place(mutant),
            source.unwrap_or_default()
        )
    };
    out += &list("survivors", score.survivors().map(told).collect());
    let not_run = score.mutants.iter().filter_map(|(mutant, fate)| match fate {
        Fate::NotRun(why) => Some(format!("{}: {why}", told(mutant))),
        _ => None,
    });
    out += &list("not run", not_run.collect());
    out += &list("false alarms", score.alarms.clone());
    let Counts { killed, survived, equivalent, not_run } = counts;
    let against_us = killed as f64 / score.mutants.len().max(1) as f64;
    out += &format!(
        "\nmutation score {:.3}: {killed} killed of {} ({survived} survived, {not_run} not run), {equivalent} more are \
         equivalent ({against_us:.3} with these against us); {} kept cases each, {} more of them under other orders of copies\n{} false alarms in {} controls\n",
        counts.score(),
        killed + survived + not_run,
        plan.cases,
        plan.orders,
        score.alarms.len(),
        score.controls,
    );
    out
}

/// What upstream's batches notice, and how long each took.
fn beside(score: &Score, upstream: Option<&Upstream>, [ours, theirs]: [f64; 2]) -> String {
    let mutants = score.mutants.len();
    let Some(upstream) = upstream else {
        return format!(
            "no batches of upstream's own test: this kernel has none\ntime: {ours:.0} s for {mutants} mutants and the controls\n"
        );
    };
    let alarms: String = upstream.alarms.iter().map(|alarm| format!("\n  wrong there: {alarm}")).collect();
    format!(
        "upstream's {} test functions, scaled down to each variant, at its tolerance: {:.3} ({} of {}; {} of them not noticed \
         here){alarms}\ntime: {ours:.0} s for {mutants} mutants and the controls, {theirs:.0} s for upstream's batches\n",
        upstream.batches,
        upstream.score(),
        upstream.count(),
        upstream.noticed.len(),
        upstream.only,
    )
}

/// What relations notice alone.
fn alone(related: &Related) -> String {
    let by: Vec<String> =
        related.by_relation().iter().map(|(name, count)| format!("{name} {count}")).collect();
    format!(
        "metamorphic relations alone: {:.3} ({} of {}; {} of them not noticed otherwise); first to notice: {}\n",
        related.score(),
        related.count(),
        related.by.len(),
        related.only,
        by.join(", "),
    )
}

fn json(
    score: &Score,
    upstream: Option<&Upstream>,
    related: Option<&Related>,
    [ours, theirs]: [f64; 2],
) -> Value {
    let Counts { killed, survived, equivalent, not_run } = score.counts();
    let mutant = |(mutant, fate): &(Mutant, Fate)| {
        let fate = match fate {
            Fate::Killed { case, signature } => {
                json!({"fate": "killed", "case": case, "signature": signature})
            }
            Fate::Survived => json!({"fate": "survived"}),
            Fate::Equivalent(why) => json!({"fate": "equivalent", "why": why}),
            Fate::NotRun(why) => json!({"fate": "not_run", "why": why}),
        };
        let place = mutant.stack.first().map(|(file, line)| json!({"file": file, "line": line}));
        json!({
            "variant": mutant.variant,
            "operator": mutant.mutation.operator.name(),
            "op": mutant.op,
            "constant": mutant.constant,
            "number": mutant.mutation.op,
            "place": mutant.mutation.place,
            "source": place,
            "result": fate,
        })
    };
    json!({
        "score": score.counts().score(),
        "killed": killed,
        "survived": survived,
        "equivalent": equivalent,
        "score_with_equivalents": killed as f64 / score.mutants.len().max(1) as f64,
        "not_run": not_run,
        "controls": score.controls,
        "false_alarms": score.alarms,
        "upstream": upstream.map(|upstream| json!({
            "score": upstream.score(),
            "noticed": upstream.count(),
            "of": upstream.noticed.len(),
            "not_noticed_here": upstream.only,
            "batches": upstream.batches,
            "false_alarms": upstream.alarms,
        })),
        "relations": related.map(|related| json!({
            "score": related.score(),
            "noticed": related.count(),
            "of": related.by.len(),
            "not_noticed_otherwise": related.only,
            "first_to_notice": related.by_relation(),
        })),
        "timing": {"seconds": ours, "upstream_seconds": theirs},
        "mutants": score.mutants.iter().map(mutant).collect::<Vec<_>>(),
    })
}
