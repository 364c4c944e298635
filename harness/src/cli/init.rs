//! `countersign init`: what a repository of one's own needs to use the program in its CI.
//!
//! Invariant: never changes a file that is there.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::console::{Failure, print};
use super::table::{self, row};
use super::{CatalogArgument, KernelFrom, PythonArgument, session};

const EXAMPLES: &str = "\
Examples:
  countersign init
  countersign init ~/my-kernels --kernel-from src/attention.py:ragged_paged_attention";

/// Arguments of `init`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The repository.
    #[arg(default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    python: PythonArgument,
}

const FILES: [(&str, &str); 5] = [
    ("corpus/README.md", include_str!("../init/README.md")),
    ("corpus/known.toml", include_str!("../init/known.toml")),
    ("corpus/regressions/example.toml", include_str!("../init/example.toml")),
    ("signoff-policy.toml", crate::signoff::policy::DEFAULT),
    (".github/workflows/countersign.yml", include_str!("../init/workflow.yml")),
];

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let folder = &arguments.folder;
    if !folder.is_dir() {
        let message = format!("{}: no such folder", folder.display());
        return Err(Failure::new(message, "name the folder of your repository"));
    }
    session::catalogue(&within(folder, &arguments.python))?;
    let flags = flags(&arguments.python);
    let mut rows = Vec::new();
    for (name, text) in FILES {
        let text = text
            .replace("@KERNEL@", &flags)
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .replace("@REPOSITORY@", env!("CARGO_PKG_REPOSITORY"));
        let written = write_new(&folder.join(name), &text)?;
        rows.push(row![name, if written { "written" } else { "is there already: left as it is" }]);
    }
    let next = format!(
        "\nNext, in {}:\n  countersign replay corpus/regressions{flags} --known corpus/known.toml\n  countersign \
         fuzz{flags} --known corpus/known.toml\nRuns write to countersign/, which doesn't belong into version control.\n",
        folder.display()
    );
    print(&(table::render(&rows) + &next))?;
    Ok(0)
}

/// The same arguments as seen from here: their paths are given relative to the repository.
fn within(folder: &Path, python: &PythonArgument) -> PythonArgument {
    let kernel_from =
        python.kernel_from.clone().map(|from| KernelFrom { file: folder.join(&from.file), ..from });
    let catalog = python.catalog.catalog.iter().map(|catalog| folder.join(catalog)).collect();
    PythonArgument { kernel_from, catalog: CatalogArgument { catalog }, python: python.python.clone() }
}

/// The options that every command of the repository needs, each with a space before it.
fn flags(python: &PythonArgument) -> String {
    let mut flags = String::new();
    if let Some(KernelFrom { file, function }) = &python.kernel_from {
        flags += &format!(" --kernel-from {}", quoted(&format!("{}:{function}", file.display())));
    }
    for folder in &python.catalog.catalog {
        flags += &format!(" --catalog {}", quoted(&folder.display().to_string()));
    }
    flags
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Writes a file unless it is there.
fn write_new(path: &Path, text: &str) -> Result<bool, Failure> {
    let failure = |error| Failure::file(path, error);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failure)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| true).map_err(failure),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failure(error)),
    }
}
