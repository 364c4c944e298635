//! The evidence of a sign-off, part by part, each stored as it is complete.
//!
//! Invariant: a stored part is used only under the very inputs, policy and seed that it was made with, so that going on after an
//! interruption gives what one run would have given. The mutation score comes last, and only where nothing else is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use countersign_kernels::catalogue::{Catalogue, KernelEntry};
use countersign_kernels::compile::Effort;
use countersign_kernels::engine::Policy as RunPolicy;
use countersign_kernels::env::Environment;
use countersign_kernels::{Generation, Variant};
use countersign_reports::{CompileReport, Replayed, Timing};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::super::compile::{Asked, TIME_LIMIT};
use super::super::console::{CaseProgress, Failure};
use super::super::items::{self, TierName};
use super::super::replay::replay_kernel;
use super::super::session::{self, AskWorker};
use super::{Given, unwritten};
use crate::campaign::{self, Observer, Progress, Shard, Subject, Totals};
use crate::known::KnownFile;
use crate::loaded::Loaded;
use crate::replay::{Item, Replay};
use crate::signoff::claims::{Measure, judge};
use crate::signoff::{About, Parts, Planted, Sources, hash_of, inputs, parts};
use crate::{compile, controls, metamorphic, mutants};

/// The kernel with all that its evidence is made from.
pub(super) struct Kernel {
    pub(super) environment: Environment,
    pub(super) loaded: Loaded,
    /// The same with the variants of the corpus.
    corpus_kernel: Loaded,
    items: Vec<Item>,
    corpus: Vec<(String, String)>,
    pub(super) known: KnownFile,
    known_texts: Vec<String>,
}

impl Kernel {
    pub(super) fn load(
        given: &Given,
        catalogue: &Catalogue,
        kernel: &KernelEntry,
        variants: Vec<Variant>,
        planted: Option<&Planted>,
    ) -> Result<Kernel, Failure> {
        let known = super::super::fuzz::known(&given.known)?;
        let mut known_texts = vec![include_str!("../../../../corpus/known.toml").to_owned()];
        for file in &given.known {
            known_texts.push(fs::read_to_string(file).map_err(|error| Failure::file(file, error))?);
        }
        let mut items = items::select(&given.corpus, catalogue, TierName::Small)?.items;
        items.retain(|item| item.file.case.kernel == kernel.id);
        let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        let mut corpus = items::texts(&given.corpus)?;
        corpus.retain(|(name, _)| names.contains(&name.as_str()));
        let environment = session::environment(given.python.python.clone(), kernel)?;
        let loaded = session::load(&environment, kernel, variants)?;
        let corpus_kernel = items::load(&environment, kernel, &items.iter().collect::<Vec<_>>())?;
        let plant = |loaded: Loaded| match planted {
            Some(planted) => planted.plant(loaded),
            None => Ok(loaded),
        };
        if let Some(planted) = planted
            && loaded.variants().iter().all(|variant| variant.name != planted.variant)
        {
            return Err(Failure::new(
                format!("no variant `{}` is signed", planted.variant),
                "`countersign kernels show` says which there are",
            ));
        }
        let failed = |why| Failure::new(why, "`countersign mutants --json` lists mutants");
        let loaded = plant(loaded).map_err(failed)?;
        let corpus_kernel = plant(corpus_kernel).map_err(failed)?;
        Ok(Kernel { environment, loaded, corpus_kernel, items, corpus, known, known_texts })
    }

    /// The hash of each input.
    pub(super) fn inputs(&self, policy: &str) -> Result<BTreeMap<String, String>, Failure> {
        let sources = Sources {
            loaded: &self.loaded,
            corpus_kernel: &self.corpus_kernel,
            corpus: &self.corpus,
            known: &self.known_texts,
            policy,
            versions: self.environment.versions(),
        };
        inputs(&sources).map_err(unwritten)
    }

    pub(super) fn is_unpinned(&self) -> bool {
        self.environment.is_unpinned() || self.loaded.kernel().python.file().is_some()
    }
}

/// Evidence to be made.
pub(super) struct Gathering<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) measure: &'a Measure<'a>,
    pub(super) about: &'a About,
    pub(super) jobs: usize,
    /// Folder that complete parts are kept in.
    pub(super) store: Option<&'a Path>,
}

/// A part as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    /// The hash of all that it was made from.
    made_from: String,
    seconds: f64,
    evidence: T,
}

impl Gathering<'_> {
    pub(super) fn run(&self) -> Result<Parts, Failure> {
        let Measure { policy, known, .. } = *self.measure;
        let (loaded, jobs, seed) = (&self.kernel.loaded, self.jobs, self.about.seed);
        let mut seconds = BTreeMap::new();
        let regressions = self.part("regressions", &mut seconds, || self.regressions())?;
        let campaign = self.part("campaign", &mut seconds, || Ok(self.campaign()))?;
        let controls = self.part("controls", &mut seconds, || {
            let plan = controls::Plan { seed, rounds: policy.controls.rounds, jobs, orders: false };
            Ok(parts::controlled(&controls::run(loaded, &plan)))
        })?;
        let relations = match loaded.kernel().family.model().is_attention() {
            false => None,
            true => Some(self.part("relations", &mut seconds, || {
                let plan = metamorphic::Plan { seed, cases: policy.relations.cases, jobs };
                Ok(parts::related(&metamorphic::run(loaded, &plan)))
            })?),
        };
        let compiled = self.compiled(loaded.variants())?;
        let mut parts =
            Parts { regressions, campaign, controls, relations, mutation: None, compiled, seconds };
        let refused = judge(self.measure, &parts.evidence()).refused;
        if refused.iter().all(|claim| ["mutation", "compile"].contains(&claim.as_str())) {
            let plan = mutation_plan(self.measure, seed, jobs, known);
            parts.mutation = Some(self.part("mutation", &mut parts.seconds, || {
                let progress = Mutex::new(CaseProgress::new(plan.mutants));
                let score = mutants::run(loaded, &plan, &|mutant, _| {
                    if let Ok(mut progress) = progress.lock() {
                        progress.done(&format!("{} of {}", mutant.mutation.operator.name(), mutant.variant));
                    }
                });
                let help = "`countersign kernels show` says which variants there are";
                score.map(|score| parts::scored(&score, &plan)).map_err(|why| Failure::new(why, help))
            })?);
        } else {
            eprintln!("refused already ({}), so no mutants are run", refused.join(", "));
        }
        Ok(parts)
    }

    /// A part: what is stored under the same inputs, or made now.
    fn part<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        seconds: &mut BTreeMap<String, f64>,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let About { seed, policy, inputs, mutant } = self.about;
        let made_from = hash_of(&(name, seed, policy, inputs, mutant)).map_err(unwritten)?;
        let path = self.store.map(|store| store.join(format!("{name}.json")));
        let stored = path.as_ref().and_then(|path| fs::read(path).ok());
        let stored = stored.and_then(|text| serde_json::from_slice::<Stored<T>>(&text).ok());
        if let Some(stored) = stored.filter(|stored| stored.made_from == made_from) {
            eprintln!("{name}: as it was made before");
            seconds.insert(name.to_owned(), stored.seconds);
            return Ok(stored.evidence);
        }
        eprintln!("{name} …");
        let started = Instant::now();
        let evidence = make()?;
        let took = started.elapsed().as_secs_f64();
        eprintln!("{name}: {took:.0} s");
        seconds.insert(name.to_owned(), took);
        let stored = Stored { made_from, seconds: took, evidence };
        if let (Some(path), Some(store)) = (&path, self.store) {
            let text = serde_json::to_vec(&stored).map_err(unwritten)?;
            fs::create_dir_all(store).map_err(|error| Failure::file(store, error))?;
            campaign::write_whole(path, &text).map_err(|error| Failure::file(path, error))?;
        }
        Ok(stored.evidence)
    }

    /// The corpus, replayed.
    pub(super) fn regressions(&self) -> Result<Replayed, Failure> {
        let kernel = self.kernel;
        let never = AtomicBool::new(false);
        let mut replay = Replay::new(&kernel.known, RunPolicy::default());
        let items: Vec<&Item> = kernel.items.iter().collect();
        let coverage = replay_kernel(
            &mut replay,
            &kernel.corpus_kernel,
            &items,
            &kernel.environment,
            self.jobs,
            &never,
            &mut None,
        );
        let report = replay.finish(vec![kernel.corpus_kernel.report(&coverage)], false, Timing::default());
        Ok(parts::replayed(report, &items, &kernel.known))
    }

    /// What the TPU compiler makes of `variants` on every generation, where it is installed and can be given the kernel. Its answers
    /// are kept by their content, so that they are no part to be stored here.
    pub(super) fn compiled(&self, variants: &[Variant]) -> Result<Option<CompileReport>, Failure> {
        let (environment, kernel) = (&self.kernel.environment, self.kernel.loaded.kernel());
        let Some(compiler) = environment.libtpu() else { return Ok(None) };
        if self.about.mutant.is_some() || kernel.is_other_release() {
            return Ok(None);
        }
        eprintln!("compiled …");
        let effort = Effort { jobs: self.jobs, time_limit: TIME_LIMIT };
        let asked = Asked { kernel, environment, compiler: &compiler, effort };
        let known = self.measure.refusals;
        let compile = |all: &[Variant]| asked.compile(all.iter());
        let rows = compile::matrix(kernel, variants, &Generation::ALL, known, compile)?;
        let generations = Generation::ALL.map(|generation| generation.name().to_owned()).to_vec();
        Ok(Some(CompileReport { generations, variants: rows, ..asked.report() }))
    }

    fn campaign(&self) -> countersign_reports::Fuzzed {
        let kernel = self.kernel;
        let plan = campaign_plan(self.measure, self.about.seed, self.jobs, &kernel.known);
        let mut watcher = Watcher(Progress::new(plan.cases, kernel.loaded.coverage_points(), false));
        let totals = campaign::run_shard(&kernel.loaded, &plan, Shard::WHOLE, &|| true, &mut watcher);
        watcher.0.end();
        let mut validator = AskWorker::new(&kernel.environment, kernel.loaded.kernel());
        if self.about.mutant.is_some() {
            validator = validator.without_opinion();
        }
        let report = kernel.loaded.report(&totals.coverage);
        parts::fuzzed(&kernel.loaded, &plan, &totals, report, &mut validator)
    }
}

/// What the policy's campaign runs.
pub(super) fn campaign_plan<'k>(
    measure: &Measure<'_>,
    seed: u64,
    jobs: usize,
    known: &'k KnownFile,
) -> campaign::Plan<'k> {
    let cases = Some(measure.policy.campaign.cases);
    campaign::Plan { seed, cases, jobs, only: None, policy: RunPolicy::default(), known }
}

/// Which mutants the policy runs.
pub(super) fn mutation_plan<'k>(
    measure: &Measure<'_>,
    seed: u64,
    jobs: usize,
    known: &'k KnownFile,
) -> mutants::Plan<'k> {
    let asked = &measure.policy.mutation;
    let (mutants, cases, orders, controls) = (asked.mutants, asked.cases, asked.orders, asked.controls);
    mutants::Plan { seed, mutants, cases, orders, controls, jobs, known }
}

/// Shows how far a campaign is.
struct Watcher(Progress);

impl Observer for Watcher {
    fn case(&mut self, totals: &Totals, _fresh: &[usize]) {
        self.0.update(totals);
    }

    fn panicked(&mut self, totals: &Totals) {
        if let Some(error) = totals.internal_errors.last() {
            self.0.say(&format!("fault of countersign itself in case {}: {}", error.case, error.message));
        }
    }
}
