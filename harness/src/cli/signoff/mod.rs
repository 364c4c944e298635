//! `countersign signoff`: a kernel's evidence, made part by part and judged by a policy; and `signoff verify`, which checks it again.
//!
//! Invariant: exits with 0 where it is signed (with waivers or without) or verified, with 1 where it is refused or differs.

mod gather;
mod verify;

use std::path::{Path, PathBuf};
use std::{fs, process};

use clap::Subcommand;
use countersign_reports::{Signoff, Standing, signoff_to_html, signoff_to_json, signoff_to_markdown};

use super::console::{Failure, print, today};
use super::nightly::state;
use super::table::{self, row};
use super::variant::VariantArgument;
use super::{PythonArgument, session};
use crate::campaign;
use crate::compile::KnownRefusals;
use crate::signoff::Planted;
use crate::signoff::claims::Measure;
use crate::signoff::policy::{DEFAULT, Policy};
use crate::signoff::{About, document};
use gather::{Gathering, Kernel};

const EXAMPLES: &str = "\
Examples:
  countersign signoff
  countersign signoff --policy signoff-policy.toml --out release
  countersign signoff --kernel-from attention.py:ragged_paged_attention --known corpus/known.toml
  countersign signoff verify signoff/signoff.json

Exit codes: 0 signed, or signed with waivers; 1 refused; 2 usage, environment or unreadable input; 3 interrupted.";

/// Arguments of `signoff`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Action>,
    #[command(flatten)]
    sign: Sign,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check a sign-off: its hashes, its judgement, and its evidence, replayed (a sample of it, or all with --full).
    Verify(verify::Arguments),
}

#[derive(Debug, clap::Args)]
struct Sign {
    /// The kernel's id in the catalogue.
    #[arg(long, value_name = "ID", default_value = "jax-rpa")]
    kernel: String,
    /// What each claim must reach, as TOML [default: the policy that comes with the program; `countersign init` writes it].
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Folder for signoff.json, signoff.html, signoff.md and the evidence as it is made: an interrupted sign-off goes on from there.
    #[arg(long, value_name = "DIR", default_value = "signoff")]
    out: PathBuf,
    /// Seed of all that is generated.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    variant: VariantArgument,
    /// The state folder of nights, whose figures the page shows [default: the one in the cache folder, where there is one].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Print the document as JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Put a fault into the kernel's IR first, VARIANT:OPERATOR:OP:PLACE: what is signed is then that mutant.
    #[arg(long, value_name = "MUTANT", hide = true, value_parser = Planted::parse)]
    mutant: Option<Planted>,
    #[command(flatten)]
    given: Given,
}

/// What both making and checking a sign-off take.
#[derive(Debug, clap::Args)]
struct Given {
    /// The regressions: a folder of case files, or `builtin`, of which the kernel's own are replayed.
    #[arg(long, value_name = "DIR", default_value = "builtin")]
    corpus: PathBuf,
    /// Known findings of your own, besides the built-in ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    match &arguments.command {
        Some(Action::Verify(arguments)) => verify::run(arguments),
        None => sign(&arguments.sign),
    }
}

fn sign(arguments: &Sign) -> Result<u8, Failure> {
    let (text, policy) = policy(arguments.policy.as_deref())?;
    let catalogue = session::catalogue(&arguments.given.python)?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    let variants = arguments.variant.variants(kernel, countersign_kernels::catalogue::Tier::Small)?;
    let jobs = arguments.jobs.map_or_else(super::fuzz::cores, usize::from);
    stop_at_interrupts(&arguments.out)?;
    let kernel = Kernel::load(&arguments.given, &catalogue, kernel, variants, arguments.mutant.as_ref())?;
    let inputs = kernel.inputs(&text)?;
    let mutant = arguments.mutant.as_ref().map(Planted::to_string);
    let about = About { seed: arguments.seed, policy: text, inputs, mutant };
    let (known, date) = (&kernel.known, today());
    let refusals = refusals()?;
    let measure =
        Measure { policy: &policy, known, refusals: &refusals, kernel: &arguments.kernel, date: &date };
    let store = arguments.out.join("evidence");
    let gathering =
        Gathering { kernel: &kernel, measure: &measure, about: &about, jobs, store: Some(&store) };
    let parts = gathering.run()?;
    let unpinned = kernel.is_unpinned();
    let trends = state::trends(arguments.state.as_deref(), &arguments.kernel)?;
    let signoff = document(about, &measure, parts, unpinned, trends).map_err(unwritten)?;
    let json = write(&arguments.out, &signoff)?;
    if arguments.json {
        eprint!("{}", told(&signoff, &arguments.out));
        print(&json)?;
    } else {
        print(&told(&signoff, &arguments.out))?;
    }
    Ok(u8::from(!signoff.refused.is_empty()))
}

/// The policy of a file, or the one that comes with the program: its text, and what it says.
fn policy(file: Option<&Path>) -> Result<(String, Policy), Failure> {
    let text = match file {
        Some(file) => fs::read_to_string(file).map_err(|error| Failure::file(file, error))?,
        None => DEFAULT.to_owned(),
    };
    let name = file.map_or_else(|| "the built-in policy".to_owned(), |file| file.display().to_string());
    let policy = Policy::parse(&text).map_err(|why| {
        Failure::new(format!("{name}: {why}"), "`countersign init` writes a policy with every key explained")
    })?;
    Ok((text, policy))
}

/// What is known of the TPU compiler's refusals.
fn refusals() -> Result<KnownRefusals, Failure> {
    KnownRefusals::builtin()
        .map_err(|why| Failure::new(why, "this is a fault of countersign: please report it"))
}

/// A Ctrl-C ends the process at once: what is complete is stored by then.
fn stop_at_interrupts(out: &Path) -> Result<(), Failure> {
    let out = out.display().to_string();
    ctrlc::set_handler(move || {
        eprintln!("stopped; what is complete stands in {out}, and the same command goes on from there");
        process::exit(3);
    })
    .map_err(|error| Failure::new(format!("Ctrl-C can't be watched: {error}"), "please report this"))
}

fn unwritten(error: serde_json::Error) -> Failure {
    Failure::new(error.to_string(), "this is a fault of countersign: please report it")
}

/// Writes the document in its forms; the JSON.
fn write(out: &Path, signoff: &Signoff) -> Result<String, Failure> {
    let json = signoff_to_json(signoff).map_err(unwritten)?;
    let (page, markdown) = (signoff_to_html(signoff), signoff_to_markdown(signoff));
    fs::create_dir_all(out).map_err(|error| Failure::file(out, error))?;
    for (name, text) in [("signoff.json", &json), ("signoff.md", &markdown), ("signoff.html", &page)] {
        let path = out.join(name);
        campaign::write_whole(&path, text.as_bytes()).map_err(|error| Failure::file(&path, error))?;
    }
    Ok(json)
}

fn told(signoff: &Signoff, out: &Path) -> String {
    let mut rows = vec![row!["claim", "", "measured"]];
    rows.extend(signoff.claims.iter().map(|claim| row![claim.id, claim.standing.name(), claim.measured]));
    let mut text = table::render(&rows);
    for claim in signoff.claims.iter().filter(|claim| claim.standing == Standing::Failed) {
        text += &format!("\n{}: {}\n", claim.id, claim.sentence);
        text.extend(claim.details.iter().map(|detail| format!("  {detail}\n")));
    }
    if let Some(mutant) = &signoff.mutant {
        text += &format!("\na fault was put into the kernel on purpose: {mutant}\n");
    }
    text += &format!("\nnot seen from here: {}\n", signoff.not_seen.join("; "));
    text + &format!("\n{}: {}\n{}\n", signoff.kernel, signoff.sentence(), out.join("signoff.html").display())
}
