//! `countersign corpus verify`: what is wrong with the files of a corpus.
//!
//! Exit codes: 0 nothing; 1 something that a replay could live with (stale, misnamed, there twice); 2 a file that can't be
//! used.
//!
//! Invariant: changes nothing without `--fix`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::super::console::{CaseProgress, Failure, print};
use super::super::fuzz::{cores, known};
use super::super::{CatalogArgument, items, session};
use crate::campaign::write_whole;
use crate::corpus::{CorpusFile, Problem, is_canonical, verify};

const EXAMPLES: &str = "\
Examples:
  countersign corpus verify corpus
  countersign corpus verify corpus --known mine.toml
  countersign corpus verify corpus --fix";

/// Arguments of `corpus verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A case file, a folder of them, or `builtin`.
    folder: PathBuf,
    #[command(flatten)]
    catalog: CatalogArgument,
    /// Known findings of your own, besides the built-in ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// Rewrite files that can be read but aren't written as countersign writes them; their comments are lost.
    #[arg(long)]
    fix: bool,
    /// Print the problems as JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::extended(&arguments.catalog)?;
    let known = known(&arguments.known)?;
    let mut texts = items::texts(&arguments.folder)?;
    if texts.is_empty() {
        let message = format!("{}: no case there", arguments.folder.display());
        return Err(Failure::new(message, "name a case file, a folder with *.toml case files, or `builtin`"));
    }
    let rewritten = if arguments.fix { fix(&arguments.folder, &mut texts)? } else { 0 };
    let mut progress = CaseProgress::new(texts.len());
    let folder = items::folder(&arguments.folder);
    let problems = verify(folder, &texts, &catalogue, &known, cores(), &mut |name| progress.done(name));
    drop(progress);
    let mut text: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    text += &format!("{} files, {} problems", texts.len(), problems.len());
    if arguments.fix {
        text += &format!(", {rewritten} rewritten");
    }
    text.push('\n');
    if arguments.json {
        eprint!("{text}");
        let problem = |problem: &Problem| {
            let Problem { file, line, unreadable, message } = problem;
            json!({ "file": file, "line": line, "unreadable": unreadable, "message": message })
        };
        let problems: Vec<_> = problems.iter().map(problem).collect();
        print(&format!("{:#}\n", json!({ "files": texts.len(), "problems": problems })))?;
    } else {
        print(&text)?;
    }
    Ok(match problems.iter().map(|problem| problem.unreadable).max() {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    })
}

/// Rewrites what can be read; how many files that changed.
fn fix(folder: &Path, texts: &mut [(String, String)]) -> Result<usize, Failure> {
    let mut rewritten = 0;
    for (name, text) in texts {
        let Ok(file) = CorpusFile::from_toml(text) else { continue };
        if !is_canonical(text, &file) {
            let canonical = file.to_toml();
            let path = if folder.is_dir() { folder.join(name) } else { folder.to_path_buf() };
            write_whole(&path, canonical.as_bytes()).map_err(|error| Failure::file(&path, error))?;
            *text = canonical;
            rewritten += 1;
        }
    }
    Ok(rewritten)
}
