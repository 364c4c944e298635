//! The control suite: what is right must never be called wrong.
//!
//! Kept batches of every variant, with every payload pattern that keeps the contract, under every device profile, whose
//! functions err up, down, or by a hash in turn. The kernel is taken to be right, so an element above its bound is a false
//! alarm (or a kernel that isn't right). The table of largest r says how much room the bound leaves.
//!
//! Invariant: a control is a function of the plan's seed and its index; the number of threads never shows. A row that the
//! bound says nothing about (it is infinite) is counted as vacuous, never as right.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::{Engine, Policy};
use countersign_kernels::rpa::facts;
use countersign_kernels::{DeviceProfile, Variant};
use countersign_mosaic::ErrorSign;
use countersign_reports::Ratio;

use crate::campaign::Subject;
use crate::generate::generate;
use crate::orders::Dependence;
use crate::payload::Pattern;
use crate::trial::{Conduct, Trial, run_trial};

/// What to run: each variant, pattern and profile once a round.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Batches are functions of it and the control's index.
    pub seed: u64,
    /// How often.
    pub rounds: u64,
    /// Threads; at least one is used.
    pub jobs: usize,
    /// Whether each control is run under other orders of its copies, too.
    pub orders: bool,
}

/// Sums over some controls.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    /// Controls.
    pub cases: u64,
    /// Rows that the batches own.
    pub rows: u64,
    /// Of these, rows with an infinite bound in some element.
    pub vacuous: u64,
    /// Largest error over bound.
    pub largest_r: f64,
}

/// What a sum is over, in the order of the table: types of q and cache, profile, pattern.
type Key = (String, usize, Pattern);

/// The suite's result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Controls {
    sums: BTreeMap<Key, Sum>,
    /// Controls above their bound, faulted or unended, in words and in the order of their index.
    pub alarms: Vec<String>,
    /// Controls that the engine couldn't run.
    pub unsupported: u64,
    /// Most kv blocks of any sequence.
    pub most_blocks: usize,
}

/// One control.
struct Control<'a> {
    index: u64,
    position: usize,
    variant: &'a Variant,
    pattern: Pattern,
    profile: usize,
    errors: ErrorSign,
}

/// Patterns that keep the contract.
fn patterns() -> impl Iterator<Item = Pattern> {
    Pattern::ALL.into_iter().filter(|pattern| *pattern != Pattern::Overflow)
}

impl<'a> Control<'a> {
    fn at(index: u64, variants: &'a [Variant]) -> Control<'a> {
        let (patterns, profiles): (Vec<Pattern>, u64) =
            (patterns().collect(), DeviceProfile::all().len() as u64);
        let (profile, rest) = (index % profiles, index / profiles);
        let (pattern, rest) = (rest % patterns.len() as u64, rest / patterns.len() as u64);
        let position = (rest % variants.len() as u64) as usize;
        let errors = match (profile + pattern + rest) % 3 {
            0 => ErrorSign::Up,
            1 => ErrorSign::Down,
            _ => ErrorSign::Hashed(index),
        };
        Control {
            index,
            position,
            variant: &variants[position],
            pattern: patterns[pattern as usize],
            profile: profile as usize,
            errors,
        }
    }
}

/// Runs the suite.
///
/// # Panics
/// If the subject has no variants.
pub fn run(subject: &dyn Subject, plan: &Plan) -> Controls {
    let variants = subject.variants();
    assert!(!variants.is_empty(), "a kernel without variants has no controls");
    let each = variants.len() * patterns().count() * DeviceProfile::all().len();
    let count = plan.rounds * each as u64;
    let next = AtomicU64::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs.max(1) {
            scope.spawn(|| {
                let mut engines: Vec<Option<Box<dyn Engine>>> = variants.iter().map(|_| None).collect();
                let mut mine = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let control = Control::at(index, variants);
                    let engine =
                        engines[control.position].get_or_insert_with(|| subject.engine(control.position));
                    mine.push(one(subject, plan, &control, engine.as_mut()));
                }
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut mine);
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|outcome| outcome.index);
    let mut controls = Controls::default();
    for outcome in done {
        controls.unsupported += u64::from(outcome.unsupported);
        controls.most_blocks = controls.most_blocks.max(outcome.blocks);
        controls.alarms.extend(outcome.alarm);
        let sum = controls.sums.entry(outcome.key).or_default();
        *sum = sum.plus(&outcome.sum);
    }
    controls
}

struct Outcome {
    index: u64,
    key: Key,
    sum: Sum,
    alarm: Option<String>,
    unsupported: bool,
    blocks: usize,
}

fn one(subject: &dyn Subject, plan: &Plan, control: &Control<'_>, engine: &mut dyn Engine) -> Outcome {
    let variant = control.variant;
    let profile = &DeviceProfile::all()[control.profile];
    let kept = Some(Keeping::Kept);
    let drawn = generate(plan.seed, control.index, &subject.kernel().id, std::slice::from_ref(variant), kept);
    let mut case = drawn.case;
    case.payload.pattern = control.pattern.name().to_owned();
    let block = facts::kv_block(variant).unwrap_or(variant.page_size).max(1);
    let longest = case.metadata.kv_lens.iter().take(case.metadata.sequences_in_table()).max();
    let types = format!("{}/{}", variant.q_dtype.name(), variant.kv_dtype.name());
    let mut outcome = Outcome {
        index: control.index,
        key: (types, control.profile, control.pattern),
        sum: Sum { cases: 1, ..Sum::default() },
        alarm: None,
        unsupported: false,
        blocks: longest.map_or(0, |&len| usize::try_from(len).unwrap_or(0).div_ceil(block)),
    };
    let policy = Policy { errors: control.errors, orders: plan.orders, ..Policy::of(profile) };
    let trial = run_trial(Some(engine), subject.kernel(), variant, &case, &policy);
    let problem = match &trial {
        Err(error) => Some(error.to_string()),
        Ok(trial) if trial.contract.keeping() != Keeping::Kept => Some("the batch isn't kept".to_owned()),
        Ok(Trial { orders: Some(Dependence { detail, .. }), .. }) => Some(detail.clone()),
        Ok(trial) => match &trial.conduct {
            Conduct::Finished(comparison) => {
                outcome.sum.rows = comparison.owned_rows as u64;
                outcome.sum.vacuous = (comparison.owned_rows - comparison.compared_rows) as u64;
                let worst = comparison.worst.as_ref().or(comparison.largest_right.as_ref());
                outcome.sum.largest_r = worst.map_or(0.0, |worst| worst.r);
                (!comparison.wrong_rows.is_empty()).then(|| trial.conduct.to_string())
            }
            Conduct::Unsupported(_) => {
                outcome.unsupported = true;
                None
            }
            Conduct::NotRun | Conduct::Fault(_) | Conduct::Hang => Some(trial.conduct.to_string()),
        },
    };
    outcome.alarm = problem.map(|problem| {
        let (index, pattern) = (control.index, control.pattern.name());
        let errors = control.errors;
        format!(
            "control {index}, {} with {pattern} as {} ({errors:?}): {problem}",
            variant.name, profile.name
        )
    });
    outcome
}

impl Sum {
    fn plus(self, other: &Sum) -> Sum {
        Sum {
            cases: self.cases + other.cases,
            rows: self.rows + other.rows,
            vacuous: self.vacuous + other.vacuous,
            largest_r: self.largest_r.max(other.largest_r),
        }
    }
}

impl Controls {
    /// The sums over all controls that `chosen` picks by types, profile and pattern.
    fn sum(&self, chosen: impl Fn(&Key) -> bool) -> Sum {
        self.sums
            .iter()
            .filter(|(key, _)| chosen(key))
            .fold(Sum::default(), |sum, (_, other)| sum.plus(other))
    }

    /// The sums over all controls.
    pub fn total(&self) -> Sum {
        self.sum(|_| true)
    }

    /// The largest r by types of q and cache, then by profile.
    pub fn largest(&self) -> BTreeMap<String, BTreeMap<String, Ratio>> {
        let mut largest: BTreeMap<String, BTreeMap<String, Ratio>> = BTreeMap::new();
        for ((types, profile, _), sum) in &self.sums {
            let name = DeviceProfile::all()[*profile].name.to_owned();
            let cell = largest.entry(types.clone()).or_default().entry(name).or_default();
            *cell = Ratio(cell.0.max(sum.largest_r));
        }
        largest
    }

    /// Types of q and cache that were met.
    pub fn types(&self) -> Vec<&str> {
        let mut types: Vec<&str> = self.sums.keys().map(|(types, ..)| types.as_str()).collect();
        types.dedup();
        types
    }
}

/// Largest r by types and by pattern, a column a profile, then the totals.
impl fmt::Display for Controls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heading = |f: &mut fmt::Formatter<'_>, title: &str| {
            write!(f, "{title:<18}")?;
            DeviceProfile::all().iter().try_for_each(|profile| write!(f, "{:>9}", profile.name))?;
            writeln!(f, "{:>8}{:>9}{:>9}", "cases", "rows", "vacuous")
        };
        let line = |f: &mut fmt::Formatter<'_>, name: &str, chosen: &dyn Fn(&Key) -> bool| {
            write!(f, "{name:<18}")?;
            for profile in 0..DeviceProfile::all().len() {
                let sum = self.sum(|key| chosen(key) && key.1 == profile);
                write!(f, "{:>9.4}", sum.largest_r)?;
            }
            let Sum { cases, rows, vacuous, .. } = self.sum(chosen);
            writeln!(f, "{cases:>8}{rows:>9}{vacuous:>9}")
        };
        heading(f, "largest r, q/kv")?;
        for types in self.types() {
            line(f, types, &|key| key.0 == types)?;
        }
        writeln!(f)?;
        heading(f, "largest r, pattern")?;
        for pattern in patterns() {
            line(f, pattern.name(), &|key| key.2 == pattern)?;
        }
        let Sum { cases, rows, vacuous, .. } = self.total();
        writeln!(f)?;
        writeln!(
            f,
            "{cases} controls, {rows} rows, up to {} kv blocks; {} above the bound or faulty, {vacuous} rows vacuous, {} unsupported",
            self.most_blocks,
            self.alarms.len(),
            self.unsupported
        )?;
        self.alarms.iter().try_for_each(|alarm| writeln!(f, "{alarm}"))
    }
}
