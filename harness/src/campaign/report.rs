//! From a campaign's sums to the report's model.
//!
//! Invariant: adds no judgement; what differs between runs goes to `timing` and nowhere else.

use countersign_kernels::Variant;
use countersign_reports::{
    CampaignReport, FindingReport, FindingStatus, Hits, KernelReport, MinimisedReport, Report,
    SCHEMA_VERSION, Summary, Timing, ValidatorWords,
};

use super::{Found, Plan, Subject, Totals, events};
use crate::confirm::Confirmation;
use crate::evidence::Evidence;
use crate::judge::Finding;
use crate::known::{KnownFile, Status};
use crate::minimise::Minimal;
use crate::options;

/// Program and version.
pub fn tool() -> String {
    format!("countersign {}", env!("CARGO_PKG_VERSION"))
}

/// What is known of a finding besides its signature and count.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmed {
    /// Its second run.
    pub confirmation: Confirmation,
    /// How its case became smaller, where that was tried.
    pub minimal: Option<Minimal>,
    /// A Python script that shows it, relative to the run's folder.
    pub repro: Option<String>,
    /// What of the kernel only failing cases cover, in a sentence, where it was asked.
    pub suspects: Option<String>,
}

/// The report of a campaign: `confirmed` are of `totals.findings`, in that order.
pub fn finish(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    totals: &Totals,
    confirmed: &[Confirmed],
    kernel: KernelReport,
    interrupted: bool,
    timing: Timing,
) -> Report {
    let findings: Vec<FindingReport> = totals
        .findings
        .iter()
        .zip(confirmed)
        .map(|(found, confirmed)| finding(subject, plan.known, found, confirmed))
        .collect();
    let internal_errors: Vec<_> = totals
        .internal_errors
        .iter()
        .chain(confirmed.iter().flat_map(|confirmed| &confirmed.confirmation.errors))
        .cloned()
        .collect();
    let is_known = |finding: &&FindingReport| finding.status == FindingStatus::Known;
    let known = findings.iter().filter(is_known).count() as u64;
    let (largest_r, largest_r_at) =
        totals.largest_right.clone().map_or((0.0, None), |(r, place)| (r, Some(place)));
    let share =
        if totals.kept_rows == 0 { 1.0 } else { totals.kept_rows_compared as f64 / totals.kept_rows as f64 };
    let summary = Summary {
        cases: totals.cases,
        kept: totals.kept,
        disputed: totals.disputed,
        broken: totals.broken,
        findings_new: findings.len() as u64 - known,
        findings_known: known,
        findings_stale: 0,
        unsupported: totals.unsupported,
        unasked: confirmed.iter().filter(|confirmed| confirmed.confirmation.unasked.is_some()).count() as u64,
        internal_errors: internal_errors.len() as u64,
        interrupted,
        largest_r,
        largest_r_at,
        kept_rows_compared_share: share,
        r: totals.r.clone(),
        hits: Hits {
            option_pairs: options::pairs(subject.variants(), &totals.hits.variant),
            ..totals.hits.clone()
        },
    };
    Report {
        schema_version: SCHEMA_VERSION,
        tool: tool(),
        command: "fuzz".to_owned(),
        profile: Some(plan.policy.profile.name.to_owned()),
        exit_code: exit_code(&summary),
        summary,
        campaign: Some(CampaignReport {
            seed: plan.seed,
            only: plan.only.map(|keeping| keeping.name().to_owned()),
            variants: subject.variants().iter().map(|variant| variant.name.clone()).collect(),
        }),
        kernels: vec![kernel],
        findings,
        rules: totals.rules.clone(),
        slips: totals.slips.clone(),
        cases: Vec::new(),
        internal_errors,
        timing,
    }
}

fn finding(subject: &dyn Subject, known: &KnownFile, found: &Found, confirmed: &Confirmed) -> FindingReport {
    let Confirmed { confirmation, minimal, repro, suspects } = confirmed;
    let minimised = minimal.as_ref().map(|minimal| MinimisedReport {
        original: events::original_name(found),
        before: minimal.before,
        after: minimal.after,
        executions: minimal.executions,
        complete: minimal.complete,
    });
    let entry = found.known.and_then(|position| known.entries.get(position));
    FindingReport {
        status: status(entry.map(|entry| entry.status)),
        cause: entry.map(|entry| entry.cause.clone()),
        link: entry.and_then(|entry| entry.link.clone()),
        count: found.count,
        case: found.index,
        file: Some(events::file_name(found)),
        minimised,
        repro: repro.clone(),
        suspects: suspects.clone(),
        ..described(
            &confirmation.finding,
            &subject.variants()[confirmation.shown.position],
            &confirmation.words,
            confirmation.evidence.clone(),
        )
    }
}

/// What a report says of one finding in one case: new and counted once, until somebody says more.
pub fn described(
    finding: &Finding,
    variant: &Variant,
    words: &ValidatorWords,
    evidence: Option<Evidence>,
) -> FindingReport {
    let signature = &finding.signature;
    let (kernel, fault, batch, case_file, others, third) = match evidence {
        None => (None, None, None, None, None, None),
        Some(Evidence { kernel, fault, batch, case_file, others, third }) => {
            (Some(kernel), fault, batch, Some(case_file), others, third)
        }
    };
    FindingReport {
        signature: signature.to_string(),
        status: FindingStatus::New,
        title: signature.kind.title().to_owned(),
        detail: finding.detail.clone(),
        cause: None,
        link: None,
        count: 1,
        case: 0,
        variant: variant.name.clone(),
        validators: words.clone(),
        kind: signature.kind.name().to_owned(),
        locus: signature.locus.to_string(),
        effect: signature.effect.name().to_owned(),
        options: signature.options.to_string(),
        kernel,
        fault,
        batch,
        file: None,
        case_file,
        minimised: None,
        others,
        third,
        suspects: None,
        repro: None,
    }
}

/// What an entry of that status makes of a finding.
pub fn status(entry: Option<Status>) -> FindingStatus {
    match entry {
        None => FindingStatus::New,
        Some(Status::Open | Status::Accepted) => FindingStatus::Known,
        Some(Status::Fixed) => FindingStatus::Returned,
    }
}

/// 0 clean; 1 a new or stale finding; 2 a fault of ours, or nothing run; 3 incomplete. 2 beats 1 beats 3.
pub fn exit_code(summary: &Summary) -> u8 {
    if summary.internal_errors > 0 || (summary.cases == 0 && !summary.interrupted) {
        2
    } else if summary.findings_new > 0 || summary.findings_stale > 0 {
        1
    } else if summary.unasked > 0 || summary.unsupported > 0 || summary.interrupted {
        3
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_beats_one_beats_three() {
        let clean = Summary { cases: 1, ..Summary::default() };
        assert_eq!(exit_code(&clean), 0);
        assert_eq!(exit_code(&Summary { unasked: 1, ..clean.clone() }), 3);
        assert_eq!(exit_code(&Summary { unsupported: 1, ..clean.clone() }), 3);
        assert_eq!(exit_code(&Summary { interrupted: true, ..clean.clone() }), 3);
        assert_eq!(exit_code(&Summary { unasked: 1, findings_new: 1, ..clean.clone() }), 1);
        assert_eq!(exit_code(&Summary { findings_stale: 1, interrupted: true, ..clean.clone() }), 1);
        assert_eq!(exit_code(&Summary { findings_new: 1, internal_errors: 1, ..clean }), 2);
        assert_eq!(exit_code(&Summary::default()), 2);
    }

    #[test]
    fn a_fixed_entry_that_shows_again_is_news() {
        assert_eq!(status(Some(Status::Fixed)), FindingStatus::Returned);
        assert_eq!(status(Some(Status::Accepted)), FindingStatus::Known);
        assert_eq!(status(None), FindingStatus::New);
    }
}
