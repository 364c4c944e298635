//! Known files: findings that are explained, each by a signature, a condition on the batch, and a cause.
//!
//! Invariant: an entry explains a finding only where its `when` holds, so that a known bug can't hide a new one. Entries
//! are tried in the order of the files and of the text; the first that matches counts.

mod predicate;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

pub use predicate::{BATCH_NAMES, Facts, Predicate, PredicateError, SEQUENCE_NAMES};

use crate::signature::Signature;

/// What is to become of a known finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// To be fixed upstream.
    Open,
    /// Stays as it is.
    Accepted,
    /// Fixed; if it shows again, that is a finding.
    Fixed,
}

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// Which findings; `*` for any options.
    pub signature: Signature,
    /// On which batches.
    pub when: Predicate,
    /// The same as it is written.
    pub condition: String,
    /// What is to become of it.
    pub status: Status,
    /// Why it happens, in plain words, and how that was confirmed.
    pub cause: String,
    /// Where it is discussed.
    pub link: Option<String>,
    /// First day on which nightly and sign-off no longer honour it, `YYYY-MM-DD`.
    pub expires: Option<String>,
}

/// All entries in force.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KnownFile {
    /// In order of precedence.
    pub entries: Vec<Known>,
}

/// Why a known file can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{}{}: {message}", file.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
#[diagnostic(help(
    "an entry has `signature`, `when`, `status` (open, accepted or fixed) and `cause`; see corpus/README.md"
))]
pub struct KnownError {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// Line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    version: Spanned<u32>,
    #[serde(default)]
    known: Vec<RawEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    signature: Spanned<String>,
    when: Spanned<String>,
    status: Status,
    cause: Spanned<String>,
    link: Option<String>,
    expires: Option<Spanned<toml::value::Datetime>>,
}

impl KnownFile {
    /// The entries that come with the program.
    ///
    /// # Errors
    /// Only if the file was edited wrongly; a test reads it.
    pub fn builtin() -> Result<KnownFile, KnownError> {
        KnownFile::parse(include_str!("../../../corpus/known.toml"), Path::new("corpus/known.toml"))
    }

    /// Entries that are no longer to be honoured on `today`, `YYYY-MM-DD`.
    pub fn expired(&self, today: &str) -> impl Iterator<Item = &Known> {
        self.entries.iter().filter(move |entry| entry.expires.as_deref().is_some_and(|day| day <= today))
    }

    /// Reads a file of the user's.
    ///
    /// # Errors
    /// The file can't be read, or a place in it is wrong.
    pub fn read(path: &Path) -> Result<KnownFile, KnownError> {
        let text = std::fs::read_to_string(path).map_err(|error| KnownError {
            file: path.to_owned(),
            line: None,
            message: error.to_string(),
        })?;
        KnownFile::parse(&text, path)
    }

    /// Reads `text`; `file` is for messages.
    ///
    /// # Errors
    /// The first place that is wrong, with its line.
    pub fn parse(text: &str, file: &Path) -> Result<KnownFile, KnownError> {
        let line_of = |offset: usize| text.get(..offset).map(|before| before.matches('\n').count() + 1);
        let error = |offset: Option<usize>, message: String| KnownError {
            file: file.to_owned(),
            line: offset.and_then(line_of),
            message,
        };
        let raw: RawFile = toml::from_str(text)
            .map_err(|e| error(e.span().map(|span| span.start), e.message().to_owned()))?;
        if *raw.version.get_ref() != 1 {
            return Err(error(Some(raw.version.span().start), "only version 1 is known".to_owned()));
        }
        let mut entries = Vec::with_capacity(raw.known.len());
        for entry in raw.known {
            let signature = Signature::parse(entry.signature.get_ref())
                .map_err(|message| error(Some(entry.signature.span().start), message))?;
            let when = Predicate::parse(entry.when.get_ref())
                .map_err(|e| error(Some(entry.when.span().start), format!("when: {e}")))?;
            if entry.cause.get_ref().trim().is_empty() {
                return Err(error(Some(entry.cause.span().start), "the cause is empty".to_owned()));
            }
            let expires = match entry.expires {
                None => None,
                Some(date) => match date.get_ref() {
                    toml::value::Datetime { date: Some(day), time: None, offset: None } => {
                        Some(day.to_string())
                    }
                    _ => {
                        return Err(error(
                            Some(date.span().start),
                            "expires is a date, YYYY-MM-DD".to_owned(),
                        ));
                    }
                },
            };
            let (cause, condition) = (entry.cause.into_inner(), entry.when.into_inner());
            let (status, link) = (entry.status, entry.link);
            entries.push(Known { signature, when, condition, status, cause, link, expires });
        }
        Ok(KnownFile { entries })
    }

    /// Puts the entries of `other` behind these.
    pub fn extend(&mut self, other: KnownFile) {
        self.entries.extend(other.entries);
    }

    /// The index of the first entry that explains a finding with `signature` on a batch with `facts`.
    pub fn explain(&self, signature: &Signature, facts: &Facts) -> Option<usize> {
        self.entries.iter().position(|known| known.signature.covers(signature) && known.when.holds(facts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "version = 1\n\n[[known]]\nsignature = \"gap:accepts-invalid|k|a-rule|hang|*\"\n\
                         when = \"num_seqs > 1\"\nstatus = \"open\"\ncause = \"because\"\nexpires = 2030-01-31\n";

    #[test]
    fn reads_an_entry() {
        let file = KnownFile::parse(ENTRY, Path::new("k.toml")).unwrap();
        assert_eq!(file.entries.len(), 1);
        assert_eq!(file.entries[0].status, Status::Open);
        assert_eq!(file.entries[0].expires.as_deref(), Some("2030-01-31"));
        assert_eq!(["2030-01-30", "2030-01-31"].map(|today| file.expired(today).count()), [0, 1]);
    }

    #[test]
    fn errors_name_file_and_line() {
        for (from, to, line, word) in [
            ("version = 1", "version = 2", 1, "version"),
            ("|hang|", "|hangs|", 4, "hangs"),
            ("num_seqs > 1", "num_seqs >", 5, "end"),
            ("\"open\"", "\"shut\"", 6, "shut"),
            ("\"because\"", "\" \"", 7, "cause"),
            ("2030-01-31", "2030-01-31T00:00:00Z", 8, "date"),
            ("cause", "reason", 7, "reason"),
        ] {
            let text = ENTRY.replace(from, to);
            let error = KnownFile::parse(&text, Path::new("k.toml")).unwrap_err().to_string();
            assert!(error.starts_with(&format!("k.toml:{line}: ")), "{error}");
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn the_builtin_file_is_right() {
        KnownFile::builtin().unwrap();
    }
}
