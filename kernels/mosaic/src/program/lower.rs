//! Lowering: a parsed module to a program, once.
//!
//! Invariant: collects everything unsupported before it gives up, each with op, reason and place.

use countersign_dtype::DType;

use crate::ir::{Attribute, ElementType, Module, Op, Region, Type, ValueId};
use crate::op::{self, Conversion, Lowering, Special};
use crate::value::{Dims, MAX_RANK};

use super::counted::{self, counted};
use super::inst::{Block, Inst, Kind, SharedVector, Slot};
use super::read::{
    Lowered, data_memref, element, ints, matmul, memref, memref_dims, operand, result_dims, result_element,
    segments, shape, slots, squeezed, wait_segments, window,
};
use super::scope::{Scope, is_terminator, regions};
use super::window::{Parameter, Transform, Window};
use super::{
    CoverageKind, CoveragePoint, Program, Reach, Site, lifetime, narrowing, reach, static_dims, verify,
};

/// Something in a module that we don't know how to execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The op.
    pub op: String,
    /// What about it, in words.
    pub what: String,
    /// Line in the module's text, from 1.
    pub line: u32,
}

/// Why a module can't be lowered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} unsupported, the first: {}", self.unsupported.len(), self.first())]
pub struct LowerError {
    /// Everything unsupported, in the module's order.
    pub unsupported: Vec<Unsupported>,
}

impl LowerError {
    fn first(&self) -> String {
        self.unsupported
            .first()
            .map_or_else(String::new, |first| format!("{} at line {} ({})", first.op, first.line, first.what))
    }
}

impl Program {
    /// Lowers the kernel function of `module` (the first one with `iteration_bounds`, else the first), which has
    /// `outputs` outputs after its inputs.
    ///
    /// # Errors
    /// Names every op, attribute and type that the machine doesn't know.
    pub fn lower(module: &Module, outputs: usize) -> Result<Program, LowerError> {
        let mut lowering = Context {
            module,
            scope: Scope::new(module.values),
            sites: Vec::new(),
            points: Vec::new(),
            implied: (0, 0),
            unsupported: Vec::new(),
        };
        let kernel = module
            .ops
            .iter()
            .find(|op| op.attribute("iteration_bounds").is_some())
            .or_else(|| module.ops.first())
            .filter(|op| op.name == "func.func" && op.regions.len() == 1);
        let program = match kernel {
            Some(kernel) => lowering.kernel(kernel, outputs),
            None => {
                lowering.unsupported.push(Unsupported {
                    op: "module".into(),
                    what: "has no function".into(),
                    line: 1,
                });
                None
            }
        };
        match program {
            Some(program) if lowering.unsupported.is_empty() => Ok(program),
            _ => Err(LowerError { unsupported: lowering.unsupported }),
        }
    }
}

/// The window of an array that isn't pipelined.
static WHOLE: Attribute = Attribute::Dict(Vec::new());

struct Context<'m> {
    module: &'m Module,
    scope: Scope<'m>,
    sites: Vec<Site>,
    points: Vec<CoveragePoint>,
    /// Slots and instructions that counted loops have besides the module's.
    implied: (Slot, usize),
    unsupported: Vec<Unsupported>,
}

impl<'m> Context<'m> {
    fn refuse(&mut self, op: &Op, what: String) {
        self.unsupported.push(Unsupported { op: op.name.clone(), what, line: op.line });
    }

    fn site(&mut self, op: &Op) -> u32 {
        let stack = self.module.locations.stack(op.location).to_vec();
        self.sites.push(Site { op: op.name.clone(), stack, line: op.line });
        (self.sites.len() - 1) as u32
    }

    fn points(&mut self, site: u32, kinds: impl IntoIterator<Item = CoverageKind>) -> u32 {
        let first = self.points.len() as u32;
        self.points.extend(kinds.into_iter().map(|kind| CoveragePoint { site, kind }));
        first
    }

    fn kernel(&mut self, function: &'m Op, outputs: usize) -> Option<Program> {
        let region = &function.regions[0];
        let grid = match function.attribute("iteration_bounds") {
            Some(bounds) => bounds.as_ints().map(<[i64]>::to_vec),
            None => Some(Vec::new()),
        };
        let count =
            |name: &str| function.attribute(name).and_then(Attribute::as_int).unwrap_or(0).max(0) as usize;
        let (prefetch, scratch) = (count("scalar_prefetch"), count("scratch_operands"));
        let Some(grid) = grid else {
            self.refuse(function, "iteration_bounds is not a list of integers".into());
            return None;
        };
        for (name, _) in &function.attributes {
            const KNOWN: [&str; 9] = [
                "dimension_semantics",
                "function_type",
                "iteration_bounds",
                "scalar_prefetch",
                "scratch_operands",
                "sym_name",
                "sym_visibility",
                "tpu.core_type",
                "window_params",
            ];
            if !KNOWN.contains(&name.as_str()) {
                self.refuse(function, format!("attribute {name}"));
            }
        }
        let arguments = &region.arguments;
        let others = prefetch.checked_add(scratch).and_then(|others| others.checked_add(grid.len()));
        let arrays = others.and_then(|others| arguments.len().checked_sub(others));
        // A kernel without a grid has no windows to speak of: it sees every array whole.
        let windows = function.attribute("window_params").and_then(Attribute::as_array);
        let fit =
            |&arrays: &usize| arrays >= outputs && windows.is_none_or(|windows| windows.len() == arrays);
        let Some(arrays) = arrays.filter(fit) else {
            self.refuse(function, "arguments don't match grid, prefetch, windows and scratch".into());
            return None;
        };
        let steps = grid.iter().try_fold(1u64, |steps, &extent| steps.checked_mul(extent.max(0) as u64));
        if steps.is_none_or(|steps| steps > verify::MAX_GRID) {
            self.refuse(function, format!("a grid of more than {} steps", verify::MAX_GRID));
            return None;
        }
        if !arguments[..grid.len()].iter().all(|(_, ty)| *ty == Type::Scalar(DType::I32)) {
            self.refuse(function, "grid indices that aren't i32".into());
            return None;
        }
        let prefetched: Vec<&Type> =
            arguments[grid.len()..grid.len() + prefetch].iter().map(|(_, ty)| ty).collect();
        let inputs = arrays - outputs;
        let grid_slots = arguments[..grid.len()].iter().map(|(value, _)| value.0).collect();
        let mut parameters = Vec::new();
        for (index, (value, ty)) in arguments[grid.len()..].iter().enumerate() {
            let lowered = if index < prefetch {
                self.prefetch(*value, ty)
            } else if index < prefetch + arrays {
                let array = index - prefetch;
                let window = windows.map_or(&WHOLE, |windows| &windows[array]);
                self.array(*value, ty, array >= inputs, window, (grid.len(), &prefetched))
            } else {
                self.scratch(*value, ty)
            };
            match lowered {
                Ok(parameter) => parameters.push(parameter),
                Err(what) => self.refuse(function, what),
            }
        }
        let mut body = self.block(region).0;
        let slots = self.module.values as usize + 1 + self.implied.0 as usize;
        lifetime::finish(&mut body, slots);
        let mut positions: Vec<Slot> = grid_slots;
        let grid_slots = positions.clone();
        let mut transforms: Vec<&mut Block> = Vec::new();
        for transform in parameters.iter_mut().filter_map(Parameter::transform_mut) {
            positions.extend(&transform.grid_slots);
            transforms.push(&mut transform.body);
        }
        narrowing::mark(&mut body, &mut transforms, &positions, slots);
        let last = region.ops.last().filter(|op| op.name == "func.return");
        let returns: Lowered<Vec<Dims>> =
            last.map_or(Ok(Vec::new()), |op| op.operand_types.iter().map(shape).collect());
        let returns = match returns {
            Ok(returns) => returns,
            Err(what) => {
                self.refuse(function, what);
                Vec::new()
            }
        };
        let name = function.attribute("sym_name").and_then(Attribute::as_str).unwrap_or("kernel").to_owned();
        let ops = self.sites.len() + self.implied.1;
        let mut reached = Vec::new();
        reach(&body, &Reach::Always, &mut reached);
        Some(Program {
            name,
            grid,
            prefetch,
            grid_slots,
            parameters,
            body,
            returns,
            slots,
            constants: Vec::new(),
            sites: std::mem::take(&mut self.sites),
            points: std::mem::take(&mut self.points),
            ops,
            reach: reached,
        })
    }

    fn prefetch(&mut self, value: ValueId, ty: &Type) -> Lowered<Parameter> {
        let (dtype, dims, _) = data_memref(ty)?;
        Ok(Parameter::Prefetch { slot: value.0, dtype, dims })
    }

    fn scratch(&mut self, value: ValueId, ty: &Type) -> Lowered<Parameter> {
        let Type::MemRef(memref) = ty else { return Err(format!("scratch of type {ty:?}")) };
        if memref.element == ElementType::DmaSemaphore {
            let dims = static_dims(memref).ok_or("semaphores of dynamic shape")?;
            return Ok(Parameter::Semaphores { slot: value.0, dims });
        }
        let (dtype, dims, space) = data_memref(ty)?;
        Ok(Parameter::Scratch { slot: value.0, dtype, dims, space })
    }

    fn array(
        &mut self,
        value: ValueId,
        ty: &Type,
        output: bool,
        window: &Attribute,
        seen: (usize, &[&Type]),
    ) -> Lowered<Parameter> {
        let (dtype, dims, space) = data_memref(ty)?;
        let Attribute::Dict(entries) = window else {
            return Err("window_params entry is not a dictionary".into());
        };
        if entries.is_empty() {
            return Ok(Parameter::Array { slot: value.0, dtype, dims, space, output, window: None });
        }
        let mut block = None;
        let mut transform = None;
        for (key, entry) in entries {
            match (key.as_str(), entry) {
                ("window_bounds", Attribute::IntArray(bounds)) => {
                    let bounds: Vec<usize> = bounds.iter().map(|&bound| bound.max(0) as usize).collect();
                    block = Dims::new(&bounds);
                }
                ("transform_indices", Attribute::Symbol(name)) => {
                    transform = Some(self.transform(name, dims.rank(), seen)?)
                }
                _ => return Err(format!("window attribute {key}")),
            }
        }
        let (Some(block), Some(transform)) = (block, transform) else {
            return Err("a window without bounds or transform".into());
        };
        if block != dims {
            return Err("a window whose bounds differ from its buffer".into());
        }
        let window = Some(Box::new(Window { block, transform }));
        Ok(Parameter::Array { slot: value.0, dtype, dims, space, output, window })
    }

    /// The function @`name`: from grid indices and scalar-prefetch operands to `rank` block indices.
    fn transform(
        &mut self,
        name: &str,
        rank: usize,
        (grid, scalars): (usize, &[&Type]),
    ) -> Lowered<Transform> {
        let function = self.module.function(name).filter(|op| op.regions.len() == 1);
        let function = function.ok_or_else(|| format!("no function @{name}"))?;
        let region = &function.regions[0];
        let i32s = |ty: &Type| *ty == Type::Scalar(DType::I32);
        let fits = region.arguments.len() == grid + scalars.len()
            && region.arguments.iter().take(grid).all(|(_, ty)| i32s(ty))
            && region.arguments.iter().skip(grid).zip(scalars).all(|((_, ty), scalar)| ty == *scalar)
            && region.ops.last().is_some_and(|last| {
                last.name == "func.return"
                    && last.operand_types.len() == rank
                    && last.operand_types.iter().all(i32s)
            });
        if !fits {
            return Err(format!("@{name} doesn't take grid and scalars to {rank} block indices"));
        }
        let slots: Vec<Slot> = region.arguments.iter().map(|(value, _)| value.0).collect();
        let body = self.block(region).0;
        Ok(Transform { grid_slots: slots[..grid].to_vec(), scalar_slots: slots[grid..].to_vec(), body })
    }

    /// A block, and the flag of its terminator if that is `scf.condition`.
    fn block(&mut self, region: &'m Region) -> (Block, Option<Slot>) {
        let mark = self.scope.enter();
        let whole = self.inside(region);
        self.scope.leave(mark);
        whole
    }

    fn inside(&mut self, region: &'m Region) -> (Block, Option<Slot>) {
        let mut block = Block {
            arguments: region.arguments.iter().map(|(value, _)| value.0).collect(),
            ..Block::default()
        };
        let mut flag = None;
        for (value, ty) in &region.arguments {
            if let (Err(what), Some(first)) = (self.scope.define(*value, ty), region.ops.first()) {
                self.refuse(first, format!("in a region with {what}"));
            }
        }
        for (at, op) in region.ops.iter().enumerate() {
            if let Err(what) = self.scope.uses(op) {
                self.refuse(op, what);
            }
            if is_terminator(op) && at + 1 < region.ops.len() {
                self.refuse(op, "ops after the end of a block".into());
            }
            let operands = op.operands.iter().map(|value| value.0);
            match op.name.as_str() {
                "scf.yield" | "func.return" => block.yields = operands.collect(),
                "scf.condition" => {
                    flag = op.operands.first().map(|value| value.0);
                    block.yields = operands.skip(1).collect();
                }
                _ => {
                    let site = self.site(op);
                    match self.inst(op, site) {
                        Ok(kind) => {
                            // Ops without results write to a slot of their own that nobody reads.
                            let out = op.results.first().map_or(self.module.values, |value| value.0);
                            block.insts.push(Inst { kind, out, site, frees: Vec::new() });
                        }
                        Err(what) => self.refuse(op, what),
                    }
                    if let Err(what) = self.scope.results(op) {
                        self.refuse(op, what);
                    }
                }
            }
        }
        (block, flag)
    }

    fn inst(&mut self, op: &'m Op, site: u32) -> Lowered<Kind> {
        let (_, known, lowering) = op::entry(&op.name).ok_or("unknown op")?;
        for (name, _) in &op.attributes {
            if !known.contains(&name.as_str()) && !op::HARMLESS.contains(&name.as_str()) {
                return Err(format!("attribute {name}"));
            }
        }
        verify::op(op, lowering)?;
        regions(op)?;
        let a = || operand(op, 0);
        let b = || operand(op, 1);
        match lowering {
            Lowering::FloatUnary(step) => {
                let then = op::narrow(result_element(op)?);
                Ok(Kind::Unary { steps: std::iter::once(*step).chain(then).collect(), a: a()? })
            }
            Lowering::FloatBinary(binary) => {
                let dtype = result_element(op)?;
                // The larger of two numbers of a type is of that type.
                let exact = matches!(binary, crate::ops::scalar::Binary::MaximumF);
                let then = if exact { None } else { op::narrow(dtype) };
                Ok(Kind::Binary { op: *binary, a: a()?, b: b()?, then })
            }
            Lowering::IntBinary(binary) => {
                let dtype = result_element(op)?;
                let binary = match dtype {
                    DType::I1 => op::on_masks(*binary).ok_or("element type i1")?,
                    _ => *binary,
                };
                Ok(Kind::Binary { op: binary, a: a()?, b: b()?, then: op::narrow(dtype) })
            }
            Lowering::WordBinary(binary) => match result_element(op)? {
                DType::I32 => Ok(Kind::Binary { op: *binary, a: a()?, b: b()?, then: None }),
                other => Err(format!("element type {}", other.name())),
            },
            Lowering::CompareInt | Lowering::CompareFloat => {
                let predicate = op.attribute("predicate").and_then(Attribute::as_int).unwrap_or(-1);
                let binary = match lowering {
                    Lowering::CompareInt => op::compare_int(predicate),
                    _ => op::compare_float(predicate),
                };
                let binary = binary.ok_or_else(|| format!("predicate {predicate}"))?;
                let masks = op.operand_types.first().map(element).transpose()? == Some(DType::I1);
                let binary = if masks { op::on_masks(binary).unwrap_or(binary) } else { binary };
                Ok(Kind::Binary { op: binary, a: a()?, b: b()?, then: None })
            }
            Lowering::Convert(conversion) => self.convert(op, *conversion),
            Lowering::Special(special) => self.special(op, *special, site),
        }
    }

    fn convert(&mut self, op: &Op, conversion: Conversion) -> Lowered<Kind> {
        if let Some(mode) = op.attribute("roundingmode")
            && mode.as_int() != Some(0)
        {
            return Err("rounding mode other than to nearest even".into());
        }
        let from = element(op.operand_types.first().ok_or("no operand")?)?;
        let to = result_element(op)?;
        let steps = op::conversion(conversion, from, to)
            .ok_or_else(|| format!("conversion {} to {}", from.name(), to.name()))?;
        if shape(&op.operand_types[0])? != shape(&op.result_types[0])? {
            return Err("conversion that changes the shape".into());
        }
        Ok(Kind::Unary { steps, a: operand(op, 0)? })
    }

    fn special(&mut self, op: &'m Op, special: Special, site: u32) -> Lowered<Kind> {
        let a = || operand(op, 0);
        match special {
            Special::Nop => Ok(Kind::Nop),
            Special::Constant => constant(op),
            Special::Select => {
                Ok(Kind::Select { condition: a()?, on: operand(op, 1)?, off: operand(op, 2)? })
            }
            Special::Iota => {
                let dims = result_dims(op)?;
                // A list of one since JAX 0.7.
                let dimensions = match op.attribute("dimension").and_then(Attribute::as_int) {
                    Some(dimension) => &[dimension][..],
                    None => ints(op, "dimensions")?,
                };
                match dimensions {
                    [dimension] if (0..dims.rank() as i64).contains(dimension) => {
                        Ok(Kind::Iota { dims, dimension: *dimension as usize })
                    }
                    other => Err(format!("dimensions {other:?}")),
                }
            }
            Special::Broadcast => {
                let (from, to) = (shape(&op.operand_types[0])?, result_dims(op)?);
                let lead = to.rank().checked_sub(from.rank()).ok_or("broadcast to a lower rank")?;
                if (0..from.rank()).any(|dim| from.get(dim) != 1 && from.get(dim) != to.get(lead + dim)) {
                    return Err("broadcast between shapes that don't fit".into());
                }
                Ok(Kind::Broadcast { a: a()?, rank: to.rank() })
            }
            Special::ShapeCast => {
                let (from, to) = (shape(&op.operand_types[0])?, result_dims(op)?);
                if from.len() != to.len() {
                    return Err("shape cast that changes the number of elements".into());
                }
                Ok(Kind::ShapeCast { a: a()?, from, to })
            }
            Special::MultiReduction => {
                let kind = match op.attribute("kind") {
                    Some(Attribute::Opaque(kind)) => kind.as_str(),
                    _ => "",
                };
                let reduction = op::reduction(kind).ok_or_else(|| format!("reduction {kind}"))?;
                if result_element(op)? != DType::F32 {
                    return Err("reduction of a type other than f32".into());
                }
                let from = shape(&op.operand_types[0])?;
                let mut reduced = [false; MAX_RANK];
                for &dim in ints(op, "reduction_dims")? {
                    let dim = usize::try_from(dim).ok().filter(|&dim| dim < from.rank());
                    reduced[dim.ok_or("reduction dimension out of range")?] = true;
                }
                if !(0..from.rank()).all(|dim| reduced[dim] == (dim + 1 == from.rank())) {
                    return Err("reduction over other dimensions than the last".into());
                }
                Ok(Kind::Reduce {
                    reduction,
                    a: a()?,
                    accumulator: operand(op, 1)?,
                    from,
                    to: result_dims(op)?,
                })
            }
            Special::Matmul => matmul(op).map(|matmul| Kind::Matmul(Box::new(matmul))),
            Special::Concatenate => {
                let to = result_dims(op)?;
                let dimension = op.attribute("dimension").and_then(Attribute::as_int).unwrap_or(-1);
                let dimension = usize::try_from(dimension).ok().filter(|&dim| dim < to.rank());
                let dimension = dimension.ok_or("dimension out of range")?;
                let parts: Lowered<Vec<_>> = op
                    .operands
                    .iter()
                    .zip(&op.operand_types)
                    .map(|(value, ty)| Ok((value.0, shape(ty)?)))
                    .collect();
                Ok(Kind::Concatenate { parts: parts?, dimension, to })
            }
            Special::MemRefSlice => {
                let [1, indices, 0] = segments::<3>(op)? else { return Err("dynamic sizes".into()) };
                let sizes = memref_dims(&op.result_types[0])?;
                Ok(Kind::MemSlice { base: a()?, indices: slots(op, 1, indices as usize), sizes })
            }
            Special::MemRefSqueeze => {
                let (from, to) = (memref_dims(&op.operand_types[0])?, memref_dims(&op.result_types[0])?);
                let kept = squeezed(&from, &to).ok_or("squeeze of a dimension that isn't 1")?;
                Ok(Kind::MemSqueeze { base: a()?, kept })
            }
            Special::MemRefReshape => {
                Ok(Kind::MemReshape { base: a()?, dims: memref_dims(&op.result_types[0])? })
            }
            Special::MemRefBitcast => {
                let (from, _, _) = data_memref(&op.operand_types[0])?;
                let (dtype, dims, _) = data_memref(&op.result_types[0])?;
                if dtype.bits() != from.bits() && dtype.bits() != 32 {
                    return Err(format!("bitcast of a memref from {} to {}", from.name(), dtype.name()));
                }
                Ok(Kind::MemBitcast { base: a()?, dtype, dims })
            }
            Special::MemRefLoad => {
                Ok(Kind::ScalarLoad { base: a()?, indices: slots(op, 1, op.operands.len() - 1) })
            }
            Special::MemRefStore => Ok(Kind::ScalarStore {
                value: a()?,
                base: operand(op, 1)?,
                indices: slots(op, 2, op.operands.len() - 2),
            }),
            Special::VectorLoad | Special::StridedLoad => {
                let base = memref_dims(&op.operand_types[0])?;
                let to = result_dims(op)?;
                let mut steps = [1; MAX_RANK];
                if special == Special::StridedLoad {
                    let strides = ints(op, "strides")?;
                    if strides.len() != base.rank() || strides.iter().any(|&stride| stride < 1) {
                        return Err(format!("strides {strides:?}"));
                    }
                    steps[..strides.len()].copy_from_slice(strides);
                }
                let window = window(&base, &to)?;
                let indices = slots(op, 1, op.operands.len() - 1);
                Ok(Kind::Load { base: a()?, indices, window, steps, to, unused: false })
            }
            Special::VectorStore => {
                if op.attribute("add").and_then(Attribute::as_bool) == Some(true) {
                    return Err("accumulating store".into());
                }
                if !op.attribute("strides").and_then(Attribute::as_ints).unwrap_or_default().is_empty() {
                    return Err("strided store".into());
                }
                let [1, 1, indices, masks @ (0 | 1)] = segments::<4>(op)? else {
                    return Err("operands other than value, memref, indices and mask".into());
                };
                let window = window(&memref_dims(&op.operand_types[1])?, &shape(&op.operand_types[0])?)?;
                let mask = (masks == 1).then(|| slots(op, 2 + indices as usize, 1)[0]);
                let point = self.points(site, mask.iter().flat_map(|_| (0..3).map(CoverageKind::Mask)));
                let indices = slots(op, 2, indices as usize);
                Ok(Kind::Store { value: a()?, base: operand(op, 1)?, indices, window, mask, point })
            }
            Special::EnqueueDma => {
                let [1, 0, 1, 1, 0, 0] = segments::<6>(op)? else { return Err("a remote copy".into()) };
                local_order(op)?;
                let (source, target) = (memref(&op.operand_types[0])?, memref(&op.operand_types[1])?);
                if (&source.shape, source.element) != (&target.shape, target.element) {
                    return Err("source and target of different shape or type".into());
                }
                let (source, target, semaphore) = (a()?, operand(op, 1)?, operand(op, 2)?);
                let point = self.points(site, CoverageKind::OF_COPY);
                Ok(Kind::Enqueue { source, target, semaphore, point })
            }
            Special::WaitDma2 => {
                let [1, 1, 1, 0, 0] = wait_segments(op)? else { return Err("a remote copy".into()) };
                local_order(op)?;
                Ok(Kind::Wait { semaphore: a()?, target: operand(op, 2)? })
            }
            Special::If => {
                let point = self.points(site, [CoverageKind::Branch(true), CoverageKind::Branch(false)]);
                let then = op.regions.first().map(|region| self.block(region).0).unwrap_or_default();
                let otherwise = op.regions.get(1).map(|region| self.block(region).0).unwrap_or_default();
                let outs = op.results.iter().map(|value| value.0).collect();
                Ok(Kind::If { condition: a()?, then, otherwise, outs, point })
            }
            Special::While => {
                let point = self.points(site, (0..4).map(CoverageKind::Trips));
                let [before, after] = op.regions.as_slice() else { return Err("not two regions".into()) };
                let (before, flag) = self.block(before);
                let (after, _) = self.block(after);
                let outs = op.results.iter().map(|value| value.0).collect();
                let inits = slots(op, 0, op.operands.len());
                let flag = flag.ok_or("no condition")?;
                Ok(Kind::While { inits, before, flag, after, outs, point })
            }
            Special::For => {
                let point = self.points(site, (0..4).map(CoverageKind::Trips));
                let body = op.regions.first().map(|region| self.block(region).0).unwrap_or_default();
                let (first, implied) = (self.module.values + 1, &mut self.implied);
                implied.1 += counted::IMPLIED;
                let fresh = || {
                    implied.0 += 1;
                    first + implied.0 - 1
                };
                counted(op, body, site, point, fresh).ok_or_else(|| "no counter".to_owned())
            }
        }
    }
}

fn local_order(op: &Op) -> Lowered<()> {
    match op.attribute("strict_ordering").and_then(Attribute::as_bool) {
        Some(true) => Err("strict ordering".into()),
        _ => Ok(()),
    }
}

fn constant(op: &Op) -> Lowered<Kind> {
    match op.attribute("value").ok_or("no value")? {
        Attribute::Splat(value, ty) => {
            let dtype = element(ty)?;
            let dims = Dims::ones(shape(ty)?.rank());
            Ok(Kind::VectorConstant(SharedVector { dims, lanes: vec![lane(value, dtype)?] }))
        }
        Attribute::Dense(values, ty) => {
            let dtype = element(ty)?;
            let lanes: Lowered<Vec<u32>> = values.iter().map(|value| lane(value, dtype)).collect();
            let (dims, lanes) = (shape(ty)?, lanes?);
            if dims.len() != lanes.len() {
                return Err("dense constant of the wrong length".into());
            }
            Ok(Kind::VectorConstant(SharedVector { dims, lanes }))
        }
        value => Ok(Kind::ScalarConstant(lane(value, result_element(op)?)?)),
    }
}

/// The 32-bit lane of a constant.
fn lane(value: &Attribute, dtype: DType) -> Lowered<u32> {
    match value {
        Attribute::Bool(value) => Ok(u32::from(*value)),
        Attribute::Int(value, _) => {
            // As a signed or an unsigned 32-bit number.
            let fits = i32::try_from(*value).is_ok() || u32::try_from(*value).is_ok();
            let lane =
                if fits { *value as u32 } else { return Err(format!("constant {value} beyond 32 bits")) };
            Ok(op::narrow(dtype).filter(|_| !dtype.is_float()).map_or(lane, |wrap| wrap.lane(lane)))
        }
        Attribute::Float { bits, .. } if dtype.is_float() => {
            let bits = *bits as u32;
            Ok(op::from_bits(dtype).map_or(bits, |from| from.lane(bits)))
        }
        other => Err(format!("constant {other:?}")),
    }
}
