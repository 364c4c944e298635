//! `countersign signoff verify`: a document checked against itself, against the inputs as they are now, and against runs.
//!
//! Invariant: exits with 0 only where nothing differs; a difference that another machine explains (its Python, another build of this
//! program) is said, and counts only where the evidence differs, too.

use std::fs;
use std::path::PathBuf;

use countersign_kernels::Variant;
use countersign_kernels::custom;
use countersign_reports::{CompileReport, CompiledRow, Signoff, Verdict, signoff_from_json};

use super::super::console::{Failure, print, today};
use super::super::session;
use super::gather::{Gathering, Kernel, campaign_plan, mutation_plan};
use super::{Given, refusals, unwritten};
use crate::campaign::Subject as _;
use crate::signoff::claims::Measure;
use crate::signoff::policy::Policy;
use crate::signoff::{About, Planted, parts, verify as checks};
use crate::{controls, metamorphic};

const EXAMPLES: &str = "\
Examples:
  countersign signoff verify signoff/signoff.json
  countersign signoff verify signoff/signoff.json --full";

/// Kept batches of each variant that relations are asked about where not all is redone.
const SAMPLED_RELATIONS: u64 = 2;

/// Arguments of `signoff verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The document: signoff.json.
    file: PathBuf,
    /// Make all evidence again, as long as that takes, and compare it with the document's.
    #[arg(long)]
    full: bool,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    given: Given,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let file = &arguments.file;
    let text = fs::read_to_string(file).map_err(|error| Failure::file(file, error))?;
    let signoff = signoff_from_json(&text).map_err(|why| {
        Failure::new(format!("{}: {why}", file.display()), "`countersign signoff` writes such files")
    })?;
    let policy = Policy::parse(&signoff.policy).map_err(|why| {
        Failure::new(format!("{}: its policy: {why}", file.display()), "it was made by another version")
    })?;
    let catalogue = session::catalogue(&arguments.given.python)?;
    let kernel = session::kernel(&catalogue, &signoff.kernel)?;
    let planted = signoff.mutant.as_deref().map(Planted::parse).transpose();
    let planted = planted.map_err(|why| Failure::new(format!("its mutant: {why}"), "check the file"))?;
    let named = signoff.campaign.report.campaign.iter().flat_map(|campaign| &campaign.variants);
    let variants: Vec<Variant> = named
        .map(|name| custom::variant(kernel, name).map_err(|error| Failure::new(error.message, error.help)))
        .collect::<Result<_, _>>()?;
    let known = super::super::fuzz::known(&arguments.given.known)?;
    let (id, date) = (signoff.kernel.as_str(), signoff.timing.date.as_str());
    let refusals = refusals()?;
    let measure = Measure { policy: &policy, known: &known, refusals: &refusals, kernel: id, date };
    let mut differences = checks::contradictions(&text, &signoff, &measure).map_err(unwritten)?;
    if !differences.is_empty() {
        // What contradicts itself needn't be run.
        print(&told(&signoff, &differences, &[], "nothing was run"))?;
        return Ok(1);
    }
    let kernel = Kernel::load(&arguments.given, &catalogue, kernel, variants, planted.as_ref())?;
    let inputs = kernel.inputs(&signoff.policy)?;
    let (changed, incidental) = checks::changed_inputs(&signoff, &inputs);
    differences.extend(changed);
    let jobs = arguments.jobs.map_or_else(super::super::fuzz::cores, usize::from);
    let about =
        About { seed: signoff.seed, policy: signoff.policy.clone(), inputs, mutant: signoff.mutant.clone() };
    let gathering = Gathering { kernel: &kernel, measure: &measure, about: &about, jobs, store: None };
    let mut notes: Vec<String> = incidental
        .into_iter()
        .map(|changed| format!("{changed} since it was signed; only the evidence counts"))
        .collect();
    if signoff.compiled.is_some() && kernel.environment.libtpu().is_none() {
        let note =
            "the TPU compiler isn't installed here, so that its answers were only compared with their hash";
        notes.push(note.to_owned());
    }
    differences.extend(match arguments.full {
        true => all(&gathering, &signoff)?,
        false => sample(&gathering, &signoff)?,
    });
    let today = today();
    let expired = signoff.waivers.iter().filter(|waiver| waiver.expires <= today);
    differences.extend(
        expired.map(|waiver| format!("the waiver of {} expired on {}", waiver.signature, waiver.expires)),
    );
    let how = match arguments.full {
        true => "all evidence made again",
        false => "hashes, judgement and a sample of the evidence",
    };
    print(&told(&signoff, &differences, &notes, how))?;
    Ok(u8::from(!differences.is_empty()))
}

/// What differs when everything is made again.
fn all(gathering: &Gathering<'_>, signoff: &Signoff) -> Result<Vec<String>, Failure> {
    let parts = gathering.run()?;
    let same = [
        ("regressions", checks::facts(&parts.regressions) == checks::facts(&signoff.regressions)),
        ("campaign", parts.campaign == signoff.campaign),
        ("controls", parts.controls == signoff.controls),
        ("relations", parts.relations == signoff.relations),
        ("mutation", parts.mutation == signoff.mutation),
        // Without the compiler there is nothing to compare; a note says so.
        ("compiled", parts.compiled.is_none() || parts.compiled == signoff.compiled),
    ];
    let differs = same.into_iter().filter(|(_, same)| !same);
    Ok(differs.map(|(part, _)| format!("the evidence `{part}` is another when it is made again")).collect())
}

/// What differs in the corpus, the controls, a sample of generated cases and relations, and each killed mutant's case.
fn sample(gathering: &Gathering<'_>, signoff: &Signoff) -> Result<Vec<String>, Failure> {
    let Gathering { kernel, measure, jobs, .. } = *gathering;
    let (loaded, seed) = (&kernel.loaded, signoff.seed);
    let mut differences = Vec::new();
    eprintln!("regressions …");
    if checks::facts(&gathering.regressions()?) != checks::facts(&signoff.regressions) {
        differences.push("the corpus shows something else than the evidence says".to_owned());
    }
    eprintln!("a sample of the campaign …");
    let plan = campaign_plan(measure, seed, jobs, &kernel.known);
    differences.extend(checks::campaign(loaded, &plan, &signoff.campaign));
    eprintln!("controls …");
    let plan = controls::Plan { seed, rounds: measure.policy.controls.rounds, jobs, orders: false };
    if parts::controlled(&controls::run(loaded, &plan)) != signoff.controls {
        differences.push("the controls give something else than the evidence says".to_owned());
    }
    if let Some(evidence) = &signoff.relations {
        eprintln!("a sample of the relations …");
        let cases = SAMPLED_RELATIONS.min(measure.policy.relations.cases);
        let sampled = parts::related(&metamorphic::run(loaded, &metamorphic::Plan { seed, cases, jobs }));
        let failures = |report: &countersign_reports::RelationsReport| -> Vec<String> {
            report.relations.iter().flat_map(|one| one.failures.iter().cloned()).collect()
        };
        let said = failures(evidence);
        let unsaid = failures(&sampled).into_iter().filter(|failure| !said.contains(failure));
        differences.extend(
            unsaid.map(|failure| format!("a relation fails, and the evidence doesn't say so: {failure}")),
        );
    }
    if let Some(evidence) = &signoff.compiled {
        let rows = sampled(evidence);
        let variants = loaded.variants().iter();
        let variants: Vec<Variant> =
            variants.filter(|variant| rows.iter().any(|row| row.name == variant.name)).cloned().collect();
        if let Some(compiled) = gathering.compiled(&variants)?
            && (compiled.compiler != evidence.compiler || !compiled.variants.iter().eq(rows))
        {
            differences.push("the TPU compiler says something else than the evidence says".to_owned());
        }
    }
    if let Some(evidence) = &signoff.mutation {
        eprintln!("killed mutants …");
        let plan = mutation_plan(measure, seed, jobs, &kernel.known);
        differences.extend(checks::mutation(loaded, &plan, evidence));
    }
    Ok(differences)
}

/// The first variant's answers, and those of each that isn't compiled everywhere.
fn sampled(evidence: &CompileReport) -> Vec<&CompiledRow> {
    let is_refused = |row: &CompiledRow| row.cells.iter().any(|cell| cell.code_bytes.is_none());
    let rows = evidence.variants.iter().enumerate();
    rows.filter(|(index, row)| *index == 0 || is_refused(row)).map(|(_, row)| row).collect()
}

fn told(signoff: &Signoff, differences: &[String], notes: &[String], how: &str) -> String {
    let mut text = String::new();
    text.extend(notes.iter().map(|note| format!("note: {note}\n")));
    text.extend(differences.iter().map(|difference| format!("differs: {difference}\n")));
    let refused = if signoff.verdict == Verdict::Refused { " (it says refused)" } else { "" };
    text + &match differences.len() {
        0 => format!("verified{refused}: {}: {}; {how}\n", signoff.kernel, signoff.sentence()),
        count => format!("not verified: {}: {count} difference(s); {how}\n", signoff.kernel),
    }
}
