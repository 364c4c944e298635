//! The path of values that led to a fault: a second run of the program that keeps every value, walked back from the fault.
//!
//! A value's slot is written again only by another execution of the op that defines it, and an op reads only values whose
//! definitions dominate it. So at the fault every slot on the way back holds what was read, but for what a loop carries
//! around: of that the walk shows the value now, where it started, and which op makes the next one, without its value.
//!
//! Invariant: reads what a run left and changes nothing; the run is the ordinary one, its only difference that no value is
//! freed, which takes memory and no time.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::fault::{Fault, FaultClass, Place};
use crate::ir::Frame;
use crate::program::{Block, Inst, Kind, Parameter, Program, Slot};

use super::{BindError, Cell, End, Execution, Machine, Operand, OutputSpec, Policy};

/// Most steps of a path.
const MAX_STEPS: usize = 64;

/// One step back from a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// How many steps it is away from the fault.
    pub depth: usize,
    /// What computed the value: the op with its operands' values, `grid index 1`, `carried by the loop`.
    pub what: String,
    /// The value, in words.
    pub value: String,
    /// Where it was read from, if it was: the allocation and the element's indices.
    pub read: Option<(Place, Vec<i64>)>,
    /// The scalar read, where `read` is given and it is defined.
    pub scalar: Option<i64>,
    /// Python stack of the op, innermost frame first.
    pub stack: Vec<Frame>,
}

/// How a fault came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The fault.
    pub fault: Fault,
    /// From the fault backwards, depth first.
    pub path: Vec<Step>,
    /// Whether the path is longer than what is kept of it.
    pub cut: bool,
}

/// `arith.addi(3, 1) = 4`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:indent$}{}", "", self.what, indent = 2 * self.depth)?;
        if !self.value.is_empty() {
            write!(f, " = {}", self.value)?;
        }
        Ok(())
    }
}

/// Runs `program`, which isn't optimised, and follows the fault's values back; `None` where it ends without a fault.
///
/// # Errors
/// If operands or outputs don't fit the program.
pub fn trace(
    program: &Program,
    operands: &[Operand],
    outputs: &[OutputSpec],
    policy: &Policy,
) -> Result<Option<Trace>, BindError> {
    let mut keeping = program.clone();
    keep(&mut keeping.body);
    keeping.parameters.iter_mut().filter_map(Parameter::transform_mut).for_each(|map| keep(&mut map.body));
    let mut machine = Machine::new(Arc::new(keeping));
    let mut found = None;
    machine.run_and_look(operands, outputs, policy, |execution, end| {
        if let End::Fault(fault) = end {
            let mut walk = Walk::new(execution, fault.class == FaultClass::UndefinedUse);
            walk.start(fault, operands);
            found = Some(Trace { fault: (**fault).clone(), path: walk.path, cut: walk.cut });
        }
    })?;
    Ok(found)
}

fn keep(block: &mut Block) {
    for inst in &mut block.insts {
        inst.frees.clear();
        inst.kind.blocks_mut().into_iter().for_each(keep);
    }
}

/// What defines a slot.
#[derive(Clone, Copy)]
enum Definition<'p> {
    Nothing,
    Grid(usize),
    Inst(&'p Inst),
    /// A result of a branch or loop.
    Result(&'p Inst, usize),
    /// What a loop carries around, seen by its condition.
    Carried(&'p Inst, usize),
    /// The same as another slot.
    Same(Slot),
}

struct Walk<'p> {
    program: &'p Program,
    run: &'p Execution<'p>,
    definitions: Vec<Definition<'p>>,
    /// Follow undefined values alone.
    undefined: bool,
    seen: BTreeSet<Slot>,
    path: Vec<Step>,
    cut: bool,
}

impl<'p> Walk<'p> {
    fn new(run: &'p Execution<'p>, undefined: bool) -> Walk<'p> {
        let program = run.program;
        let mut walk = Walk {
            program,
            run,
            definitions: vec![Definition::Nothing; program.slots],
            undefined,
            seen: BTreeSet::new(),
            path: Vec::new(),
            cut: false,
        };
        let maps = program.parameters.iter().filter_map(Parameter::transform);
        for slots in maps.clone().map(|map| &map.grid_slots).chain([&program.grid_slots]) {
            for (dim, &slot) in slots.iter().enumerate() {
                walk.definitions[slot as usize] = Definition::Grid(dim);
            }
        }
        for block in maps.map(|map| &map.body).chain([&program.body]) {
            walk.define(block);
        }
        walk
    }

    fn define(&mut self, block: &'p Block) {
        for inst in &block.insts {
            match &inst.kind {
                Kind::If { then, otherwise, outs, .. } => {
                    self.define(then);
                    self.define(otherwise);
                    for (at, &slot) in outs.iter().enumerate() {
                        self.definitions[slot as usize] = Definition::Result(inst, at);
                    }
                }
                Kind::While { before, after, outs, .. } => {
                    self.define(before);
                    self.define(after);
                    for (at, &slot) in before.arguments.iter().enumerate() {
                        self.definitions[slot as usize] = Definition::Carried(inst, at);
                    }
                    let forwarded =
                        after.arguments.iter().zip(&before.yields).chain(outs.iter().zip(&before.yields));
                    for (&slot, &from) in forwarded {
                        self.definitions[slot as usize] = Definition::Same(from);
                    }
                }
                _ => self.definitions[inst.out as usize] = Definition::Inst(inst),
            }
        }
    }

    fn start(&mut self, fault: &Fault, operands: &[Operand]) {
        if fault.op == "window" {
            let label = fault.place.as_ref().map(|place| place.label.as_str());
            let map = self.program.parameters.iter().zip(labels(self.program, operands));
            let map = map.filter(|(_, name)| Some(name.as_str()) == label).find_map(|(p, _)| p.transform());
            map.iter().flat_map(|map| &map.body.yields).for_each(|&slot| self.follow(slot, 0));
            return;
        }
        if fault.class == FaultClass::Residue {
            // The copy was started long ago; nothing on the way to it need hold what it held then.
            return;
        }
        let site = fault.index_site.or(fault.site);
        let Some(inst) = site.and_then(|site| find(self.program, site)) else { return };
        match &inst.kind {
            Kind::While { flag, .. } => self.follow(*flag, 0),
            // The view as such is what it should be; where in it the index points isn't.
            Kind::MemSlice { indices, .. }
            | Kind::ScalarLoad { indices, .. }
            | Kind::ScalarStore { indices, .. }
            | Kind::Load { indices, .. }
            | Kind::Store { indices, .. }
                if fault.class != FaultClass::Race =>
            {
                indices.iter().for_each(|&slot| self.follow(slot, 0));
            }
            kind => kind.reads(|slot| self.follow(slot, 0)),
        }
    }

    fn follow(&mut self, slot: Slot, depth: usize) {
        if self.undefined && !self.is_undefined(slot) || !self.seen.insert(slot) {
            return;
        }
        match self.definitions[slot as usize] {
            Definition::Nothing => {}
            Definition::Same(from) => self.follow(from, depth),
            Definition::Grid(dim) => self.step(slot, depth, format!("grid index {dim}"), None),
            Definition::Result(inst, at) => {
                if let Kind::If { condition, then, otherwise, .. } = &inst.kind {
                    let taken = self.run.scalar(*condition).bits != 0;
                    let side = if taken { then } else { otherwise };
                    let what = format!("scf.if, {} side", if taken { "true" } else { "false" });
                    self.step(slot, depth, what, Some(inst));
                    side.yields.get(at).into_iter().for_each(|&from| self.follow(from, depth + 1));
                }
            }
            Definition::Carried(inst, at) => self.carried(slot, inst, at, depth),
            Definition::Inst(inst) => self.inst(slot, inst, depth),
        }
    }

    fn carried(&mut self, slot: Slot, inst: &'p Inst, at: usize, depth: usize) {
        let Kind::While { inits, after, .. } = &inst.kind else { return };
        let next = after.yields.get(at).map(|&slot| self.definitions[slot as usize]);
        let next = match next {
            Some(Definition::Inst(next)) => {
                let site = &self.program.sites[next.site as usize];
                let line =
                    site.stack.first().map_or_else(String::new, |frame| format!(" in line {}", frame.line));
                format!(", each turn by {}{line}", site.op)
            }
            _ => String::new(),
        };
        self.step(slot, depth, format!("carried by the loop{next}"), Some(inst));
        if let Some(&init) = inits.get(at) {
            if matches!(self.definition(init), Definition::Inst(Inst { kind: Kind::ScalarConstant(_), .. })) {
                let value = self.value(init);
                self.push(Step { value, ..Step::of(depth + 1, "starts as a constant".to_owned()) });
            } else {
                self.follow(init, depth + 1);
            }
        }
    }

    fn inst(&mut self, slot: Slot, inst: &'p Inst, depth: usize) {
        let op = &self.program.sites[inst.site as usize].op;
        match &inst.kind {
            // Their values stand with their readers.
            Kind::ScalarConstant(_) | Kind::VectorConstant(_) => {}
            Kind::Iota { dims, dimension } => {
                let what = format!("{op} over dimension {dimension} of {:?}", dims.as_slice());
                self.step(slot, depth, what, Some(inst));
            }
            Kind::ScalarLoad { base, indices } => {
                let view = self.run.view(*base);
                let ones = crate::value::Dims::ones(view.dims.rank());
                let view = view.slice(&self.run.indices(indices), &ones, inst.site);
                let place = self.run.memory.allocations[view.allocation as usize].place();
                let at = unravel(view.offset, &place.shape);
                let what = format!("{op} of {}{at:?}", place.label);
                let scalar = self.run.scalar(slot);
                self.push(Step {
                    value: self.value(slot),
                    read: Some((place, at)),
                    scalar: scalar.is_defined().then(|| scalar.as_i64()),
                    stack: self.stack(inst),
                    ..Step::of(depth, what)
                });
                indices.iter().chain([base]).for_each(|&slot| self.follow(slot, depth + 1));
            }
            Kind::Load { base, indices, .. } => {
                let what = format!("{op} of {}", self.value(*base));
                self.step(slot, depth, what, Some(inst));
                indices.iter().chain([base]).for_each(|&slot| self.follow(slot, depth + 1));
            }
            kind => {
                let mut operands = Vec::new();
                kind.reads(|slot| operands.push(slot));
                let values: Vec<String> = operands.iter().map(|&slot| self.value(slot)).collect();
                let what = format!("{op}{}({})", relation(kind), values.join(", "));
                self.step(slot, depth, what, Some(inst));
                operands.into_iter().for_each(|slot| self.follow(slot, depth + 1));
            }
        }
    }

    fn step(&mut self, slot: Slot, depth: usize, what: String, inst: Option<&Inst>) {
        let stack = inst.map(|inst| self.stack(inst)).unwrap_or_default();
        self.push(Step { value: self.value(slot), stack, ..Step::of(depth, what) });
    }

    fn push(&mut self, step: Step) {
        match self.path.len() < MAX_STEPS {
            true => self.path.push(step),
            false => self.cut = true,
        }
    }

    fn stack(&self, inst: &Inst) -> Vec<Frame> {
        self.program.sites[inst.site as usize].stack.clone()
    }

    /// The definition behind slots that are the same.
    fn definition(&self, mut slot: Slot) -> Definition<'p> {
        loop {
            match self.definitions[slot as usize] {
                Definition::Same(from) => slot = from,
                other => return other,
            }
        }
    }

    fn is_undefined(&self, slot: Slot) -> bool {
        match &self.run.cells[slot as usize] {
            Cell::Scalar(scalar) => !scalar.is_defined(),
            Cell::Vector(vector) => vector.undefined.is_some(),
            Cell::View(view) => view.complaint.is_some(),
            Cell::Empty => false,
        }
    }

    fn value(&self, slot: Slot) -> String {
        match &self.run.cells[slot as usize] {
            Cell::Empty => String::new(),
            Cell::Scalar(scalar) if !scalar.is_defined() => "undefined".to_owned(),
            Cell::Scalar(scalar) => match self.definition(slot) {
                Definition::Inst(inst) if is_float(&self.program.sites[inst.site as usize].op) => {
                    format!("{:?}", f32::from_bits(scalar.bits))
                }
                _ => scalar.as_i64().to_string(),
            },
            Cell::Vector(vector) => match vector.undefined {
                Some(_) => "a vector with undefined lanes".to_owned(),
                None => "a vector".to_owned(),
            },
            Cell::View(view) => {
                let place = self.run.memory.allocations[view.allocation as usize].place();
                match view.complaint {
                    Some(_) => format!("{} outside its bounds", place.label),
                    None if view
                        .dims
                        .as_slice()
                        .iter()
                        .map(|&extent| extent as usize)
                        .eq(place.shape.iter().copied()) =>
                    {
                        place.label
                    }
                    None => format!("{} from {:?}", place.label, unravel(view.offset, &place.shape)),
                }
            }
        }
    }
}

impl Step {
    fn of(depth: usize, what: String) -> Step {
        Step { depth, what, value: String::new(), read: None, scalar: None, stack: Vec::new() }
    }
}

/// What the caller calls the parameters, in their order; empty for those that it gives no name.
fn labels(program: &Program, operands: &[Operand]) -> Vec<String> {
    let mut operands = operands.iter();
    let mut outputs = 0..;
    let label = |parameter: &Parameter| match parameter {
        parameter if parameter.is_operand() => operands.next().map(|operand| operand.label.to_owned()),
        parameter if parameter.is_output() => outputs.next().map(|output| format!("output {output}")),
        _ => None,
    };
    program.parameters.iter().map(label).map(Option::unwrap_or_default).collect()
}

fn find(program: &Program, site: u32) -> Option<&Inst> {
    fn within(block: &Block, site: u32) -> Option<&Inst> {
        block.insts.iter().find_map(|inst| {
            let nested = || inst.kind.blocks().into_iter().find_map(|(block, _)| within(block, site));
            if inst.site == site { Some(inst) } else { nested() }
        })
    }
    let maps = program.parameters.iter().filter_map(Parameter::transform).map(|map| &map.body);
    maps.chain([&program.body]).find_map(|block| within(block, site))
}

/// The indices of the element at `offset`, row-major.
fn unravel(offset: i64, shape: &[usize]) -> Vec<i64> {
    let mut indices = vec![0; shape.len()];
    let mut rest = offset;
    for (index, &extent) in indices.iter_mut().zip(shape).rev() {
        *index = rest.rem_euclid(extent.max(1) as i64);
        rest = rest.div_euclid(extent.max(1) as i64);
    }
    indices
}

/// The relation of a compare, which its op's name doesn't say.
fn relation(kind: &Kind) -> String {
    match kind {
        Kind::Binary { op, .. } => {
            let name = format!("{op:?}");
            name.strip_prefix("Cmp")
                .map_or_else(String::new, |relation| format!(" {}", relation.to_lowercase()))
        }
        _ => String::new(),
    }
}

fn is_float(op: &str) -> bool {
    op.starts_with("math.")
        || ["addf", "subf", "mulf", "divf", "maximumf", "extf", "truncf", "sitofp"]
            .iter()
            .any(|name| op.strip_prefix("arith.") == Some(name))
}
