//! A module with less to tell it apart by: what no run can depend on is taken out.
//!
//! - A grid dimension of extent 1 has index 0.
//! - A wait counts the bytes of its slices: where these lie is for the start to say.
//! - Where a loop within a loop is known to run its body once at most, that body works with the values that the loop starts from.
//! - A loop from a value to the same value doesn't run: what unrolling by 1 leaves over.
//! - What nobody uses then, and stores to scratch memory that nobody reads, are left out.
//!
//! Invariant: a run without a fault does the same before and after, given what is assumed of the loops. Other loops, branches and
//! copies stay as they are, so that two modules that become equal also agree on how often their loops run.

use std::collections::{HashMap, HashSet};

use countersign_dtype::DType;

use crate::ir::{Attribute, LocationId, Module, Op, Region, Type, ValueId};

use super::operator::index_operands;

/// The module in its simpler form. `once` says that no loop within a loop runs its body more than once.
pub fn simplified(module: &Module, once: bool) -> Module {
    let mut simpler = module.clone();
    let zero = simpler.next_value();
    // The one that is run, see `Program::lower`.
    let kernel = simpler.ops.iter().position(|op| op.attribute("iteration_bounds").is_some()).unwrap_or(0);
    let Some(function) = simpler.ops.get_mut(kernel) else { return simpler };
    let grid = function.attribute("iteration_bounds").and_then(Attribute::as_ints).unwrap_or(&[]).to_vec();
    let scratch = function.attribute("scratch_operands").and_then(Attribute::as_int).unwrap_or(0);
    let Some(body) = function.regions.first_mut() else { return simpler };
    let mut instead: HashMap<ValueId, ValueId> = HashMap::new();
    let indices = body.arguments.iter().zip(&grid).filter(|(_, extent)| **extent == 1);
    instead.extend(indices.map(|((index, _), _)| (*index, zero)));
    if once {
        first_rounds(&body.ops, 0, &mut instead);
    }
    replace(&mut body.ops, &instead);
    fold(&mut body.ops);
    drop_idle_loops(&mut body.ops);
    let ty = Type::Scalar(DType::I32);
    let counted = counted_only(&body.ops);
    forget_places(&mut body.ops, &counted, zero, &ty);
    body.ops.insert(0, constant(zero, &ty));
    let scratch: HashSet<ValueId> =
        body.arguments.iter().rev().take(scratch.max(0) as usize).map(|(value, _)| *value).collect();
    while drop_unused(body, &scratch) {}
    renumber(&mut simpler);
    simpler
}

fn constant(value: ValueId, ty: &Type) -> Op {
    Op {
        name: "arith.constant".to_owned(),
        operands: Vec::new(),
        results: vec![value],
        operand_types: Vec::new(),
        result_types: vec![ty.clone()],
        attributes: vec![("value".to_owned(), Attribute::Int(0, ty.clone()))],
        regions: Vec::new(),
        location: LocationId::UNKNOWN,
        line: 0,
    }
}

/// For each loop in a loop, what its body is handed in the first round.
fn first_rounds(ops: &[Op], depth: usize, instead: &mut HashMap<ValueId, ValueId>) {
    for op in ops {
        let is_loop = op.name == "scf.while";
        if let ([before, after], true) = (op.regions.as_slice(), is_loop && depth > 0)
            && let Some(condition) = before.ops.last()
        {
            for ((argument, _), handed) in after.arguments.iter().zip(condition.operands.iter().skip(1)) {
                let at = before.arguments.iter().position(|(value, _)| value == handed);
                if let Some(start) = at.and_then(|at| op.operands.get(at)) {
                    instead.insert(*argument, *start);
                }
            }
        }
        for region in &op.regions {
            first_rounds(&region.ops, depth + usize::from(is_loop), instead);
        }
    }
}

/// Reads the other value of each pair.
fn replace(ops: &mut [Op], instead: &HashMap<ValueId, ValueId>) {
    for op in ops {
        for operand in &mut op.operands {
            while let Some(other) = instead.get(operand) {
                *operand = *other;
            }
        }
        op.regions.iter_mut().for_each(|region| replace(&mut region.ops, instead));
    }
}

/// Takes the arm of each select whose condition compares constants; adds no zeros, multiplies and divides by no ones, and gives
/// the minuend where what was subtracted is added again.
fn fold(ops: &mut [Op]) {
    let mut known: HashMap<ValueId, i64> = HashMap::new();
    let mut differences: HashMap<ValueId, (ValueId, ValueId)> = HashMap::new();
    let mut instead: HashMap<ValueId, ValueId> = HashMap::new();
    let last = |instead: &HashMap<ValueId, ValueId>, mut value: ValueId| {
        while let Some(other) = instead.get(&value) {
            value = *other;
        }
        value
    };
    each(ops, &mut |op| match op.name.as_str() {
        "arith.constant" => {
            let value = op.attribute("value").and_then(Attribute::as_int);
            known.extend(value.iter().flat_map(|value| op.results.iter().map(|result| (*result, *value))));
        }
        "arith.cmpi" => {
            let equal = op.attribute("predicate").and_then(Attribute::as_int) == Some(0);
            if let (true, Some(a), Some(b)) = (equal, known.get(&op.operands[0]), known.get(&op.operands[1]))
            {
                let value = i64::from(a == b);
                known.extend(op.results.iter().map(|result| (*result, value)));
            }
        }
        "arith.addi" | "arith.subi" | "arith.muli" | "arith.divsi" => {
            let [a, b] = [0, 1].map(|at| last(&instead, op.operands[at]));
            let neutral = i64::from(matches!(op.name.as_str(), "arith.muli" | "arith.divsi"));
            let commutes = matches!(op.name.as_str(), "arith.addi" | "arith.muli");
            if known.get(&b) == Some(&neutral) {
                instead.insert(op.results[0], a);
            } else if commutes && known.get(&a) == Some(&neutral) {
                instead.insert(op.results[0], b);
            } else if op.name == "arith.subi" {
                differences.insert(op.results[0], (a, b));
            } else if op.name == "arith.addi"
                && let Some((minuend, _)) = differences.get(&b).filter(|(_, taken)| *taken == a)
            {
                instead.insert(op.results[0], *minuend);
            }
        }
        "arith.select" => {
            if let Some(value) = known.get(&op.operands[0]) {
                instead.insert(op.results[0], op.operands[if *value == 0 { 2 } else { 1 }]);
            }
        }
        _ => {}
    });
    replace(ops, &instead);
}

/// Leaves out the loops that end where they begin; their results are what they would have started with.
fn drop_idle_loops(ops: &mut Vec<Op>) {
    fn is_idle(op: &Op) -> bool {
        op.name == "scf.for" && op.operands[0] == op.operands[1]
    }
    let mut instead = HashMap::new();
    each(ops, &mut |op| {
        if is_idle(op) {
            instead.extend(op.results.iter().copied().zip(op.operands.iter().skip(3).copied()));
        }
    });
    retain(ops, &|op| !is_idle(op));
    replace(ops, &instead);
}

/// Whether an op makes a view of its first operand.
fn is_view(op: &Op) -> bool {
    matches!(op.name.as_str(), "tpu.memref_slice" | "tpu.memref_squeeze")
}

/// Views that nothing but waits use, and those for their extent alone.
fn counted_only(ops: &[Op]) -> HashSet<ValueId> {
    let mut views: HashSet<ValueId> = HashSet::new();
    each(ops, &mut |op| views.extend(op.results.iter().filter(|_| is_view(op))));
    loop {
        let mut used = HashSet::new();
        each(ops, &mut |op| {
            for (at, operand) in op.operands.iter().enumerate() {
                let counted = match op.name.as_str() {
                    "tpu.wait_dma2" => at > 0,
                    _ if is_view(op) && at == 0 => views.contains(&op.results[0]),
                    _ => false,
                };
                if !counted {
                    used.insert(*operand);
                }
            }
        });
        let before = views.len();
        views.retain(|view| !used.contains(view));
        if views.len() == before {
            return views;
        }
    }
}

/// Lets those views begin at 0.
fn forget_places(ops: &mut [Op], counted: &HashSet<ValueId>, zero: ValueId, ty: &Type) {
    for op in ops {
        if op.name == "tpu.memref_slice" && counted.contains(&op.results[0]) {
            let (first, count) = index_operands(op);
            for index in first..first + count {
                if op.operand_types[index] == *ty {
                    op.operands[index] = zero;
                }
            }
        }
        op.regions.iter_mut().for_each(|region| forget_places(&mut region.ops, counted, zero, ty));
    }
}

/// Leaves out what nobody uses. Says whether there was anything.
fn drop_unused(body: &mut Region, scratch: &HashSet<ValueId>) -> bool {
    let (mut used, mut read) = (HashSet::new(), HashSet::new());
    each(&body.ops, &mut |op| {
        used.extend(op.operands.iter().copied());
        let stored = is_store(op);
        read.extend(
            op.operands.iter().enumerate().filter(|(at, _)| !stored || *at != 1).map(|(_, value)| *value),
        );
    });
    let unused = |op: &Op| match is_store(op) {
        true => scratch.contains(&op.operands[1]) && !read.contains(&op.operands[1]),
        false => {
            let pure = op.regions.is_empty() && !op.results.is_empty();
            pure && op.results.iter().all(|result| !used.contains(result))
        }
    };
    retain(&mut body.ops, &|op| !unused(op))
}

fn is_store(op: &Op) -> bool {
    matches!(op.name.as_str(), "memref.store" | "tpu.vector_store")
}

fn retain(ops: &mut Vec<Op>, keep: &dyn Fn(&Op) -> bool) -> bool {
    let before = ops.len();
    ops.retain(|op| keep(op));
    let mut dropped = ops.len() < before;
    for region in ops.iter_mut().flat_map(|op| &mut op.regions) {
        dropped |= retain(&mut region.ops, keep);
    }
    dropped
}

/// Numbers the values in the order of their definitions, so that it doesn't show how many an edit has added.
fn renumber(module: &mut Module) {
    fn define(ops: &[Op], numbers: &mut HashMap<ValueId, ValueId>) {
        for op in ops {
            let arguments =
                op.regions.iter().flat_map(|region| region.arguments.iter().map(|(value, _)| *value));
            for value in op.results.iter().copied().chain(arguments) {
                let next = ValueId(numbers.len() as u32);
                numbers.entry(value).or_insert(next);
            }
            op.regions.iter().for_each(|region| define(&region.ops, numbers));
        }
    }
    let mut numbers = HashMap::new();
    define(&module.ops, &mut numbers);
    module.walk_mut(|op, _| {
        let arguments =
            op.regions.iter_mut().flat_map(|region| region.arguments.iter_mut().map(|(value, _)| value));
        for value in op.results.iter_mut().chain(&mut op.operands).chain(arguments) {
            *value = numbers.get(value).copied().unwrap_or(*value);
        }
    });
    module.values = numbers.len() as u32;
}

fn each<'o>(ops: &'o [Op], visit: &mut dyn FnMut(&'o Op)) {
    for op in ops {
        visit(op);
        op.regions.iter().for_each(|region| each(&region.ops, visit));
    }
}
