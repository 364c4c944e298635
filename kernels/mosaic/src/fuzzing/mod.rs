//! What the fuzz target `parse_module` calls: any text parsed, lowered and, where it is small, run.
//!
//! Invariant: no text makes the parser, the lowering or the machine panic, or take memory out of proportion to its length; and the
//! optimised program does what the plain one does. A violation is a panic, which is how a fuzzer is told.

mod mutate;

use std::sync::Arc;

use countersign_dtype::{Array, DType};

use crate::ir::{Module, Type};
use crate::machine::{End, Machine, Operand, OutputSpec, Policy, Run};
use crate::parse;
use crate::program::{Parameter, Program};
use crate::value::Dims;

pub use mutate::{mutate, mutated};

/// Ops that a run may execute.
const FUEL: u64 = 3_000;
/// Most lanes of a vector, and bytes of all memrefs together, of a program that is run.
const LANES: usize = 1 << 15;
const BYTES: usize = 8 << 20;

/// How far a text got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// It is no module.
    Nothing,
    /// It doesn't lower.
    Module,
    /// It lowers, and is too large to be run here.
    Program,
    /// It ran, to whatever end.
    Run,
}

/// Tries one text.
///
/// # Panics
/// If the invariant of this module is broken.
pub fn one_text(text: &str) -> Reached {
    let Ok(module) = parse(text) else { return Reached::Nothing };
    let lowered = [1, 0, 2].into_iter().find_map(|outputs| Program::lower(&module, outputs).ok());
    let Some(plain) = lowered else { return Reached::Module };
    let optimized = plain.clone().optimized();
    if !is_small(&module, &plain) {
        return Reached::Program;
    }
    let (plain, optimized) = (run(plain), run(optimized));
    if plain.end != End::OutOfFuel {
        assert_eq!(plain.end, optimized.end, "the optimised program ends otherwise");
        assert!(plain.outputs == optimized.outputs, "the optimised program has other outputs");
    }
    Reached::Run
}

fn is_small(module: &Module, program: &Program) -> bool {
    let mut small = program.grid_steps() <= FUEL;
    module.walk(|op, _| {
        small &= op.result_types.iter().all(|ty| match ty {
            Type::Vector(vector) => vector.shape.iter().product::<usize>() <= LANES,
            _ => true,
        });
    });
    let bytes: usize = program.parameters.iter().map(|parameter| size(parameter).1).sum();
    small && bytes <= BYTES
}

/// Element type and shape of a parameter's memory, and its bytes.
fn size(parameter: &Parameter) -> ((DType, &Dims), usize) {
    let (dtype, dims) = match parameter {
        Parameter::Prefetch { dtype, dims, .. }
        | Parameter::Array { dtype, dims, .. }
        | Parameter::Scratch { dtype, dims, .. } => (*dtype, dims),
        Parameter::Semaphores { dims, .. } => (DType::I32, dims),
    };
    ((dtype, dims), dims.len().saturating_mul(8))
}

/// On operands that are zero, every second element of the second half undefined.
fn run(program: Program) -> Run {
    let zeros = |parameter: &Parameter| {
        let ((dtype, dims), _) = size(parameter);
        let shape: Vec<usize> = dims.as_slice().iter().map(|&extent| extent as usize).collect();
        Array::zeros(dtype, &shape)
    };
    let arrays = |wanted: fn(&Parameter) -> bool| -> Vec<Array> {
        program.parameters.iter().filter(|parameter| wanted(parameter)).map(zeros).collect()
    };
    let inputs = arrays(Parameter::is_operand);
    let undefined: Vec<Vec<std::ops::Range<usize>>> = inputs
        .iter()
        .map(|array| (array.len() / 2..array.len()).step_by(2).map(|at| at..at + 1).collect())
        .collect();
    let operands: Vec<Operand<'_>> = inputs
        .iter()
        .zip(&undefined)
        .map(|(array, undefined)| Operand { label: "operand", array, undefined })
        .collect();
    let outputs: Vec<OutputSpec> = arrays(Parameter::is_output)
        .into_iter()
        .map(|array| OutputSpec { dtype: array.dtype, shape: array.shape })
        .collect();
    let policy = Policy { fuel: FUEL, ..Policy::default() };
    let mut machine = Machine::new(Arc::new(program));
    match machine.run(&operands, &outputs, &policy) {
        Ok(run) => {
            machine.returned();
            run
        }
        Err(error) => panic!("operands of the program's own shapes don't fit: {error}"),
    }
}
