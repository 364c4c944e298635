//! What the fuzz targets call: bytes to a case, the case tried and judged against what is known.
//!
//! Invariant: an input is a case in binary form or the choices of the generator; the same bytes give the same case. Only a
//! new finding makes [`one_input`] panic, which is how libFuzzer is told.

mod attempt;
mod experiment;
mod guidance;
mod hunt;
mod mutate;
mod probe;
mod schedule;
mod targets;

use std::cell::RefCell;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::engine::Policy;
use countersign_kernels::env::{Environment, Silent};
use countersign_kernels::export::export;
use countersign_kernels::rpa::seeded::Bug;

use crate::campaign::Subject;
use crate::case::{Case, MAGIC};
use crate::generate::generate_from;
use crate::judge::Finding;
use crate::known::KnownFile;
use crate::loaded::Loaded;

use attempt::{Engines, Tried, position};
pub use experiment::{Rate, coverage_at, mann_whitney, median, rate_of, steps_until_found};
pub use guidance::{Covered, mark, slot};
pub use hunt::{Guidance, Hunt, Step};
pub use mutate::{crossed, crossover, mutate, mutated};
pub use probe::Probe;
pub use targets::{case_codec, diagnose, minimize_keeps, structural, validators};

/// The kernel that the targets fuzz.
const KERNEL: &str = "jax-rpa";

/// The case that an input stands for: the binary form if it starts with its magic, else choices of the generator.
///
/// Bytes with the magic that are no case give none.
pub fn decode(data: &[u8], kernel: &str, variants: &[Variant]) -> Option<Case> {
    if data.starts_with(MAGIC) {
        return Case::from_bytes(data).ok();
    }
    Some(generate_from(data, kernel, variants, None).case)
}

/// A kernel ready to be fuzzed.
pub struct Fuzzer {
    subject: Box<dyn Subject>,
    known: KnownFile,
    engines: Engines,
    tally: Tally,
}

/// What became of the inputs so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Inputs that were a runnable case, and were run.
    pub decoded: u64,
    /// Inputs that were none.
    pub rejected: u64,
    /// Findings that a known entry explains, passed over.
    pub known: u64,
}

/// What became of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It was a case, and was tried.
    Tried {
        /// Findings of it that a known entry explains, passed over.
        known: u64,
    },
    /// It wasn't: not worth keeping.
    Rejected,
}

impl Fuzzer {
    /// Fuzzes `subject`; `known` explains findings.
    pub fn new(subject: Box<dyn Subject>, known: KnownFile) -> Fuzzer {
        let engines = Engines::of(subject.as_ref());
        Fuzzer { subject, known, engines, tally: Tally::default() }
    }

    /// The catalogue's kernel in its small variants, exported in the default environment, which is made if it is missing; with
    /// the bug of that name in it, if one is named.
    ///
    /// # Errors
    /// What stands in the way, with the remedy.
    pub fn prepare(bug: Option<&str>) -> Result<Fuzzer, String> {
        let catalogue = Catalogue::builtin().map_err(|error| error.to_string())?;
        let kernel = catalogue.kernel(KERNEL).ok_or("the kernel is missing from the catalogue")?;
        let environment = Environment::open(None, None, &Silent).map_err(|error| error.to_string())?;
        let variants: Vec<Variant> = kernel.variants(Tier::Small).cloned().collect();
        let entry_point = kernel.python.call();
        let exports =
            export(&environment, &entry_point, &variants, &Silent).map_err(|error| error.to_string())?;
        let loaded = Loaded::new(kernel, variants, exports, environment.is_unpinned());
        let loaded = match bug {
            None => loaded,
            Some(name) => {
                let bug = Bug::named(name).ok_or_else(|| format!("no bug is called {name}"))?;
                loaded.edited(&|variant, module| bug.put_into(variant, module))?.0
            }
        };
        let known = KnownFile::builtin().map_err(|error| error.to_string())?;
        Ok(Fuzzer::new(Box::new(loaded), known))
    }

    /// What became of the inputs so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Tries one input; gives its case and the findings that nothing known explains. Inputs that are no runnable case (no
    /// such variant, overrides, arrays that don't fit) give none. What the input covers of the kernel's IR is marked in
    /// `counters` ([`mark`]).
    pub fn one_input(&mut self, data: &[u8], counters: &mut [u8]) -> Option<(Case, Vec<Finding>)> {
        let subject = self.subject.as_ref();
        let tried = decode(data, &subject.kernel().id, subject.variants()).and_then(|case| {
            let tried = self.engines.attempt(subject, &self.known, &Policy::default(), &case)?;
            Some((case, tried))
        });
        let Some((case, Tried { position, new, known, note: _, largest: _ })) = tried else {
            self.tally.rejected += 1;
            return None;
        };
        mark(position, self.engines.coverage(position), counters);
        self.tally.decoded += 1;
        self.tally.known += known;
        Some((case, new))
    }
}

thread_local! {
    static FUZZER: RefCell<Option<Fuzzer>> = const { RefCell::new(None) };
}

/// Calls `then` with this thread's fuzzer, prepared by the first call, with that bug in its kernel.
///
/// # Panics
/// If nothing can be fuzzed at all.
fn with_fuzzer<T>(bug: Option<&str>, then: impl FnOnce(&mut Fuzzer) -> T) -> T {
    FUZZER.with_borrow_mut(|fuzzer| {
        then(fuzzer.get_or_insert_with(|| match Fuzzer::prepare(bug) {
            Ok(fuzzer) => fuzzer,
            Err(error) => panic!("can't fuzz: {error}"),
        }))
    })
}

/// Tries one input of the target `differential`; see [`Fuzzer::one_input`] for `counters`. The kernel is the catalogue's, or that
/// with the bug named in the first call, to see how soon it is found.
///
/// # Panics
/// If it shows a new finding (the message has the signature and the case in TOML), or nothing can be fuzzed at all.
pub fn one_input(data: &[u8], counters: &mut [u8], bug: Option<&str>) -> Taken {
    with_fuzzer(bug, |fuzzer| {
        let before = fuzzer.tally().known;
        let Some((case, findings)) = fuzzer.one_input(data, counters) else { return Taken::Rejected };
        let Tally { decoded, known, .. } = fuzzer.tally();
        if let Some(finding) = findings.first() {
            let (signature, detail) = (&finding.signature, &finding.detail);
            panic!("new finding: {signature} in case {decoded}\n{detail}\n\n{}", case.to_toml());
        }
        Taken::Tried { known: known - before }
    })
}
