//! Vectors of `head_dim` f64s, cut into groups of eight and padded with zeros, so that sums run over eight lanes.
//!
//! Invariant: the order of every sum is fixed by the shape alone: lane by lane first, then the eight lanes pairwise.

/// Lanes of a group.
pub(crate) const LANES: usize = 8;

/// One group of a vector.
pub(crate) type Lanes = [f64; LANES];

/// Groups that a vector of `head_dim` elements takes.
pub(crate) fn groups(head_dim: usize) -> usize {
    head_dim.div_ceil(LANES)
}

/// Writes a vector into its groups, padded with zeros.
pub(crate) fn fill_lanes<'a>(vector: &[f32], groups: impl IntoIterator<Item = &'a mut Lanes>) {
    for (group, chunk) in groups.into_iter().zip(vector.chunks(LANES)) {
        *group = std::array::from_fn(|lane| chunk.get(lane).map_or(0.0, |&value| f64::from(value)));
    }
}

/// Sum of the eight lanes.
fn across(lanes: Lanes) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// sum x_k y_k and sum |x_k y_k|. Products of two f32 values are exact.
#[inline]
pub(crate) fn dot(x: &[Lanes], y: &[Lanes]) -> (f64, f64) {
    let (mut sum, mut magnitude) = ([0.0; LANES], [0.0; LANES]);
    for (x, y) in x.iter().zip(y) {
        let product: Lanes = std::array::from_fn(|lane| x[lane] * y[lane]);
        sum = std::array::from_fn(|lane| sum[lane] + product[lane]);
        magnitude = std::array::from_fn(|lane| magnitude[lane] + product[lane].abs());
    }
    (across(sum), across(magnitude))
}

/// sum |x_k|.
pub(crate) fn absolute_sum(x: &[Lanes]) -> f64 {
    let mut sum = [0.0; LANES];
    for group in x {
        for lane in 0..LANES {
            sum[lane] += group[lane].abs();
        }
    }
    across(sum)
}
