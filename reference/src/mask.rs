//! Which keys a query sees: causal, and within a sliding window if there is one.
//!
//! The kernel masks key `k` for the query at position `p` if `p < k` or `p - window >= k`, where query `i` of a sequence
//! has position `kv_len - q_len + i`: the queries are the last tokens of the cache. What is left is one run of keys.
//!
//! A masked score is not removed but has `mask_value` added. With a finite `mask_value <= -1e30` and scores within the
//! limits of [`crate::Magnitudes`], the masked weight `exp(score + mask_value - max)` is exactly 0 in f32 as soon as one
//! unmasked key has been seen; every query sees at least itself. So the truth removes masked keys, whatever `mask_value` is.
//!
//! Invariant: for `0 <= position < kv_len` and a positive window the run is not empty and ends at `position`.

use std::ops::Range;

/// The keys that the query at `position` (a token's place in its sequence) sees.
pub fn visible_keys(position: usize, sliding_window: Option<i32>) -> Range<usize> {
    let window = sliding_window.map_or(usize::MAX, |window| usize::try_from(window).unwrap_or(0));
    let end = position + 1;
    end.saturating_sub(window)..end
}
