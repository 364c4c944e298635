//! The event log and the stored findings of a run: written as things happen, so that a kill loses at most the case in
//! flight.
//!
//! Invariant: `events.jsonl` is only ever appended to, one JSON object a line, each written whole. What it announces is
//! there: a stored case appears whole, before its event, also where an earlier run stored one of that name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use countersign_kernels::env::write_whole;
use serde_json::{Value, json};

use super::{Found, Totals};
use crate::minimise::Minimal;

/// Folder of the stored cases, within the run's folder.
pub const FINDINGS_FOLDER: &str = "findings";

/// Folder of the cases as they were found, where smaller ones took their place.
pub const ORIGINALS_FOLDER: &str = "originals";

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
        let path = out.join("events.jsonl");
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        // What a full disk or a power cut left of a line stays, on a line of its own.
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
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
        // One write call a line, so that a kill leaves no half line behind; what a full disk took of it goes again.
        let before = self.file.metadata()?.len();
        self.file.write_all(format!("{line}\n").as_bytes()).inspect_err(|_| {
            let _ = self.file.set_len(before); // best effort: the error that is reported is the first one
        })
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
        write_whole(&self.out.join(&name), text.as_bytes())?;
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

    /// Puts a smaller case, `text`, in the place of a finding's stored one, which is kept among the originals.
    ///
    /// # Errors
    /// A file can't be read or written.
    pub fn minimised(&mut self, found: &Found, minimal: &Minimal, text: &str) -> io::Result<()> {
        let (name, original) = (file_name(found), original_name(found));
        fs::create_dir_all(self.out.join(ORIGINALS_FOLDER))?;
        write_whole(&self.out.join(&original), &fs::read(self.out.join(&name))?)?;
        write_whole(&self.out.join(&name), text.as_bytes())?;
        let Minimal { before, after, executions, complete, .. } = minimal;
        self.event(
            "minimised",
            json!({
                "signature": found.finding.signature.to_string(),
                "file": name,
                "original": original,
                "before": before,
                "after": after,
                "executions": executions,
                "complete": complete,
            }),
        )
    }

    /// Writes a finding's Python script beside its case; its name.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn repro(&mut self, found: &Found, script: &str) -> io::Result<String> {
        let name = format!("{FINDINGS_FOLDER}/{}.py", stem(found));
        write_whole(&self.out.join(&name), script.as_bytes())?;
        Ok(name)
    }
}

/// Where a finding's case is stored, relative to the run's folder.
pub fn file_name(found: &Found) -> String {
    format!("{FINDINGS_FOLDER}/{}.toml", stem(found))
}

/// Where the case is kept as it was found.
pub(super) fn original_name(found: &Found) -> String {
    format!("{ORIGINALS_FOLDER}/{}.toml", stem(found))
}

fn stem(found: &Found) -> String {
    let known = if found.known.is_some() { "known" } else { "new" };
    let twin = if found.twins == 0 { String::new() } else { format!("-{}", found.twins + 1) };
    format!("{known}-{}{twin}", found.finding.signature.slug())
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

    #[test]
    fn half_a_line_spoils_no_other() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("events.jsonl"), "{\"event\":\"fin").unwrap();
        EventLog::open(folder.path()).unwrap().event("started", json!({})).unwrap();
        let text = fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
        assert_eq!(text, "{\"event\":\"fin\n{\"event\":\"started\"}\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("taken")).unwrap();
        assert!(write_whole(&folder.path().join("taken"), b"text").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
