//! Operators: the small faults that people make.
//!
//! Invariant: an edit keeps all types. An op that an operator has nothing to do with has no places.

use countersign_dtype::DType;

use crate::ir::{Attribute, ElementType, MemRefType, Op, Type, VectorType};

use super::Context;
use super::edit::Edit;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// A comparison says the opposite.
    Negate,
    /// `<` for `<=` and the like.
    Shift,
    /// The right side of a loop's comparison, or an integer constant, one larger.
    Increment,
    /// The same one smaller.
    Decrement,
    /// A float constant doubled; 1 for 0, 0 for an infinity.
    Double,
    /// A boolean constant, or a mask, inverted.
    Invert,
    /// Minimum for maximum.
    MinMax,
    /// Addition for subtraction, multiplication for division, remainder for quotient.
    Arithmetic,
    /// `and` for `or`.
    AndOr,
    /// Two operands swapped.
    Swap,
    /// The arms of a select swapped.
    Arms,
    /// A select always takes one of its arms.
    Decide,
    /// One side of an operation left out: the other is its result.
    Side,
    /// A store writes all lanes.
    Unmask,
    /// A branch is taken when it shouldn't be.
    Branch,
    /// A copy isn't started.
    NoStart,
    /// A wait doesn't wait.
    NoWait,
    /// A store doesn't store, such as the one that resets an accumulator.
    NoStore,
    /// The other of two buffers or semaphores.
    Other,
    /// An index one larger.
    IndexUp,
    /// An index one smaller.
    IndexDown,
    /// Two neighbouring indices swapped.
    IndexSwap,
    /// Maximum for sum.
    Reduction,
    /// Numbers along another dimension.
    Dimension,
    /// A square right operand of a product transposed.
    Transpose,
    /// A result rounded to bf16.
    Narrow,
    /// Two values that a loop carries swapped.
    Carry,
}

impl Operator {
    /// All of them.
    pub const ALL: [Operator; 27] = [
        Operator::Negate,
        Operator::Shift,
        Operator::Increment,
        Operator::Decrement,
        Operator::Double,
        Operator::Invert,
        Operator::MinMax,
        Operator::Arithmetic,
        Operator::AndOr,
        Operator::Swap,
        Operator::Arms,
        Operator::Decide,
        Operator::Side,
        Operator::Unmask,
        Operator::Branch,
        Operator::NoStart,
        Operator::NoWait,
        Operator::NoStore,
        Operator::Other,
        Operator::IndexUp,
        Operator::IndexDown,
        Operator::IndexSwap,
        Operator::Reduction,
        Operator::Dimension,
        Operator::Transpose,
        Operator::Narrow,
        Operator::Carry,
    ];

    /// The operator that reports call so.
    pub fn named(name: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|operator| operator.name() == name)
    }

    /// As it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Negate => "negate",
            Operator::Shift => "shift",
            Operator::Increment => "increment",
            Operator::Decrement => "decrement",
            Operator::Double => "double",
            Operator::Invert => "invert",
            Operator::MinMax => "min-max",
            Operator::Arithmetic => "arithmetic",
            Operator::AndOr => "and-or",
            Operator::Swap => "swap",
            Operator::Arms => "arms",
            Operator::Decide => "decide",
            Operator::Side => "side",
            Operator::Unmask => "unmask",
            Operator::Branch => "branch",
            Operator::NoStart => "no-start",
            Operator::NoWait => "no-wait",
            Operator::NoStore => "no-store",
            Operator::Other => "other-buffer",
            Operator::IndexUp => "index-up",
            Operator::IndexDown => "index-down",
            Operator::IndexSwap => "index-swap",
            Operator::Reduction => "reduction",
            Operator::Dimension => "dimension",
            Operator::Transpose => "transpose",
            Operator::Narrow => "narrow",
            Operator::Carry => "carry",
        }
    }

    /// What it does to an op, place by place; new values are numbered from `values` on.
    pub(super) fn edits(self, op: &Op, context: &Context, values: u32) -> Vec<Edit> {
        let name = op.name.as_str();
        let renamed = |to: Option<&str>| to.map(|to| Edit::changed(op, values, |op| op.name = to.to_owned()));
        let when = |is: bool, edit: &dyn Fn() -> Edit| if is { vec![edit()] } else { Vec::new() };
        let drops = |names: &[&str]| when(names.contains(&name), &|| Edit::dropped(op, values));
        match self {
            Operator::Negate => predicate(op, values, negated).into_iter().collect(),
            Operator::Shift => predicate(op, values, shifted).into_iter().collect(),
            Operator::Increment => {
                constant(op, values, 1).into_iter().chain(bound(op, context, values, 1)).collect()
            }
            Operator::Decrement => {
                constant(op, values, -1).into_iter().chain(bound(op, context, values, -1)).collect()
            }
            Operator::Double => doubled(op, values).into_iter().collect(),
            Operator::Invert => inverted(op, values).into_iter().collect(),
            Operator::MinMax => renamed(other(name, &MIN_MAX)).into_iter().collect(),
            Operator::Arithmetic => renamed(other(name, &ARITHMETIC)).into_iter().collect(),
            Operator::AndOr => renamed(other(name, &AND_OR)).into_iter().collect(),
            Operator::Swap => when(SWAPPED.contains(&name) && op.operands[0] != op.operands[1], &|| {
                Edit::changed(op, values, |op| op.operands.swap(0, 1))
            }),
            Operator::Arms => {
                when(name == "arith.select", &|| Edit::changed(op, values, |op| op.operands.swap(1, 2)))
            }
            Operator::Decide => match name {
                "arith.select" => vec![Edit::bypassed(op, values, 1), Edit::bypassed(op, values, 2)],
                _ => Vec::new(),
            },
            Operator::Side => match SIDES.contains(&name) {
                true => vec![Edit::bypassed(op, values, 0), Edit::bypassed(op, values, 1)],
                false => Vec::new(),
            },
            Operator::Unmask => unmasked(op, values).into_iter().collect(),
            Operator::Branch => when(name == "scf.if", &|| flipped(op, values, 0)),
            Operator::NoStart => drops(&["tpu.enqueue_dma"]),
            Operator::NoWait => drops(&["tpu.wait_dma2"]),
            Operator::NoStore => drops(&["tpu.vector_store", "memref.store"]),
            Operator::Other => other_of_two(op, context, values).into_iter().collect(),
            Operator::IndexUp => indices(op, context).map(|index| stepped(op, values, index, 1)).collect(),
            Operator::IndexDown => indices(op, context).map(|index| stepped(op, values, index, -1)).collect(),
            Operator::IndexSwap => {
                let (first, count) = index_operands(op);
                let neighbours = (first..first + count).zip(first + 1..first + count);
                let differ = |&(a, b): &(usize, usize)| op.operands[a] != op.operands[b];
                neighbours
                    .filter(differ)
                    .map(|(a, b)| Edit::changed(op, values, |op| op.operands.swap(a, b)))
                    .collect()
            }
            Operator::Reduction => {
                opaque(op, values, "kind", &[("vector.kind<add>", "vector.kind<maximumf>")])
            }
            Operator::Dimension => dimensions(op, values),
            Operator::Transpose => transposed(op, values),
            Operator::Narrow => narrowed(op, values).into_iter().collect(),
            Operator::Carry => carried(op, values),
        }
    }
}

/// Of integers alone: the machine knows no minimum of floats.
const MIN_MAX: [(&str, &str); 1] = [("arith.minsi", "arith.maxsi")];
const ARITHMETIC: [(&str, &str); 4] = [
    ("arith.addi", "arith.subi"),
    ("arith.addf", "arith.subf"),
    ("arith.mulf", "arith.divf"),
    ("arith.divsi", "arith.remsi"),
];
const AND_OR: [(&str, &str); 1] = [("arith.andi", "arith.ori")];
const SWAPPED: [&str; 5] = ["arith.subi", "arith.subf", "arith.divf", "arith.divsi", "arith.remsi"];
const SIDES: [&str; 12] = [
    "arith.addi",
    "arith.addf",
    "arith.subi",
    "arith.subf",
    "arith.muli",
    "arith.mulf",
    "arith.divf",
    "arith.andi",
    "arith.ori",
    "arith.minsi",
    "arith.maxsi",
    "arith.maximumf",
];
/// Results that are rounded to see whether their precision matters.
const NARROWED: [&str; 4] = ["tpu.matmul", "math.exp", "vector.multi_reduction", "arith.divf"];

/// The other of a pair that `name` is in.
fn other(name: &str, pairs: &[(&'static str, &'static str)]) -> Option<&'static str> {
    pairs.iter().find_map(|&(a, b)| match name {
        _ if name == a => Some(b),
        _ if name == b => Some(a),
        _ => None,
    })
}

fn set(op: &mut Op, name: &str, value: Attribute) {
    op.attributes.iter_mut().filter(|(key, _)| key == name).for_each(|(_, old)| *old = value.clone());
}

/// A comparison with another predicate; MLIR numbers those of integers and of floats differently.
fn predicate(op: &Op, values: u32, change: fn(bool, i64) -> Option<i64>) -> Option<Edit> {
    let floats = match op.name.as_str() {
        "arith.cmpi" => false,
        "arith.cmpf" => true,
        _ => return None,
    };
    let Some(Attribute::Int(predicate, ty)) = op.attribute("predicate") else { return None };
    let changed = change(floats, *predicate)?;
    Some(Edit::changed(op, values, |op| set(op, "predicate", Attribute::Int(changed, ty.clone()))))
}

fn negated(floats: bool, predicate: i64) -> Option<i64> {
    const PAIRS: [(i64, i64); 5] = [(0, 1), (2, 5), (3, 4), (6, 9), (7, 8)];
    // Ordered comparisons, whose opposite is the unordered one of the opposite sign.
    const FLOATS: [(i64, i64); 6] = [(1, 13), (2, 12), (3, 11), (4, 10), (5, 9), (6, 8)];
    pair(if floats { &FLOATS } else { &PAIRS }, predicate)
}

fn shifted(floats: bool, predicate: i64) -> Option<i64> {
    const PAIRS: [(i64, i64); 4] = [(2, 3), (4, 5), (6, 7), (8, 9)];
    const FLOATS: [(i64, i64); 4] = [(2, 3), (4, 5), (9, 10), (11, 12)];
    pair(if floats { &FLOATS } else { &PAIRS }, predicate)
}

fn pair(pairs: &[(i64, i64)], predicate: i64) -> Option<i64> {
    pairs.iter().find_map(|&(a, b)| match predicate {
        _ if predicate == a => Some(b),
        _ if predicate == b => Some(a),
        _ => None,
    })
}

/// The one number of a constant that is a scalar or a splat.
pub(super) fn number(op: &Op) -> Option<&Attribute> {
    match op.attribute("value").filter(|_| op.name == "arith.constant")? {
        Attribute::Splat(element, _) => Some(element),
        scalar => Some(scalar),
    }
}

/// The constant with another number.
fn renumbered(op: &Op, values: u32, number: Attribute) -> Edit {
    let value = match op.attribute("value") {
        Some(Attribute::Splat(_, ty)) => Attribute::Splat(Box::new(number), ty.clone()),
        _ => number,
    };
    Edit::changed(op, values, |op| set(op, "value", value))
}

fn constant(op: &Op, values: u32, step: i64) -> Option<Edit> {
    match number(op)? {
        Attribute::Int(value, ty) => Some(renumbered(op, values, Attribute::Int(value + step, ty.clone()))),
        _ => None,
    }
}

fn doubled(op: &Op, values: u32) -> Option<Edit> {
    let Attribute::Float { bits, ty } = number(op)? else { return None };
    let (value, shift) = match ty {
        Type::Scalar(DType::F32) => (f32::from_bits(*bits as u32), 0),
        Type::Scalar(DType::Bf16) => (f32::from_bits((*bits as u32) << 16), 16),
        _ => return None,
    };
    let other = match value {
        0.0 => 1.0,
        _ if value.is_infinite() => 0.0,
        _ if (value * 2.0).is_infinite() => value / 2.0,
        _ => value * 2.0,
    };
    let bits = u64::from(other.to_bits() >> shift);
    Some(renumbered(op, values, Attribute::Float { bits, ty: ty.clone() }))
}

fn inverted(op: &Op, values: u32) -> Option<Edit> {
    if let Some(Attribute::Bool(value)) = number(op) {
        return Some(renumbered(op, values, Attribute::Bool(!value)));
    }
    let mask = masked(op)?;
    Some(flipped(op, values, mask))
}

/// The operand with a store's mask.
fn masked(op: &Op) -> Option<usize> {
    let segments = op.attribute("operandSegmentSizes")?.as_ints()?;
    let masks = op.name == "tpu.vector_store" && segments.len() == 4 && segments[3] == 1;
    masks.then(|| op.operands.len() - 1)
}

/// The op with the opposite of a mask or flag.
fn flipped(op: &Op, values: u32, operand: usize) -> Edit {
    let mut edit = Edit::of(op, values);
    let ty = &op.operand_types[operand];
    let on = edit.constant(op, Attribute::Bool(true), ty);
    let flipped = edit.before(op, "arith.xori", &[(op.operands[operand], ty), (on, ty)], ty, &[]);
    edit.operand(operand, flipped);
    edit
}

fn unmasked(op: &Op, values: u32) -> Option<Edit> {
    masked(op)?;
    let mut segments = op.attribute("operandSegmentSizes")?.as_ints()?.to_vec();
    segments[3] = 0;
    Some(Edit::changed(op, values, |op| {
        op.operands.pop();
        op.operand_types.pop();
        set(op, "operandSegmentSizes", Attribute::IntArray(segments));
    }))
}

/// The comparison that a loop goes on by, its right side moved.
fn bound(op: &Op, context: &Context, values: u32, step: i64) -> Option<Edit> {
    let is = op.name == "arith.cmpi" && op.results.iter().any(|result| context.deciding.contains(result));
    (is && !context.constants.contains(&op.operands[1])).then(|| stepped(op, values, 1, step))
}

/// The op with `step` added to an integer operand.
fn stepped(op: &Op, values: u32, operand: usize, step: i64) -> Edit {
    let mut edit = Edit::of(op, values);
    let ty = &op.operand_types[operand];
    let step = edit.constant(op, Attribute::Int(step, ty.clone()), ty);
    let sum = edit.before(op, "arith.addi", &[(op.operands[operand], ty), (step, ty)], ty, &[]);
    edit.operand(operand, sum);
    edit
}

/// Which operands are indices: the first, and how many.
pub(super) fn index_operands(op: &Op) -> (usize, usize) {
    let segment = |at: usize| {
        let sizes = op.attribute("operandSegmentSizes").and_then(Attribute::as_ints);
        sizes.and_then(|sizes| sizes.get(at)).map_or(0, |&size| size.max(0) as usize)
    };
    let (first, count) = match op.name.as_str() {
        "memref.load" | "vector.load" | "tpu.strided_load" => (1, op.operands.len().saturating_sub(1)),
        "memref.store" => (2, op.operands.len().saturating_sub(2)),
        "tpu.memref_slice" => (1, segment(1)),
        "tpu.vector_store" => (2, segment(2)),
        _ => (0, 0),
    };
    (first, count.min(op.operands.len().saturating_sub(first)))
}

/// Index operands that are no constants.
fn indices<'o>(op: &'o Op, context: &'o Context) -> impl Iterator<Item = usize> + 'o {
    let (first, count) = index_operands(op);
    (first..first + count).filter(|&index| !context.constants.contains(&op.operands[index]))
}

/// A slice of two buffers or semaphores that takes the other one.
fn other_of_two(op: &Op, context: &Context, values: u32) -> Option<Edit> {
    let Type::MemRef(MemRefType { shape, .. }) = op.operand_types.first()? else { return None };
    let (first, count) = index_operands(op);
    let is = op.name == "tpu.memref_slice" && shape.first() == Some(&Some(2)) && count > 0;
    (is && !context.constants.contains(&op.operands[first])).then(|| {
        let mut edit = Edit::of(op, values);
        let ty = &op.operand_types[first];
        let one = edit.constant(op, Attribute::Int(1, ty.clone()), ty);
        let other = edit.before(op, "arith.subi", &[(one, ty), (op.operands[first], ty)], ty, &[]);
        edit.operand(first, other);
        edit
    })
}

/// An attribute that is kept as text, the one of each pair made the other.
fn opaque(op: &Op, values: u32, name: &str, pairs: &[(&'static str, &'static str)]) -> Vec<Edit> {
    let Some(Attribute::Opaque(text)) = op.attribute(name) else { return Vec::new() };
    let to = other(text, pairs);
    let changed =
        to.map(|to| Edit::changed(op, values, |op| set(op, name, Attribute::Opaque(to.to_owned()))));
    changed.into_iter().collect()
}

fn dimensions(op: &Op, values: u32) -> Vec<Edit> {
    let (Some(Type::Vector(VectorType { shape, .. })), Some([dimension])) =
        (op.result_types.first(), op.attribute("dimensions").and_then(Attribute::as_ints))
    else {
        return Vec::new();
    };
    // Along a dimension of one lane there is nothing to number.
    let others = (0..shape.len() as i64).filter(|other| other != dimension && shape[*other as usize] > 1);
    let to = |other| Edit::changed(op, values, |op| set(op, "dimensions", Attribute::IntArray(vec![other])));
    if op.name == "tpu.iota" { others.map(to).collect() } else { Vec::new() }
}

fn transposed(op: &Op, values: u32) -> Vec<Edit> {
    const PAIRS: [(&str, &str); 1] = [(
        "tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>",
        "tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>",
    )];
    let square = |ty: &Type| matches!(ty, Type::Vector(vector) if vector.shape.len() == 2 && vector.shape[0] == vector.shape[1]);
    match op.operand_types.get(1) {
        Some(right) if op.name == "tpu.matmul" && square(right) => {
            opaque(op, values, "dimension_numbers", &PAIRS)
        }
        _ => Vec::new(),
    }
}

fn narrowed(op: &Op, values: u32) -> Option<Edit> {
    let wide = op.result_types.first().filter(|_| NARROWED.contains(&op.name.as_str()))?;
    let Type::Vector(vector) = wide else { return None };
    (vector.element == ElementType::Data(DType::F32)).then(|| {
        let element = ElementType::Data(DType::Bf16);
        let narrow = Type::Vector(VectorType { element, ..vector.clone() });
        let mut edit = Edit::of(op, values);
        let rounded = edit.after(op, "arith.truncf", (op.results[0], wide), &narrow);
        edit.after(op, "arith.extf", (rounded, &narrow), wide);
        edit
    })
}

/// Neighbouring values of one type that a block hands on.
fn carried(op: &Op, values: u32) -> Vec<Edit> {
    let first = match op.name.as_str() {
        "scf.yield" => 0,
        "scf.condition" => 1,
        _ => return Vec::new(),
    };
    let alike = |&at: &usize| {
        op.operand_types[at] == op.operand_types[at + 1] && op.operands[at] != op.operands[at + 1]
    };
    let pairs = first..op.operands.len().saturating_sub(1);
    pairs.filter(alike).map(|at| Edit::changed(op, values, |op| op.operands.swap(at, at + 1))).collect()
}
