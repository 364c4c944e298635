//! A counted loop, `scf.for`, as the loop that the machine has: its counter is the first of the values that it carries.
//!
//! Invariant: the bounds and the step are read once, before the loop. A counter that would pass the largest int32 wraps, as the
//! addition does that Mosaic makes of it.

use crate::ir::Op;
use crate::ops::scalar::Binary;

use super::inst::{Block, Inst, Kind, Slot};

/// Instructions of a turn that aren't in the module: the compare and the addition.
pub(super) const IMPLIED: usize = 2;

/// The loop of `op`, whose operands are lower bound, upper bound, step, then what is carried, and whose body is `body`. `fresh` gives
/// slots that no value of the module has.
pub(super) fn counted(
    op: &Op,
    mut body: Block,
    site: u32,
    point: u32,
    mut fresh: impl FnMut() -> Slot,
) -> Option<Kind> {
    let slots: Vec<Slot> = op.operands.iter().map(|value| value.0).collect();
    let [low, high, step, carried @ ..] = slots.as_slice() else { return None };
    let binary =
        |op, a, b, out| Inst { kind: Kind::Binary { op, a, b, then: None }, out, site, frees: Vec::new() };
    let counter = *body.arguments.first()?;
    let arguments: Vec<Slot> = body.arguments.iter().map(|_| fresh()).collect();
    let (flag, next) = (fresh(), fresh());
    let before = Block {
        insts: vec![binary(Binary::CmpSlt, *arguments.first()?, *high, flag)],
        yields: arguments.clone(),
        arguments,
    };
    body.insts.push(binary(Binary::AddI, counter, *step, next));
    body.yields.insert(0, next);
    let inits = std::iter::once(*low).chain(carried.iter().copied()).collect();
    let outs = std::iter::once(fresh()).chain(op.results.iter().map(|value| value.0)).collect();
    Some(Kind::While { inits, before, flag, after: body, outs, point })
}
