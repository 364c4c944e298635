//! The live line of a campaign, on standard error; plain lines now and then where that is no terminal.
//!
//! Invariant: shows only; nothing depends on it.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::Totals;

/// Seconds between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// The live line.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    last: Instant,
    coverage_points: u64,
    silent: bool,
}

impl Progress {
    /// Starts it. `coverage_points` are all that there are; `silent` shows nothing at all.
    pub fn new(cases: Option<u64>, coverage_points: u64, silent: bool) -> Progress {
        let bar = if silent {
            ProgressBar::hidden()
        } else {
            cases.map_or_else(ProgressBar::new_spinner, ProgressBar::new)
        };
        let template = if cases.is_some() { "{wide_bar} {pos}/{len} {msg}" } else { "{spinner} {pos} {msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let now = Instant::now();
        Progress { bar, started: now, last: now, coverage_points, silent }
    }

    /// Shows the sums.
    pub fn update(&mut self, totals: &Totals) {
        let now = Instant::now();
        if self.silent {
            return;
        }
        if self.bar.is_hidden() {
            if now - self.last >= PLAIN_EVERY {
                self.last = now;
                eprintln!("{} {}", totals.cases, self.line(totals, now));
            }
        } else if now - self.last >= Duration::from_millis(100) {
            self.last = now;
            self.bar.set_position(totals.cases);
            self.bar.set_message(self.line(totals, now));
        }
    }

    /// A line above the live one.
    pub fn say(&self, line: &str) {
        if self.silent {
        } else if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }

    /// Takes the line away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, totals: &Totals, now: Instant) -> String {
        let seconds = (now - self.started).as_secs_f64().max(1e-3);
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / (whole.max(1)) as f64;
        format!(
            "cases, {:.0}/s | kept {:.0} %, disputed {:.0} %, broken {:.0} % | coverage {:.1} % | findings: {} new, {} known",
            totals.cases as f64 / seconds,
            percent(totals.kept, totals.cases),
            percent(totals.disputed, totals.cases),
            percent(totals.broken, totals.cases),
            percent(totals.covered(), self.coverage_points),
            totals.new_findings(),
            totals.findings.len() - totals.new_findings(),
        )
    }
}
