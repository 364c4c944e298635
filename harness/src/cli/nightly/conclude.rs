//! The end of a night: findings minimised and replayed, corpora minimised, history and report.
//!
//! Invariant: a case leaves the grown corpus only after all that it covers was covered by cases that stay, and that is announced
//! first. A finding leaves the state's folder only where the replay no longer shows it or an entry explains it.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::env::Environment;
use countersign_reports::{
    FindingStatus, KernelReport, NIGHT_VERSION, Night as NightReport, NightFinding, NightTarget, Report,
    Timing, Trend, night_to_html, night_to_json, night_to_markdown,
};
use serde_json::json;

use super::super::console::{Failure, print};
use super::super::fuzz::{absolute, write_report};
use super::super::items;
use super::super::replay::replay_kernel;
use super::state::SHOWN;
use super::supervisor::Searched;
use super::{Night, Pending, is_raised, version_of};
use crate::campaign::{Subject as _, panic_message, tool, write_whole};
use crate::judge::judge;
use crate::loaded::Loaded;
use crate::minimise::{BUDGET, Draft, Minimiser, Target as Kept};
use crate::night::{RunRecord, Sifted, Store, Target, TargetRecord, sift};
use crate::replay::{Item, Replay};
use crate::repro::{self, Besides};

/// A largest r above that of all earlier nights by more than this factor is worth a look.
const DRIFT: f64 = 1.25;
/// Earlier nights that drift is measured against, at least.
const NIGHTS: i64 = 3;

/// What came of a target, for report and history.
pub(super) struct Grown {
    report: NightTarget,
    record: TargetRecord,
}

impl Night<'_> {
    /// Replays cases of one kernel and adds its coverage to `reports`.
    pub(super) fn replay(
        &mut self,
        replay: &mut Replay<'_>,
        environment: &Environment,
        kernel: &KernelEntry,
        mine: &[&Item],
        reports: &mut Vec<KernelReport>,
    ) -> Result<(), Failure> {
        if mine.is_empty() {
            return Ok(());
        }
        let loaded = items::load(environment, kernel, mine)?;
        let (jobs, interrupted) = (self.jobs, self.interrupted);
        let coverage = replay_kernel(replay, &loaded, mine, environment, jobs, interrupted, &mut None);
        reports.push(loaded.report(&coverage));
        Ok(())
    }

    /// The corpus of a target after a search, minimised.
    pub(super) fn grown(
        &mut self,
        loaded: &Loaded,
        target: Target,
        store: &Store,
        before: usize,
        searched: Searched,
    ) -> Grown {
        let kernel = &loaded.kernel().id;
        let covered = match catch_unwind(AssertUnwindSafe(|| self.shrink(loaded, target, store))) {
            Ok(Ok(covered)) => covered,
            Ok(Err(error)) => {
                self.trouble(format!("the corpus of {kernel} {target} stays as large as it is: {error}"));
                0
            }
            Err(panic) => {
                self.panics += 1;
                self.trouble(format!(
                    "a fault of countersign itself, corpus kept: {}",
                    panic_message(&*panic)
                ));
                0
            }
        };
        let Searched { sums, seconds } = searched;
        let per_second = sums.cases as f64 / seconds.max(1e-9);
        let corpus = store.names().map_or(0, |names| names.len()) as u64;
        let report = NightTarget {
            kernel: kernel.clone(),
            target: target.name().to_owned(),
            cases: sums.cases,
            cases_per_second: per_second,
            known: sums.known,
            unsupported: sums.unsupported,
            corpus_before: before as u64,
            corpus_after: corpus,
            covered,
            points: (target == Target::Differential).then(|| loaded.coverage_points()),
        };
        let record = TargetRecord {
            kernel: kernel.clone(),
            version: version_of(loaded),
            target: report.target.clone(),
            cases: sums.cases,
            cases_per_second: per_second,
            corpus,
            covered,
            largest: sums.largest,
        };
        Grown { report, record }
    }

    /// Tries all cases, small ones first, and removes those that add nothing; what the rest covers.
    fn shrink(&mut self, loaded: &Loaded, target: Target, store: &Store) -> std::io::Result<u64> {
        let (cases, unreadable) = store.cases()?;
        if !unreadable.is_empty() {
            let folder = store.folder().display();
            self.trouble(format!(
                "{} files of {folder} are no cases of this version: kept, not used",
                unreadable.len()
            ));
        }
        let (names, start): (Vec<String>, Vec<_>) = cases.into_iter().unzip();
        let go_on = || !is_raised(self.interrupted);
        let Sifted { covered, worthy } = sift(loaded, target, self.known, self.policy, start, &go_on);
        // A case that nobody tried, after a Ctrl-C, stays.
        let dropped: Vec<&String> =
            names.iter().zip(&worthy).filter(|(_, worthy)| !**worthy).map(|(name, _)| name).collect();
        if !dropped.is_empty() {
            let files: Vec<_> = dropped.iter().map(|name| store.folder().join(name)).collect();
            // Removed only where that could be announced.
            self.log.event("corpus minimised", json!({ "kernel": loaded.kernel().id, "dropped": files }))?;
            for name in dropped {
                store.remove(name)?;
            }
        }
        Ok(covered)
    }

    /// Makes the cases of this kernel's findings small, and writes their scripts.
    pub(super) fn minimise(&mut self, loaded: &Loaded) {
        let raw: Vec<Pending> = self
            .pending
            .values()
            .filter(|pending| pending.raw && pending.kernel == loaded.kernel().id)
            .cloned()
            .collect();
        for pending in raw {
            if is_raised(self.interrupted) {
                return;
            }
            match catch_unwind(AssertUnwindSafe(|| self.minimised(loaded, &pending))) {
                Ok(Ok((smaller, script))) => {
                    self.store(&smaller);
                    if let Some(script) = script {
                        let path = self.out.join(&smaller.file).with_extension("py");
                        if let Err(error) = write_whole(&path, script.as_bytes()) {
                            self.trouble(format!("{}: {error}", path.display()));
                        }
                    }
                    self.pending.insert(smaller.signature.to_string(), smaller);
                }
                Ok(Err(why)) => {
                    self.trouble(format!("{} keeps its case as it was found: {why}", pending.signature))
                }
                Err(panic) => {
                    self.panics += 1;
                    let message = panic_message(&*panic);
                    self.trouble(format!(
                        "a fault of countersign itself while {} was made small: {message}",
                        pending.signature
                    ));
                }
            }
        }
    }

    fn minimised(&self, loaded: &Loaded, pending: &Pending) -> Result<(Pending, Option<String>), String> {
        let name = pending.case.variant.name();
        let position = loaded.variants().iter().position(|variant| variant.name == name);
        let position = position.ok_or("its variant is not among those searched")?;
        let mut minimiser = Minimiser::new(loaded, self.known, self.policy);
        let draft = Draft { position, case: pending.case.clone() };
        let target = Kept(vec![(pending.signature.clone(), None)]);
        let shown = minimiser.target(&draft).map_err(|error| error.to_string())?;
        if !shown.0.contains(&target.0[0]) {
            return Err("it does not show again".to_owned());
        }
        let go_on = || !is_raised(self.interrupted);
        let minimal =
            minimiser.minimise(draft, &target, BUDGET, &go_on).map_err(|error| error.to_string())?;
        let trial = minimiser.trial(&minimal.draft).map_err(|error| error.to_string())?;
        let finding =
            judge(&trial).findings.into_iter().find(|finding| finding.signature == pending.signature);
        let finding = finding.ok_or("the smaller case does not show it")?;
        let script =
            repro::script(loaded.kernel(), &minimal.draft.case, &trial, &finding, Besides::default()).ok();
        let smaller = Pending {
            case: minimal.draft.case,
            detail: finding.detail,
            raw: false,
            minimised: Some(format!("{} became {}", minimal.before, minimal.after)),
            ..pending.clone()
        };
        Ok((smaller, script))
    }

    /// The findings of a kernel as cases to replay.
    pub(super) fn pending_items(&self, loaded: &Loaded) -> Vec<Item> {
        let mine = self.pending.values().filter(|pending| pending.kernel == loaded.kernel().id);
        let item = |pending: &Pending| {
            let variant = pending.case.variant(loaded.variants()).ok()?.clone();
            let file = crate::corpus::CorpusFile { case: pending.case.clone(), origin: None, expect: None };
            Some(Item { name: pending.file.clone(), file, variant })
        };
        mine.filter_map(item).collect()
    }

    /// Writes history and report; the exit code.
    pub(super) fn conclude(
        mut self,
        replay: Replay<'_>,
        reports: Vec<KernelReport>,
        targets: Vec<Grown>,
        started: Instant,
    ) -> Result<u8, Failure> {
        let seconds = started.elapsed().as_secs_f64();
        let interrupted = is_raised(self.interrupted);
        let cases: u64 = targets.iter().map(|target| target.record.cases).sum();
        let timing = Timing {
            seconds,
            cases_per_second: cases as f64 / seconds.max(1e-9),
            jobs: self.jobs,
            out: Some(absolute(&self.out)),
        };
        let report = replay.finish(reports, interrupted, timing);
        for (count, what) in [
            (report.summary.unasked, "cases: the kernel's real checks could not be asked"),
            (report.summary.unsupported, "cases of the replay met something that the VM doesn't know"),
        ] {
            if count > 0 {
                self.trouble(format!("{count} {what}: see report.html"));
            }
        }
        let mut findings = self.unexplained(&report.findings);
        let gone = self.let_go(&mut findings, interrupted);
        let expired: Vec<String> = self
            .known
            .expired(&self.date)
            .map(|entry| format!("{} expired on {}", entry.signature, entry.expires.as_deref().unwrap_or("")))
            .collect();
        let unsupported = targets.iter().any(|target| target.report.unsupported > 0);
        let news = !findings.is_empty() || report.summary.findings_stale > 0 || !expired.is_empty();
        // Unlike a replay, a night of a kernel without regressions has something to do.
        let nothing_ran = targets.is_empty() && !self.unreplayed.is_empty();
        let exit_code = if self.panics > 0 || report.summary.internal_errors > 0 || nothing_ran {
            2
        } else if news {
            1
        } else if interrupted || unsupported || report.exit_code == 3 || !self.troubles.is_empty() {
            3
        } else {
            0
        };
        let record = RunRecord {
            seconds,
            exit_code,
            findings: findings.iter().map(|finding| finding.signature.clone()).collect(),
            targets: targets.iter().map(|target| target.record.clone()).collect(),
        };
        let warnings = self.drift(&record);
        let trends = self.remember(&record);
        let night = NightReport {
            version: NIGHT_VERSION,
            tool: tool(),
            number: self.state.number,
            date: self.date.clone(),
            seconds,
            seed: self.seed,
            jobs: self.jobs,
            exit_code,
            interrupted,
            findings,
            gone,
            replayed: report.summary.cases,
            stale: report.summary.findings_stale,
            expired,
            targets: targets.into_iter().map(|target| target.report).collect(),
            troubles: self.troubles.clone(),
            warnings,
            trends,
        };
        let (page, text) = (night_to_html(&night), night_to_markdown(&night));
        let written = self.write(&report, &night, &page, &text);
        self.event("ended", json!({ "night": night.number, "exit_code": exit_code, "cases": cases }));
        // What a full disk kept from the files is told here.
        print(&text)?;
        written?;
        print(&format!("\nreport: {}\n", self.out.join("night.html").display()))?;
        Ok(exit_code)
    }

    fn write(&self, report: &Report, night: &NightReport, page: &str, text: &str) -> Result<(), Failure> {
        write_report(&self.out, report)?;
        let json =
            night_to_json(night).map_err(|error| Failure::new(error.to_string(), "please report this"))?;
        for (name, form) in [("night.json", json.as_str()), ("night.md", text), ("night.html", page)] {
            let path = self.out.join(name);
            write_whole(&path, form.as_bytes()).map_err(|error| Failure::file(&path, error))?;
        }
        Ok(())
    }

    /// What the replay showed and nothing explains, regressions included.
    fn unexplained(&mut self, shown: &[countersign_reports::FindingReport]) -> Vec<NightFinding> {
        let shown = shown.iter().filter(|finding| finding.status != FindingStatus::Known);
        shown.map(|finding| self.listed(&finding.signature, &finding.detail)).collect()
    }

    /// A finding as the report lists it.
    fn listed(&mut self, signature: &str, detail: &str) -> NightFinding {
        let first = match self.state.history.as_ref().map(|history| history.first_seen(signature)) {
            Some(Ok(first)) => first,
            None => None,
            Some(Err(error)) => {
                self.note(format!("the history can't be read: {error}"));
                None
            }
        };
        let pending = self.pending.get(signature);
        NightFinding {
            signature: signature.to_owned(),
            detail: detail.to_owned(),
            new: first.is_none(),
            first_night: first.unwrap_or(self.state.number),
            file: pending.map_or_else(|| "report.html".to_owned(), |pending| pending.file.clone()),
            minimised: pending.and_then(|pending| pending.minimised.clone()),
        }
    }

    /// Findings that the replay didn't show: those of earlier nights go; tonight's stay, and so do all that a Ctrl-C or a
    /// failure left out.
    fn let_go(&mut self, findings: &mut Vec<NightFinding>, interrupted: bool) -> Vec<String> {
        let shown: BTreeSet<String> = findings.iter().map(|finding| finding.signature.clone()).collect();
        let absent: Vec<Pending> = self
            .pending
            .iter()
            .filter(|(text, _)| !shown.contains(*text))
            .map(|(_, each)| each.clone())
            .collect();
        let mut gone = Vec::new();
        for pending in absent {
            let signature = pending.signature.to_string();
            let left_out = interrupted || self.unreplayed.contains(&pending.kernel);
            if pending.tonight || left_out {
                if !left_out {
                    self.trouble(format!(
                        "{signature} did not show again; its case is kept: {}",
                        pending.file
                    ));
                }
                let listed = self.listed(&signature, &pending.detail);
                findings.push(listed);
                continue;
            }
            let path = self.state.findings().join(pending.name());
            self.event("gone", json!({ "signature": signature, "file": path }));
            match fs::remove_file(&path) {
                Ok(()) => gone.push(signature),
                Err(error) => self.trouble(format!("{}: {error}", path.display())),
            }
        }
        gone
    }

    /// Largest r that lie clearly above those of all earlier nights.
    fn drift(&mut self, record: &RunRecord) -> Vec<String> {
        let mut warnings = Vec::new();
        let Some(history) = &self.state.history else { return warnings };
        for target in &record.targets {
            for (dtypes, r) in &target.largest {
                let earlier = history.earlier(self.state.number, &target.kernel, &target.version, dtypes);
                if let Ok(earlier) = earlier
                    && earlier.nights >= NIGHTS
                    && *r > DRIFT * earlier.largest
                {
                    warnings.push(format!(
                        "the largest r of {} for {dtypes} is {r:.4}; in {} nights before it was at most {:.4}",
                        target.kernel, earlier.nights, earlier.largest
                    ));
                }
            }
        }
        warnings
    }

    /// Ends the run in the history; its trends.
    fn remember(&mut self, record: &RunRecord) -> Vec<Trend> {
        let number = self.state.number;
        let Some(history) = &mut self.state.history else { return Vec::new() };
        match history.end(number, record).and_then(|()| history.trends(SHOWN)) {
            Ok(trends) => trends.into_iter().map(|(title, points)| Trend { title, points }).collect(),
            Err(error) => {
                self.trouble(format!("the history could not be written: {error}"));
                Vec::new()
            }
        }
    }
}
