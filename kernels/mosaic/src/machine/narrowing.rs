//! The check of a narrowing that `program::narrowing` marked.
//!
//! Invariant: looks only at lanes that are wholly defined; costs nothing for unmarked steps.

use crate::fault::{FaultClass, Trap};
use crate::ops::scalar::Unary;
use crate::value::{Grid, Pool};

/// Faults if a defined lane doesn't survive `step`.
pub(super) fn check(
    step: Unary,
    lanes: &Grid,
    undefined: Option<&Grid>,
    pool: &mut Pool,
) -> Result<(), Trap> {
    if !step.is_checked() {
        return Ok(());
    }
    let cut = |lane: u32| u32::from(step.lane(lane) != lane);
    let bad = match undefined {
        None => lanes.map(pool, cut),
        Some(masks) => lanes.zip(masks, pool, |lane, mask| cut(lane) & u32::from(mask == 0)),
    };
    let first = bad.lanes.iter().position(|&lane| lane != 0);
    let result = first.map_or(Ok(()), |first| {
        Err(trap(step, lanes.expand(&bad.dims, pool).lanes[first], &bad.dims.indices(first)))
    });
    pool.give(bad.lanes);
    result
}

/// The fault of a value, of the lane at `index` where it is one of a vector's.
pub(super) fn trap(step: Unary, value: u32, index: &[i64]) -> Trap {
    let bits = match step {
        Unary::Fit16 => 16,
        Unary::Fit8 => 8,
        _ => 4,
    };
    let what = match index {
        [] => "the value".to_owned(),
        index => format!("lane {index:?}"),
    };
    let (value, left) = (value as i32, step.lane(value) as i32);
    let message = format!(
        "{what} is {value}, which {bits} bits can't hold: {left} is left of it, and a compare or an index reads that"
    );
    Trap { indices: index.to_vec(), ..Trap::new(FaultClass::Narrowing, message) }
}
