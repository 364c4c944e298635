//! The corpus: files of cases, what they are made from, and what is in them.
//!
//! Invariant: names are paths relative to the corpus with `/`, and every listing is sorted by them. The built-in corpus is
//! part of the binary, so a replay of it needs no checkout.

mod add;
mod file;
mod prune;
mod seeds;
mod stats;
mod upstream;
mod verify;

use std::path::Path;
use std::{fs, io};

pub use add::{expectation, free_name, name_for, slug};
pub use file::{CorpusFile, Expect, Origin};
pub use prune::{Verdict, Worth, prune};
pub use seeds::seeds;
pub use stats::{AXES, Stats, contract_of};
pub use upstream::upstream;
pub(crate) use upstream::{TestFunction, lay_out, test_functions};
pub use verify::{Problem, is_canonical, same_case, verify};

/// The built-in corpus: relative path and text of each file.
const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/corpus.rs"));

/// Files at the head of a corpus that are no cases: explained findings, and the facts that `upstream/` is made from.
const NO_CASES: [&str; 2] = ["known.toml", "upstream.toml"];

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
        } else if name.ends_with(".toml") && !NO_CASES.contains(&name.as_str()) {
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
