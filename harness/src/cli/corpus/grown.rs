//! The corpus that nights have grown, under `corpus add`, `stats` and `prune`.
//!
//! Invariant: no night uses the corpus meanwhile. What can't be read stays, and is counted.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::engine::Policy;
use serde_json::json;

use super::super::console::{Failure, print};
use super::super::fuzz::{known, watch_interrupts};
use super::super::nightly::state::Grown;
use super::super::{PythonArgument, items, session};
use crate::night::{Sifted, Store, Unpacked, sift, unpack};
use crate::replay::Item;

/// `--state`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct StateArgument {
    /// Folder of what nights leave to each other, for the grown corpus [default: in the cache folder].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

impl StateArgument {
    pub(super) fn folder(&self) -> Option<&Path> {
        self.state.as_deref()
    }
}

/// Whether a folder's name stands for the grown corpus.
pub(super) fn is_meant(folder: &Path) -> bool {
    folder == Path::new("grown") && !folder.exists()
}

/// Adds the cases of an archive.
pub(super) fn take_in(archive: &Path, state: &StateArgument, as_json: bool) -> Result<u8, Failure> {
    let file = File::open(archive).map_err(|error| Failure::file(archive, error))?;
    let grown = Grown::open(state.folder(), true)?;
    let unpacked = unpack(BufReader::new(file), &grown.corpus).map_err(|error| {
        Failure::new(
            format!("{}: {error}", archive.display()),
            "`countersign corpus pack` makes such archives",
        )
    })?;
    let Unpacked { fresh, there, foreign } = unpacked;
    if as_json {
        let counts = json!({ "folder": grown.corpus, "added": fresh, "there": there, "left_out": foreign });
        print(&format!("{counts:#}\n"))?;
    } else {
        let folder = grown.corpus.display();
        print(&format!("{folder}: {fresh} cases added, {there} were there\n"))?;
    }
    if foreign > 0 {
        eprintln!("{foreign} left out: no cases of this version of countersign");
    }
    Ok(if foreign == 0 { 0 } else { 3 })
}

/// All cases, and how many files are none of this version or of no kernel of the catalogue.
pub(super) fn items(state: &StateArgument, catalogue: &Catalogue) -> Result<(Vec<Item>, usize), Failure> {
    let grown = Grown::open(state.folder(), false)?;
    let failed = |error| Failure::file(&grown.corpus, error);
    let (mut items, mut left_out) = (Vec::new(), 0);
    for (kernel, target, store) in Store::all(&grown.corpus).map_err(failed)? {
        let (cases, unreadable) = store.cases().map_err(failed)?;
        left_out += unreadable.len();
        for (name, case) in cases {
            match items::stored(&format!("{kernel}/{target}/{name}"), case, catalogue) {
                Ok(item) => items.push(item),
                Err(_) => left_out += 1,
            }
        }
    }
    Ok((items, left_out))
}

/// Names the cases that add nothing, and with `yes` removes them.
pub(super) fn prune(
    state: &StateArgument,
    python: &PythonArgument,
    yes: bool,
    as_json: bool,
) -> Result<u8, Failure> {
    let catalogue = session::catalogue(python)?;
    let known = known(&[])?;
    let grown = Grown::open(state.folder(), false)?;
    let failed = |error| Failure::file(&grown.corpus, error);
    let stores = Store::all(&grown.corpus).map_err(failed)?;
    let interrupted = watch_interrupts()?;
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let (mut text, mut corpora, mut complete) = (String::new(), Vec::new(), true);
    let mut doomed = Vec::new();
    for kernel in &catalogue.kernels {
        let mine: Vec<_> = stores.iter().filter(|(id, ..)| *id == kernel.id).collect();
        if mine.is_empty() {
            continue;
        }
        let environment = session::environment(python.python.clone(), kernel)?;
        let loaded = session::load(&environment, kernel, kernel.variants(Tier::Small).cloned().collect())?;
        for (id, target, store) in mine {
            let (cases, unreadable) = store.cases().map_err(failed)?;
            let (names, cases): (Vec<String>, Vec<_>) = cases.into_iter().unzip();
            let Sifted { covered, worthy } = sift(&loaded, *target, &known, Policy::default(), cases, &go_on);
            let dropped: Vec<String> = names
                .iter()
                .zip(&worthy)
                .filter(|(_, worthy)| !**worthy)
                .map(|(name, _)| name.clone())
                .collect();
            let kept = names.len() - dropped.len();
            for name in &dropped {
                text += &format!("drop  {id}/{target}/{name}: smaller cases reach all that it reaches\n");
            }
            text += &format!("{id} {target}: {kept} to keep, {} to drop; {covered} covered", dropped.len());
            if !unreadable.is_empty() {
                complete = false;
                text += &format!("; {} files are no cases of this version and stay", unreadable.len());
            }
            text.push('\n');
            corpora.push(json!({
                "kernel": id, "target": target.name(), "kept": kept, "covered": covered, "dropped": dropped,
                "left_out": unreadable.len(),
            }));
            doomed.extend(dropped.into_iter().map(|name| (store, name)));
        }
    }
    if !go_on() {
        eprintln!("interrupted: nothing is removed");
        return Ok(3);
    }
    let strangers = stores.iter().filter(|(id, ..)| catalogue.kernel(id).is_none()).count();
    if strangers > 0 {
        complete = false;
        text += &format!(
            "{strangers} corpora of kernels that the catalogue doesn't have stay; --catalog adds kernels\n"
        );
    }
    if yes {
        for (store, name) in &doomed {
            store.remove(name).map_err(|error| Failure::file(&store.folder().join(name), error))?;
        }
    }
    let done = if yes { "removed" } else { "to remove (--yes removes them)" };
    text += &format!("{} {done}\n", doomed.len());
    if as_json {
        eprint!("{text}");
        print(&format!("{:#}\n", json!({ "removed": yes, "corpora": corpora, "strangers": strangers })))?;
    } else {
        print(&text)?;
    }
    Ok(if complete { 0 } else { 3 })
}
