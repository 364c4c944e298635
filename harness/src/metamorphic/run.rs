//! Runs relations over generated kept cases, on whatever answers batches.
//!
//! Invariant: the machine's own checks are off, so that a relation sees outputs and nothing else. Where one run ends and the other
//! doesn't, that is a difference; where neither does, the relation has nothing to say and isn't counted as held.

use countersign_dtype::DType;
use countersign_kernels::Variant;
use countersign_kernels::engine::{Engine, EngineEnd, Policy};
use countersign_kernels::rpa::contract::{self, Keeping};
use countersign_kernels::rpa::{bind, facts};
use countersign_mosaic::Sanitizers;
use countersign_reference::{Batch, Blocking, Reference, attend};

use super::{Exactness, Expectation, Follow, RELATIONS, Relation};
use crate::campaign::Subject;
use crate::generate::generate;
use crate::ordered::in_parallel;
use crate::payload::Stream;

/// Keeps these draws apart from those of cases.
const RELATED: u64 = 0x7265_6c61;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Cases are functions of it.
    pub seed: u64,
    /// Kept cases of each variant.
    pub cases: u64,
    /// Threads; at least one is used.
    pub jobs: usize,
}

/// One relation's counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Pairs of batches for which it held.
    pub held: u64,
    /// Cases to which it doesn't apply.
    pub not_applicable: u64,
    /// Pairs that neither ran to an end.
    pub silent: u64,
    /// Where it failed, in words.
    pub failures: Vec<String>,
}

/// A tally for each of [`RELATIONS`].
pub type Tallies = [Tally; RELATIONS.len()];

/// What answers a batch.
pub trait Oracle {
    /// `[tokens, q_heads, head_dim]`; `None` where it doesn't end.
    fn values(&mut self, batch: &Batch) -> Option<Vec<f64>>;
    /// How far each may be off.
    fn bounds(&mut self, batch: &Batch) -> Vec<f64>;
}

/// The kernel on an engine; bounds are the reference's, its values aren't looked at.
struct Vm<'a> {
    engine: &'a mut dyn Engine,
    variant: &'a Variant,
}

impl Oracle for Vm<'_> {
    fn values(&mut self, batch: &Batch) -> Option<Vec<f64>> {
        let sanitizers = Sanitizers { definedness: false, races: false };
        let policy = Policy { sanitizers, ..Policy::default() };
        let run = self.engine.run(batch, &bind::bind(self.variant, batch), &policy);
        let output = run.output.filter(|_| run.end == EngineEnd::Finished)?;
        Some(output.to_f32_vec().into_iter().map(f64::from).collect())
    }

    fn bounds(&mut self, batch: &Batch) -> Vec<f64> {
        reference(self.variant, batch).bounds
    }
}

/// The reference on a variant's batch.
pub fn reference(variant: &Variant, batch: &Batch) -> Reference {
    let kv_per_block = facts::kv_block(variant).unwrap_or(variant.page_size);
    let blocking = Blocking { kv_per_block, weights: DType::F32 };
    attend(batch, &variant.options, &blocking, &Policy::default().profile.accuracy)
}

/// What came of a relation on a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It held.
    Held,
    /// It says nothing of such a batch.
    NotApplicable,
    /// Neither batch ran to its end.
    Silent,
    /// It failed; where.
    Failed(String),
}

impl Relation {
    /// Asks the relation about a batch; `seed` decides what it draws.
    pub fn ask(&self, oracle: &mut dyn Oracle, variant: &Variant, batch: &Batch, seed: u64) -> Outcome {
        let mut stream = Stream::at(seed, [RELATED, 0, 0, 0]);
        let Some(follow) = (self.follow)(variant, batch, &mut stream) else { return Outcome::NotApplicable };
        // Other values may overflow where the first ones didn't.
        let kept = |batch: &Batch| contract::check(variant, batch).keeping() == Keeping::Kept;
        if !kept(&follow.second) || !follow.first.as_ref().is_none_or(kept) {
            return Outcome::NotApplicable;
        }
        let first = follow.first.as_ref().unwrap_or(batch);
        match (oracle.values(first), oracle.values(&follow.second)) {
            (None, None) => Outcome::Silent,
            (Some(one), Some(other)) => {
                let bounds = match self.exactness {
                    Exactness::Bitwise => None,
                    Exactness::WithinBounds => Some([oracle.bounds(first), oracle.bounds(&follow.second)]),
                };
                difference(&follow, variant, [&one, &other], bounds).map_or(Outcome::Held, Outcome::Failed)
            }
            (Some(_), None) => Outcome::Failed("the changed batch doesn't end".to_owned()),
            (None, Some(_)) => Outcome::Failed("only the changed batch ends".to_owned()),
        }
    }
}

/// Where the outputs aren't as expected: the first element.
fn difference(
    follow: &Follow,
    variant: &Variant,
    [one, other]: [&[f64]; 2],
    bounds: Option<[Vec<f64>; 2]>,
) -> Option<String> {
    let dim = variant.head_dim;
    let at = |row: usize, head: usize, lane: usize| (row * variant.q_heads + head) * dim + lane;
    let told = |row: usize, head: usize, lane: usize, actual: f64, expected: f64| {
        Some(format!("row {row}, head {head}, lane {lane}: {actual:e}, not {expected:e}"))
    };
    let heads_and_lanes = || (0..variant.q_heads).flat_map(|head| (0..dim).map(move |lane| (head, lane)));
    match &follow.expectation {
        Expectation::Constant { rows, value } => (0..*rows).find_map(|row| {
            heads_and_lanes().find_map(|(head, lane)| {
                let element = at(row, head, lane);
                let bound = bounds.as_ref().map_or(0.0, |[_, bound]| bound[element]);
                let actual = other[element];
                // A NaN is no number within any bound.
                let within = (actual - value).abs() <= bound;
                if within { None } else { told(row, head, lane, actual, *value) }
            })
        }),
        Expectation::Rows { pairs, heads, factor } => pairs.iter().find_map(|&(row, moved)| {
            heads_and_lanes().find_map(|(head, lane)| {
                let (a, b) = (at(row, head, lane), at(moved, heads[head], lane));
                let (expected, actual) = (factor * one[a], other[b]);
                let equal = match &bounds {
                    // A row of a kept batch is never NaN, however equal two of them are.
                    None => expected.to_bits() == actual.to_bits() && !actual.is_nan(),
                    Some([first, second]) => (actual - expected).abs() <= factor * first[a] + second[b],
                };
                if equal { None } else { told(moved, heads[head], lane, actual, expected) }
            })
        }),
    }
}

/// The kept case `index` of a variant.
fn case(subject: &dyn Subject, variant: &Variant, seed: u64, index: u64) -> Option<Batch> {
    let kept = Some(Keeping::Kept);
    let case = generate(seed, index, &subject.kernel().id, std::slice::from_ref(variant), kept).case;
    let batch = case.batch(variant).ok()?;
    (contract::check(variant, &batch).keeping() == Keeping::Kept).then_some(batch)
}

/// Asks every relation about every case of every variant.
pub fn run(subject: &dyn Subject, plan: &Plan) -> Tallies {
    let positions: Vec<usize> = (0..subject.variants().len()).collect();
    let each = in_parallel(plan.jobs, &positions, |&position| {
        let variant = &subject.variants()[position];
        let mut engine = subject.engine(position);
        let mut tallies = Tallies::default();
        for index in 0..plan.cases {
            let Some(batch) = case(subject, variant, plan.seed, index) else { continue };
            for (relation, tally) in RELATIONS.iter().zip(&mut tallies) {
                let mut vm = Vm { engine: engine.as_mut(), variant };
                match relation.ask(&mut vm, variant, &batch, index) {
                    Outcome::Held => tally.held += 1,
                    Outcome::NotApplicable => tally.not_applicable += 1,
                    Outcome::Silent => tally.silent += 1,
                    Outcome::Failed(why) => {
                        tally.failures.push(format!("{} case {index}: {why}", variant.name))
                    }
                }
            }
        }
        tallies
    });
    let mut sum = Tallies::default();
    for tallies in each {
        for (sum, tally) in sum.iter_mut().zip(tallies) {
            sum.held += tally.held;
            sum.not_applicable += tally.not_applicable;
            sum.silent += tally.silent;
            sum.failures.extend(tally.failures);
        }
    }
    sum
}

/// The first relation that fails on some of the cases, on an engine of the variant.
pub(crate) fn first_failure(
    subject: &dyn Subject,
    plan: &Plan,
    engine: &mut dyn Engine,
    variant: &Variant,
) -> Option<&'static str> {
    (0..plan.cases).find_map(|index| {
        let batch = case(subject, variant, plan.seed, index)?;
        RELATIONS.iter().find_map(|relation| {
            let outcome = relation.ask(&mut Vm { engine: &mut *engine, variant }, variant, &batch, index);
            matches!(outcome, Outcome::Failed(_)).then_some(relation.name)
        })
    })
}
