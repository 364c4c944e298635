//! Cases replayed one by one against what they expect.
//!
//! A finding is expected if the case's own `[expect]` names it or a known file explains it; it is news otherwise, and also
//! where a known entry says that it was fixed. What is expected and doesn't show is stale, unless it was fixed.
//!
//! Invariant: pure but for the validator that it is given.

use std::path::Path;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::checks::Verdict;
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::Policy;
use countersign_reports::{
    CaseReport, FindingReport, FindingStatus, InternalError, KernelReport, Place, Report, SCHEMA_VERSION,
    Summary, Timing,
};

use crate::campaign::{described, exit_code, status, tool};
use crate::case::CaseError;
use crate::compare::Deviation;
use crate::confirm::{Validator, disagreement, words};
use crate::contract::{Lowering, judge_lowering};
use crate::corpus::{CorpusFile, Expect};
use crate::evidence::Evidence;
use crate::interpreter::is_disagreement;
use crate::judge::judge;
use crate::known::{Facts, Known, KnownFile, Status};
use crate::options;
use crate::signature::Signature;
use crate::traced::Followed;
use crate::trial::{Conduct, Trial};

/// A case file as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its name within what is replayed.
    pub name: String,
    /// Its content.
    pub file: CorpusFile,
    /// The static side of its call.
    pub variant: Variant,
}

impl Item {
    /// Reads a file's text; `name` is its path within what is read.
    ///
    /// # Errors
    /// With the line where there is one: no case, a kernel or variant that the catalogue doesn't have, an expectation that
    /// is no signature.
    pub fn read(name: &str, text: &str, catalogue: &Catalogue) -> Result<Item, CaseError> {
        Item::of(name, CorpusFile::from_toml(text)?, catalogue)
    }

    /// A file that was read.
    ///
    /// # Errors
    /// A kernel or variant that the catalogue doesn't have, an expectation that is no signature.
    pub fn of(name: &str, file: CorpusFile, catalogue: &Catalogue) -> Result<Item, CaseError> {
        let kernel = catalogue.kernel(&file.case.kernel).ok_or_else(|| CaseError {
            line: None,
            message: format!("no kernel `{}` in the catalogue", file.case.kernel),
        })?;
        let variants: Vec<Variant> = kernel.variants(Tier::Full).cloned().collect();
        let variant = file.case.variant(&variants)?.clone();
        if variant.family != kernel.family {
            return Err(CaseError {
                line: None,
                message: format!(
                    "[case.variant] is of the family `{}`, `{}` of `{}`: say family = \"{2}\"",
                    variant.family.name(),
                    kernel.id,
                    kernel.family.name()
                ),
            });
        }
        file.case.check(&variant)?;
        if let Some(Expect::Signatures(signatures)) = &file.expect {
            for signature in signatures {
                Signature::parse(signature)
                    .map_err(|error| CaseError { line: None, message: format!("[expect]: {error}") })?;
            }
        }
        Ok(Item { name: name.to_owned(), file, variant })
    }

    /// Reads the payload's file, if the payload is one; `folder` is where the names of items start.
    ///
    /// # Errors
    /// If it can't be read, or isn't the one that the case was made with.
    pub fn open_payload(&mut self, folder: &Path) -> Result<(), CaseError> {
        let Some(payload) = &mut self.file.case.payload.file else { return Ok(()) };
        let beside =
            Path::new(&self.name).parent().map_or_else(|| folder.to_owned(), |parent| folder.join(parent));
        payload.open(&beside)
    }
}

/// What a second look at a case brought up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look<'a> {
    /// The path to its fault.
    pub followed: Option<&'a Followed>,
    /// What the sequences that break a rule do to the others, in a sentence.
    pub others: Option<&'a str>,
}

/// The sums of a replay.
#[derive(Debug)]
pub struct Replay<'k> {
    known: &'k KnownFile,
    policy: Policy,
    summary: Summary,
    kept_rows: (usize, usize),
    findings: Vec<FindingReport>,
    cases: Vec<CaseReport>,
    errors: Vec<InternalError>,
}

impl<'k> Replay<'k> {
    /// Nothing replayed yet; kernels are run under `policy`.
    pub fn new(known: &'k KnownFile, policy: Policy) -> Replay<'k> {
        Replay {
            known,
            policy,
            summary: Summary::default(),
            kept_rows: (0, 0),
            findings: Vec::new(),
            cases: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// How kernels are run.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Adds one case as it was tried, with what a second look brought up, and asks `validator` about it.
    pub fn add(
        &mut self,
        item: &Item,
        trial: Result<Trial, CaseError>,
        look: Look<'_>,
        validator: &mut dyn Validator,
    ) {
        let index = self.summary.cases;
        let trial = match trial {
            Ok(trial) => trial,
            Err(error) => return self.fail(item, "unreadable case", &error.to_string()),
        };
        self.summary.cases += 1;
        self.count(&trial, index, item.file.case.statics.is_some());
        let port = (&trial.static_verdict, &trial.dynamic_verdict);
        let words = match validator.ask(&item.variant, &item.file.case) {
            Ok(answer) => {
                if let Some(message) = disagreement(port, &answer) {
                    let kind = "validator port disagreement".to_owned();
                    self.errors.push(InternalError { kind, case: index, message });
                }
                words(item.variant.family, &answer.static_verdict, answer.dynamic_verdict.as_ref(), true)
            }
            Err(why) => {
                tracing::warn!("{}: {why}", item.name);
                self.summary.unasked += 1;
                words(item.variant.family, port.0, Some(port.1), false)
            }
        };
        let facts = Facts::of(&item.variant, &item.file.case.metadata);
        let lowering = lowering(item, &trial, validator);
        if let Some(Err(why)) = &lowering {
            tracing::warn!("{}: {why}", item.name);
            self.summary.unsupported += 1;
        }
        let (findings, kernel) = match &lowering {
            Some(Ok(lowering)) => (judge_lowering(&trial, lowering), lowering.to_string()),
            Some(Err(_)) | None => (judge(&trial).findings, trial.conduct.to_string()),
        };
        let expected = expected_signatures(&item.file);
        let evidence = Evidence {
            others: look.others.map(str::to_owned),
            ..Evidence::of(&trial, &item.file.case, look.followed)
        };
        let mut news = false;
        for finding in &findings {
            let entry = self
                .known
                .explain(&finding.signature, &facts)
                .and_then(|entry| self.known.entries.get(entry));
            let status = match status(entry.map(|entry| entry.status)) {
                FindingStatus::New if expected.contains(&finding.signature) => FindingStatus::Known,
                status => status,
            };
            news |= status != FindingStatus::Known;
            let cause = entry.map(|entry| entry.cause.as_str());
            let origin = item.file.origin.as_ref().map(|origin| origin.cause.as_str());
            let cause = if status == FindingStatus::New { None } else { cause.or(origin) };
            let third = match status {
                FindingStatus::Known => None,
                _ if is_disagreement(finding) => validator.third(&item.variant, &item.file.case, finding),
                _ => None,
            };
            let report = FindingReport {
                status,
                cause: cause.map(str::to_owned),
                link: entry.and_then(|entry| entry.link.clone()),
                case: index,
                ..described(finding, &item.variant, &words, Some(Evidence { third, ..evidence.clone() }))
            };
            self.file(report);
        }
        let stale: Vec<&Signature> = expected
            .iter()
            .filter(|signature| !findings.iter().any(|finding| finding.signature == **signature))
            .filter(|signature| !self.is_fixed(signature, &facts))
            .collect();
        self.summary.findings_stale += stale.len() as u64;
        let outcome = match (news, stale.is_empty()) {
            (true, true | false) => "new",
            (false, false) => "stale",
            (false, true) => "met",
        };
        let shows = findings.iter().map(|finding| finding.signature.to_string());
        let gone = stale.iter().map(|signature| format!("{signature} (expected, and no longer shown)"));
        self.cases.push(CaseReport {
            name: item.name.clone(),
            breaches: trial
                .contract
                .breaches
                .iter()
                .map(|b| format!("{}: {}", b.rule.id, b.detail))
                .collect(),
            keeping: trial.contract.keeping().name().to_owned(),
            validators: words,
            kernel,
            shows: shows.chain(gone).collect(),
            outcome: outcome.to_owned(),
        });
    }

    /// Adds a case that can't be tried: a fault of the file, or of ours.
    pub fn fail(&mut self, item: &Item, kind: &str, message: &str) {
        let message = format!("{}: {message}", item.name);
        self.errors.push(InternalError { kind: kind.to_owned(), case: self.summary.cases, message });
        self.summary.cases += 1;
    }

    /// The report. `interrupted`: some cases were left out.
    pub fn finish(mut self, kernels: Vec<KernelReport>, interrupted: bool, timing: Timing) -> Report {
        let is_known = |finding: &&FindingReport| finding.status == FindingStatus::Known;
        self.summary.findings_known = self.findings.iter().filter(is_known).count() as u64;
        self.summary.findings_new = self.findings.len() as u64 - self.summary.findings_known;
        self.summary.internal_errors = self.errors.len() as u64;
        self.summary.interrupted = interrupted;
        let (compared, owned) = self.kept_rows;
        self.summary.kept_rows_compared_share = if owned == 0 { 1.0 } else { compared as f64 / owned as f64 };
        Report {
            schema_version: SCHEMA_VERSION,
            tool: tool(),
            command: "replay".to_owned(),
            profile: Some(self.policy.profile.name.to_owned()),
            exit_code: exit_code(&self.summary),
            summary: self.summary,
            campaign: None,
            kernels,
            findings: self.findings,
            rules: Default::default(),
            slips: Default::default(),
            cases: self.cases,
            internal_errors: self.errors,
            timing,
        }
    }

    fn is_fixed(&self, signature: &Signature, facts: &Facts) -> bool {
        let entry = self.known.explain(signature, facts).and_then(|entry| self.known.entries.get(entry));
        entry.is_some_and(|Known { status, .. }| *status == Status::Fixed)
    }

    fn count(&mut self, trial: &Trial, index: u64, overridden: bool) {
        let summary = &mut self.summary;
        match trial.contract.keeping() {
            Keeping::Kept => summary.kept += 1,
            Keeping::Disputed => summary.disputed += 1,
            Keeping::Broken => summary.broken += 1,
        }
        *summary.hits.variant.entry(trial.variant.name.clone()).or_default() += 1;
        match &trial.conduct {
            // Calls with static overrides are counted where they are lowered.
            Conduct::Unsupported(_) => summary.unsupported += u64::from(!overridden),
            Conduct::Finished(comparison) => {
                if trial.contract.keeping() == Keeping::Kept {
                    self.kept_rows.0 += comparison.compared_rows;
                    self.kept_rows.1 += comparison.owned_rows;
                }
                let largest = comparison.largest_right.map(|Deviation { token, head, lane, r, .. }| {
                    let variant = trial.variant.name.clone();
                    (r, Place { variant, case: index, token, head, lane })
                });
                if trial.contract.keeping() == Keeping::Kept {
                    let dtypes = options::dtypes(&trial.variant);
                    summary.r.entry(dtypes).or_default().add(&comparison.r_rows, largest.clone());
                }
                if let Some((r, place)) = largest
                    && (r > summary.largest_r || summary.largest_r_at.is_none())
                {
                    (summary.largest_r, summary.largest_r_at) = (r, Some(place));
                }
            }
            Conduct::NotRun | Conduct::Fault(_) | Conduct::Hang => {}
        }
    }

    /// Files a finding under its signature; the first case that shows one is the one that is reported.
    fn file(&mut self, finding: FindingReport) {
        let is_same = |other: &&mut FindingReport| {
            other.signature == finding.signature && other.status == finding.status
        };
        match self.findings.iter_mut().find(is_same) {
            Some(same) => same.count += 1,
            None => self.findings.push(finding),
        }
    }
}

/// What becomes of a call with static overrides that the check accepts; `None` for any other case.
fn lowering(item: &Item, trial: &Trial, validator: &mut dyn Validator) -> Option<Result<Lowering, String>> {
    let is_asked = item.file.case.statics.is_some() && trial.static_verdict == Verdict::Accepts;
    is_asked.then(|| validator.lower(&item.variant, &item.file.case))
}

/// What the case itself expects; signatures that can't be read expect nothing (the reader of files refuses them).
fn expected_signatures(file: &CorpusFile) -> Vec<Signature> {
    match &file.expect {
        None | Some(Expect::Clean) => Vec::new(),
        Some(Expect::Signatures(texts)) => {
            texts.iter().filter_map(|text| Signature::parse(text).ok()).collect()
        }
    }
}
