//! What the fuzz targets call: bytes to a case, the case tried and judged against what is known.
//!
//! Invariant: an input is a case in binary form or the choices of the generator; the same bytes give the same case. Only a
//! new finding makes [`one_input`] panic, which is how libFuzzer is told.

use std::cell::RefCell;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::engine::{Engine, Policy};
use countersign_kernels::env::{Environment, Silent};
use countersign_kernels::export::export;

use crate::campaign::Subject;
use crate::case::{Case, MAGIC};
use crate::generate::generate_from;
use crate::judge::{Finding, judge};
use crate::known::{Facts, KnownFile};
use crate::loaded::Loaded;
use crate::trial::run_trial;

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
    /// Made when first needed, one a variant.
    engines: Vec<Option<Box<dyn Engine>>>,
}

impl Fuzzer {
    /// Fuzzes `subject`; `known` explains findings.
    pub fn new(subject: Box<dyn Subject>, known: KnownFile) -> Fuzzer {
        let engines = subject.variants().iter().map(|_| None).collect();
        Fuzzer { subject, known, engines }
    }

    /// The catalogue's kernel in its small variants, exported in the default environment, which is made if it is missing.
    ///
    /// # Errors
    /// What stands in the way, with the remedy.
    pub fn prepare() -> Result<Fuzzer, String> {
        let catalogue = Catalogue::builtin().map_err(|error| error.to_string())?;
        let kernel = catalogue.kernel(KERNEL).ok_or("the kernel is missing from the catalogue")?;
        let environment = Environment::open(None, None, &Silent).map_err(|error| error.to_string())?;
        let variants: Vec<Variant> = kernel.variants(Tier::Small).cloned().collect();
        let entry_point = kernel.python.call();
        let exports =
            export(&environment, &entry_point, &variants, &Silent).map_err(|error| error.to_string())?;
        let loaded = Loaded::new(kernel, variants, exports, environment.is_unpinned());
        let known = KnownFile::builtin().map_err(|error| error.to_string())?;
        Ok(Fuzzer::new(Box::new(loaded), known))
    }

    /// Tries one input; gives its case and the findings that nothing known explains. Inputs that are no runnable case (no
    /// such variant, overrides, arrays that don't fit) give none.
    pub fn one_input(&mut self, data: &[u8]) -> Option<(Case, Vec<Finding>)> {
        let case = decode(data, &self.subject.kernel().id, self.subject.variants())?;
        let name = case.variant.name();
        let index = self.subject.variants().iter().position(|variant| variant.name == name)?;
        let variant = &self.subject.variants()[index];
        if case.statics.is_some() || case.variant(self.subject.variants()).ok()? != variant {
            return None;
        }
        let engine = self.engines[index].get_or_insert_with(|| self.subject.engine(index));
        let policy = Policy::default();
        let trial = run_trial(Some(&mut **engine), self.subject.kernel(), variant, &case, &policy).ok()?;
        let facts = Facts::of(variant, &case.metadata);
        let is_new = |finding: &Finding| self.known.explain(&finding.signature, &facts).is_none();
        let findings = judge(&trial).findings.into_iter().filter(is_new).collect();
        Some((case, findings))
    }
}

thread_local! {
    static FUZZER: RefCell<Option<Fuzzer>> = const { RefCell::new(None) };
}

/// Tries one input of a fuzzer.
///
/// # Panics
/// If it shows a new finding (the message has the signature and the case in TOML), or nothing can be fuzzed at all.
pub fn one_input(data: &[u8]) {
    FUZZER.with_borrow_mut(|fuzzer| {
        let fuzzer = fuzzer.get_or_insert_with(|| match Fuzzer::prepare() {
            Ok(fuzzer) => fuzzer,
            Err(error) => panic!("can't fuzz: {error}"),
        });
        if let Some((case, findings)) = fuzzer.one_input(data)
            && let Some(finding) = findings.first()
        {
            panic!("new finding: {}\n{}\n\n{}", finding.signature, finding.detail, case.to_toml());
        }
    });
}
