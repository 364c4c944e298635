//! Mutants: the same kernel with one small fault, to see who notices.
//!
//! A mutant is one op changed by one operator: a predicate shifted, a constant one larger, a wait left out. Ops are numbered in
//! the order of [`Module::walk`]. What changes nothing (the optimiser makes the same program of both, perhaps after
//! [`simplified`]) is told apart by [`Program::does_the_same`](crate::Program::does_the_same).
//!
//! Invariant: the mutants of a module, and their order, are a function of the module. Each is a module whose types agree, so that
//! it lowers.

mod edit;
mod operator;
mod simplify;

use std::collections::{BTreeMap, BTreeSet};

use countersign_dtype::DType;

use crate::ir::{Attribute, Frame, Module, Op, Type, ValueId};

pub use operator::Operator;
pub use simplify::simplified;

/// One op of a module changed in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mutation {
    /// The op's number.
    pub op: usize,
    /// What is done to it.
    pub operator: Operator,
    /// Which of the places in the op where that can be done.
    pub place: usize,
}

/// What operators look at besides the op itself.
struct Context {
    /// Values that are constants: an index that is one is changed where the constant stands.
    constants: BTreeSet<ValueId>,
    /// Values that decide whether a loop goes on.
    deciding: BTreeSet<ValueId>,
}

impl Context {
    fn of(module: &Module) -> Context {
        let mut context = Context { constants: BTreeSet::new(), deciding: BTreeSet::new() };
        module.walk(|op, _| match op.name.as_str() {
            "arith.constant" => context.constants.extend(&op.results),
            "scf.condition" => context.deciding.extend(op.operands.first()),
            _ => {}
        });
        context
    }
}

impl Mutation {
    /// All mutations of a module, op by op.
    pub fn all(module: &Module) -> Vec<Mutation> {
        let context = Context::of(module);
        let mut all = Vec::new();
        let mut number = 0;
        module.walk(|op, _| {
            for operator in Operator::ALL {
                let places = operator.edits(op, &context, module.values).len();
                all.extend((0..places).map(|place| Mutation { op: number, operator, place }));
            }
            number += 1;
        });
        all
    }

    /// The mutant; `None` if the module has no such op or place.
    pub fn of(self, module: &Module) -> Option<Module> {
        let context = Context::of(module);
        let op = self.target(module)?;
        let mut edits = self.operator.edits(op, &context, module.values);
        let edit = (self.place < edits.len()).then(|| edits.swap_remove(self.place))?;
        let mut mutant = module.clone();
        edit.carry_out(&mut mutant, self.op);
        Some(mutant)
    }

    /// The op that it changes.
    pub fn target(self, module: &Module) -> Option<&Op> {
        let (mut number, mut target) = (0, None);
        module.walk(|op, _| {
            if number == self.op {
                target = Some(op);
            }
            number += 1;
        });
        target
    }

    /// The number of the constant that it changes, as text: `-inf`, `0`.
    pub fn constant(self, module: &Module) -> Option<String> {
        match operator::number(self.target(module)?)? {
            Attribute::Int(value, _) => Some(value.to_string()),
            Attribute::Float { bits, ty: Type::Scalar(DType::F32) } => {
                Some(f32::from_bits(*bits as u32).to_string())
            }
            Attribute::Float { bits, ty: Type::Scalar(DType::Bf16) } => {
                Some(f32::from_bits((*bits as u32) << 16).to_string())
            }
            _ => None,
        }
    }

    /// Where in the kernel's source the op comes from, innermost frame first.
    pub fn stack(self, module: &Module) -> &[Frame] {
        self.target(module).map(|op| module.locations.stack(op.location)).unwrap_or_default()
    }
}

/// How many mutations there are of each operator, none left out.
pub fn by_operator(mutations: &[Mutation]) -> BTreeMap<Operator, usize> {
    let mut counts: BTreeMap<Operator, usize> =
        Operator::ALL.into_iter().map(|operator| (operator, 0)).collect();
    for mutation in mutations {
        *counts.entry(mutation.operator).or_default() += 1;
    }
    counts
}
