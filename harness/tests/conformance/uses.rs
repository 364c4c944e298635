//! Which ops a module uses, and at which element types.
//!
//! Invariant: derived from the module alone; the same for programs written by hand and for lowered kernels.

use std::collections::{BTreeMap, BTreeSet};

use countersign_mosaic::ir::{Attribute, ElementType, Module, Op, Type, ValueId};

/// An op at an element type (or pair of them, for conversions and products).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Use {
    pub(crate) op: String,
    /// E.g. `bf16`, `f32 to bf16`, `bf16 x i8`, `f32 add`; empty for ops without one.
    pub(crate) dtype: String,
}

impl Use {
    fn of(op: &Op) -> Use {
        Use { op: op.name.clone(), dtype: dtype(op) }
    }
}

/// All ops of the module's functions, functions and terminators left out.
pub(crate) fn uses(module: &Module) -> BTreeSet<Use> {
    let mut uses = BTreeSet::new();
    module.walk(|op, _| {
        let structure = ["func.func", "func.return", "scf.yield", "scf.condition"];
        if !structure.contains(&op.name.as_str()) {
            uses.insert(Use::of(op));
        }
    });
    uses
}

/// For each of the kernel's `outputs`, the ops that its value comes from; where that takes more than following operands back
/// from its stores (branches, loops, copies, grids), all ops of the module.
pub(crate) fn uses_by_output(module: &Module, outputs: usize) -> Vec<BTreeSet<Use>> {
    let kernel = &module.ops[0];
    let region = &kernel.regions[0];
    let scratch = kernel.attribute("scratch_operands").and_then(Attribute::as_int).unwrap_or(0) as usize;
    let last = region.arguments.len() - scratch;
    let straight = module.ops.len() == 1 && region.ops.iter().all(|op| op.regions.is_empty());
    let defined: BTreeMap<ValueId, &Op> =
        region.ops.iter().flat_map(|op| op.results.iter().map(move |&value| (value, op))).collect();
    let outputs: Vec<ValueId> =
        region.arguments[last - outputs..last].iter().map(|(argument, _)| *argument).collect();
    let stored = |op: &Op| {
        let stores = ["tpu.vector_store", "memref.store"].contains(&op.name.as_str());
        op.operands.get(1).copied().filter(|target| stores && outputs.contains(target))
    };
    let of_output = |output: ValueId| {
        if !straight || !region.ops.iter().any(|op| stored(op) == Some(output)) {
            return uses(module);
        }
        // Its stores, and what acts on all outputs: copies, stores elsewhere, spans.
        let acts = |op: &&Op| {
            op.results.is_empty()
                && op.name != "func.return"
                && stored(op).is_none_or(|target| target == output)
        };
        let mut found = BTreeSet::new();
        let mut left: Vec<&Op> = region.ops.iter().filter(acts).collect();
        while let Some(op) = left.pop() {
            found.insert(Use::of(op));
            left.extend(op.operands.iter().filter_map(|value| defined.get(value)));
        }
        found
    };
    outputs.iter().map(|&output| of_output(output)).collect()
}

fn dtype(op: &Op) -> String {
    let operand = |index: usize| op.operand_types.get(index).map_or("", element);
    let result = || op.result_types.first().map_or("", element);
    match op.name.as_str() {
        "scf.for" | "scf.if" | "scf.while" | "tpu.trace_start" | "tpu.trace_stop" => String::new(),
        "arith.constant" | "arith.select" | "tpu.iota" => result().to_owned(),
        "vector.multi_reduction" => {
            let kind = match op.attribute("kind") {
                Some(Attribute::Opaque(kind)) => {
                    kind.trim_start_matches("vector.kind<").trim_end_matches('>')
                }
                _ => "",
            };
            format!("{} {kind}", operand(0))
        }
        "tpu.matmul" => format!("{} x {}", operand(0), operand(1)),
        "tpu.wait_dma2" => operand(1).to_owned(),
        "tpu.memref_bitcast" | "tpu.bitcast" | "arith.bitcast" | "arith.index_cast" => conversion(op),
        name if ["arith.ext", "arith.trunc", "arith.sitofp", "arith.fptosi"]
            .iter()
            .any(|of| name.starts_with(of)) =>
        {
            conversion(op)
        }
        _ => operand(0).to_owned(),
    }
}

fn conversion(op: &Op) -> String {
    let of = |types: &[Type]| types.first().map_or("", element).to_owned();
    format!("{} to {}", of(&op.operand_types), of(&op.result_types))
}

fn element(ty: &Type) -> &'static str {
    let of = |element: &ElementType| match element {
        ElementType::Data(dtype) => dtype.name(),
        ElementType::Index => "index",
        ElementType::DmaSemaphore | ElementType::Semaphore => "semaphore",
    };
    match ty {
        Type::Scalar(dtype) => dtype.name(),
        Type::Index => "index",
        Type::Vector(vector) | Type::Tensor(vector) => of(&vector.element),
        Type::MemRef(memref) => of(&memref.element),
        Type::I64 | Type::Function(..) | Type::Opaque(_) => "",
    }
}
