//! The claims, judged from policy, known files and evidence.
//!
//! Invariant: pure, so that whoever has the document can judge again. A claim fails or isn't measured in words: nothing is left
//! out silently. Waivers are of open entries alone, and a waiver that has expired fails.

use std::collections::{BTreeMap, BTreeSet};

use countersign_kernels::Generation;
use countersign_reports::{
    Claim, CompileReport, CompileVerdict, CompiledCell, ControlsReport, Fuzzed, LineCoverage, MutationReport,
    RelationsReport, Replayed, Standing, Verdict, Waiver,
};

use super::parts::{is_news, pairwise, shown};
use super::policy::{Policy, Uncovered};
use crate::compile::KnownRefusals;
use crate::known::{Known, KnownFile, Status};

/// How many of many are listed.
const LISTED: usize = 20;

/// All evidence; what is absent was not measured.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The corpus.
    pub regressions: &'a Replayed,
    /// Generated batches.
    pub campaign: &'a Fuzzed,
    /// The control suite.
    pub controls: &'a ControlsReport,
    /// Relations, where the kernel's family has any.
    pub relations: Option<&'a RelationsReport>,
    /// The mutation score, where nothing else was refused.
    pub mutation: Option<&'a MutationReport>,
    /// What the TPU compiler makes of the variants, where it was asked.
    pub compiled: Option<&'a CompileReport>,
}

/// What the evidence is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Measure<'a> {
    /// Thresholds.
    pub policy: &'a Policy,
    /// Explains findings.
    pub known: &'a KnownFile,
    /// Explains what the TPU compiler refuses.
    pub refusals: &'a KnownRefusals,
    /// The kernel's id.
    pub kernel: &'a str,
    /// The day, `YYYY-MM-DD`: waivers expire.
    pub date: &'a str,
}

/// The judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Every claim.
    pub claims: Vec<Claim>,
    /// Open findings that are passed over.
    pub waivers: Vec<Waiver>,
    /// The verdict.
    pub verdict: Verdict,
    /// Claims that it is refused for.
    pub refused: Vec<String>,
}

/// Judges `evidence`.
pub fn judge(measure: &Measure<'_>, evidence: &Evidence<'_>) -> Judgement {
    let (waivers, stale) = waivers(measure, evidence);
    let claims = vec![
        regressions(measure, evidence.regressions),
        findings(measure, evidence),
        waived(measure, &waivers, &stale),
        boundaries(measure, evidence.campaign),
        coverage(measure, evidence.campaign),
        precision(measure, evidence.campaign),
        controls(measure, evidence.controls),
        relations(measure, evidence.relations),
        complete(evidence),
        mutation(measure, evidence.mutation),
        compile(measure, evidence),
    ];
    let of = |standing| claims.iter().filter(move |claim| claim.standing == standing);
    let mut refused: Vec<String> = of(Standing::Failed).map(|claim| claim.id.clone()).collect();
    let is_required = |claim: &&Claim| match claim.id.as_str() {
        "compile" => measure.policy.compile.required,
        // A family without relations has none to ask; the claim says so.
        "relations" => false,
        // Left out where something else is refused.
        "mutation" => refused.is_empty(),
        _ => true,
    };
    let unmeasured: Vec<String> =
        of(Standing::NotMeasured).filter(is_required).map(|claim| claim.id.clone()).collect();
    refused.extend(unmeasured);
    let verdict = match (refused.is_empty(), waivers.is_empty()) {
        (false, _) => Verdict::Refused,
        (true, false) => Verdict::SignedWithWaivers,
        (true, true) => Verdict::Signed,
    };
    Judgement { claims, waivers, verdict, refused }
}

fn claim(id: &str, sentence: &str, required: String, measured: String, details: Vec<String>) -> Claim {
    let standing = if details.is_empty() { Standing::Met } else { Standing::Failed };
    Claim { id: id.to_owned(), sentence: sentence.to_owned(), standing, required, measured, details }
}

/// The first of many, and how many more there are.
fn listed(all: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = all.into_iter().collect();
    let more = all.len().saturating_sub(LISTED);
    if more > 0 {
        all.truncate(LISTED);
        all.push(format!("and {more} more"));
    }
    all
}

fn regressions(measure: &Measure<'_>, replayed: &Replayed) -> Claim {
    let cases = &replayed.report.cases;
    let unmet = cases.iter().filter(|case| case.outcome != "met");
    let mut details =
        listed(unmet.map(|case| format!("{}: {}: {}", case.name, case.outcome, case.shows.join("; "))));
    let least = measure.policy.regressions.least;
    if (cases.len() as u64) < least {
        details.push(format!("{} cases, and the policy asks for {least}", cases.len()));
    }
    let met = cases.iter().filter(|case| case.outcome == "met").count();
    claim(
        "regressions",
        "Every case of the corpus does what its file says.",
        format!("all, and at least {least}"),
        format!("{met} of {} cases", cases.len()),
        details,
    )
}

fn findings(measure: &Measure<'_>, evidence: &Evidence<'_>) -> Claim {
    let Evidence { regressions, campaign, .. } = evidence;
    let new = |report: &countersign_reports::Report, what: &str| -> Vec<String> {
        let news = report.findings.iter().filter(|finding| is_news(finding));
        news.map(|finding| format!("{} ({what}, case {})", finding.signature, finding.case)).collect()
    };
    let mut all = new(&regressions.report, "corpus");
    all.extend(new(&campaign.report, "generated"));
    // What a case itself expects is no waiver: only an entry of a known file explains.
    let explained: BTreeSet<(u64, &str)> =
        regressions.explained.iter().map(|shown| (shown.case, shown.signature.as_str())).collect();
    for (index, case) in (0..).zip(&regressions.report.cases) {
        let bare = case.shows.iter().filter(|text| shown(text).is_some());
        let bare = bare.filter(|text| !explained.contains(&(index, text.as_str())));
        all.extend(bare.map(|text| format!("{text} ({}; no known file explains it)", case.name)));
    }
    let entries: BTreeSet<usize> =
        campaign.explained.iter().chain(&regressions.explained).map(|shown| shown.entry).collect();
    let of = |status| {
        let entries = entries.iter().filter_map(|&entry| measure.known.entries.get(entry));
        entries.filter(|known| known.status == status).count()
    };
    let new = all.len();
    claim(
        "findings",
        "Nothing is found that no known file explains.",
        "0 new".to_owned(),
        format!(
            "{new} new in {} generated and {} corpus cases; {} open entries and {} accepted ones explain the rest",
            campaign.report.summary.cases,
            regressions.report.cases.len(),
            of(Status::Open),
            of(Status::Accepted)
        ),
        listed(all),
    )
}

/// A waiver for each open entry of the kernel, and those entries that nothing shows any longer.
fn waivers(measure: &Measure<'_>, evidence: &Evidence<'_>) -> (Vec<Waiver>, Vec<String>) {
    let mut shown: BTreeMap<usize, (Vec<String>, u64)> = BTreeMap::new();
    for explained in &evidence.regressions.explained {
        let name = evidence.regressions.report.cases.get(explained.case as usize);
        let names = &mut shown.entry(explained.entry).or_default().0;
        names.extend(name.map(|case| case.name.clone()).filter(|name| !names.contains(name)));
    }
    for explained in &evidence.campaign.explained {
        shown.entry(explained.entry).or_default().1 += explained.count;
    }
    let (mut waivers, mut stale) = (Vec::new(), Vec::new());
    let mine = |known: &Known| known.signature.kernel == measure.kernel && known.status == Status::Open;
    for (entry, known) in measure.known.entries.iter().enumerate().filter(|(_, known)| mine(known)) {
        let (regressions, cases) = shown.remove(&entry).unwrap_or_default();
        if regressions.is_empty() && cases == 0 {
            stale.push(format!("{} where {}", known.signature, known.condition));
        }
        waivers.push(Waiver {
            signature: known.signature.to_string(),
            when: known.condition.clone(),
            reason: known.cause.trim().to_owned(),
            link: known.link.clone(),
            expires: known.expires.clone().unwrap_or_else(|| measure.policy.expires()),
            regressions,
            cases,
            calls: Vec::new(),
        });
    }
    waivers.extend(evidence.compiled.into_iter().flat_map(|compiled| refused(measure, compiled)));
    (waivers, stale)
}

/// A waiver for each explanation of calls that the TPU compiler refuses.
fn refused(measure: &Measure<'_>, compiled: &CompileReport) -> Vec<Waiver> {
    let mut waivers: BTreeMap<&str, Waiver> = BTreeMap::new();
    for (variant, cell) in compiled.cells() {
        let Some(known) = measure.refusals.of(cell) else { continue };
        let waiver = waivers.entry(known.cause()).or_insert_with(|| Waiver {
            signature: format!("refused by the TPU compiler: {}", known.message()),
            when: known.condition(),
            reason: known.cause().to_owned(),
            link: None,
            expires: measure.policy.expires(),
            regressions: Vec::new(),
            cases: 0,
            calls: Vec::new(),
        });
        waiver.calls.push(format!("{variant} on {}", cell.label));
    }
    waivers.into_values().collect()
}

fn waived(measure: &Measure<'_>, waivers: &[Waiver], stale: &[String]) -> Claim {
    let expired = waivers.iter().filter(|waiver| waiver.expires.as_str() <= measure.date);
    let expired: Vec<String> =
        expired.map(|waiver| format!("{} expired on {}", waiver.signature, waiver.expires)).collect();
    let measured =
        format!("{} waivers, {} expired, {} of nothing shown", waivers.len(), expired.len(), stale.len());
    let stale = stale.iter().map(|entry| format!("{entry}: nothing shows it, so there is nothing to waive"));
    claim(
        "waivers",
        "Every open finding is waived with its reason, is still there, and its waiver hasn't expired.",
        "0 expired, 0 of nothing shown".to_owned(),
        measured,
        listed(expired.into_iter().chain(stale)),
    )
}

fn boundaries(measure: &Measure<'_>, campaign: &Fuzzed) -> Claim {
    let cells = pairwise(&campaign.report);
    let least = measure.policy.campaign.least_per_pair;
    let poor = cells.iter().filter(|(_, count)| **count < least);
    let mut details = listed(
        poor.map(|((class, one, other), count)| format!("{class} with {one} and {other}: {count} case(s)")),
    );
    if cells.is_empty() {
        details.push("no boundary class can be shown by any variant".to_owned());
    }
    let rarest = cells.values().min().copied().unwrap_or(0);
    claim(
        "boundaries",
        "Each boundary class was met in each pair of option values that can show it.",
        format!("at least {least} case(s) of each class and pair"),
        format!("{} classes and pairs, the rarest {rarest} time(s)", cells.len()),
        details,
    )
}

fn coverage(measure: &Measure<'_>, campaign: &Fuzzed) -> Claim {
    let least = measure.policy.coverage.least;
    let kernels = &campaign.report.kernels;
    let variants = kernels.iter().flat_map(|kernel| kernel.coverage.variants.values());
    let (hit, points) = variants.fold((0, 0), |(hit, points), (h, p)| (hit + h, points + p));
    let share = hit as f64 / points.max(1) as f64;
    let (mut bare, mut reasons, mut lines) = (Vec::new(), Vec::new(), 0);
    for kernel in kernels {
        for line in &kernel.coverage.lines {
            lines += 1;
            let source = kernel.source.as_ref().filter(|source| source.file == line.file);
            let text = source.and_then(|source| source.lines.get((line.line as usize).checked_sub(1)?));
            let text = text.map_or("", |text| text.trim());
            for what in missed(line) {
                let is_it = |uncovered: &&Uncovered| uncovered.line == text && uncovered.what == what;
                let place = format!("{}:{}, `{text}`: never {what}", line.file, line.line);
                match measure.policy.uncovered.iter().find(is_it) {
                    Some(uncovered) => reasons.push(format!("{place}: {}", uncovered.reason)),
                    None => bare.push(place),
                }
            }
        }
    }
    let measured = format!(
        "{hit} of {points} points ({:.1} %); {lines} lines, {} without something, {} of them without a reason",
        100.0 * share,
        bare.len() + reasons.len(),
        bare.len()
    );
    let mut against = listed(bare);
    if share < least || points == 0 {
        against.push(format!("{:.1} % of the points were reached", 100.0 * share));
    }
    let required =
        format!("at least {:.0} % of the points, and a reason for all that never happened", 100.0 * least);
    let sentence =
        "Every line of the kernel was reached, and all that can happen there happened in some variant.";
    let mut claim = claim("coverage", sentence, required, measured, against);
    claim.details.extend(reasons);
    claim
}

/// What never happened at a line.
fn missed(line: &LineCoverage) -> Vec<&str> {
    if line.hit == 0 { vec!["the line"] } else { line.missed.iter().map(String::as_str).collect() }
}

fn precision(measure: &Measure<'_>, campaign: &Fuzzed) -> Claim {
    let limit = |types: &str| measure.policy.largest_r(types.split(',').next().unwrap_or_default().trim());
    let by_types = &campaign.report.summary.r;
    let beyond = by_types.iter().filter(|(types, spread)| spread.largest > limit(types));
    let mut details = listed(
        beyond.map(|(types, spread)| format!("q, kv {types}: {:.4}, above {}", spread.largest, limit(types))),
    );
    if by_types.is_empty() {
        details.push("no row was compared".to_owned());
    }
    let mut limits: Vec<String> =
        measure.policy.precision.iter().map(|(types, limit)| format!("{types} {limit}")).collect();
    limits.sort();
    let measured: Vec<String> =
        by_types.iter().map(|(types, spread)| format!("{types}: {:.3}", spread.largest)).collect();
    claim(
        "precision",
        "The largest error of a right row, as a part of its bound, by types of q and cache.",
        format!("by the type of q: {}", limits.join(", ")),
        measured.join("; "),
        details,
    )
}

fn controls(measure: &Measure<'_>, controls: &ControlsReport) -> Claim {
    let least = measure.policy.controls.least;
    let mut details = listed(controls.alarms.iter().cloned());
    if controls.cases < least {
        details.push(format!("{} controls, and the policy asks for {least}", controls.cases));
    }
    claim(
        "controls",
        "No right batch is called wrong, whatever its payload and the device's profile.",
        format!("0 alarms in at least {least} controls"),
        format!("{} alarms in {} controls of {} rows", controls.alarms.len(), controls.cases, controls.rows),
        details,
    )
}

fn relations(measure: &Measure<'_>, relations: Option<&RelationsReport>) -> Claim {
    let least = measure.policy.relations.least;
    let sentence = "Changed batches change the output as they must, without a look at the reference.";
    let required = format!("0 failures in at least {least} pairs");
    let Some(relations) = relations else {
        return not_measured("relations", sentence, required, "the kernel's family has no relations");
    };
    let all = &relations.relations;
    let failures =
        all.iter().flat_map(|one| one.failures.iter().map(|why| format!("{}: {why}", one.relation)));
    let failures: Vec<String> = failures.collect();
    let held: u64 = all.iter().map(|one| one.held).sum();
    let silent: u64 = all.iter().map(|one| one.neither_ended).sum();
    let measured = format!("{} failures, {held} pairs held, {silent} never ended", failures.len());
    let mut details = listed(failures);
    if held < least {
        details.push(format!("{held} pairs held, and the policy asks for {least}"));
    }
    if silent > 0 {
        details.push(format!("{silent} pairs of which neither ran to its end"));
    }
    claim("relations", sentence, required, measured, details)
}

/// That nothing was left out.
fn complete(evidence: &Evidence<'_>) -> Claim {
    let Evidence { regressions, campaign, controls, .. } = evidence;
    let sums = [&regressions.report.summary, &campaign.report.summary];
    let sum = |of: fn(&countersign_reports::Summary) -> u64| sums.into_iter().map(of).sum::<u64>();
    let unsupported = sum(|summary| summary.unsupported) + controls.unsupported;
    let (unasked, faults) = (sum(|summary| summary.unasked), sum(|summary| summary.internal_errors));
    let variants = campaign.report.kernels.iter().flat_map(|kernel| &kernel.variants);
    let failed = variants.filter_map(|variant| Some((&variant.name, variant.failure.as_ref()?)));
    let mut details = listed(failed.map(|(name, why)| format!("{name} can't be run: {why}")));
    let errors = regressions.report.internal_errors.iter().chain(&campaign.report.internal_errors);
    details.extend(listed(errors.map(|error| format!("{}: {}", error.kind, error.message))));
    for (count, what) in
        [(unsupported, "cases couldn't be run"), (unasked, "times the real validators couldn't be asked")]
    {
        details.extend((count > 0).then(|| format!("{count} {what}")));
    }
    claim(
        "complete",
        "Nothing was left out: no op that the machine lacks, no variant that doesn't load, no fault of our own.",
        "0 unsupported, 0 unasked, 0 faults of our own".to_owned(),
        format!("{unsupported} unsupported, {unasked} unasked, {faults} faults of our own"),
        details,
    )
}

fn mutation(measure: &Measure<'_>, mutation: Option<&MutationReport>) -> Claim {
    let asked = &measure.policy.mutation;
    let sentence =
        "Small faults put into the kernel's IR are noticed, and the kernel itself is never called wrong.";
    let required =
        format!("{:.2} on {} mutants, 0 alarms in {} controls", asked.score, asked.mutants, asked.controls);
    let Some(report) = mutation else {
        let why = "the kernel itself is called wrong, so that a mutant of it would always be noticed";
        return not_measured("mutation", sentence, required, why);
    };
    let measured = format!(
        "{:.3} on {} mutants: {} killed, {} survived, {} not run, {} equivalent ({:.3} with these against us); {} alarms",
        report.score,
        report.mutants.len(),
        report.killed,
        report.survived,
        report.not_run,
        report.equivalent,
        report.score_with_equivalents,
        report.false_alarms.len()
    );
    let mut details = listed(report.false_alarms.iter().map(|alarm| format!("called wrong: {alarm}")));
    if report.score < asked.score {
        details.push(format!("the score is {:.3}", report.score));
    }
    if report.mutants.len() < asked.mutants {
        details.push(format!("there are only {} mutants", report.mutants.len()));
    }
    let mut claim = claim("mutation", sentence, required, measured, details);
    let open = report.mutants.iter().filter(|mutant| mutant.fate == "survived" || mutant.fate == "not run");
    claim.details.extend(listed(open.map(|mutant| {
        let place = match (&mutant.file, mutant.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => "no line of the source".to_owned(),
        };
        let why = mutant.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{}: {} of {} at {place} ({}){why}", mutant.fate, mutant.operator, mutant.op, mutant.variant)
    })));
    claim
}

/// What the TPU compiler says of every variant.
fn compile(measure: &Measure<'_>, evidence: &Evidence<'_>) -> Claim {
    let generations = Generation::ALL.map(Generation::name);
    let sentence = "Every variant that the kernel's check accepts compiles for each TPU generation.";
    let required = format!("no unexplained refusal on {}", generations.join(", "));
    let Some(compiled) = evidence.compiled else {
        let why = "the TPU compiler wasn't asked: it isn't installed (`countersign setup --with-libtpu`), or it can't be given what \
                   is signed here (a planted fault, another release than its own)";
        return not_measured("compile", sentence, required, why);
    };
    let count = |is_one: &dyn Fn(CompileVerdict) -> bool| {
        compiled.cells().filter(|(_, cell)| is_one(cell.verdict)).count()
    };
    let told = |(name, cell): (&str, &CompiledCell)| format!("{name} on {}: {}", cell.label, cell.words());
    let news: Vec<String> = compiled
        .cells()
        .filter(|(_, cell)| cell.verdict.is_accepted_and_refused() && measure.refusals.of(cell).is_none())
        .map(told)
        .collect();
    let is_asked = |name: &str, generation: &str| {
        compiled.cells().any(|(variant, cell)| variant == name && cell.label == generation)
    };
    let variants = evidence.campaign.report.kernels.iter().flat_map(|kernel| &kernel.variants);
    let calls =
        variants.flat_map(|variant| generations.map(|generation| (variant.name.as_str(), generation)));
    let unasked = calls.filter(|(name, generation)| !is_asked(name, generation));
    let mut open: Vec<String> =
        unasked.map(|(name, generation)| format!("{name} on {generation}: wasn't asked")).collect();
    open.extend(compiled.cells().filter(|(_, cell)| cell.verdict.is_unanswered()).map(told));
    let measured = format!(
        "{} of {} calls compile; {} are accepted by the check and refused by {} ({} of them unexplained), {} are refused earlier",
        count(&|verdict| verdict == CompileVerdict::Compiles),
        compiled.cells().count(),
        count(&CompileVerdict::is_accepted_and_refused),
        compiled.compiler,
        news.len(),
        count(&|verdict| matches!(verdict, CompileVerdict::RefusedByCheck | CompileVerdict::DoesNotLower)),
    );
    let is_open = !open.is_empty();
    let mut claim = claim("compile", sentence, required, measured, listed(news));
    if is_open && claim.standing == Standing::Met {
        claim.standing = Standing::NotMeasured;
    }
    claim.details.extend(listed(open));
    claim
}

fn not_measured(id: &str, sentence: &str, required: String, why: &str) -> Claim {
    Claim {
        id: id.to_owned(),
        sentence: sentence.to_owned(),
        standing: Standing::NotMeasured,
        required,
        measured: "not measured".to_owned(),
        details: vec![why.to_owned()],
    }
}
