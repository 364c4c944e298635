//! The static side swept through the real entry point: every edit of a variant's call, and pairs of them drawn by a seed.
//!
//! A pair is filed only where neither edit alone explains it: by the same gap, or by ending in the same way at the same line. Where
//! both are needed for a call not to lower, the line is the place, not the rule that one of them breaks.
//!
//! Invariant: which calls there are is a function of variants, seed and number of pairs; every answer is the installed
//! package's, and a call without one is counted as unasked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use countersign_kernels::Variant;
use countersign_kernels::call::Call;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::checks::{StaticCall, Verdict};
use countersign_kernels::contract::probe::base;
use countersign_kernels::engine::Policy;
use countersign_kernels::export::Refusal;
use countersign_kernels::rpa::sweep::{Edit, both, edits};
use countersign_kernels::worker::{Worker, WorkerError};
use countersign_reports::{Counts, FindingReport, FindingStatus, Gap, SweepReport};

use super::calls::verdict;
use super::lowering::{Lowering, judge_lowering, line_of};
use super::{Regressions, count, verdict_name};
use crate::campaign::{described, status};
use crate::case::{Case, Payload, StaticOverrides, VariantRef};
use crate::confirm::words;
use crate::corpus::{CorpusFile, Expect};
use crate::judge::{Finding, judge};
use crate::known::{Facts, KnownFile};
use crate::ordered::in_order;
use crate::payload::Stream;
use crate::repro::{self, Besides};
use crate::signature::{Kind, OptionNames, Signature};
use crate::trial::{Trial, run_trial};

/// One call of the sweep.
#[derive(Debug, Clone)]
pub struct Swept {
    /// Position of its variant.
    pub variant: usize,
    /// What was edited, e.g. `soft_cap = 0.0, q int8`.
    pub name: String,
    /// The call.
    pub call: StaticCall,
    /// Axis of a single edit; absent for a pair.
    pub axis: Option<&'static str>,
    /// The names of a pair's two edits; none for a single one.
    pub parts: Vec<String>,
}

/// All single edits of `variants`, then `pairs` pairs of edits of one variant.
pub fn calls_of(variants: &[Variant], seed: u64, pairs: usize) -> Vec<Swept> {
    let all: Vec<Vec<Edit>> = variants.iter().map(edits).collect();
    let mut calls = Vec::new();
    for (variant, edits) in all.iter().enumerate() {
        calls.extend(edits.iter().map(|edit| Swept {
            variant,
            name: edit.name.clone(),
            call: edit.call.clone(),
            axis: Some(edit.axis.name()),
            parts: Vec::new(),
        }));
    }
    let singles = calls.len();
    if all.iter().all(|edits| edits.len() < 2) {
        return calls;
    }
    /// Keeps this stream apart from others of the same seed.
    const PAIRS: u64 = 0x7061_6972;
    let mut stream = Stream::at(seed, [PAIRS, 0, 0, 0]);
    while calls.len() < singles + pairs {
        let variant = stream.below(variants.len() as u64) as usize;
        let edits = &all[variant];
        let mut draw = || &edits[stream.below(edits.len() as u64) as usize];
        let (first, second) = (draw(), draw());
        let Some(call) = both(&variants[variant], first, second) else { continue };
        let parts = vec![first.name.clone(), second.name.clone()];
        calls.push(Swept { variant, name: parts.join(", "), call, axis: None, parts });
    }
    calls
}

/// What came of one call.
struct Answered {
    trial: Trial,
    case: Case,
    lowering: Option<Lowering>,
    problem: Option<String>,
}

/// Asks about `calls`; `start` makes a worker, one a thread.
#[allow(clippy::too_many_arguments, reason = "what a sweep is made of")]
pub fn sweep(
    kernel: &KernelEntry,
    variants: &[Variant],
    calls: &[Swept],
    known: &KnownFile,
    regressions: &Regressions<'_>,
    start: &(dyn Fn() -> Result<Worker, WorkerError> + Sync),
    jobs: usize,
    go_on: &(dyn Fn() -> bool + Sync),
    each: &mut dyn FnMut(&str),
) -> SweepReport {
    let idle: Mutex<Vec<Worker>> = Mutex::new(Vec::new());
    let broken = AtomicBool::new(false);
    let work = |index: usize| {
        let swept = &calls[index];
        let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let worker = match taken {
            Some(worker) => Ok(worker),
            None => start(),
        };
        let mut worker = match worker {
            Ok(worker) => worker,
            Err(error) => {
                broken.store(true, Ordering::Relaxed);
                return Err(error.to_string());
            }
        };
        let answered = ask(&mut worker, kernel, &variants[swept.variant], swept);
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        answered
    };
    let go_on = || go_on() && !broken.load(Ordering::Relaxed);
    let mut sums = Sums::default();
    in_order(calls.len(), jobs, &go_on, &work, &mut |index, answered| {
        let swept = &calls[index];
        each(&swept.name);
        sums.add(
            swept,
            &variants[swept.variant],
            kernel,
            answered.and_then(|answer| answer),
            known,
            regressions,
        );
    });
    sums.finish(variants)
}

fn ask(
    worker: &mut Worker,
    kernel: &KernelEntry,
    variant: &Variant,
    swept: &Swept,
) -> Result<Answered, String> {
    let entry_point = kernel.python.call();
    let case = Case {
        kernel: kernel.id.clone(),
        variant: VariantRef::Named(variant.name.clone()),
        metadata: base(variant),
        payload: Payload { pattern: "normal@1".to_owned(), seed: 1, patches: Vec::new(), file: None },
        checksum: None,
        statics: Some(StaticOverrides::between(&StaticCall::of(variant), &swept.call)),
    };
    let policy = Policy::of(countersign_kernels::DeviceProfile::exact());
    let mut trial = run_trial(None, kernel, variant, &case, &policy).map_err(|error| error.to_string())?;
    // No value is swept. The metadata is the unedited call's, and need not fit an edited shape.
    if let Verdict::Refuses { .. } = trial.dynamic_verdict {
        trial.dynamic_verdict = Verdict::Accepts;
    }
    let python = Call::of_static(&entry_point, variant.generation, &swept.call)
        .ok_or_else(|| format!("{}: an element type without a wire form", swept.name))?;
    let real = worker.validate_values(&python, &[]).map_err(|error| error.to_string())?;
    let real = verdict(real.static_check);
    let problem = (real != trial.static_verdict)
        .then(|| format!("{}: the port says {:?}, the check {real:?}", swept.name, trial.static_verdict));
    let lowering = match real {
        Verdict::Accepts => Some(Lowering::of(worker.trace(&python).map_err(|error| error.to_string())?)),
        Verdict::Refuses { .. } | Verdict::Crashes { .. } => None,
    };
    Ok(Answered { trial, case, lowering, problem })
}

#[derive(Default)]
struct Sums {
    singles: Counts,
    pairs: u64,
    swept: BTreeSet<String>,
    outcomes: BTreeMap<String, Counts>,
    words: BTreeMap<String, (u64, String)>,
    gaps: BTreeMap<Signature, Gap>,
    /// What came of single edits, by variant and name.
    alone: BTreeMap<(usize, String), Alone>,
    explained: u64,
    unasked: u64,
    problems: Vec<String>,
}

/// What a single edit led to.
#[derive(Default)]
struct Alone {
    /// How it ended, where it didn't lower.
    end: Option<End>,
    /// Its gaps.
    gaps: Vec<Signature>,
}

/// How a call ended that didn't lower: who stopped it, where, and in which words.
#[derive(PartialEq)]
struct End {
    by: String,
    line: Option<u32>,
    /// Of a check's crash, and where no line is known.
    words: String,
}

impl End {
    fn of(trial: &Trial, lowering: Option<&Lowering>) -> Option<End> {
        match (&trial.static_verdict, lowering) {
            (_, Some(Lowering::Lowers)) | (Verdict::Accepts, None) => None,
            (
                _,
                Some(
                    Lowering::Declined(Refusal { kind, message, line, .. })
                    | Lowering::Fails(Refusal { kind, message, line, .. }),
                ),
            ) => {
                // Words hold numbers of the call, so that where a line says enough they would only differ.
                let words = if line.is_some() { String::new() } else { first_words(message) };
                Some(End { by: kind.clone(), line: *line, words })
            }
            (Verdict::Refuses { check, .. }, None) => {
                Some(End { by: (*check).to_owned(), line: None, words: String::new() })
            }
            (Verdict::Crashes { message }, None) => {
                Some(End { by: "static check".to_owned(), line: None, words: message.clone() })
            }
        }
    }
}

/// The first line that says something, cut.
fn first_words(message: &str) -> String {
    let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("(no message)");
    first.chars().take(160).collect()
}

/// A gap's signature with any options.
fn gap_of(finding: &Finding) -> Signature {
    Signature { options: OptionNames::Any, ..finding.signature.clone() }
}

impl Sums {
    fn add(
        &mut self,
        swept: &Swept,
        variant: &Variant,
        kernel: &KernelEntry,
        answered: Result<Answered, String>,
        known: &KnownFile,
        regressions: &Regressions<'_>,
    ) {
        match swept.axis {
            Some(axis) => {
                count(&mut self.singles, axis);
                let of = swept.name.split([' ', '=']).next().unwrap_or(&swept.name);
                self.swept.insert(of.to_owned());
            }
            None => self.pairs += 1,
        }
        let Answered { trial, case, lowering, problem } = match answered {
            Ok(answered) => answered,
            Err(why) => {
                tracing::warn!("{}: {why}", swept.name);
                self.unasked += 1;
                return;
            }
        };
        self.problems.extend(problem);
        let outcome = match (&trial.static_verdict, &lowering) {
            (_, Some(lowering)) => lowering.name().to_owned(),
            (Verdict::Refuses { check, .. }, None) => format!("refused by {check}"),
            (Verdict::Crashes { .. }, None) => "the static check crashes".to_owned(),
            (Verdict::Accepts, None) => "not asked".to_owned(),
        };
        let keeping = trial.contract.keeping().name().to_owned();
        count(self.outcomes.entry(keeping).or_default(), &outcome);
        self.say(&trial, lowering.as_ref());
        let mut findings = match &lowering {
            Some(lowering) => judge_lowering(&trial, lowering),
            None => judge(&trial).findings,
        };
        let end = End::of(&trial, lowering.as_ref());
        if swept.axis.is_some() {
            let gaps = findings.iter().map(gap_of).collect();
            self.alone.insert((swept.variant, swept.name.clone()), Alone { end, gaps });
        } else {
            let before = findings.len();
            findings.retain(|finding| !self.is_explained(swept, finding, end.as_ref()));
            self.explained += u64::from(findings.len() < before);
            // The edit that breaks the rule lowers by itself, or ends elsewhere: what the two meet together is the line.
            for finding in findings.iter_mut().filter(|finding| finding.signature.kind == Kind::DoesNotLower)
            {
                if let Some(Lowering::Fails(refusal)) = &lowering
                    && let Some(line) = line_of(&trial, refusal)
                {
                    finding.signature.locus = line;
                }
            }
        }
        for finding in findings {
            self.gap(finding, swept, variant, kernel, &trial, &case, lowering.as_ref(), known, regressions);
        }
    }

    /// Whether one edit of a pair explains a finding of it.
    fn is_explained(&self, swept: &Swept, finding: &Finding, end: Option<&End>) -> bool {
        let alone = |name: &String| self.alone.get(&(swept.variant, name.clone()));
        swept.parts.iter().filter_map(alone).any(|alone| {
            alone.gaps.contains(&gap_of(finding)) || (end.is_some() && alone.end.as_ref() == end)
        })
    }

    /// In whose words it was refused.
    fn say(&mut self, trial: &Trial, lowering: Option<&Lowering>) {
        let (by, message) = match (&trial.static_verdict, lowering) {
            (_, Some(Lowering::Declined(refusal) | Lowering::Fails(refusal))) => {
                let line = refusal.line.map_or_else(String::new, |line| format!(":{line}"));
                (format!("{}{line} {}", trial.source_file, refusal.kind), refusal.message.clone())
            }
            (_, Some(Lowering::Lowers)) | (Verdict::Accepts, None) => return,
            (Verdict::Refuses { message, .. } | Verdict::Crashes { message }, None) => {
                (format!("static check: {}", verdict_name(&trial.static_verdict)), message.clone())
            }
        };
        self.words.entry(by).or_insert_with(|| (0, first_words(&message))).0 += 1;
    }

    #[allow(clippy::too_many_arguments, reason = "a call with all that came of it")]
    fn gap(
        &mut self,
        finding: Finding,
        swept: &Swept,
        variant: &Variant,
        kernel: &KernelEntry,
        trial: &Trial,
        case: &Case,
        lowering: Option<&Lowering>,
        known: &KnownFile,
        regressions: &Regressions<'_>,
    ) {
        let key = gap_of(&finding);
        if let Some(gap) = self.gaps.get_mut(&key) {
            gap.finding.count += 1;
            return;
        }
        let position = known.explain(&finding.signature, &Facts::of(variant, &case.metadata));
        let entry = position.and_then(|at| known.entries.get(at));
        let script = repro::script(kernel, case, trial, &finding, Besides { others: None, lowering });
        let shown = case.clone().self_contained(kernel, std::slice::from_ref(variant));
        let regression = regressions.find(&finding.signature, position, &shown).map(str::to_owned);
        let file = CorpusFile {
            case: shown,
            origin: None,
            expect: Some(Expect::Signatures(vec![finding.signature.to_string()])),
        };
        let said = words(variant.family, &trial.static_verdict, Some(&trial.dynamic_verdict), true);
        let report = FindingReport {
            status: entry.map_or(FindingStatus::New, |entry| status(Some(entry.status))),
            cause: entry.map(|entry| entry.cause.clone()),
            link: entry.and_then(|entry| entry.link.clone()),
            kernel: lowering.map(ToString::to_string),
            case_file: Some(file.to_toml()),
            ..described(&finding, variant, &said, None)
        };
        let gap = Gap {
            finding: report,
            attribution: Vec::new(),
            origin: format!("the edit “{}”", swept.name),
            regression,
            known: entry.map(|entry| entry.signature.to_string()),
            script,
        };
        self.gaps.insert(key, gap);
    }

    fn finish(self, variants: &[Variant]) -> SweepReport {
        let mut words: Vec<(String, u64, String)> =
            self.words.into_iter().map(|(by, (count, words))| (by, count, words)).collect();
        words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        SweepReport {
            variants: variants.iter().map(|variant| variant.name.clone()).collect(),
            singles: self.singles,
            pairs: self.pairs,
            explained: self.explained,
            swept: self.swept.into_iter().collect(),
            outcomes: self.outcomes,
            words,
            gaps: self.gaps.into_values().collect(),
            unasked: self.unasked,
            problems: self.problems,
        }
    }
}
