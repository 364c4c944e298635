//! `countersign kernels show --contract` and `kernels gaps`: the contract measured, printed or published.
//!
//! Invariant: what is printed as an effect was run just now.

use std::fs;
use std::path::PathBuf;

use countersign_kernels::DeviceProfile;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::engine::Policy;
use countersign_kernels::env::Environment;
use countersign_kernels::worker::Worker;
use countersign_reports::{
    ContractTable, FindingStatus, GapsReport, counts_text, effect_words, gap_class, gaps_to_html,
    gaps_to_json, gaps_to_markdown,
};

use super::PythonArgument;
use super::console::{CaseProgress, Failure, SetupProgress, print};
use super::fuzz::{cores, known, watch_interrupts};
use super::items;
use super::session::{self, AskWorker};
use super::sweep;
use super::table::{self, row};
use super::variant::VariantArgument;
use crate::campaign::{Subject as _, write_whole};
use crate::contract::Regressions;
use crate::contract::{self, Batches, CallsError, Effort, Subjects};
use crate::loaded::Loaded;
use crate::minimise::BUDGET;
use crate::replay::Item;

/// Cases of the campaign that slips are counted in.
const CASES: usize = 12_000;
/// Its seed.
const SEED: u64 = 1;

/// Arguments of `kernels gaps`.
#[derive(Debug, clap::Args)]
pub(super) struct Gaps {
    /// The kernel's id.
    kernel: String,
    /// Folder to write to.
    #[arg(long, value_name = "DIR", default_value = "countersign/gaps")]
    out: PathBuf,
    /// Generated batches in which slips are counted and gaps looked for.
    #[arg(long, value_name = "N", default_value_t = CASES)]
    cases: usize,
    /// Most cases that are executed to make the batch of one gap smaller.
    #[arg(long, value_name = "N", default_value_t = BUDGET, value_parser = clap::value_parser!(u64).range(1..))]
    budget: u64,
    /// Pairs of edits of the static side.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pairs: u64,
    /// Known findings of your own, besides the built-in ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// The kernel's regressions, of which a gap should have one: a folder of cases, or `builtin`.
    #[arg(long, value_name = "DIR", default_value = "builtin")]
    corpus: PathBuf,
    #[command(flatten)]
    pub(super) python: PythonArgument,
}

struct Measured {
    table: ContractTable,
    batches: Batches,
}

/// Probes every rule: batches on `loaded`'s variants, calls on the first and the first with a window.
fn measure(
    environment: &Environment,
    kernel: &KernelEntry,
    loaded: &Loaded,
    variants: &[Variant],
) -> Result<Measured, Failure> {
    let policy = Policy::of(DeviceProfile::exact());
    let progress = SetupProgress::new();
    let ours = |message: String| Failure::new(message, "this is a fault of countersign: please report it");
    let mut static_variants: Vec<Variant> = variants.first().cloned().into_iter().collect();
    static_variants
        .extend(variants.iter().skip(1).find(|variant| variant.options.sliding_window.is_some()).cloned());
    // A kernel without checks says nothing of a call that could be compared.
    let calls = if kernel.family.model().has_checks() {
        let mut worker = Worker::start(environment).map_err(|error| {
            Failure::new(error.to_string(), "`countersign setup --check` looks at the environment")
        })?;
        contract::calls(environment, &mut worker, kernel, &static_variants, &policy, &progress).map_err(
            |error| match error {
                CallsError::Setup(error) => Failure::from(error),
                CallsError::Worker(_) | CallsError::Port(_) => ours(error.to_string()),
            },
        )?
    } else {
        static_variants.clear();
        Vec::new()
    };
    let batches = contract::batches(loaded, &policy).map_err(|error| ours(error.to_string()))?;
    Ok(Measured { table: contract::table(loaded, calls, &batches, &static_variants), batches })
}

/// `kernels show --contract`.
pub(super) fn show(
    kernel: &KernelEntry,
    variant: &VariantArgument,
    json: bool,
    python: &PythonArgument,
) -> Result<u8, Failure> {
    let variants = variant.variants(kernel, Tier::Small)?;
    let environment = session::environment(python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, variants.clone())?;
    let table = measure(&environment, kernel, &loaded, &variants)?.table;
    if json {
        let text =
            gaps_to_json(&table).map_err(|error| Failure::new(error.to_string(), "please report this"))?;
        print(&text)?;
    } else {
        print(&describe(&table))?;
    }
    Ok(0)
}

fn describe(table: &ContractTable) -> String {
    let packages: Vec<String> =
        table.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let (kernel, packages, batches) = (&table.kernel, packages.join(", "), table.variants.len());
    let mut text = match table.static_variants.as_slice() {
        [] => format!(
            "{kernel} ({packages}): what the kernel did with probes just outside each rule, on {batches} variants.\n\
             It has no checks: no check refuses a batch, and rules of the call aren't probed.\n\n"
        ),
        calls => format!(
            "{kernel} ({packages}): what the checks say of probes just outside each rule, and what the kernel did with them.\n\
             Batches on {batches} variants, static calls on {}. The dynamic check is never called in production, so what it\n\
             refuses was run all the same.\n\n",
            calls.join(" and ")
        ),
    };
    let mut rows =
        vec![row!["rule", "standing", "static check", "dynamic check", "effect when broken", "gaps"]];
    for rule in &table.rules {
        let plain = |counts| counts_text(counts, str::to_owned);
        rows.push(row![
            rule.id,
            rule.standing,
            plain(&rule.broken.r#static),
            plain(&rule.broken.dynamic),
            counts_text(&rule.broken.effects, |name| effect_words(name).to_owned()),
            counts_text(&rule.gaps, |kind| gap_class(kind).to_owned()),
        ]);
    }
    text += &table::render(&rows);
    text
}

/// `kernels gaps`.
pub(super) fn gaps(arguments: &Gaps, catalogue: &Catalogue) -> Result<u8, Failure> {
    let kernel = session::kernel(catalogue, &arguments.kernel)?;
    let known = known(&arguments.known)?;
    let variants: Vec<Variant> = kernel.variants(Tier::Small).cloned().collect();
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, variants.clone())?;
    let Measured { table, batches } = measure(&environment, kernel, &loaded, &variants)?;
    let sweep_effort = sweep::Effort { seed: SEED, pairs: Some(arguments.pairs), time: None, jobs: cores() };
    let interrupted = watch_interrupts()?;
    let of_corpus =
        |item: &Item| !arguments.corpus.ends_with("builtin") || item.name.starts_with("regressions/");
    let items: Vec<Item> = items::read(&arguments.corpus, catalogue)?
        .into_iter()
        .filter(|item| of_corpus(item) && item.file.case.kernel == kernel.id)
        .collect();
    let all = load_all(&environment, kernel, &variants, &items)?;
    let regressions = Regressions::of(&items, all.variants(), &known);
    let swept = kernel.family.model().has_checks().then(|| {
        sweep::measure(kernel, &variants[..1], &sweep_effort, &known, &regressions, &environment, interrupted)
    });
    let policy = Policy::of(DeviceProfile::exact());
    let Gaps { cases, budget, .. } = *arguments;
    let effort = Effort { cases, seed: SEED, budget, jobs: cores(), interrupted };
    let mut progress: Option<CaseProgress> = None;
    let version = table.packages.get("jax").cloned().unwrap_or_else(|| "unknown".to_owned());
    let mut report = contract::report(
        Subjects { loaded: &loaded, all: &all, items: &items },
        table,
        batches,
        swept,
        &policy,
        effort,
        &known,
        &mut AskWorker::new(&environment, kernel),
        &format!(
            "countersign kernels gaps {} --cases {} --pairs {}",
            kernel.id, arguments.cases, arguments.pairs
        ),
        &mut |of, name| progress.get_or_insert_with(|| CaseProgress::new(of)).done(name),
    )
    .map_err(|error| Failure::new(error.to_string(), "this is a fault of countersign: please report it"))?;

    drop(progress);

    let out = &arguments.out;
    let scripts = format!("{}-{version}-gaps", kernel.id);
    let folder = out.join(&scripts);
    fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    let sweep_gaps = report.sweep.iter_mut().flat_map(|sweep| &mut sweep.gaps);
    for gap in report.gaps.iter_mut().chain(sweep_gaps) {
        let name = format!("{scripts}/{}.py", sweep::slug(gap));
        sweep::write_script(gap, out, &name)?;
    }
    let json = |error: serde_json::Error| Failure::new(error.to_string(), "please report this");
    let name = format!("{}-{version}", kernel.id);
    for (file, text) in [
        (format!("{name}-gaps.html"), gaps_to_html(&report)),
        (format!("{name}-gaps.md"), gaps_to_markdown(&report)),
        (format!("{name}-contract.json"), gaps_to_json(&report.contract).map_err(json)?),
    ] {
        let path = out.join(file);
        write_whole(&path, text.as_bytes()).map_err(|error| Failure::file(&path, error))?;
    }
    print(&closing(&report, &out.join(format!("{name}-gaps.html")).display().to_string()))?;
    let sweep_gaps = report.sweep.iter().flat_map(|sweep| &sweep.gaps);
    let new = report.gaps.iter().chain(sweep_gaps).any(|gap| gap.finding.status != FindingStatus::Known);
    Ok(u8::from(new))
}

/// The kernel on `variants` and on those of the cases besides.
fn load_all(
    environment: &Environment,
    kernel: &KernelEntry,
    variants: &[Variant],
    items: &[Item],
) -> Result<Loaded, Failure> {
    let mut all = variants.to_vec();
    for item in items.iter().filter(|item| item.file.case.statics.is_none()) {
        if !all.iter().any(|variant| variant.same_call(&item.variant)) {
            all.push(item.variant.clone());
        }
    }
    session::load(environment, kernel, all)
}

fn closing(report: &GapsReport, path: &str) -> String {
    let mut text = String::new();
    let sweep_gaps = report.sweep.iter().flat_map(|sweep| &sweep.gaps);
    for gap in report.gaps.iter().chain(sweep_gaps) {
        let status = match gap.finding.status {
            FindingStatus::Known => "known",
            FindingStatus::New | FindingStatus::Returned => "new",
        };
        text += &format!("{status}  {}  {}\n", gap.finding.signature, gap.origin);
    }
    let static_gaps = report.sweep.as_ref().map_or(0, |sweep| sweep.gaps.len());
    text + &format!(
        "{} rules, {} slips, {} gaps of batches, {static_gaps} of the static side\nreport: {path}\n",
        report.contract.rules.len(),
        report.slips.len(),
        report.gaps.len()
    )
}
