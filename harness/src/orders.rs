//! Whether what a kernel does depends on when its copies land. It mustn't: hardware lands them when it likes.
//!
//! A race detector that sees every access leaves room for this: of several copies on one semaphore a wait may complete any,
//! so a kernel that waits for one and reads another's target is right under one order and wrong under the next.
//!
//! Invariant: a function of engine, batch and policy; every order is tried, and the first that differs is named.

use std::ops::Range;

use countersign_dtype::Array;
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::rpa::bind::Bound;
use countersign_mosaic::DmaOrder;
use countersign_reference::Batch;

use crate::signature::Effect;
use crate::trial::Conduct;

/// Orders tried against the one that a run had: at once, and at two sets of drawn times.
pub const ORDERS: [DmaOrder; 3] = [DmaOrder::Eager, DmaOrder::Seeded(1), DmaOrder::Seeded(2)];

/// An order under which a kernel does something else.
#[derive(Debug, Clone, PartialEq)]
pub struct Dependence {
    /// What it does then.
    pub effect: Effect,
    /// A sentence without its full stop.
    pub detail: String,
}

/// Runs `batch` under every order; what differs from `run`, which ended under the policy's own.
pub fn dependence(
    engine: &mut dyn Engine,
    batch: &Batch,
    bound: &[Bound<'_>; 6],
    policy: &Policy,
    run: &EngineRun,
) -> Option<Dependence> {
    ORDERS.into_iter().find_map(|dma| {
        let other = engine.run(batch, bound, &Policy { dma, ..*policy });
        let (effect, what) = match &other.end {
            EngineEnd::Fault(fault) => {
                (Effect::Fault(fault.class), Conduct::Fault(fault.clone()).to_string())
            }
            EngineEnd::OutOfFuel => (Effect::Hang, Conduct::Hang.to_string()),
            EngineEnd::Unsupported(_) => return None,
            EngineEnd::Finished => {
                let index = difference(run, &other)?;
                (Effect::OtherBits, format!("The kernel ends, and element {index} of its output differs"))
            }
        };
        let detail = format!("With copies that land {} instead of {}: {what}", when(dma), when(policy.dma));
        Some(Dependence { effect, detail })
    })
}

fn when(order: DmaOrder) -> String {
    match order {
        DmaOrder::Late => "as late as they may".to_owned(),
        DmaOrder::Eager => "at once".to_owned(),
        DmaOrder::Seeded(seed) => format!("at times drawn from seed {seed}"),
    }
}

/// The first element that one run defines and the other doesn't, or whose bits differ.
fn difference(one: &EngineRun, two: &EngineRun) -> Option<usize> {
    let (Some(a), Some(b)) = (&one.output, &two.output) else {
        return (one.output.is_some() != two.output.is_some()).then_some(0);
    };
    let width = (a.bytes.len() / a.len().max(1)).max(1);
    let is_undefined = |ranges: &[Range<usize>], index: usize| {
        let next = ranges.partition_point(|range| range.end <= index);
        ranges.get(next).is_some_and(|range| range.start <= index)
    };
    let bits =
        |array: &Array, index: usize| array.bytes.get(index * width..(index + 1) * width).map(<[u8]>::to_vec);
    (0..a.len()).find(|&index| {
        let undefined = is_undefined(&one.undefined, index);
        undefined != is_undefined(&two.undefined, index) || !undefined && bits(a, index) != bits(b, index)
    })
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges, some with one")]
mod tests {
    use countersign_dtype::DType;

    use super::*;

    fn run(values: &[f32], undefined: &[Range<usize>]) -> EngineRun {
        EngineRun {
            output: Some(Array::from_f32(DType::F32, &[values.len()], values)),
            undefined: undefined.to_vec(),
            end: EngineEnd::Finished,
            fuel_used: 0,
        }
    }

    #[test]
    fn undefined_elements_differ_by_being_undefined_alone() {
        let one = run(&[1.0, 2.0, 3.0], &[1..2]);
        assert_eq!(difference(&one, &run(&[1.0, 9.0, 3.0], &[1..2])), None);
        assert_eq!(difference(&one, &run(&[1.0, 2.0, 4.0], &[1..2])), Some(2));
        assert_eq!(difference(&one, &run(&[1.0, 2.0, 3.0], &[])), Some(1));
        assert_eq!(difference(&run(&[0.0], &[]), &run(&[-0.0], &[])), Some(0), "bits, not values");
    }
}
