//! `countersign merge`: the shards of a campaign become the report of the whole.
//!
//! Invariant: only all shards of one campaign, each once and to its end, are merged; the report is that of one run, `timing`
//! aside.

use std::path::PathBuf;

use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::Policy;
use countersign_kernels::{DeviceProfile, Variant};
use serde_json::json;

use super::PythonArgument;
use super::console::Failure;
use super::fuzz::{self, Run, known, watch_interrupts};
use super::{session, shard};
use crate::campaign::{self, EventLog, Plan, ShardFile};
use crate::corpus::CorpusFile;

const EXAMPLES: &str = "\
Examples:
  countersign merge part-0 part-1 part-2 part-3
  countersign merge part-* --out countersign --json

Exit codes are those of `countersign fuzz`.";

/// Arguments of `merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The folders that `countersign fuzz --shard` wrote, of all parts of one campaign.
    #[arg(required = true, value_name = "DIR")]
    shards: Vec<PathBuf>,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Folder for the report, the event log and the findings.
    #[arg(long, value_name = "DIR", default_value = "countersign")]
    out: PathBuf,
    /// The known files that the shards were given; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let mut files = Vec::new();
    for folder in &arguments.shards {
        files.push(shard::read(folder)?);
    }
    let first = complete(&arguments.shards, &files)?;
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, &first.kernel)?;
    let known = known(&arguments.known)?;
    if shard::known_hash(&known) != first.known {
        return Err(Failure::new(
            "the shards ran with other known files",
            "name the same ones with --known, and merge with the version that ran the shards",
        ));
    }
    let variants: Result<Vec<Variant>, String> =
        first.variants.iter().cloned().map(Variant::try_from).collect();
    let foreign = |why: String| Failure::new(why, "merge with the version that ran the shards");
    let variants = variants.map_err(foreign)?;
    let profile = DeviceProfile::named(&first.profile)
        .ok_or_else(|| foreign(format!("no device profile `{}`", first.profile)))?;
    let only = match first.only.as_deref() {
        None => None,
        Some(name) => Some(
            [Keeping::Kept, Keeping::Disputed, Keeping::Broken]
                .into_iter()
                .find(|keeping| keeping.name() == name)
                .ok_or_else(|| foreign(format!("`{name}` is no kind of batch")))?,
        ),
    };
    let out = &arguments.out;
    let mut log = EventLog::open(out).map_err(|error| Failure::file(out, error))?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, variants)?;
    if loaded.report(&[]).source_hash != first.source_hash {
        return Err(Failure::new(
            format!("the shards ran another source of {}", first.kernel),
            "use the same --python, --catalog or --kernel-from as they did",
        ));
    }
    let interrupted = watch_interrupts()?;
    let plan = Plan {
        seed: first.seed,
        cases: Some(first.cases),
        jobs: arguments.jobs.map_or_else(fuzz::cores, usize::from),
        only,
        policy: Policy { orders: first.orders, ..Policy::of(profile) },
        known: &known,
    };
    log.event("merging", json!({ "shards": files.len(), "kernel": first.kernel, "seed": plan.seed }))
        .map_err(|error| Failure::file(out, error))?;
    let totals = campaign::merge(&loaded, &plan, &files)
        .map_err(|why| Failure::new(why, "this is a fault of countersign: please report it"))?;
    for found in &totals.findings {
        let case = campaign::draw(&loaded, &plan, found.index).case;
        let file: CorpusFile = fuzz::found_file(&loaded, &plan, found, &found.finding.detail, case);
        log.finding(found, &file.to_toml()).map_err(|error| Failure::file(out, error))?;
    }
    let seconds = files.iter().map(|file| file.seconds).fold(0.0, f64::max);
    let run = Run { loaded: &loaded, plan: &plan, totals: &totals, environment: &environment, out, seconds };
    fuzz::conclude(&run, interrupted, &mut log, arguments.json)
}

/// The first of the shards, if they are all that there are of one campaign.
fn complete<'f>(folders: &[PathBuf], files: &'f [ShardFile]) -> Result<&'f ShardFile, Failure> {
    let help = "name the folders of all parts of one campaign, each once";
    let Some(first) = files.first() else { return Err(Failure::new("no shard", help)) };
    for (folder, file) in folders.iter().zip(files) {
        let folder = folder.display();
        if file.campaign() != first.campaign() {
            let message =
                format!("{folder} is of another campaign:\n  {}\n  {}", file.campaign(), first.campaign());
            return Err(Failure::new(message, help));
        }
        if file.interrupted || file.totals.cases != file.shard.share(file.cases) {
            return Err(Failure::new(
                format!("{folder}: shard {} was interrupted", file.shard),
                "run it again",
            ));
        }
    }
    let mut there: Vec<u64> = files.iter().map(|file| file.shard.index).collect();
    there.sort_unstable();
    let missing: Vec<String> = (0..first.shard.count)
        .filter(|index| !there.contains(index))
        .map(|index| format!("{index}/{}", first.shard.count))
        .collect();
    if !missing.is_empty() {
        return Err(Failure::new(format!("missing: {}", missing.join(", ")), help));
    }
    if there.len() as u64 > first.shard.count {
        return Err(Failure::new("a shard is there twice", help));
    }
    Ok(first)
}
