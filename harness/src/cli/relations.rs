//! `countersign relations`: metamorphic relations on the kernel itself, a second oracle without a reference.
//!
//! Invariant: exits with 1 where a relation fails. What wasn't asked is said.

use countersign_kernels::catalogue::Tier;
use serde_json::{Value, json};

use super::console::{Failure, print};
use super::table::{self, row};
use super::variant::VariantArgument;
use super::{PythonArgument, session};
use crate::metamorphic::{self, ELSEWHERE, Plan, RELATIONS, Tallies};

const EXAMPLES: &str = "\
Examples:
  countersign relations
  countersign relations --cases 200 --seed 7
  countersign relations --variant bf16-q4-kv4 --json";

/// Arguments of `relations`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Kept cases of each variant; every relation that applies is asked about each.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,
    /// Seed of the cases.
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
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    if !kernel.family.model().is_attention() {
        return Err(Failure::new(
            format!("the relations are those of attention, and {} is none", kernel.id),
            "`countersign fuzz` compares it with its reference",
        ));
    }
    let variants = arguments.variant.variants(kernel, Tier::Small)?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, variants)?;
    let mut failed_to_load = 0;
    for (variant, reason) in loaded.failures() {
        eprintln!("{} can't be run: {reason}", variant.name);
        failed_to_load += 1;
    }
    let jobs = arguments.jobs.map_or_else(super::fuzz::cores, usize::from);
    let plan = Plan { seed: arguments.seed, cases: arguments.cases, jobs };
    let tallies = metamorphic::run(&loaded, &plan);
    print(&if arguments.json { json(&tallies).to_string() + "\n" } else { text(&tallies) })?;
    let failed = tallies.iter().any(|tally| !tally.failures.is_empty());
    let unasked = failed_to_load > 0 || tallies.iter().any(|tally| tally.silent > 0);
    Ok(match (failed, unasked) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 0,
    })
}

fn text(tallies: &Tallies) -> String {
    let mut rows = vec![row!["relation", "exactness", "held", "failed", "doesn't apply", "neither ended"]];
    for (relation, tally) in RELATIONS.iter().zip(tallies) {
        let exactness = relation.exactness.name();
        rows.push(row![
            relation.name,
            exactness,
            tally.held,
            tally.failures.len(),
            tally.not_applicable,
            tally.silent
        ]);
    }
    let mut out = table::render(&rows);
    for (relation, tally) in RELATIONS.iter().zip(tallies) {
        out.extend(tally.failures.iter().map(|failure| format!("{}: {failure}\n", relation.name)));
    }
    out + &format!("not asked, since they need another module: {}\n", ELSEWHERE.join(", "))
}

fn json(tallies: &Tallies) -> Value {
    let relation = |(relation, tally): (&metamorphic::Relation, &metamorphic::Tally)| {
        json!({
            "relation": relation.name,
            "exactness": relation.exactness.name(),
            "held": tally.held,
            "not_applicable": tally.not_applicable,
            "neither_ended": tally.silent,
            "failures": tally.failures,
        })
    };
    json!({"relations": RELATIONS.iter().zip(tallies).map(relation).collect::<Vec<_>>(), "not_asked": ELSEWHERE})
}
