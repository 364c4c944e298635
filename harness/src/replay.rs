//! Cases replayed one by one against what they expect.
//!
//! A finding is expected if the case's own `[expect]` names it or a known file explains it; it is news otherwise, and also
//! where a known entry says that it was fixed. What is expected and doesn't show is stale, unless it was fixed.
//!
//! Invariant: pure but for the validator that it is given.

use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::engine::{Engine, Policy};
use countersign_kernels::rpa::contract::Keeping;
use countersign_reports::{
    CaseReport, FindingReport, FindingStatus, InternalError, KernelReport, Place, Report, SCHEMA_VERSION,
    Summary, Timing,
};

use crate::campaign::{exit_code, stack_lines, status, tool};
use crate::compare::Deviation;
use crate::confirm::{Validator, disagreement, words};
use crate::corpus::{CorpusFile, Expect};
use crate::judge::{Finding, judge};
use crate::known::{Facts, Known, KnownFile, Status};
use crate::signature::Signature;
use crate::trial::{Conduct, Trial, run_trial};

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

    /// Replays one case. `engine` is of the item's variant; a case with static overrides needs none.
    pub fn case(
        &mut self,
        kernel: &KernelEntry,
        item: &Item,
        engine: Option<&mut dyn Engine>,
        validator: &mut dyn Validator,
    ) {
        let index = self.summary.cases;
        self.summary.cases += 1;
        let trial = match run_trial(engine, kernel, &item.variant, &item.file.case, &self.policy) {
            Ok(trial) => trial,
            Err(error) => {
                let message = format!("{}: {error}", item.name);
                self.errors.push(InternalError { kind: "unreadable case".to_owned(), case: index, message });
                return;
            }
        };
        self.count(&trial, index);
        let port = (&trial.static_verdict, &trial.dynamic_verdict);
        let words = match validator.ask(&item.variant, &item.file.case) {
            Ok(answer) => {
                if let Some(message) = disagreement(port, &answer) {
                    let kind = "validator port disagreement".to_owned();
                    self.errors.push(InternalError { kind, case: index, message });
                }
                words(&answer.static_verdict, answer.dynamic_verdict.as_ref(), true)
            }
            Err(why) => {
                tracing::warn!("{}: {why}", item.name);
                self.summary.unasked += 1;
                words(port.0, Some(port.1), false)
            }
        };
        let facts = Facts::of(&item.variant, &item.file.case.metadata);
        let findings = judge(&trial).findings;
        let expected = expected_signatures(&item.file);
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
            self.add(
                finding,
                status,
                cause,
                entry.and_then(|entry| entry.link.as_deref()),
                index,
                item,
                &words,
            );
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
            kernel: trial.conduct.to_string(),
            shows: shows.chain(gone).collect(),
            outcome: outcome.to_owned(),
        });
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

    fn count(&mut self, trial: &Trial, index: u64) {
        let summary = &mut self.summary;
        match trial.contract.keeping() {
            Keeping::Kept => summary.kept += 1,
            Keeping::Disputed => summary.disputed += 1,
            Keeping::Broken => summary.broken += 1,
        }
        *summary.hits.variant.entry(trial.variant.name.clone()).or_default() += 1;
        match &trial.conduct {
            Conduct::Unsupported(_) => summary.unsupported += 1,
            Conduct::Finished(comparison) => {
                if trial.contract.keeping() == Keeping::Kept {
                    self.kept_rows.0 += comparison.compared_rows;
                    self.kept_rows.1 += comparison.owned_rows;
                }
                if let Some(Deviation { token, head, lane, r, .. }) = comparison.largest_right
                    && (r > summary.largest_r || summary.largest_r_at.is_none())
                {
                    summary.largest_r = r;
                    let variant = trial.variant.name.clone();
                    summary.largest_r_at = Some(Place { variant, case: index, token, head, lane });
                }
            }
            Conduct::NotRun | Conduct::Fault(_) | Conduct::Hang => {}
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one finding, gathered where they are at hand"
    )]
    fn add(
        &mut self,
        finding: &Finding,
        status: FindingStatus,
        cause: Option<&str>,
        link: Option<&str>,
        index: u64,
        item: &Item,
        words: &countersign_reports::ValidatorWords,
    ) {
        let signature = finding.signature.to_string();
        let same =
            self.findings.iter_mut().find(|other| other.signature == signature && other.status == status);
        if let Some(same) = same {
            same.count += 1;
            return;
        }
        self.findings.push(FindingReport {
            signature,
            status,
            title: finding.signature.kind.title().to_owned(),
            detail: finding.detail.clone(),
            cause: cause.map(str::to_owned),
            link: link.map(str::to_owned),
            count: 1,
            case: index,
            variant: item.variant.name.clone(),
            validators: words.clone(),
            stack: stack_lines(&finding.stack),
            file: None,
        });
    }
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
