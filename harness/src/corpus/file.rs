//! One file of the corpus: `[case]`, `[origin]`, `[expect]`.
//!
//! Invariant: `from_toml(to_toml(file)) == file`; unknown keys are errors.

use crate::case::{Case, CaseError, Document, Table, quote, write_array};

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
