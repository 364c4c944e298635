//! The event log and the stored findings of a run: written as things happen, so that a kill loses at most the case in
//! flight.
//!
//! Invariant: `events.jsonl` is only ever appended to, one JSON object a line, each written whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Found, Totals};

/// Folder of the stored cases, within the run's folder.
pub const FINDINGS_FOLDER: &str = "findings";

/// How many cases lie between two progress events.
const PROGRESS_EVERY: u64 = 1000;

/// Writes events and findings under a run's folder.
#[derive(Debug)]
pub struct EventLog {
    out: PathBuf,
    file: File,
}

impl EventLog {
    /// Opens `out`, creating it where needed.
    ///
    /// # Errors
    /// The folder or the file can't be written.
    pub fn open(out: &Path) -> io::Result<EventLog> {
        fs::create_dir_all(out.join(FINDINGS_FOLDER))?;
        let file = OpenOptions::new().create(true).append(true).open(out.join("events.jsonl"))?;
        Ok(EventLog { out: out.to_owned(), file })
    }

    /// Appends one event.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn event(&mut self, name: &str, fields: Value) -> io::Result<()> {
        let mut line = json!({ "event": name });
        if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
            line.extend(fields);
        }
        // One write call a line, so that a kill leaves no half line behind.
        self.file.write_all(format!("{line}\n").as_bytes())
    }

    /// Appends the sums from time to time.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn progress(&mut self, totals: &Totals) -> io::Result<()> {
        if !totals.cases.is_multiple_of(PROGRESS_EVERY) {
            return Ok(());
        }
        self.event(
            "progress",
            json!({ "cases": totals.cases, "kept": totals.kept, "disputed": totals.disputed, "broken": totals.broken }),
        )
    }

    /// Stores a finding's case, `text` in the corpus' format, and appends the event.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn finding(&mut self, found: &Found, text: &str) -> io::Result<()> {
        let name = file_name(found);
        fs::write(self.out.join(&name), text)?;
        self.event(
            "finding",
            json!({
                "signature": found.finding.signature.to_string(),
                "known": found.known.is_some(),
                "case": found.index,
                "detail": found.finding.detail,
                "file": name,
            }),
        )
    }
}

/// Where a finding's case is stored, relative to the run's folder.
pub(super) fn file_name(found: &Found) -> String {
    let known = if found.known.is_some() { "known" } else { "new" };
    format!("{FINDINGS_FOLDER}/{known}-{}.toml", found.finding.signature.slug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_appends() {
        let folder = tempfile::tempdir().unwrap();
        for seed in [1, 2] {
            EventLog::open(folder.path()).unwrap().event("started", json!({ "seed": seed })).unwrap();
        }
        let text = fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
        assert_eq!(text, "{\"event\":\"started\",\"seed\":1}\n{\"event\":\"started\",\"seed\":2}\n");
    }
}
