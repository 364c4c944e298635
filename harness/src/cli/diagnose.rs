//! `countersign diagnose`: a dumped batch, without Python unless the kernel is asked to run.
//!
//! Invariant: decides nothing about a batch; files are written only where the user names them.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use countersign_dtype::DType;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry};
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::Policy;
use countersign_kernels::env::Environment;
use countersign_reports::{Diagnosis, RunReport, diagnosis_to_json, diagnosis_to_text};

use super::console::{Failure, print, today};
use super::fuzz::known;
use super::{ProfileArgument, PythonArgument, session};
use crate::campaign::Subject;
use crate::case::Case;
use crate::corpus::{self, Origin, slug};
use crate::diagnose::cut::{Cut, cut};
use crate::diagnose::names::Naming;
use crate::diagnose::stand_in::seed_of;
use crate::diagnose::{DiagnoseError, Examined, examine, fix, report, save, with_payload};
use crate::dump::{Dump, DumpError};
use crate::replay::Item;
use crate::trial::{Conduct, run_trial};

const EXAMPLES: &str = "\
Examples:
  countersign diagnose batch.npz
  countersign diagnose batch.npz --map kv_lens=seq_lens --map page_indices=block_tables
  countersign diagnose metadata.npz --variant tokens=1024,page_size=16,pages=4096
  countersign diagnose batch.npz --dtype q=bf16 --dtype kv_pages=f8e4m3fn
  countersign diagnose batch.npz --fix right.npz
  countersign diagnose batch.npz --run                   what the kernel does with it, in the virtual machine
  countersign diagnose batch.npz --save cases            a case that replays, beside its payload

Exit codes: 0 the batch is right; 1 it is broken, or the kernel gets it wrong (--run); 2 usage, or a file that can't be read.";

/// Arguments of `diagnose`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// An npz or safetensors file, or a folder of npy files, with kv_lens, page_indices, cu_q_lens and num_seqs, and q and kv_pages
    /// where they are at hand: of these the header alone is read.
    file: PathBuf,
    /// The kernel whose contract counts.
    #[arg(long, default_value = "jax-rpa")]
    kernel: String,
    /// The array that an operand has in the file. May be repeated.
    #[arg(long, value_name = "OPERAND=NAME", value_parser = pair)]
    map: Vec<(String, String)>,
    /// The element type of an operand that NumPy saved as bits without a type (bf16 as |V2, fp8 as |V1). May be repeated.
    #[arg(long, value_name = "OPERAND=TYPE", value_parser = typed)]
    dtype: Vec<(String, DType)>,
    /// What the arrays don't say: shapes where q or kv_pages aren't in the file (tokens, pages, page_size), options, block sizes; the
    /// keys are those of `fuzz --variant`. Without block sizes those of the kernel's tuning table count.
    #[arg(long, value_name = "KEY=VALUE,…", default_value = "")]
    variant: String,
    /// Write the corrected batch to this npz file, if there is one correction.
    #[arg(long, value_name = "OUT.npz")]
    fix: Option<PathBuf>,
    /// Run the kernel on the batch, its cache cut to the pages in use; where that can't be, on a small batch with the same slip.
    #[arg(long)]
    run: bool,
    /// Write the batch as a case that replays, with q and the cache's pages in use beside it, into this folder.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Known findings of your own, besides the built-in ones, of which effects are told; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    #[command(flatten)]
    profile: ProfileArgument,
    #[command(flatten)]
    python: PythonArgument,
    /// Print one JSON document (its schema: reports/schema/diagnose.schema.json).
    #[arg(long)]
    json: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (operand, value) = text.split_once('=').ok_or("write OPERAND=NAME, e.g. kv_lens=seq_lens")?;
    Ok((operand.trim().to_owned(), value.trim().to_owned()))
}

fn typed(text: &str) -> Result<(String, DType), String> {
    let (operand, name) = pair(text)?;
    let alias = match name.as_str() {
        "bfloat16" => "bf16",
        "float8_e4m3fn" => "f8e4m3fn",
        "float8_e5m2" => "f8e5m2",
        "float32" => "f32",
        "int8" => "i8",
        "int4" => "i4",
        other => other,
    };
    let dtype = DType::from_name(alias)
        .ok_or_else(|| format!("no element type `{name}`: f32, bf16, f8e4m3fn, f8e5m2, i8, i4"))?;
    Ok((operand, dtype))
}

impl From<DumpError> for Failure {
    fn from(DumpError { message, help }: DumpError) -> Failure {
        Failure::new(message, help)
    }
}

impl From<DiagnoseError> for Failure {
    fn from(error: DiagnoseError) -> Failure {
        match error {
            DiagnoseError::Dump(error) => error.into(),
            DiagnoseError::Variant(error) => Failure::new(error.message, error.help),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    let dump = Dump::open(&arguments.file)?;
    let naming = Naming { map: arguments.map.clone(), dtypes: arguments.dtype.clone() };
    let examined = examine(&dump, kernel, &naming, &arguments.variant)?;
    let mut diagnosis = report(&dump, kernel, &examined, &known(&arguments.known)?);
    if let Some(path) = &arguments.fix
        && diagnosis.fix.unambiguous
        && !diagnosis.causes.is_empty()
    {
        fix::write(&dump, &examined, path).map_err(|error| Failure::file(path, error))?;
        diagnosis.fix.written = Some(path.display().to_string());
    }
    if arguments.run || arguments.save.is_some() {
        let batch = as_case(arguments, &dump, &examined, &mut diagnosis)?;
        if arguments.run {
            let run = ran(arguments, &catalogue, kernel, batch, &diagnosis)?;
            if run.is_wrong && diagnosis.contract == Keeping::Kept.name() {
                diagnosis.exit_code = 1;
                diagnosis.notes.push(format!(
                    "the batch is right, and what the kernel does with it is not: that is a fault of the kernel{}",
                    if arguments.save.is_some() { "" } else { "; --save keeps the case" }
                ));
            }
            diagnosis.run = Some(RunReport { ran: run.what, kernel: run.kernel });
        }
    }
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if arguments.json {
        print(&diagnosis_to_json(&diagnosis).map_err(ours)?)?;
    } else {
        print(&diagnosis_to_text(&diagnosis, colour))?;
    }
    Ok(diagnosis.exit_code)
}

fn ours(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string(), "this is a fault of countersign: please report it")
}

/// The batch as a case with the dump's own values, saved where that is asked for; or why it can't be one.
fn as_case(
    arguments: &Arguments,
    dump: &Dump,
    examined: &Examined<'_>,
    diagnosis: &mut Diagnosis,
) -> Result<Result<Cut, String>, Failure> {
    let mut batch = match cut(&diagnosis.kernel, examined) {
        Ok(batch) => batch,
        Err(why) => {
            if arguments.save.is_some() {
                diagnosis.notes.push(format!("not saved: {why}"));
            }
            return Ok(Err(why));
        }
    };
    // Without --save the payload's file is needed only while we run.
    let (folder, _scratch) = match &arguments.save {
        Some(folder) => (folder.clone(), None),
        None => {
            let scratch = Scratch::new()?;
            (scratch.0.clone(), Some(scratch))
        }
    };
    let failed = |error| Failure::file(&folder, error);
    fs::create_dir_all(&folder).map_err(failed)?;
    let stem = arguments.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = corpus::free_name(&slug(&stem), &|name| folder.join(format!("{name}.toml")).exists());
    if let Err(why) = save::payload(dump, examined, &mut batch, &folder, &name) {
        return Err(Failure::new(why, "--save and --run read the values of q and kv_pages"));
    }
    with_payload(&batch, diagnosis).map_err(ours)?;
    if arguments.save.is_some() {
        let cause = diagnosis
            .causes
            .first()
            .map_or("A batch dumped from a server.".to_owned(), |cause| format!("{}.", cause.sentence));
        let origin =
            Origin { when: today(), from: format!("A dump, {}.", file_name(&arguments.file)), cause };
        let path = save::case(&batch, &folder, &name, origin).map_err(failed)?;
        diagnosis.saved = Some(format!("{}; `countersign replay {0}` runs it", path.display()));
    }
    Ok(Ok(batch))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A folder that goes away with its owner.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Failure> {
        let path = std::env::temp_dir().join(format!("countersign-diagnose-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| Failure::file(&path, error))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // of no use any more, and nothing to be done
    }
}

/// A run.
struct Ran {
    /// What was run.
    what: String,
    /// What the kernel did, in a sentence.
    kernel: String,
    /// Whether the batch itself ran, and came out wrong.
    is_wrong: bool,
}

/// Runs the batch; where it can't be run, the seed with the same slip.
fn ran(
    arguments: &Arguments,
    catalogue: &Catalogue,
    kernel: &KernelEntry,
    batch: Result<Cut, String>,
    diagnosis: &Diagnosis,
) -> Result<Ran, Failure> {
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let policy = Policy::of(arguments.profile.profile);
    let why = match batch {
        Ok(batch) => match run_case(&environment, kernel, &batch.variant, &batch.case, &policy)? {
            Ok(conduct) => {
                let values =
                    if batch.case.payload.file.is_some() { "its own values" } else { "random values" };
                let pages = batch.pages.len();
                let what =
                    format!("the batch itself, with {values}; its cache cut to the {pages} pages in use");
                let is_wrong = match &conduct {
                    Conduct::Finished(comparison) => !comparison.wrong_rows.is_empty(),
                    Conduct::Fault(_) | Conduct::Hang => true,
                    Conduct::NotRun | Conduct::Unsupported(_) => false,
                };
                return Ok(Ran { what, kernel: conduct.to_string(), is_wrong });
            }
            Err(why) => why,
        },
        Err(why) => why,
    };
    let seed = diagnosis.causes.iter().find_map(|cause| seed_of(&cause.slip));
    let Some(seed) = seed else {
        let what = format!("nothing: {why}; and there is no small batch of the same kind");
        return Ok(Ran { what, kernel: "not run".to_owned(), is_wrong: false });
    };
    let name = format!("seeds/{seed}.toml");
    let text = corpus::builtin().iter().find(|(file, _)| *file == name).map(|(_, text)| *text);
    let item = Item::read(&name, text.unwrap_or_default(), catalogue).map_err(ours)?;
    if item.file.case.kernel != kernel.id {
        let what = format!("nothing: {why}; and the small batches of the same kind are of other kernels");
        return Ok(Ran { what, kernel: "not run".to_owned(), is_wrong: false });
    }
    let what = format!("not the batch itself ({why}), but a small one with the same slip, builtin:{name}");
    let kernel = match run_case(&environment, kernel, &item.variant, &item.file.case, &policy)? {
        Ok(conduct) => conduct.to_string(),
        Err(why) => format!("not run: {why}"),
    };
    Ok(Ran { what, kernel, is_wrong: false })
}

/// What the kernel does with a case; or why it can't be run.
fn run_case(
    environment: &Environment,
    kernel: &KernelEntry,
    variant: &Variant,
    case: &Case,
    policy: &Policy,
) -> Result<Result<Conduct, String>, Failure> {
    let loaded = session::load(environment, kernel, vec![variant.clone()])?;
    if let Some((_, reason)) = loaded.failures().next() {
        return Ok(Err(reason.to_owned()));
    }
    let (variant, mut engine) = (&loaded.variants()[0], loaded.engine(0));
    let trial = run_trial(Some(engine.as_mut()), kernel, variant, case, policy).map_err(ours)?;
    Ok(Ok(trial.conduct))
}
