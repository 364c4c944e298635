//! Case files from the command line to the library: read, checked against the catalogue, chosen by tier, tried on all cores.
//!
//! Invariant: a file that can't be read is an error that names it, and what a tier leaves out is counted.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::ValueEnum;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::engine::Policy;
use countersign_kernels::env::Environment;

use super::console::Failure;
use super::session;
use crate::campaign::Subject;
use crate::case::{Case, CaseError};
use crate::corpus::{self, CorpusFile};
use crate::interference::interference;
use crate::judge::judge;
use crate::loaded::Loaded;
use crate::ordered::in_order;
use crate::replay::Item;
use crate::traced::{Followed, follow};
use crate::trial::{Conduct, Trial, run_trial};

/// `--tier`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TierName {
    /// Cases of small arrays, milliseconds each.
    Small,
    /// Those of large arrays as well: shapes of real models.
    Full,
}

impl From<TierName> for Tier {
    fn from(name: TierName) -> Tier {
        match name {
            TierName::Small => Tier::Small,
            TierName::Full => Tier::Full,
        }
    }
}

/// Cases, and how many the tier left out.
pub(super) struct Selection {
    pub(super) items: Vec<Item>,
    pub(super) left_out: usize,
}

/// The cases of a file, a folder or `builtin` that are of the tier or a smaller one; a file that is named itself is taken
/// whatever its tier.
pub(super) fn select(path: &Path, catalogue: &Catalogue, tier: TierName) -> Result<Selection, Failure> {
    let all = read(path, catalogue)?;
    if all.is_empty() {
        let message = format!("{}: no case there", path.display());
        return Err(Failure::new(message, "name a case file, a folder with *.toml case files, or `builtin`"));
    }
    let count = all.len();
    let is_wanted = |item: &Item| path.is_file() || Tier::of(&item.variant) <= tier.into();
    let items: Vec<Item> = all.into_iter().filter(is_wanted).collect();
    if items.is_empty() {
        let message = format!("{}: all {count} cases are of the full tier", path.display());
        return Err(Failure::new(message, "`--tier full` takes them, too"));
    }
    Ok(Selection { left_out: count - items.len(), items })
}

/// A case, tried.
pub(super) struct Tried {
    pub(super) trial: Result<Trial, CaseError>,
    /// Coverage points that it hit; empty where nothing ran.
    pub(super) coverage: Vec<u64>,
    /// The path to its fault, if it has one.
    pub(super) followed: Option<Followed>,
    /// What the sequences that break a rule do to the others, where it shows a finding.
    pub(super) others: Option<String>,
    pub(super) seconds: f64,
}

/// Tries `items`, all of one kernel, in the VM; `each` hears of them in order, block sizes that the kernel chose filled in.
/// An engine lives for one case, so that no thread holds on to the memory of large ones.
pub(super) fn try_all(
    loaded: &Loaded,
    items: &[&Item],
    jobs: usize,
    policy: &Policy,
    interrupted: &AtomicBool,
    each: &mut dyn FnMut(&Item, Result<Tried, String>),
) {
    let items: Vec<Item> = items.iter().map(|item| tuned(loaded, item)).collect();
    let work = |index: usize| {
        let started = Instant::now();
        let Item { file, variant, .. } = &items[index];
        let position = loaded.position(variant).filter(|_| file.case.statics.is_none());
        let mut engine = position.map(|at| loaded.engine(at));
        let trial = match &mut engine {
            Some(engine) => run_trial(Some(engine.as_mut()), loaded.kernel(), variant, &file.case, policy),
            None => run_trial(None, loaded.kernel(), variant, &file.case, policy),
        };
        let seconds = started.elapsed().as_secs_f64();
        let coverage = engine.as_ref().map(|engine| engine.coverage().to_vec()).unwrap_or_default();
        let followed = match (&mut engine, &trial) {
            (Some(engine), Ok(Trial { conduct: Conduct::Fault(_), source_file, .. })) => {
                follow(engine.as_mut(), variant, &file.case, policy, source_file)
            }
            _ => None,
        };
        let others = match (&mut engine, &trial) {
            (Some(engine), Ok(trial)) if !judge(trial).findings.is_empty() => {
                interference(engine.as_mut(), variant, &file.case, policy).ok().flatten()
            }
            _ => None,
        };
        Tried { trial, coverage, followed, others: others.map(|others| others.to_string()), seconds }
    };
    let go_on = || !interrupted.load(Ordering::Relaxed);
    in_order(items.len(), jobs, &go_on, &work, &mut |index, tried| each(&items[index], tried));
}

/// The item with the block sizes of its loaded variant.
fn tuned(loaded: &Loaded, item: &Item) -> Item {
    let mut item = item.clone();
    if let Some(position) = loaded.position(&item.variant) {
        item.variant = loaded.variants()[position].clone();
    }
    item
}

/// Path and text of each file of a file, a folder or `builtin`.
pub(super) fn texts(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    if path == Path::new("builtin") && !path.exists() {
        Ok(corpus::builtin().iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    } else if path.is_dir() {
        corpus::read_dir(path).map_err(|error| Failure::file(path, error))
    } else {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(vec![(name, text(path)?)])
    }
}

/// A file's text. A case in binary form, as a grown corpus holds them, is read as the text that it would be.
pub(super) fn text(file: &Path) -> Result<String, Failure> {
    let failed = |error| Failure::file(file, error);
    if file.extension().is_none_or(|ending| ending != "case") {
        return fs::read_to_string(file).map_err(failed);
    }
    let case = Case::from_bytes(&fs::read(file).map_err(failed)?);
    let help = "*.case is a case in binary form, of this version";
    case.map(|case| case.to_toml())
        .map_err(|error| Failure::new(format!("{}: {error}", file.display()), help))
}

/// Where the names of what is read from `path` start.
pub(super) fn folder(path: &Path) -> &Path {
    if path.is_file() { path.parent().unwrap_or(path) } else { path }
}

/// Reads all cases; every file that can't be read is named.
pub(super) fn read(path: &Path, catalogue: &Catalogue) -> Result<Vec<Item>, Failure> {
    let mut items = Vec::new();
    let mut wrong = Vec::new();
    let folder = folder(path);
    for (name, text) in texts(path)? {
        let opened = |mut item: Item| item.open_payload(folder).map(|()| item);
        match Item::read(&name, &text, catalogue).and_then(opened) {
            Ok(item) => items.push(item),
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    if wrong.is_empty() {
        Ok(items)
    } else {
        Err(Failure::new(wrong.join("\n"), "a case file is described in corpus/README.md"))
    }
}

/// A case of a grown corpus.
pub(super) fn stored(name: &str, case: Case, catalogue: &Catalogue) -> Result<Item, CaseError> {
    Item::of(name, CorpusFile { case, origin: None, expect: None }, catalogue)
}

/// The kernels of the catalogue that have cases among `items`, each with them.
pub(super) fn by_kernel<'c, 'i>(
    catalogue: &'c Catalogue,
    items: &'i [Item],
) -> Vec<(&'c KernelEntry, Vec<&'i Item>)> {
    let mine = |kernel: &'c KernelEntry| {
        (kernel, items.iter().filter(|item| item.file.case.kernel == kernel.id).collect::<Vec<&Item>>())
    };
    catalogue.kernels.iter().map(mine).filter(|(_, items)| !items.is_empty()).collect()
}

/// Loads the variants that the cases run on; a case with static overrides is never run.
pub(super) fn load(
    environment: &Environment,
    kernel: &KernelEntry,
    items: &[&Item],
) -> Result<Loaded, Failure> {
    let mut variants: Vec<Variant> = Vec::new();
    for item in items {
        if item.file.case.statics.is_none() && !variants.contains(&item.variant) {
            variants.push(item.variant.clone());
        }
    }
    session::load(environment, kernel, variants)
}
