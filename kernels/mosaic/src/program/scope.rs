//! Which values may be used where: definitions before uses, regions with the terminators and arguments that their op needs.
//!
//! Invariant: a use that passes reads a slot that was written on every path to it, with the type that the use states.

use crate::ir::{Op, Region, Type, ValueId};

use super::read::Lowered;
use super::verify::{agree, size};
use countersign_dtype::DType;

/// Definitions that are visible.
#[derive(Debug, Default)]
pub(super) struct Scope<'m> {
    types: Vec<Option<&'m Type>>,
    /// In the order of definition.
    defined: Vec<ValueId>,
}

impl<'m> Scope<'m> {
    /// Of a module with so many values.
    pub(super) fn new(values: u32) -> Scope<'m> {
        Scope { types: vec![None; values as usize], defined: Vec::new() }
    }

    /// The mark to give to [`Scope::leave`].
    pub(super) fn enter(&self) -> usize {
        self.defined.len()
    }

    /// Forgets what was defined since.
    pub(super) fn leave(&mut self, mark: usize) {
        for value in self.defined.drain(mark..) {
            if let Some(ty) = self.types.get_mut(value.0 as usize) {
                *ty = None;
            }
        }
    }

    /// A new value.
    pub(super) fn define(&mut self, value: ValueId, ty: &'m Type) -> Lowered<()> {
        size(ty)?;
        match self.types.get_mut(value.0 as usize) {
            Some(slot @ None) => *slot = Some(ty),
            Some(Some(_)) => return Err("a value that is defined twice".into()),
            None => return Err("a value past the module's count".into()),
        }
        self.defined.push(value);
        Ok(())
    }

    /// An op's results.
    pub(super) fn results(&mut self, op: &'m Op) -> Lowered<()> {
        if op.results.len() != op.result_types.len() {
            return Err(format!("{} results and {} types", op.results.len(), op.result_types.len()));
        }
        op.results.iter().zip(&op.result_types).try_for_each(|(value, ty)| self.define(*value, ty))
    }

    /// An op's operands.
    pub(super) fn uses(&self, op: &Op) -> Lowered<()> {
        if op.operands.len() != op.operand_types.len() {
            return Err(format!("{} operands and {} types", op.operands.len(), op.operand_types.len()));
        }
        for (at, (value, ty)) in op.operands.iter().zip(&op.operand_types).enumerate() {
            match self.types.get(value.0 as usize).copied().flatten() {
                Some(defined) if defined == ty => {}
                Some(defined) => {
                    return Err(format!("operand {at} is stated as {ty} and defined as {defined}"));
                }
                None => return Err(format!("operand {at} isn't defined before its use")),
            }
        }
        Ok(())
    }
}

/// Whether `op` ends a block.
pub(super) fn is_terminator(op: &Op) -> bool {
    matches!(op.name.as_str(), "scf.yield" | "scf.condition" | "func.return")
}

/// Regions of an `scf.if`, `scf.while` or `scf.for` fit its operands and results; other ops have none.
pub(super) fn regions(op: &Op) -> Lowered<()> {
    match op.name.as_str() {
        "scf.if" => op.regions.iter().try_for_each(|region| {
            arguments(region, &[])?;
            ends(region, "scf.yield", &[], &op.result_types)
        }),
        "scf.while" => {
            let [before, after] = op.regions.as_slice() else { return Ok(()) };
            arguments(before, &op.operand_types)?;
            ends(before, "scf.condition", &[Type::Scalar(DType::I1)], &op.result_types)?;
            arguments(after, &op.result_types)?;
            ends(after, "scf.yield", &[], &op.operand_types)
        }
        "scf.for" => {
            let ([body], Some((counter, carried))) = (op.regions.as_slice(), counted(op)) else {
                return Ok(());
            };
            let wanted: Vec<Type> = std::iter::once(counter).chain(carried).cloned().collect();
            arguments(body, &wanted)?;
            ends(body, "scf.yield", &[], &op.result_types)
        }
        _ if op.regions.is_empty() => Ok(()),
        _ => Err("a region".into()),
    }
}

/// The types of a counted loop's counter and of what it carries, from its operands.
fn counted(op: &Op) -> Option<(&Type, &[Type])> {
    let [low, _, _, carried @ ..] = op.operand_types.as_slice() else { return None };
    Some((low, carried))
}

fn arguments(region: &Region, wanted: &[Type]) -> Lowered<()> {
    list("arguments of a region", &mut region.arguments.iter().map(|(_, ty)| ty), &mut wanted.iter())
}

/// The last op of `region` is `name`, with operands of the types in `first` and then in `rest`; a block that forwards nothing
/// may end without.
fn ends(region: &Region, name: &str, first: &[Type], rest: &[Type]) -> Lowered<()> {
    match region.ops.last().filter(|op| is_terminator(op)) {
        Some(last) if last.name == name => {
            list(name, &mut last.operand_types.iter(), &mut first.iter().chain(rest))
        }
        Some(last) => Err(format!("a region that ends with {}", last.name)),
        None if first.is_empty() && rest.is_empty() => Ok(()),
        None => Err(format!("a region without {name}")),
    }
}

fn list(
    what: &str,
    given: &mut dyn Iterator<Item = &Type>,
    wanted: &mut dyn Iterator<Item = &Type>,
) -> Lowered<()> {
    loop {
        match (given.next(), wanted.next()) {
            (None, None) => return Ok(()),
            (Some(given), Some(wanted)) => agree(given, wanted, what)?,
            _ => return Err(format!("{what}: another number than the op's types say")),
        }
    }
}
