//! Attention itself: softmax(scale q·K, capped) V over the keys that a query sees, in f64, with its bound.
//!
//! Two passes over a row's keys: scores and their errors first, then weights, outputs and bounds. Nothing is blocked or kept
//! online; masked keys aren't looked at. Each head's cache is gathered once per sequence.
//!
//! Invariant: a row's result depends on its query, its sequence's owned cache and the options; on nothing else.

use std::array::from_fn;

use countersign_dtype::read_f32;

use crate::bound::{Bound, Element, LARGE_ETA, Types};
use crate::lanes::{LANES, Lanes, absolute_sum, dot, fill_lanes, groups};
use crate::quant::{HeadCache, operand_dtype};
use crate::ragged::{Sequence, row_statuses, sequences};
use crate::{Batch, Blocking, Options, Profile, Reference, RowStatus, Shape, mask, rule};

/// Attention of a batch. Rows without a value have NaN as value and bound.
pub fn attend(batch: &Batch, options: &Options, blocking: &Blocking, profile: &Profile) -> Reference {
    let mut reference = Reference::default();
    attend_into(&mut reference, batch, options, blocking, profile);
    reference
}

/// [`attend`] into a reference whose memory is used again.
pub fn attend_into(
    reference: &mut Reference,
    batch: &Batch,
    options: &Options,
    blocking: &Blocking,
    profile: &Profile,
) {
    reference.values.clear();
    reference.values.resize(batch.q.len(), f64::NAN);
    reference.bounds.clear();
    reference.bounds.resize(batch.q.len(), f64::NAN);
    let shape = match batch.shape() {
        Some(shape) if options_are_defined(options) => shape,
        shape => {
            let rule = if shape.is_none() { rule::SHAPES_FIT } else { rule::OPTIONS_DEFINED };
            let rows = batch.q.shape.first().copied().unwrap_or(0);
            reference.rows.clear();
            reference.rows.resize(rows, RowStatus::Undefined { rule, sequence: None });
            return;
        }
    };
    row_statuses(batch, &shape, &mut reference.rows);
    let mut attention = Attention::new(batch, shape, options, blocking, profile);
    for sequence in sequences(batch, &shape).filter(Sequence::has_values) {
        attention.sequence(&sequence, reference);
    }
    let row_elements = shape.q_heads * shape.head_dim;
    for (row, status) in reference.rows.iter().enumerate() {
        if matches!(status, RowStatus::Undefined { .. }) {
            let elements = row * row_elements..(row + 1) * row_elements;
            reference.values[elements.clone()].fill(f64::NAN);
            reference.bounds[elements].fill(f64::NAN);
        }
    }
}

fn options_are_defined(options: &Options) -> bool {
    let factor = |scale: Option<f32>| scale.is_none_or(f32::is_finite);
    options.sm_scale.is_finite()
        && options.sliding_window.is_none_or(|window| window > 0)
        && options.soft_cap.is_none_or(|cap| cap.is_finite() && cap != 0.0)
        && factor(options.k_scale)
        && factor(options.v_scale)
}

/// What a batch shares, and room for one head's cache and one row's numbers.
struct Attention<'a> {
    batch: &'a Batch,
    shape: Shape,
    options: &'a Options,
    blocking: &'a Blocking,
    bound: Bound,
    groups: usize,
    cache: HeadCache,
    key_sums: Vec<f64>,
    stored_query: Vec<f32>,
    query: Vec<Lanes>,
    row: Row,
}

impl<'a> Attention<'a> {
    fn new(
        batch: &'a Batch,
        shape: Shape,
        options: &'a Options,
        blocking: &'a Blocking,
        profile: &Profile,
    ) -> Attention<'a> {
        let types = Types {
            query: batch.q.dtype,
            key: operand_dtype(batch, options.k_scale),
            value: operand_dtype(batch, options.v_scale),
        };
        Attention {
            batch,
            shape,
            options,
            blocking,
            bound: Bound::new(shape.head_dim, types, options, blocking, profile),
            groups: groups(shape.head_dim),
            cache: HeadCache::default(),
            key_sums: Vec::new(),
            stored_query: vec![0.0; shape.head_dim],
            query: vec![[0.0; LANES]; groups(shape.head_dim)],
            row: Row::default(),
        }
    }

    /// All rows of a sequence that breaks no rule of its own, except those it doesn't have to itself.
    fn sequence(&mut self, sequence: &Sequence, reference: &mut Reference) {
        let queries_per_key = self.shape.q_heads / self.shape.kv_heads;
        let lost = RowStatus::Undefined { rule: rule::OWNED_VALUES_FINITE, sequence: Some(sequence.index) };
        for kv_head in 0..self.shape.kv_heads {
            if !self.cache.gather(self.batch, &self.shape, self.options, sequence, kv_head) {
                // Masking by addition needs finite keys and values: one that isn't reaches all rows of its sequence.
                let rows = &mut reference.rows[sequence.rows.clone()];
                rows.iter_mut()
                    .filter(|row| matches!(row, RowStatus::Value { .. }))
                    .for_each(|row| *row = lost);
                return;
            }
            self.key_sums.clear();
            if self.bound.needs_operand_sums() {
                self.key_sums.extend(self.cache.keys.chunks(self.groups).map(absolute_sum));
            }
            for row in sequence.rows.clone() {
                for head in kv_head * queries_per_key..(kv_head + 1) * queries_per_key {
                    if reference.rows[row] == (RowStatus::Value { sequence: sequence.index })
                        && !self.row(sequence, row, head, reference)
                    {
                        reference.rows[row] = lost;
                    }
                }
            }
        }
    }

    /// One row and head. Says whether the query is finite.
    fn row(&mut self, sequence: &Sequence, row: usize, head: usize, reference: &mut Reference) -> bool {
        let first = (row * self.shape.q_heads + head) * self.shape.head_dim;
        read_f32(self.batch.q.dtype, &self.batch.q.bytes, first, &mut self.stored_query);
        if !self.stored_query.iter().all(|value| value.is_finite()) {
            return false;
        }
        fill_lanes(&self.stored_query, &mut self.query);

        let position = sequence.first_position + (row - sequence.rows.start);
        let keys = mask::visible_keys(position, self.options.sliding_window);
        let in_lanes = keys.start * self.groups..keys.end * self.groups;
        let key_sums = self.key_sums.get(keys.clone()).unwrap_or(&[]);
        self.row.score(&self.query, &self.cache.keys[in_lanes], key_sums, self.options, &self.bound);
        self.row.weigh(&self.bound);
        let blocks = self.blocking.blocks(sequence.kv_len);
        let elements = first..first + self.shape.head_dim;
        let outputs = reference.values[elements.clone()].chunks_mut(LANES);
        let bounds = reference.bounds[elements].chunks_mut(LANES);
        let values = self.cache.values.chunks(sequence.kv_len).map(|group| &group[keys.clone()]);
        for ((outputs, bounds), values) in outputs.zip(bounds).zip(values) {
            self.row.mix(values, &self.bound, blocks, outputs, bounds);
        }
        true
    }
}

/// One key's part in a row.
#[derive(Debug, Clone, Copy)]
struct Weight {
    /// p_j.
    exact: f64,
    /// p_j expm1(eta_j) over sum p exp(-eta): its part in A_d.
    raised: f64,
    /// p_j exp(eta_j) over sum p exp(-eta): its part in P_d.
    largest: f64,
}

/// The numbers of one row and head, per key that takes part.
#[derive(Debug, Default)]
struct Row {
    scores: Vec<f64>,
    score_errors: Vec<f64>,
    weights: Vec<Weight>,
    largest_eta: f64,
}

impl Row {
    /// Scores and their errors. `key_sums` holds |k_j|_1, or nothing where it isn't needed.
    fn score(&mut self, query: &[Lanes], keys: &[Lanes], key_sums: &[f64], options: &Options, bound: &Bound) {
        self.scores.clear();
        self.score_errors.clear();
        let scale = f64::from(options.sm_scale);
        let query_sum = if key_sums.is_empty() { 0.0 } else { absolute_sum(query) };
        for (index, key) in keys.chunks(query.len()).enumerate() {
            let (product, magnitude) = dot(query, key);
            let scaled = scale * product;
            let score = match options.soft_cap.map(f64::from) {
                Some(cap) => cap * libm::tanh(scaled / cap),
                None => scaled,
            };
            let operands = query_sum + key_sums.get(index).unwrap_or(&0.0);
            self.scores.push(score);
            self.score_errors.push(bound.score_error(scaled, score, magnitude, operands));
        }
    }

    /// Softmax weights, and how far they may be off.
    fn weigh(&mut self, bound: &Bound) {
        const SMALL: f64 = 1.0 / 64.0;
        let max = self.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let largest_error = self.score_errors.iter().copied().fold(0.0, f64::max);
        self.weights.clear();
        self.weights.extend(self.scores.iter().map(|score| {
            let exact = libm::exp(score - max);
            Weight { exact, raised: 0.0, largest: 0.0 }
        }));
        let sum: f64 = self.weights.iter().map(|weight| weight.exact).sum();
        self.largest_eta = 0.0;
        let mut lowered = 0.0; // sum p exp(-eta)
        for (weight, (score, error)) in
            self.weights.iter_mut().zip(self.scores.iter().zip(&self.score_errors))
        {
            let gap = max - score;
            let eta = bound.eta(*error, gap, largest_error);
            weight.exact /= sum;
            weight.raised = if eta <= SMALL {
                lowered += weight.exact * (1.0 - eta); // <= exp(-eta)
                weight.exact * (eta + eta * eta) // >= expm1(eta)
            } else {
                lowered += libm::exp(-gap - eta) / sum;
                libm::exp((eta - gap).min(700.0)) / sum - weight.exact
            };
            self.largest_eta = self.largest_eta.max(eta);
        }
        for weight in &mut self.weights {
            weight.largest = (weight.exact + weight.raised) / lowered;
            weight.raised /= lowered;
        }
    }

    /// Outputs and bounds of one group of elements, whose values are given per key.
    fn mix(&self, values: &[Lanes], bound: &Bound, blocks: usize, outputs: &mut [f64], bounds: &mut [f64]) {
        let keys = self.weights.len();
        let sums = bound.sums(keys, blocks);
        let (mut output, mut mass, mut total) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for (weight, value) in self.weights.iter().zip(values) {
            let magnitude = value.map(f64::abs);
            output = from_fn(|lane| output[lane] + weight.exact * value[lane]);
            mass = from_fn(|lane| mass[lane] + weight.largest * magnitude[lane]);
            total = from_fn(|lane| total[lane] + magnitude[lane]);
        }
        let mut weights = [0.0; LANES];
        for (weight, value) in self.weights.iter().zip(values) {
            weights = from_fn(|lane| weights[lane] + weight.raised * (value[lane] - output[lane]).abs());
        }
        for (lane, (result, limit)) in outputs.iter_mut().zip(bounds).enumerate() {
            let output = output[lane];
            let mut element =
                Element { output, weights: weights[lane], mass: mass[lane], total: total[lane] };
            if self.largest_eta > LARGE_ETA {
                // Whatever the weights become, the output stays in the hull of the values. (`min` drops a NaN, which is
                // what an infinite weight on a zero gives.)
                let largest =
                    |of: fn(f64, f64) -> f64| values.iter().map(|v| of(v[lane], output)).fold(0.0, f64::max);
                element.weights = element.weights.min(largest(|value, output| (value - output).abs()));
                element.mass = element.mass.min(largest(|value, _| value.abs()));
            }
            *result = output;
            *limit = bound.element(&element, sums, keys, blocks);
        }
    }
}
