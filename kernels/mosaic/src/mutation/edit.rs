//! What a mutation does to a module: ops around one op, the op itself, and who reads its result.
//!
//! Invariant: a value that is read is defined before; new values are numbered from the module's `values` on.

use crate::ir::{Attribute, Module, Op, Region, Type, ValueId};

/// An op's replacement.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// Ops that stand before it, in its place, and after it.
    before: Vec<Op>,
    op: Option<Op>,
    after: Vec<Op>,
    /// Everybody but those ops reads the second value in place of the first.
    instead: Option<(ValueId, ValueId)>,
    /// The next value.
    next: u32,
}

impl Edit {
    /// Nothing is changed yet.
    pub(super) fn of(op: &Op, values: u32) -> Edit {
        Edit { before: Vec::new(), op: Some(op.clone()), after: Vec::new(), instead: None, next: values }
    }

    /// `change` is done to the op itself.
    pub(super) fn changed(op: &Op, values: u32, change: impl FnOnce(&mut Op)) -> Edit {
        let mut changed = op.clone();
        change(&mut changed);
        Edit { op: Some(changed), ..Edit::of(op, values) }
    }

    /// The op isn't there.
    pub(super) fn dropped(op: &Op, values: u32) -> Edit {
        Edit { op: None, ..Edit::of(op, values) }
    }

    /// The op's operand stands for its result.
    pub(super) fn bypassed(op: &Op, values: u32, operand: usize) -> Edit {
        Edit { op: None, instead: Some((op.results[0], op.operands[operand])), ..Edit::of(op, values) }
    }

    /// An op of one result before the op.
    pub(super) fn before(
        &mut self,
        like: &Op,
        name: &str,
        operands: &[(ValueId, &Type)],
        result: &Type,
        attributes: &[(&str, Attribute)],
    ) -> ValueId {
        let made = self.made(like, name, operands, result, attributes);
        let value = made.results[0];
        self.before.push(made);
        value
    }

    /// A constant before the op.
    pub(super) fn constant(&mut self, like: &Op, value: Attribute, ty: &Type) -> ValueId {
        let value = match ty {
            Type::Vector(_) => Attribute::Splat(Box::new(value), ty.clone()),
            _ => value,
        };
        self.before(like, "arith.constant", &[], ty, &[("value", value)])
    }

    /// Operand `index` of the op is `value`.
    pub(super) fn operand(&mut self, index: usize, value: ValueId) {
        if let Some(op) = &mut self.op {
            op.operands[index] = value;
        }
    }

    /// An op of one result after the op, of the op's result.
    pub(super) fn after(
        &mut self,
        like: &Op,
        name: &str,
        operand: (ValueId, &Type),
        result: &Type,
    ) -> ValueId {
        let made = self.made(like, name, &[operand], result, &[]);
        let value = made.results[0];
        self.after.push(made);
        self.instead = Some((like.results[0], value));
        value
    }

    fn made(
        &mut self,
        like: &Op,
        name: &str,
        operands: &[(ValueId, &Type)],
        result: &Type,
        attributes: &[(&str, Attribute)],
    ) -> Op {
        let value = ValueId(self.next);
        self.next += 1;
        Op {
            name: name.to_owned(),
            operands: operands.iter().map(|(value, _)| *value).collect(),
            operand_types: operands.iter().map(|(_, ty)| (*ty).clone()).collect(),
            results: vec![value],
            result_types: vec![result.clone()],
            attributes: attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            regions: Vec::new(),
            location: like.location,
            line: like.line,
        }
    }

    /// Replaces op `number` of `module`.
    pub(super) fn carry_out(self, module: &mut Module, number: usize) {
        if let Some((old, new)) = self.instead {
            module.walk_mut(|op, _| {
                op.operands.iter_mut().filter(|operand| **operand == old).for_each(|operand| *operand = new);
            });
        }
        module.values = module.values.max(self.next);
        let mut left = number;
        let mut edit = Some(self);
        splice(&mut module.ops, &mut left, &mut edit);
    }
}

/// Puts the edit in where `left` ops have been passed.
fn splice(ops: &mut Vec<Op>, left: &mut usize, edit: &mut Option<Edit>) {
    for at in 0..ops.len() {
        if *left == 0 {
            if let Some(edit) = edit.take() {
                let new = edit.before.into_iter().chain(edit.op).chain(edit.after);
                ops.splice(at..=at, new);
            }
            return;
        }
        *left -= 1;
        for Region { ops, .. } in &mut ops[at].regions {
            splice(ops, left, edit);
            if edit.is_none() {
                return;
            }
        }
    }
}
