//! `countersign kernels`: what can be tested.

use std::fs;
use std::path::PathBuf;

use clap::Subcommand;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{KernelEntry, Tier};
use countersign_kernels::export::export;
use countersign_kernels::rpa::contract::rules;

use super::PythonArgument;
use super::console::{Failure, SetupProgress, print};
use super::session;
use super::table::{self, row};

const EXAMPLES: &str = "\
Examples:
  countersign kernels list
  countersign kernels show jax-rpa
  countersign kernels export jax-rpa --variant f32-q4-kv4 --out mlir";

/// Arguments of `kernels`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// All kernels, a line each.
    List,
    /// A kernel's entry point, variants, and the rules that its callers keep.
    Show {
        /// The kernel's id.
        kernel: String,
    },
    /// Write a kernel's lowered modules and manifests to a folder.
    Export {
        /// The kernel's id.
        kernel: String,
        /// Only these variants; may be repeated.
        #[arg(long, value_name = "NAME")]
        variant: Vec<String>,
        /// Folder to write to.
        #[arg(long, value_name = "DIR", default_value = "countersign/mlir")]
        out: PathBuf,
        #[command(flatten)]
        python: PythonArgument,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue()?;
    match &arguments.command {
        Command::List => {
            let rows: Vec<_> = catalogue
                .kernels
                .iter()
                .map(|kernel| row![kernel.id, kernel.title, format!("{} variants", kernel.variants.len())])
                .collect();
            print(&table::render(&rows))?;
            Ok(0)
        }
        Command::Show { kernel } => {
            print(&describe(session::kernel(&catalogue, kernel)?))?;
            Ok(0)
        }
        Command::Export { kernel, variant, out, python } => {
            let kernel = session::kernel(&catalogue, kernel)?;
            let variants = choose(kernel, variant, Tier::Full)?;
            let environment = session::environment(python.python.clone())?;
            let progress = SetupProgress::new();
            let exports = export(&environment, &session::entry_point(kernel), &variants, &progress)?;
            drop(progress);
            fs::create_dir_all(out).map_err(|error| Failure::file(out, error))?;
            let mut code = 0;
            for (variant, export) in variants.iter().zip(exports) {
                match export {
                    Ok(exported) => {
                        let path = out.join(format!("{}.mlir", variant.name));
                        fs::write(&path, &exported.mlir).map_err(|error| Failure::file(&path, error))?;
                        let manifest = serde_json::to_string_pretty(&exported.manifest)
                            .map_err(|error| Failure::new(error.to_string(), "please report this"))?;
                        let path = path.with_extension("json");
                        fs::write(&path, manifest + "\n").map_err(|error| Failure::file(&path, error))?;
                    }
                    Err(refusal) => {
                        eprintln!("{} does not lower: {}: {}", variant.name, refusal.kind, refusal.message);
                        code = 3;
                    }
                }
            }
            print(&format!("{}\n", out.display()))?;
            Ok(code)
        }
    }
}

/// The named variants, or all of the tier.
pub(super) fn choose(kernel: &KernelEntry, names: &[String], tier: Tier) -> Result<Vec<Variant>, Failure> {
    if names.is_empty() {
        return Ok(kernel.variants(tier).cloned().collect());
    }
    let mut chosen: Vec<Variant> = Vec::new();
    for name in names {
        let variant = kernel.variant(name).ok_or_else(|| {
            let known: Vec<&str> = kernel.variants(Tier::Full).map(|variant| variant.name.as_str()).collect();
            Failure::new(
                format!("{} has no variant `{name}`", kernel.id),
                format!("known: {}", known.join(", ")),
            )
        })?;
        if chosen.iter().all(|other| other.name != variant.name) {
            chosen.push(variant.clone());
        }
    }
    Ok(chosen)
}

fn describe(kernel: &KernelEntry) -> String {
    let mut text = format!(
        "{}: {}\n\n{}\n\nentry point  {}\npackages     {}\n\nvariants\n",
        kernel.id,
        kernel.title,
        kernel.description.trim(),
        session::entry_point(kernel),
        kernel.python.packages.join(", ")
    );
    let optional = |value: Option<usize>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let mut rows = vec![row![
        "name",
        "q",
        "kv",
        "tokens",
        "heads",
        "page size",
        "pages",
        "seqs",
        "pages/seq",
        "pages/block",
        "queries/block",
        "window",
        "cap",
        "generation"
    ]];
    rows.extend(kernel.variants(Tier::Full).map(|v| {
        row![
            v.name,
            v.q_dtype.name(),
            v.kv_dtype.name(),
            v.tokens,
            format!("{}/{}", v.q_heads, v.kv_heads),
            v.page_size,
            v.pages,
            v.max_seqs,
            v.pages_per_seq,
            optional(v.pages_per_block),
            optional(v.queries_per_block),
            v.options.sliding_window.map_or_else(|| "-".to_owned(), |window| window.to_string()),
            v.options.soft_cap.map_or_else(|| "-".to_owned(), |cap| cap.to_string()),
            v.generation.name(),
        ]
    }));
    text += &table::render(&rows);
    text += "\nrules that its callers keep\n";
    let rows: Vec<_> =
        rules().iter().map(|rule| row![rule.id, rule.standing.name(), rule.sentence]).collect();
    text + &table::render(&rows)
}
