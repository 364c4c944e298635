//! `countersign corpus make`: the generated part of the program's own corpus, written again.
//!
//! Hidden: it serves this repository. What the files hold is the library's business ([`corpus::seeds`],
//! [`corpus::upstream`]); here seeds get their `[expect]`, from what they show now.
//!
//! Invariant: writes its own files only; what no longer belongs there is named by a test.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::super::console::{Failure, print};
use super::super::fuzz::cores;
use super::super::items::{self, Tried};
use super::super::session;
use crate::campaign::write_whole;
use crate::case::CaseError;
use crate::corpus::{self, CorpusFile, expectation};
use crate::replay::Item;
use countersign_kernels::engine::Policy;

/// Arguments of `corpus make`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The repository's folder `corpus`.
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let fault = |error: CaseError| {
        Failure::new(error.to_string(), "this is a fault of countersign: please report it")
    };
    let catalogue = session::builtin()?;
    let kernel = session::kernel(&catalogue, "jax-rpa")?;
    let mut files = corpus::seeds(kernel).map_err(fault)?;

    let items: Vec<Item> = files
        .iter()
        .map(|(name, file)| Item::read(name, &file.to_toml(), &catalogue))
        .collect::<Result<_, CaseError>>()
        .map_err(fault)?;
    let items: Vec<&Item> = items.iter().collect();
    let loaded = items::load(&session::environment(None, kernel)?, kernel, &items)?;
    let mut expects = Vec::new();
    items::try_all(
        &loaded,
        &items,
        cores(),
        &Policy::default(),
        &AtomicBool::new(false),
        &mut |item, tried| {
            let expect =
                tried.and_then(|Tried { trial, .. }| expectation(&trial.map_err(|error| error.to_string())?));
            expects.push(expect.map_err(|why| format!("{}: {why}", item.name)));
        },
    );
    for ((_, file), expect) in files.iter_mut().zip(expects) {
        file.expect = Some(expect.map_err(|why| Failure::new(why, "a seed must run"))?);
    }

    files.extend(corpus::upstream().map_err(fault)?);
    for (name, file) in &files {
        write(arguments.folder.join(name), file)?;
    }
    print(&format!("{} files\n", files.len()))?;
    Ok(0)
}

fn write(path: PathBuf, file: &CorpusFile) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    }
    write_whole(&path, file.to_toml().as_bytes()).map_err(|error| Failure::file(&path, error))
}
