//! The verdict on an output: every element that the batch owns against the reference's value and bound.
//!
//! r = |error| / bound, always; a row is wrong when some element has r > 1, is NaN, or comes from undefined memory. Rows
//! for which the reference gives no value (padding, and rows of sequences that break a rule of their own) are exempt.
//!
//! Invariant: no tolerance lives here; bounds are the reference's.

use std::collections::BTreeMap;
use std::ops::Range;

use countersign_dtype::Array;
use countersign_reference::{Reference, RowStatus};
use countersign_reports::{R_BINS, R_UNIT};

/// One element of the output against its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// Row of the output.
    pub token: usize,
    /// Query head.
    pub head: usize,
    /// Position in the head.
    pub lane: usize,
    /// What the kernel wrote.
    pub actual: f32,
    /// What it should be.
    pub expected: f64,
    /// How far off it may be.
    pub bound: f64,
    /// |actual - expected| / bound; infinite for NaN.
    pub r: f64,
}

/// An output against its reference.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Rows below the batch's last token, whether or not they have a reference.
    pub owned_rows: usize,
    /// Of these, rows compared to a value with a finite bound in every element.
    pub compared_rows: usize,
    /// Wrong rows, by the sequence that they belong to.
    pub wrong_rows: BTreeMap<usize, usize>,
    /// The wrong rows themselves, ascending.
    pub wrong_tokens: Vec<usize>,
    /// Compared rows counted by their largest r ([`bin`]): one count a row, not one an element, which would cost as much as
    /// the comparison itself.
    pub r_rows: Box<[u64; R_BINS]>,
    /// Whether some wrong row has an element that comes from undefined memory.
    pub undefined: bool,
    /// The first wrong element with the largest r; undefined elements count as infinite.
    pub worst: Option<Deviation>,
    /// The element with the largest r in rows that are right.
    pub largest_right: Option<Deviation>,
    /// The largest finite bound of any element.
    pub largest_bound: f64,
}

/// Compares `output`, of shape `[tokens, q_heads, head_dim]`, with `reference`; `undefined` holds the ranges of the
/// output's elements that come from undefined memory, sorted and disjoint.
///
/// An output whose shape differs from the reference's has every row wrong.
pub fn compare(output: &Array, undefined: &[Range<usize>], reference: &Reference) -> Comparison {
    let actual = output.to_f32_vec();
    let rows = reference.rows.len();
    let width = reference.values.len().checked_div(rows).unwrap_or(0);
    let head_dim = output.shape.last().copied().unwrap_or(1).max(1);
    let mut comparison = Comparison::default();
    let mut undefined = undefined.iter().peekable();
    for (token, status) in reference.rows.iter().enumerate() {
        let elements = token * width..(token + 1) * width;
        while undefined.next_if(|range| range.end <= elements.start).is_some() {}
        let sequence = match status {
            RowStatus::Value { sequence } => *sequence,
            RowStatus::Undefined { rule, .. } => {
                comparison.owned_rows +=
                    usize::from(*rule != countersign_reference::rule::ROW_PAST_LAST_TOKEN);
                continue;
            }
        };
        comparison.owned_rows += 1;
        let mut row = Row::default();
        for element in elements.clone() {
            let deviation = |r| Deviation {
                token,
                head: (element - elements.start) / head_dim,
                lane: element % head_dim,
                actual: actual.get(element).copied().unwrap_or(f32::NAN),
                expected: reference.values[element],
                bound: reference.bounds[element],
                r,
            };
            let bound = reference.bounds[element];
            if !bound.is_finite() {
                row.vacuous = true;
                continue;
            }
            comparison.largest_bound = comparison.largest_bound.max(bound);
            let error =
                actual.get(element).map_or(f64::NAN, |&a| (f64::from(a) - reference.values[element]).abs());
            let r = ratio(error, bound);
            if row.worst.is_none_or(|worst: Deviation| r > worst.r) {
                row.worst = Some(deviation(r));
            }
        }
        if let Some(range) = undefined.peek().filter(|range| range.start < elements.end) {
            let element = range.start.max(elements.start);
            row.worst = Some(Deviation {
                token,
                head: (element - elements.start) / head_dim,
                lane: element % head_dim,
                actual: actual.get(element).copied().unwrap_or(f32::NAN),
                expected: reference.values[element],
                bound: reference.bounds[element],
                r: f64::INFINITY,
            });
            comparison.undefined = true;
        }
        comparison.compared_rows += usize::from(!row.vacuous);
        if let Some(worst) = row.worst {
            comparison.r_rows[bin(worst.r)] += 1;
            let slot = if worst.r > 1.0 {
                *comparison.wrong_rows.entry(sequence).or_default() += 1;
                comparison.wrong_tokens.push(token);
                &mut comparison.worst
            } else {
                &mut comparison.largest_right
            };
            if slot.is_none_or(|known| worst.r > known.r) {
                *slot = Some(worst);
            }
        }
    }
    comparison
}

#[derive(Default)]
struct Row {
    vacuous: bool,
    worst: Option<Deviation>,
}

/// The count that an r belongs to, as [`countersign_reports::RDistribution`] lists them. Exact: it reads the exponent.
pub fn bin(r: f64) -> usize {
    const BIAS: i64 = 1023;
    let bits = r.to_bits();
    // The smallest e with r <= 2^e; an infinite r has the largest exponent of all.
    let exponent = (bits >> 52) as i64 - BIAS + i64::from(bits << 12 != 0);
    if r == 0.0 { 0 } else { (exponent + R_UNIT as i64).clamp(1, R_BINS as i64 - 1) as usize }
}

/// |error| / bound, where an exact value may have a bound of zero, and NaN is infinitely wrong.
fn ratio(error: f64, bound: f64) -> f64 {
    match error / bound {
        _ if error == 0.0 => 0.0,
        r if r.is_nan() => f64::INFINITY,
        r => r,
    }
}

#[cfg(test)]
mod tests {
    use countersign_dtype::DType;

    use super::*;

    /// Three rows of one head of two lanes: sequence 0, sequence 1, padding.
    fn reference() -> Reference {
        Reference {
            rows: vec![
                RowStatus::Value { sequence: 0 },
                RowStatus::Value { sequence: 1 },
                RowStatus::Undefined {
                    rule: countersign_reference::rule::ROW_PAST_LAST_TOKEN,
                    sequence: None,
                },
            ],
            values: vec![1.0, 2.0, 3.0, 4.0, 0.0, 0.0],
            bounds: vec![0.5, 0.5, 0.5, 0.0, 0.0, 0.0],
        }
    }

    fn output(values: [f32; 6]) -> Array {
        Array {
            dtype: DType::F32,
            shape: vec![3, 1, 2],
            bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    #[test]
    fn right_rows_track_the_largest_r() {
        let comparison = compare(&output([1.25, 2.0, 3.0, 4.0, f32::NAN, 9.0]), &[4..5, 5..6], &reference());
        assert_eq!(comparison.wrong_rows, BTreeMap::new());
        assert_eq!((comparison.owned_rows, comparison.compared_rows), (2, 2));
        let largest = comparison.largest_right.unwrap();
        assert_eq!((largest.r, largest.token, largest.head, largest.lane), (0.5, 0, 0, 0));
    }

    #[test]
    fn rows_are_counted_by_powers_of_two() {
        let unit = R_UNIT;
        for (r, expected) in [
            (0.0, 0),
            (f64::MIN_POSITIVE, 1),
            (2f64.powi(-18), 1),
            (2f64.powi(-18) * 1.01, 2),
            (0.5, unit - 1),
            (0.51, unit),
            (1.0, unit),
            (1.0f64.next_up(), unit + 1),
            (8.0, unit + 3),
            (8.1, R_BINS - 1),
            (f64::INFINITY, R_BINS - 1),
        ] {
            assert_eq!(bin(r), expected, "{r}");
        }
        let comparison = compare(&output([1.25, 2.0, 3.0, 9.0, 0.0, 0.0]), &[], &reference());
        let counted: Vec<usize> = (0..R_BINS).filter(|&bin| comparison.r_rows[bin] > 0).collect();
        assert_eq!(counted, [unit - 1, R_BINS - 1]);
        assert_eq!(comparison.wrong_tokens, [1]);
    }

    #[test]
    fn a_wrong_row_belongs_to_its_sequence() {
        let comparison = compare(&output([1.0, 2.0, 3.0, 4.5, 0.0, 0.0]), &[], &reference());
        assert_eq!(comparison.wrong_rows, BTreeMap::from([(1, 1)]));
        let worst = comparison.worst.unwrap();
        assert_eq!((worst.r, worst.token, worst.lane), (f64::INFINITY, 1, 1));
        assert!(!comparison.undefined);
    }

    #[test]
    fn nan_and_infinity_are_wrong() {
        for value in [f32::NAN, f32::INFINITY] {
            let comparison = compare(&output([value, 2.0, 3.0, 4.0, 0.0, 0.0]), &[], &reference());
            assert_eq!(comparison.wrong_rows, BTreeMap::from([(0, 1)]));
        }
    }

    #[test]
    fn an_undefined_element_is_wrong_whatever_its_value() {
        let comparison = compare(&output([1.0, 2.0, 3.0, 4.0, 0.0, 0.0]), &[1..3, 5..6], &reference());
        assert_eq!(comparison.wrong_rows, BTreeMap::from([(0, 1), (1, 1)]));
        assert!(comparison.undefined);
        assert_eq!(comparison.worst.map(|worst| (worst.token, worst.lane)), Some((0, 1)));
    }

    #[test]
    fn a_row_without_a_bound_is_not_called_compared() {
        let mut reference = reference();
        reference.bounds[0] = f64::INFINITY;
        let comparison = compare(&output([9.0, 2.0, 3.0, 4.0, 0.0, 0.0]), &[], &reference);
        assert_eq!((comparison.owned_rows, comparison.compared_rows), (2, 1));
        assert_eq!(comparison.wrong_rows, BTreeMap::new());
    }

    #[test]
    fn a_short_output_is_wrong() {
        let short = Array {
            dtype: DType::F32,
            shape: vec![1, 1, 2],
            bytes: [1f32, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect(),
        };
        assert_eq!(compare(&short, &[], &reference()).wrong_rows, BTreeMap::from([(1, 1)]));
    }
}
