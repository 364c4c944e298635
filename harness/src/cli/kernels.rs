//! `countersign kernels`: what can be tested.

use std::fs;
use std::path::PathBuf;

use clap::Subcommand;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{KernelEntry, Tier};
use countersign_kernels::checks::{StaticCall, Verdict, static_check};
use countersign_kernels::contract::rules;
use countersign_kernels::export::{Exported, export};
use countersign_kernels::memory::Memory;
use countersign_kernels::rpa::facts;

use countersign_mosaic::{Program, parse};

use super::console::{Failure, SetupProgress, print};
use super::session;
use super::table::{self, row};
use super::variant::{VariantArgument, does_not_lower};
use super::{PythonArgument, contract};
use crate::case;

const EXAMPLES: &str = "\
Examples:
  countersign kernels list
  countersign kernels show jax-rpa
  countersign kernels show jax-rpa --variant q_heads=64,kv_heads=8,page_size=128
  countersign kernels show jax-rpa --contract
  countersign kernels gaps jax-rpa --out gaps
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
    List {
        #[command(flatten)]
        python: PythonArgument,
    },
    /// A kernel's entry point, variants, and the rules that its callers keep.
    Show {
        /// The kernel's id.
        kernel: String,
        #[command(flatten)]
        variant: VariantArgument,
        /// Probe every rule of the contract on both sides, and show what the real checks say and what the kernel does.
        #[arg(long)]
        contract: bool,
        /// With --contract: print the measured table as JSON.
        #[arg(long, requires = "contract")]
        json: bool,
        #[command(flatten)]
        python: PythonArgument,
    },
    /// Measure the contract, slips, and the static side, and write the report of all gaps: DIR/<kernel>-<version>-gaps.html,
    /// .md, and -contract.json.
    Gaps(contract::Gaps),
    /// Write a kernel's lowered modules and manifests to a folder.
    Export {
        /// The kernel's id.
        kernel: String,
        #[command(flatten)]
        variant: VariantArgument,
        /// Folder to write to.
        #[arg(long, value_name = "DIR", default_value = "countersign/mlir")]
        out: PathBuf,
        #[command(flatten)]
        python: PythonArgument,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let python = match &arguments.command {
        Command::List { python } | Command::Show { python, .. } | Command::Export { python, .. } => python,
        Command::Gaps(arguments) => &arguments.python,
    };
    let catalogue = session::catalogue(python)?;
    match &arguments.command {
        Command::List { .. } => {
            let rows: Vec<_> = catalogue
                .kernels
                .iter()
                .map(|kernel| row![kernel.id, kernel.title, format!("{} variants", kernel.variants.len())])
                .collect();
            print(&table::render(&rows))?;
            Ok(0)
        }
        Command::Gaps(arguments) => contract::gaps(arguments, &catalogue),
        Command::Show { kernel, variant, contract: true, json, python } => {
            let kernel = session::kernel(&catalogue, kernel)?;
            contract::show(kernel, variant, *json, python)
        }
        Command::Show { kernel, variant, contract: false, .. } => {
            let kernel = session::kernel(&catalogue, kernel)?;
            if variant.is_empty() {
                print(&describe(kernel))?;
                return Ok(0);
            }
            let shown: Vec<String> = variant.variants(kernel, Tier::Small)?.iter().map(shown).collect();
            print(&shown.join("\n"))?;
            Ok(0)
        }
        Command::Export { kernel, variant, out, python } => {
            let kernel = session::kernel(&catalogue, kernel)?;
            let variants = variant.variants(kernel, Tier::Full)?;
            let environment = session::environment(python.python.clone(), kernel)?;
            let progress = SetupProgress::new();
            let exports = export(&environment, &kernel.python.call(), &variants, &progress)?;
            drop(progress);
            fs::create_dir_all(out).map_err(|error| Failure::file(out, error))?;
            let mut code = 0;
            let mut rows = Vec::new();
            for (variant, export) in variants.iter().zip(exports) {
                match export {
                    Ok(exported) => {
                        let path = out.join(format!("{}.mlir", variant.name));
                        fs::write(&path, &exported.mlir).map_err(|error| Failure::file(&path, error))?;
                        let manifest = serde_json::to_string_pretty(&exported.manifest)
                            .map_err(|error| Failure::new(error.to_string(), "please report this"))?;
                        let path = path.with_extension("json");
                        fs::write(&path, manifest + "\n").map_err(|error| Failure::file(&path, error))?;
                        rows.push(row![variant.name, memory(variant, &exported)]);
                    }
                    Err(refusal) => {
                        eprintln!("{}", does_not_lower(variant, &refusal));
                        code = 3;
                    }
                }
            }
            print(&format!("{}{}\n", table::render(&rows), out.display()))?;
            Ok(code)
        }
    }
}

/// What a lowered variant asks of the chip's memory, with a warning where that may be too much.
fn memory(variant: &Variant, exported: &Exported) -> String {
    let program = parse(&exported.mlir).ok().and_then(|module| Program::lower(&module, 1).ok());
    program.map_or_else(
        || "not executable here".to_owned(),
        |program| {
            let memory = Memory::of(&program, variant.generation, exported.manifest.vmem_limit_bytes);
            let warnings = memory.warnings();
            if warnings.is_empty() { memory.to_string() } else { warnings.join("; ") }
        },
    )
}

/// A variant as a case writes it, with what follows from it.
fn shown(variant: &Variant) -> String {
    let mut text = format!("[case.variant]\n{}", case::variant_text(variant));
    let blocks = facts::heads_per_block(variant).map_or_else(
        || "none: these heads don't lower".to_owned(),
        |(q, combined)| format!("{q} query heads and {} KV heads", combined / 2),
    );
    text += &format!("# tier {}; a head block has {blocks}\n", Tier::of(variant).name());
    if !variant.family.model().has_checks() {
        return text + "# the kernel has no check of it\n";
    }
    text += &match static_check(&StaticCall::of(variant)) {
        Verdict::Accepts => "# the static check accepts it\n".to_owned(),
        Verdict::Refuses { message, .. } => format!("# the static check refuses it: {message}\n"),
        Verdict::Crashes { message } => format!("# the static check crashes: {message}\n"),
    };
    text
}

fn describe(kernel: &KernelEntry) -> String {
    let mut text = format!(
        "{}: {}\n\n{}\n\nentry point  {}\npackages     {}\n\nvariants\n",
        kernel.id,
        kernel.title,
        kernel.description.trim(),
        kernel.python.call(),
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
        rules(kernel.family).iter().map(|rule| row![rule.id, rule.standing.name(), rule.sentence]).collect();
    text + &table::render(&rows)
}
