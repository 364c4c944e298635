//! From a trial to findings: design's table of judgement, as one exhaustive match.
//!
//! Invariant: pure; a function of the trial alone. Whether a finding is known is decided elsewhere (`known`).

use countersign_kernels::checks::Verdict;
use countersign_kernels::contract::{Keeping, Rule};
use countersign_mosaic::ir::Frame;

use crate::compare::{Comparison, Deviation};
use crate::loaded::base_name;
use crate::orders::Dependence;
use crate::signature::{Effect, Kind, Locus, OptionNames, Signature};
use crate::trial::{Conduct, Trial};

/// Something to report about one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// By which findings are the same.
    pub signature: Signature,
    /// What happened in this case.
    pub detail: String,
    /// The kernel's call stack, innermost frame first, where there is one.
    pub stack: Vec<Frame>,
}

/// What a case counts as where it gives no finding of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// A kept batch, accepted, and right.
    Right,
    /// A batch that the static check refuses and that therefore never reaches the kernel.
    Agreement,
    /// A broken batch that harms no row with a defined value.
    Harmless,
    /// A disputed batch that the kernel gets right.
    DisputedRight,
    /// It goes wrong, but breaks several rules, so that no single one can be named.
    SeveralRules,
    /// The engine lacks something that the kernel needs.
    Unsupported,
    /// There is a finding.
    Reported,
}

/// A trial judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Findings; empty for most cases.
    pub findings: Vec<Finding>,
    /// What it counts as.
    pub note: Note,
}

/// A verdict without its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Accepts,
    Refuses,
    Crashes,
}

fn word(verdict: &Verdict) -> Word {
    match verdict {
        Verdict::Accepts => Word::Accepts,
        Verdict::Refuses { .. } => Word::Refuses,
        Verdict::Crashes { .. } => Word::Crashes,
    }
}

/// What the kernel did, as far as the table tells it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    NotRun,
    Unsupported,
    Right,
    Bad(Effect),
}

/// Judges a trial.
pub fn judge(trial: &Trial) -> Judgement {
    let rules = trial.contract.rules();
    // A gap names one rule; a batch that breaks several is counted per rule and per slip only.
    let alone: Option<&'static Rule> = match rules.as_slice() {
        [rule] => Some(rule),
        [] | [_, _, ..] => None,
    };
    let keeping = trial.contract.keeping();
    let act = act(trial);
    let finding = Maker { trial, alone, act };
    let mut findings = Vec::new();

    let note = match (keeping, word(&trial.static_verdict), word(&trial.dynamic_verdict), act) {
        // A call that the static check refuses and that wasn't run: never reaches the kernel.
        (
            Keeping::Kept | Keeping::Disputed | Keeping::Broken,
            Word::Refuses | Word::Crashes,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Act::NotRun,
        ) => Note::Agreement,
        // Nothing refuses it and yet it wasn't run: the engine couldn't.
        (
            Keeping::Kept | Keeping::Disputed | Keeping::Broken,
            Word::Accepts,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Act::NotRun,
        )
        | (
            Keeping::Kept | Keeping::Disputed | Keeping::Broken,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Act::Unsupported,
        ) => Note::Unsupported,

        (Keeping::Kept, Word::Accepts, Word::Accepts, Act::Right) => Note::Right,
        // A crash is reported below, as such; what remains to say here is about deliberate refusals.
        (Keeping::Kept, Word::Accepts, Word::Crashes, Act::Right)
        | (Keeping::Kept, Word::Crashes, Word::Accepts | Word::Crashes, Act::Right) => Note::Right,
        (Keeping::Kept, Word::Refuses, Word::Accepts | Word::Refuses | Word::Crashes, Act::Right)
        | (Keeping::Kept, Word::Accepts | Word::Crashes, Word::Refuses, Act::Right) => {
            findings.push(finding.refuses_valid());
            Note::Reported
        }
        (
            Keeping::Kept,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Act::Bad(effect),
        ) => {
            findings.push(finding.wrong_on_kept(effect));
            Note::Reported
        }

        (
            Keeping::Disputed,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Act::Right,
        ) => Note::DisputedRight,
        (
            Keeping::Disputed,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Act::Bad(effect),
        ) => finding.gap(Kind::MishandlesDisputed, effect, &mut findings),

        (
            Keeping::Broken,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Act::Right,
        ) => Note::Harmless,
        (Keeping::Broken, Word::Accepts, Word::Accepts, Act::Bad(effect)) => {
            finding.gap(Kind::AcceptsInvalid, effect, &mut findings)
        }
        (Keeping::Broken, Word::Accepts, Word::Refuses | Word::Crashes, Act::Bad(effect)) => {
            finding.gap(Kind::RefusedUnseen, effect, &mut findings)
        }
        // Run against the entry point's will; what the kernel would have done is nobody's concern.
        (
            Keeping::Broken,
            Word::Refuses | Word::Crashes,
            Word::Accepts | Word::Refuses | Word::Crashes,
            Act::Bad(_),
        ) => Note::Agreement,
    };

    // Besides: what the checks say, whatever the kernel does.
    for verdict in [&trial.static_verdict, &trial.dynamic_verdict] {
        match verdict {
            Verdict::Accepts => {}
            Verdict::Refuses { check, message } => match (keeping, alone) {
                (Keeping::Broken, Some(rule)) if !rule.refused_by.contains(check) => {
                    findings.push(finding.misleading(rule, message));
                }
                (Keeping::Broken, Some(_) | None) | (Keeping::Kept | Keeping::Disputed, Some(_) | None) => {}
            },
            Verdict::Crashes { message } => match (keeping, alone) {
                (Keeping::Kept | Keeping::Disputed | Keeping::Broken, Some(rule)) => {
                    findings.push(finding.crash(Locus::Rule(rule.id.to_owned()), message));
                }
                (Keeping::Kept, None) => findings.push(finding.crash(Locus::Kernel, message)),
                (Keeping::Disputed | Keeping::Broken, None) => {}
            },
        }
    }
    if let (Keeping::Kept, Some(Dependence { effect, detail })) = (keeping, &trial.orders) {
        findings.push(finding.make(Kind::DmaOrder, Locus::Kernel, *effect, detail.clone()));
    }
    let note = if findings.is_empty() { note } else { Note::Reported };
    Judgement { findings, note }
}

/// What the kernel did, by name: that of the effect where it went wrong, else that of its conduct.
pub fn effect_name(trial: &Trial) -> &'static str {
    match act(trial) {
        Act::Bad(effect) => effect.name(),
        Act::NotRun | Act::Unsupported | Act::Right => trial.conduct.name(),
    }
}

fn act(trial: &Trial) -> Act {
    match &trial.conduct {
        Conduct::NotRun => Act::NotRun,
        Conduct::Unsupported(_) => Act::Unsupported,
        Conduct::Fault(fault) => Act::Bad(Effect::Fault(fault.class)),
        Conduct::Hang => Act::Bad(Effect::Hang),
        Conduct::Finished(comparison) if comparison.wrong_rows.is_empty() => Act::Right,
        Conduct::Finished(comparison) if comparison.undefined => Act::Bad(Effect::UndefinedOutput),
        Conduct::Finished(comparison) => Act::Bad(rows_effect(trial, comparison)),
    }
}

/// Whether the wrong rows all belong to sequences other than those that break a rule.
fn rows_effect(trial: &Trial, comparison: &Comparison) -> Effect {
    let breaching: Option<Vec<usize>> =
        trial.contract.breaches.iter().map(|breach| breach.sequence).collect();
    match breaching {
        Some(sequences)
            if !sequences.is_empty()
                && comparison.wrong_rows.keys().all(|wrong| !sequences.contains(wrong)) =>
        {
            Effect::OthersRows
        }
        Some(_) | None => Effect::WrongRows,
    }
}

struct Maker<'t> {
    trial: &'t Trial,
    alone: Option<&'static Rule>,
    act: Act,
}

impl Maker<'_> {
    fn signature(&self, kind: Kind, locus: Locus, effect: Effect) -> Signature {
        Signature {
            kind,
            kernel: self.trial.kernel.clone(),
            locus,
            effect,
            options: OptionNames::of(&self.trial.variant),
        }
    }

    fn make(&self, kind: Kind, locus: Locus, effect: Effect, detail: String) -> Finding {
        let stack = match (&self.trial.conduct, effect) {
            (Conduct::Fault(fault), Effect::Fault(_)) => fault.stack.clone(),
            _ => Vec::new(),
        };
        Finding { signature: self.signature(kind, locus, effect), detail, stack }
    }

    fn gap(&self, kind: Kind, effect: Effect, findings: &mut Vec<Finding>) -> Note {
        let Some(rule) = self.alone else { return Note::SeveralRules };
        let detail = format!("{}. {}. {}", self.breach(rule), self.trial.conduct, shield(self.trial));
        findings.push(self.make(kind, Locus::Rule(rule.id.to_owned()), effect, detail));
        Note::Reported
    }

    fn wrong_on_kept(&self, effect: Effect) -> Finding {
        let detail = format!("{}. {}", self.trial.conduct, shield(self.trial));
        let (kind, locus) = match &self.trial.conduct {
            Conduct::Fault(fault) => (Kind::Fault, source(&fault.stack, &self.trial.source_file, &fault.op)),
            Conduct::Hang => (Kind::Fault, Locus::Kernel),
            Conduct::Finished(_) | Conduct::NotRun | Conduct::Unsupported(_) => {
                (Kind::Divergence, Locus::Kernel)
            }
        };
        self.make(kind, locus, effect, detail)
    }

    fn refuses_valid(&self) -> Finding {
        let refusal =
            [&self.trial.static_verdict, &self.trial.dynamic_verdict].into_iter().find_map(|verdict| {
                match verdict {
                    Verdict::Refuses { check, message } => Some((*check, message.as_str())),
                    Verdict::Accepts | Verdict::Crashes { .. } => None,
                }
            });
        let (check, message) = refusal.unwrap_or(("unknown", ""));
        let detail =
            format!("the batch keeps every rule and the kernel answers it rightly; refused with: {message}");
        self.make(Kind::RefusesValid, Locus::Check(check.to_owned()), Effect::Refusal, detail)
    }

    fn misleading(&self, rule: &'static Rule, message: &str) -> Finding {
        let detail = format!("{}; refused with: {message}", self.breach(rule));
        self.make(Kind::MisleadingMessage, Locus::Rule(rule.id.to_owned()), Effect::Message, detail)
    }

    fn crash(&self, locus: Locus, message: &str) -> Finding {
        let what = self
            .alone
            .map_or_else(|| "on a batch that keeps every rule".to_owned(), |rule| self.breach(rule));
        let done = match self.act {
            Act::Bad(_) | Act::Right => format!(". {}", self.trial.conduct),
            Act::NotRun | Act::Unsupported => String::new(),
        };
        self.make(
            Kind::ValidatorCrash,
            locus,
            Effect::Message,
            format!("{what}: the check fails with: {message}{done}"),
        )
    }

    fn breach(&self, rule: &Rule) -> String {
        let details: Vec<&str> =
            self.trial.contract.breaches.iter().map(|breach| breach.detail.as_str()).collect();
        format!("breaks {} ({})", rule.id, details.join("; "))
    }
}

/// Whether a validator stands between this batch and the kernel.
fn shield(trial: &Trial) -> &'static str {
    match (word(&trial.static_verdict), word(&trial.dynamic_verdict)) {
        (Word::Refuses | Word::Crashes, Word::Accepts | Word::Refuses | Word::Crashes) => {
            "The entry point's own check stops this call, so no caller meets it"
        }
        (Word::Accepts, Word::Refuses | Word::Crashes) => {
            "Only the dynamic check would stop it, which production never calls"
        }
        (Word::Accepts, Word::Accepts) => "No check stops it",
    }
}

/// The innermost frame within the kernel's own source file; where there is none, the innermost of all.
fn source(stack: &[Frame], source_file: &str, op: &str) -> Locus {
    let in_source = |frame: &&Frame| base_name(&frame.file) == source_file;
    match stack.iter().find(in_source).or(stack.first()) {
        Some(frame) => {
            Locus::Source { file: base_name(&frame.file).to_owned(), line: frame.line, op: op.to_owned() }
        }
        None => Locus::Source { file: source_file.to_owned(), line: 0, op: op.to_owned() },
    }
}

/// `token 3, head 1, lane 7: kernel 2.5, reference 2.25 ± 1e-6 (r = 2.5e5)`.
impl std::fmt::Display for Deviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Deviation { token, head, lane, actual, expected, bound, r } = self;
        write!(
            f,
            "token {token}, head {head}, lane {lane}: kernel {actual:?}, reference {expected:e} within {bound:.3e} (r = {r:.3e})"
        )
    }
}
