//! `countersign controls`: the control suite, as a table of largest r.
//!
//! Invariant: exits with 1 where something lies above its bound, and with 3 where something couldn't be run.

use countersign_kernels::catalogue::Tier;

use super::console::{Failure, print};
use super::session;
use super::variant::VariantArgument;
use super::{OrdersArgument, PythonArgument};
use crate::controls::{self, Plan};

const EXAMPLES: &str = "\
Examples:
  countersign controls
  countersign controls --rounds 10
  countersign controls --variant bf16-q4-kv4 --python ~/jax/.venv";

/// Arguments of `controls`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// How often each variant, payload pattern and device profile is tried.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Seed of the batches.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    orders: OrdersArgument,
    #[command(flatten)]
    variant: VariantArgument,
    /// The kernel's id in the catalogue.
    #[arg(long, value_name = "ID", default_value = "jax-rpa")]
    kernel: String,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    let variants = arguments.variant.variants(kernel, Tier::Small)?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, variants)?;
    for (variant, reason) in loaded.failures() {
        eprintln!("{} can't be run: {reason}", variant.name);
    }
    let jobs = arguments.jobs.map_or_else(super::fuzz::cores, usize::from);
    let (seed, rounds, orders) = (arguments.seed, arguments.rounds, arguments.orders.orders);
    let plan = Plan { seed, rounds, jobs, orders };
    let controls = controls::run(&loaded, &plan);
    print(&controls.to_string())?;
    Ok(match (controls.alarms.is_empty(), controls.unsupported) {
        (false, _) => 1,
        (true, 1..) => 3,
        (true, 0) => 0,
    })
}
