//! What commands share in talking to a person: errors with a remedy, output that survives a closed pipe, set-up progress.
//!
//! Invariant: documents go to standard output, everything that happens on the way to standard error.

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use countersign_kernels::env::{Progress, SetupError};
use indicatif::{ProgressBar, ProgressStyle};

use crate::known::KnownError;

/// Why a command can't do its work: exit code 2.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Failure {
    /// The Python environment; the message has the remedy.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A known file.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Known(#[from] KnownError),
    /// Anything else.
    #[error("{message}")]
    Other {
        /// What happened.
        message: String,
        /// What to do about it.
        #[help]
        help: String,
    },
}

impl Failure {
    /// From parts.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure::Other { message: message.into(), help: help.into() }
    }

    /// A file's error.
    pub fn file(path: &Path, error: io::Error) -> Failure {
        let (path, error) = (path.display().to_string(), error.to_string());
        // Errors from below a folder name their file already.
        let message = if error.starts_with(&path) { error } else { format!("{path}: {error}") };
        Failure::new(message, "check the path and its permissions; --out chooses another folder for results")
    }
}

/// Writes to standard output; a reader that has gone away is no error.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::file(Path::new("standard output"), error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Set-up progress: a spinner, or plain lines where standard error is no terminal.
#[derive(Debug)]
pub(super) struct SetupProgress {
    bar: ProgressBar,
}

impl SetupProgress {
    pub(super) fn new() -> SetupProgress {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        SetupProgress { bar }
    }
}

impl Drop for SetupProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for SetupProgress {
    fn step(&self, message: &str) {
        if self.bar.is_hidden() {
            eprintln!("{message} …");
        } else {
            self.bar.reset_elapsed();
            self.bar.set_message(message.to_owned());
        }
    }

    fn done(&self, message: &str) {
        if self.bar.is_hidden() {
            eprintln!("{message}");
        } else {
            self.bar.println(message);
        }
    }
}

/// Cases done of so many: a bar, or a plain line now and then where standard error is no terminal.
#[derive(Debug)]
pub(super) struct CaseProgress {
    bar: ProgressBar,
    started: Instant,
    last: Instant,
}

impl CaseProgress {
    /// Time between two plain lines; shorter work shows none.
    const PLAIN_EVERY: Duration = Duration::from_secs(10);

    pub(super) fn new(cases: usize) -> CaseProgress {
        let bar = ProgressBar::new(cases as u64);
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len}, {eta} left {msg}") {
            bar.set_style(style);
        }
        let now = Instant::now();
        CaseProgress { bar, started: now, last: now }
    }

    /// One more is done.
    pub(super) fn done(&mut self, name: &str) {
        self.bar.inc(1);
        if !self.bar.is_hidden() {
            self.bar.set_message(name.to_owned());
        } else if self.last.elapsed() >= Self::PLAIN_EVERY {
            self.last = Instant::now();
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let left =
                self.started.elapsed().as_secs_f64() * all.saturating_sub(done) as f64 / done.max(1) as f64;
            eprintln!("{done} of {all}, about {left:.0} s left: {name}");
        }
    }
}

impl Drop for CaseProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Today's date in UTC, `YYYY-MM-DD`, for a person to read.
pub(super) fn today() -> String {
    let seconds =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds / 86_400)
}

/// The Gregorian date of a day since 1970-01-01.
fn date(day: u64) -> String {
    let is_leap =
        |year: u64| (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let (mut year, mut day) = (1970, day);
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let months = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= months[month] {
        day -= months[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, day + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates() {
        for (day, text) in
            [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_453, "2025-12-31")]
        {
            assert_eq!(super::date(day), text);
        }
    }
}
