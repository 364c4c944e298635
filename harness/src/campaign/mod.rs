//! A campaign: cases 0, 1, 2, … of a seed, tried on all threads, judged, and added up in the order of their index.
//!
//! Invariant: what it returns is a function of subject, seed, known files and the number of cases; the number of threads
//! and who was fastest never show. The cases tried are always a prefix 0..n. No clock and no file is touched here: when to
//! stop and what to write is the caller's business ([`Observer`]).

mod events;
mod progress;
mod report;
mod shard;
mod totals;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::{Engine, Policy};

pub use countersign_kernels::env::write_whole;
pub use events::{EventLog, FINDINGS_FOLDER, ORIGINALS_FOLDER, file_name};
pub use progress::Progress;
pub use report::{Confirmed, described, exit_code, finish, status, tool};
pub use shard::{SHARD_VERSION, Seen, Shard, ShardFile, merge};
pub use totals::{Found, Totals};

use crate::generate::{Generated, generate};
use crate::known::{Facts, KnownFile};
use crate::trial::run_trial;
use totals::Record;

/// A kernel with its variants, ready to run.
pub trait Subject: Sync {
    /// The kernel.
    fn kernel(&self) -> &KernelEntry;
    /// The variants that cases are drawn from.
    fn variants(&self) -> &[Variant];
    /// An engine of its own for `variants()[variant]`.
    fn engine(&self, variant: usize) -> Box<dyn Engine>;
}

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// Case i is a function of the seed and i.
    pub seed: u64,
    /// Run cases below this index; `None`: until told to stop.
    pub cases: Option<u64>,
    /// Threads; at least one is used.
    pub jobs: usize,
    /// Draw only such batches.
    pub only: Option<Keeping>,
    /// How kernels are run, and what error they are allowed.
    pub policy: Policy,
    /// Explains findings.
    pub known: &'a KnownFile,
}

/// Case `index` of a campaign.
pub fn draw(subject: &dyn Subject, plan: &Plan<'_>, index: u64) -> Generated {
    generate(plan.seed, index, &subject.kernel().id, subject.variants(), plan.only)
}

/// Hears what happens, in the order of the cases.
pub trait Observer {
    /// A case was added up; `fresh` are the positions in [`Totals::findings`] that it was the first to show.
    fn case(&mut self, totals: &Totals, fresh: &[usize]);
    /// A case panicked.
    fn panicked(&mut self, totals: &Totals);
}

/// How many cases a worker runs between two looks at its engines' coverage.
const COVERAGE_EVERY: u64 = 256;

enum Message {
    Case(Box<Record>),
    Coverage { variant: usize, bits: Vec<u64> },
}

/// Runs a campaign. `go_on` is asked before each case is begun; what was begun is finished and counted.
pub fn run(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    go_on: &(dyn Fn() -> bool + Sync),
    observer: &mut dyn Observer,
) -> Totals {
    run_shard(subject, plan, Shard::WHOLE, go_on, observer)
}

/// [`run`], of a shard's cases only. [`merge`] makes the whole of all shards.
pub fn run_shard(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    shard: Shard,
    go_on: &(dyn Fn() -> bool + Sync),
    observer: &mut dyn Observer,
) -> Totals {
    let mut totals = Totals::new(subject.variants(), plan.only);
    let next = AtomicU64::new(0);
    let jobs = plan.jobs.max(1);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(64 * jobs);
        for _ in 0..jobs {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || work(subject, plan, shard, go_on, next, &sender));
        }
        drop(sender);
        let mut early: BTreeMap<u64, Box<Record>> = BTreeMap::new();
        for message in receiver {
            match message {
                Message::Coverage { variant, bits } => totals.cover(variant, &bits),
                Message::Case(record) => {
                    early.insert(record.index, record);
                    while let Some(record) = early.remove(&shard.case(totals.cases)) {
                        let panicked = record.outcome.is_err();
                        let fresh = totals.add(*record);
                        observer.case(&totals, &fresh);
                        if panicked {
                            observer.panicked(&totals);
                        }
                    }
                }
            }
        }
    });
    totals
}

fn work(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    shard: Shard,
    go_on: &(dyn Fn() -> bool + Sync),
    next: &AtomicU64,
    sender: &SyncSender<Message>,
) {
    let mut engines: Vec<Option<Box<dyn Engine>>> = subject.variants().iter().map(|_| None).collect();
    let mut done = 0;
    // Asked before the index is taken, so that no index is taken and then left out.
    while go_on() {
        let index = shard.case(next.fetch_add(1, Ordering::Relaxed));
        if plan.cases.is_some_and(|cases| index >= cases) {
            break;
        }
        let record = attempt(subject, plan, index, &mut engines);
        if sender.send(Message::Case(Box::new(record))).is_err() {
            return;
        }
        done += 1;
        if done % COVERAGE_EVERY == 0 && !send_coverage(&engines, sender) {
            return;
        }
    }
    send_coverage(&engines, sender);
}

/// Whether the receiver is still there.
fn send_coverage(engines: &[Option<Box<dyn Engine>>], sender: &SyncSender<Message>) -> bool {
    engines.iter().enumerate().all(|(variant, engine)| match engine {
        None => true,
        Some(engine) => sender.send(Message::Coverage { variant, bits: engine.coverage().to_vec() }).is_ok(),
    })
}

/// One case, with a panic of ours turned into a value.
fn attempt(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    index: u64,
    engines: &mut [Option<Box<dyn Engine>>],
) -> Record {
    let attempt = catch_unwind(AssertUnwindSafe(|| one(subject, plan, index, engines)));
    attempt.unwrap_or_else(|panic| {
        // The engine may be in any state: the next case gets a new one. What it had covered by then is lost.
        engines.fill_with(|| None);
        Record { index, tags: None, outcome: Err(format!("panic: {}", panic_message(&*panic))) }
    })
}

fn one(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    index: u64,
    engines: &mut [Option<Box<dyn Engine>>],
) -> Record {
    let variants = subject.variants();
    let generated = draw(subject, plan, index);
    let failed =
        |message: String| Record { index, tags: Some(generated.tags.clone()), outcome: Err(message) };
    let variant = match generated.case.variant(variants) {
        Ok(variant) => variant,
        Err(error) => return failed(format!("generator: {error}")),
    };
    let position = variants.iter().position(|candidate| candidate.name == variant.name);
    let Some(position) = position else {
        return failed(format!("generator: variant {} is not drawn from", variant.name));
    };
    let engine = engines[position].get_or_insert_with(|| subject.engine(position));
    match run_trial(Some(engine.as_mut()), subject.kernel(), variant, &generated.case, &plan.policy) {
        Err(error) => failed(format!("generator: {error}")),
        Ok(trial) => {
            let facts = Facts::of(variant, &generated.case.metadata);
            let summary =
                totals::Outcome::of(&trial, position, |signature| plan.known.explain(signature, &facts));
            Record { index, tags: Some(generated.tags), outcome: Ok(summary) }
        }
    }
}

/// The text of a panic.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
