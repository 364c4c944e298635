//! `countersign show`: one case, without Python and without running anything, unless its fault is asked for.

use std::path::{Path, PathBuf};

use countersign_kernels::catalogue::Catalogue;
use countersign_kernels::checks::Verdict;
use countersign_kernels::engine::{Engine, Policy};
use countersign_kernels::rpa::bind::bind;

use super::console::{Failure, print};
use super::session::AskWorker;
use super::{ProfileArgument, PythonArgument, items, session};
use crate::campaign::Subject;
use crate::case::CaseError;
use crate::confirm::{Validator as _, words};
use crate::contract::judge_lowering;
use crate::interference::interference;
use crate::judge::judge;
use crate::replay::Item;
use crate::repro::{self, Besides};
use crate::trial::{Examined, examine, run_trial};
use crate::{show, traced};

const EXAMPLES: &str = "\
Examples:
  countersign show countersign/findings/new-divergence-jax-rpa-wrong-rows.toml
  countersign show countersign/findings/new-fault-jax-rpa-out-of-bounds.toml --trace
  countersign show my-batch.toml --repro > repro.py";

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A case file.
    file: PathBuf,
    /// Also run the kernel, and where it faults show both sites on its source and the values that led there; and where
    /// sequences break a rule, run it without them and say whose outputs change.
    #[arg(long)]
    trace: bool,
    /// Run the kernel, and print nothing but a Python script that shows the first finding with jax and numpy alone.
    #[arg(long, conflicts_with = "trace")]
    repro: bool,
    #[command(flatten)]
    profile: ProfileArgument,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let path = &arguments.file;
    let text = items::text(path)?;
    let unreadable = |error: CaseError| {
        Failure::new(format!("{}: {error}", path.display()), "a case file is described in corpus/README.md")
    };
    let catalogue = session::catalogue(&arguments.python)?;
    let mut item = Item::read(&path.display().to_string(), &text, &catalogue).map_err(unreadable)?;
    item.open_payload(Path::new("")).map_err(unreadable)?;
    if arguments.repro {
        print(&script(arguments, &catalogue, &item)?)?;
        return Ok(0);
    }
    let Item { file, variant, .. } = &item;
    let batch = file.case.batch(variant).map_err(unreadable)?;
    let Examined { contract, static_verdict, dynamic_verdict } = examine(variant, &file.case, &batch);
    let words = words(variant.family, &static_verdict, Some(&dynamic_verdict), false);
    let mut verdicts = vec![format!("contract  {}", contract.keeping().name())];
    verdicts.extend(
        contract.breaches.iter().map(|breach| format!("breaks    {}: {}", breach.rule.id, breach.detail)),
    );
    let port = if variant.family.model().has_checks() { " (port)" } else { "" };
    verdicts.push(format!("static    {}{port}", words.r#static));
    verdicts.push(format!("dynamic   {}{port}", words.dynamic));
    let mut text = show::table(&file.case, variant, &verdicts);
    if arguments.trace {
        text += &format!("\n{}", traced(arguments, &catalogue, &item)?);
    }
    print(&text)?;
    Ok(0)
}

/// Runs the case and writes what it shows as a script.
fn script(arguments: &Arguments, catalogue: &Catalogue, item: &Item) -> Result<String, Failure> {
    let case = &item.file.case;
    let kernel = session::kernel(catalogue, &case.kernel)?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, vec![item.variant.clone()])?;
    let unreadable =
        |error: CaseError| Failure::new(error.to_string(), "a case file is described in corpus/README.md");
    let (variant, mut engine) = (&loaded.variants()[0], loaded.engine(0));
    let policy = Policy::of(arguments.profile.profile);
    let runs: Option<&mut dyn Engine> = if case.statics.is_some() { None } else { Some(engine.as_mut()) };
    let trial = run_trial(runs, kernel, variant, case, &policy).map_err(unreadable)?;
    let lowering = match (&case.statics, &trial.static_verdict) {
        (Some(_), Verdict::Accepts) => Some(
            AskWorker::new(&environment, kernel)
                .lower(variant, case)
                .map_err(|why| Failure::new(why, "`countersign setup --check` looks at the environment"))?,
        ),
        _ => None,
    };
    let findings = match &lowering {
        Some(lowering) => judge_lowering(&trial, lowering),
        None => judge(&trial).findings,
    };
    let Some(finding) = findings.into_iter().next() else {
        let message = format!("{} shows no finding. {}", arguments.file.display(), trial.conduct);
        return Err(Failure::new(message, "a script is written of a finding"));
    };
    let others = interference(engine.as_mut(), variant, case, &policy).map_err(unreadable)?;
    let others = others.map(|others| others.to_string());
    let besides = Besides { others: others.as_deref(), lowering: lowering.as_ref() };
    repro::script(kernel, case, &trial, &finding, besides).map_err(|why| {
        Failure::new(format!("{}: {why}", arguments.file.display()), "`--trace` shows what happens")
    })
}

/// Runs the case and follows its fault back.
fn traced(arguments: &Arguments, catalogue: &Catalogue, item: &Item) -> Result<String, Failure> {
    let case = &item.file.case;
    if case.statics.is_some() {
        return Ok("the case has static overrides: it is only traced by JAX, and never runs\n".to_owned());
    }
    let kernel = session::kernel(catalogue, &case.kernel)?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, vec![item.variant.clone()])?;
    if let Some((_, reason)) = loaded.failures().next() {
        return Ok(format!("it can't be run: {reason}\n"));
    }
    let (variant, mut engine) = (&loaded.variants()[0], loaded.engine(0));
    let unreadable =
        |error: CaseError| Failure::new(error.to_string(), "a case file is described in corpus/README.md");
    let batch = case.batch(variant).map_err(unreadable)?;
    let policy = Policy::of(arguments.profile.profile);
    let text = match engine.trace(&batch, &bind(variant, &batch), &policy) {
        Some(trace) => {
            traced::text(&trace, &variant.family.model().meaning(variant, &trace), loaded.source(0).as_ref())
        }
        None => {
            let trial =
                run_trial(Some(engine.as_mut()), kernel, variant, case, &policy).map_err(unreadable)?;
            format!("no fault to follow back. {}.\n", trial.conduct)
        }
    };
    let others = interference(engine.as_mut(), variant, case, &policy).map_err(unreadable)?;
    Ok(text + &others.map_or_else(String::new, |others| format!("\n{others}.\n")))
}
