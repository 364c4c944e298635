//! Corpus files: a case, where it came from, and what a replay of it must show.
//!
//! Invariant: names are paths relative to the corpus with `/`, and every listing is sorted by them. The built-in corpus is
//! part of the binary, so a replay of it needs no checkout.

use std::path::Path;
use std::{fs, io};

use crate::case::{Case, CaseError, Document, Table, quote, write_array};

/// The built-in corpus: relative path and text of each file.
const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/corpus.rs"));

/// Most lines of the list of signatures.
const MAX_SIGNATURE_LINES: usize = 16;

/// A file of the corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct CorpusFile {
    /// `[case]`.
    pub case: Case,
    /// `[origin]`.
    pub origin: Option<Origin>,
    /// `[expect]`; absent means that nobody has said yet.
    pub expect: Option<Expect>,
}

/// Where a case came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// A date, `2025-12-01`.
    pub when: String,
    /// From what: a campaign's seed and index, an issue, a person.
    pub from: String,
    /// Why the case matters, in plain words.
    pub cause: String,
}

/// What a replay must show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// No finding.
    Clean,
    /// Findings with exactly these signatures.
    Signatures(Vec<String>),
}

impl CorpusFile {
    /// Reads a file's text.
    ///
    /// # Errors
    /// With line and remedy; unknown keys are errors.
    pub fn from_toml(text: &str) -> Result<CorpusFile, CaseError> {
        let document = Document::parse(text)?;
        let mut root = document.root();
        let case = Case::read(&root.require("case", "a case file has a table [case]")?)?;
        let origin = root.get("origin").map(|field| field.table().and_then(read_origin)).transpose()?;
        let expect = root.get("expect").map(|field| field.table().and_then(read_expect)).transpose()?;
        root.finish()?;
        Ok(CorpusFile { case, origin, expect })
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        let mut out = self.case.to_toml();
        if let Some(Origin { when, from, cause }) = &self.origin {
            let (when, from, cause) = (quote(when), quote(from), quote(cause));
            out += &format!("\n[origin]\nwhen = {when}\nfrom = {from}\ncause = {cause}\n");
        }
        match &self.expect {
            Some(Expect::Clean) => out += "\n[expect]\nclean = true\n",
            Some(Expect::Signatures(signatures)) => {
                out += "\n[expect]\n";
                let items: Vec<String> = signatures.iter().map(|signature| quote(signature)).collect();
                write_array(&mut out, "signatures", &items, MAX_SIGNATURE_LINES);
            }
            None => {}
        }
        out
    }
}

fn read_origin(mut table: Table<'_>) -> Result<Origin, CaseError> {
    let when = table.require("when", "a date, e.g. \"2025-12-01\"")?.string()?;
    let from = table.require("from", "what the case came from")?.string()?;
    let cause = table.require("cause", "why it matters, in plain words")?.string()?;
    table.finish()?;
    Ok(Origin { when, from, cause })
}

fn read_expect(mut table: Table<'_>) -> Result<Expect, CaseError> {
    let clean = table.get("clean");
    let signatures = table.get("signatures");
    let expect = match (clean, signatures) {
        (Some(field), None) if field.boolean()? => Expect::Clean,
        (None, Some(field)) if !field.items()?.is_empty() => Expect::Signatures(field.strings()?),
        _ => {
            return Err(
                table.error("[expect] has either `clean = true` or `signatures = [\"…\"]`".to_owned())
            );
        }
    };
    table.finish()?;
    Ok(expect)
}

/// The built-in corpus: relative path and text of each file, sorted.
pub fn builtin() -> &'static [(&'static str, &'static str)] {
    BUILTIN
}

/// The TOML files below a directory (or one file): relative path and text, sorted by path.
///
/// # Errors
/// If a file or folder can't be read, or a file isn't UTF-8; the error names it.
pub fn read_dir(path: &Path) -> io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    if path.is_dir() {
        collect(path, "", &mut files)?;
        files.sort();
    } else {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        files.push((name, read_text(path)?));
    }
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| named(folder, &error))? {
        let entry = entry?;
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
        } else if name.ends_with(".toml") && name != "known.toml" {
            files.push((name, read_text(&path)?));
        }
    }
    Ok(())
}

fn read_text(path: &Path) -> io::Result<String> {
    fs::read_to_string(path).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
