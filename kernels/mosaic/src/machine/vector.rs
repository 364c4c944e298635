//! Execution of vector instructions.
//!
//! Invariant: definedness costs nothing while all is defined: each operation looks at masks only where an operand has them.

use std::borrow::Cow;

use crate::fault::{Stop, Trap};
use crate::ops::matmul;
use crate::ops::reduce;
use crate::ops::scalar::{Binary, Unary, spread};
use crate::program::{Inst, Kind, Slot};
use crate::value::{Dims, Grid, Pool, Vector};

use super::exec::{binary_mask, check_division, unary_mask};
use super::{Cell, Execution, narrowing};

/// The vector in a slot; a scalar counts as one of rank 0. A slot that holds neither would be our own bug and reads as an
/// undefined zero.
pub(super) fn of(cells: &[Cell], slot: Slot) -> Cow<'_, Vector> {
    let splat = |bits, undefined: u32| Vector {
        lanes: Grid::splat(0, bits),
        undefined: (undefined != 0).then(|| Grid::splat(0, undefined)),
    };
    match &cells[slot as usize] {
        Cell::Vector(vector) => Cow::Borrowed(vector),
        Cell::Scalar(scalar) => Cow::Owned(splat(scalar.bits, scalar.undefined)),
        Cell::Empty | Cell::View(_) => Cow::Owned(splat(0, u32::MAX)),
    }
}

impl Execution<'_> {
    fn put(&mut self, out: Slot, vector: Vector) {
        self.set(out, Cell::Vector(vector));
    }

    /// The vector in a slot, which holds nothing from then on.
    fn take(&mut self, slot: Slot) -> Option<Vector> {
        let cell = &mut self.cells[slot as usize];
        match cell {
            Cell::Vector(_) => match std::mem::take(cell) {
                Cell::Vector(vector) => Some(vector),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn vector_unary(&mut self, out: Slot, steps: &[Unary], a: Slot) -> Result<(), Stop> {
        let (arithmetic, pool) = (&self.policy.arithmetic, &mut *self.pool);
        let a = of(self.cells, a);
        let mut steps = steps.iter();
        let Some(&first) = steps.next() else {
            let same = a.into_owned();
            self.put(out, same);
            return Ok(());
        };
        let apply = |step: Unary, vector: &Vector, pool: &mut Pool| -> Result<Vector, Trap> {
            narrowing::check(step, &vector.lanes, vector.undefined.as_ref(), pool)?;
            let undefined =
                vector.undefined.as_ref().map(|masks| masks.map(pool, |mask| unary_mask(step, mask)));
            Ok(Vector { lanes: arithmetic.unary_grid(step, &vector.lanes, pool), undefined })
        };
        let mut vector = apply(first, &a, pool)?;
        for &step in steps {
            let next = apply(step, &vector, pool)?;
            std::mem::replace(&mut vector, next).recycle(pool);
        }
        self.put(out, vector);
        Ok(())
    }

    pub(super) fn vector_binary(
        &mut self,
        out: Slot,
        op: Binary,
        a: Slot,
        b: Slot,
        then: Option<Unary>,
    ) -> Result<(), Stop> {
        let (a, b) = (of(self.cells, a), of(self.cells, b));
        let pool = &mut *self.pool;
        if matches!(op, Binary::DivSI | Binary::RemSI) && a.undefined.is_none() && b.undefined.is_none() {
            let bad = a.lanes.zip(&b.lanes, pool, |a, b| u32::from(check_division(a, b).is_err()));
            if let Some(first) = bad.lanes.iter().position(|&lane| lane != 0) {
                let [x, y] = [&a, &b].map(|vector| vector.lanes.expand(&bad.dims, pool).lanes[first]);
                if let Err(trap) = check_division(x, y) {
                    let indices = bad.dims.indices(first);
                    let message = format!("lane {indices:?}: {}", trap.message);
                    return Err(Trap { message, indices, ..trap }.into());
                }
            }
            pool.give(bad.lanes);
        }
        let mut lanes = self.policy.arithmetic.binary_grid(op, &a.lanes, &b.lanes, pool);
        let mut undefined = match (&a.undefined, &b.undefined) {
            (None, None) => None,
            (Some(ua), Some(ub)) => Some(mask_grid(op, (&a.lanes, ua), (&b.lanes, ub), pool)),
            (Some(ua), None) => Some(half_mask(op, ua, &b.lanes, pool)),
            (None, Some(ub)) => Some(match op {
                Binary::ShlI | Binary::ShrUI => ub.map(pool, spread),
                _ => half_mask(op, ub, &a.lanes, pool),
            }),
        };
        if let Some(then) = then {
            narrowing::check(then, &lanes, undefined.as_ref(), pool)?;
            let rounded = then.grid(pool, &lanes);
            pool.give(std::mem::replace(&mut lanes, rounded).lanes);
            undefined = undefined.map(|masks| masks.map(pool, |mask| unary_mask(then, mask)));
        }
        drop((a, b));
        self.put(out, Vector { lanes, undefined });
        Ok(())
    }

    pub(super) fn select(&mut self, inst: &Inst, condition: Slot, on: Slot, off: Slot) {
        if let Cell::Scalar(flag) = self.cells[condition as usize] {
            // The chosen arm's definedness alone counts; an undefined choice chooses undefined.
            let mut chosen = self.cells[if flag.bits != 0 { on } else { off } as usize].clone();
            if !flag.is_defined() {
                match &mut chosen {
                    Cell::Scalar(scalar) => scalar.undefined = u32::MAX,
                    Cell::Vector(vector) => {
                        vector.undefined = Some(Grid::splat(vector.lanes.dims.rank(), u32::MAX));
                    }
                    Cell::Empty | Cell::View(_) => {}
                }
            }
            self.set(inst.out, chosen);
            return;
        }
        // An arm that ends here lends its buffer to the result.
        let ends = on != condition && on != off && inst.frees.contains(&on);
        let ending = if ends { self.take(on) } else { None };
        let (condition, off) = (of(self.cells, condition), of(self.cells, off));
        let pool = &mut *self.pool;
        let (lanes, on_undefined) = match ending {
            Some(on) => (condition.lanes.select_over(on.lanes, &off.lanes, pool), on.undefined),
            None => {
                let on = of(self.cells, on);
                (condition.lanes.select(&on.lanes, &off.lanes, pool), on.undefined.clone())
            }
        };
        let mut undefined = match (&on_undefined, &off.undefined) {
            (None, None) => None,
            (on, off) => {
                let none = Grid::splat(lanes.dims.rank(), 0);
                Some(condition.lanes.select(
                    on.as_ref().unwrap_or(&none),
                    off.as_ref().unwrap_or(&none),
                    pool,
                ))
            }
        };
        if let Some(doubt) = &condition.undefined {
            let doubt = doubt.map(pool, spread);
            undefined = Some(match undefined {
                Some(masks) => masks.zip(&doubt, pool, |a, b| a | b),
                None => doubt,
            });
        }
        let undefined = undefined.filter(|masks| masks.lanes.iter().any(|&mask| mask != 0));
        drop((condition, off));
        self.put(inst.out, Vector { lanes, undefined });
    }

    pub(super) fn vector(&mut self, inst: &Inst) -> Result<(), Stop> {
        let pool = &mut *self.pool;
        let result = match &inst.kind {
            Kind::VectorConstant(constant) => constant.to_vector(),
            Kind::Iota { dims, dimension } => {
                let mut stored = Dims::ones(dims.rank());
                stored.set(*dimension, dims.get(*dimension));
                let mut lanes = pool.take(stored.len());
                for (i, lane) in lanes.slots().iter_mut().enumerate() {
                    *lane = i as u32;
                }
                Vector::defined(Grid::new(stored, lanes))
            }
            Kind::Broadcast { a, rank } => {
                let vector = of(self.cells, *a);
                let undefined = vector.undefined.as_ref().map(|masks| masks.raise(*rank));
                Vector { lanes: vector.lanes.raise(*rank), undefined }
            }
            Kind::ShapeCast { a, from, to } => {
                let vector = of(self.cells, *a);
                let undefined = vector.undefined.as_ref().map(|masks| masks.reshape(from, to, pool));
                Vector { lanes: vector.lanes.reshape(from, to, pool), undefined }
            }
            Kind::Reduce { reduction, a, accumulator, from, to } => {
                let (a, accumulator) = (of(self.cells, *a), of(self.cells, *accumulator));
                let flush = self.policy.arithmetic.flush_denormals;
                reduce::last(*reduction, &a, &accumulator, from, to, flush, pool)
            }
            Kind::Matmul(op) => {
                let [lhs, rhs, start] = [op.lhs, op.rhs, op.accumulator].map(|slot| of(self.cells, slot));
                matmul::matmul(op, &lhs, &rhs, &start, &self.policy.arithmetic, pool)
            }
            Kind::Concatenate { parts, dimension, to } => {
                let parts: Vec<(Cow<'_, Vector>, Dims)> =
                    parts.iter().map(|(slot, dims)| (of(self.cells, *slot), *dims)).collect();
                let lanes: Vec<_> = parts.iter().map(|(vector, dims)| (&vector.lanes, *dims)).collect();
                let joined = concatenate(&lanes, *dimension, to, pool);
                let undefined = parts.iter().any(|(vector, _)| vector.undefined.is_some()).then(|| {
                    let none = Grid::splat(to.rank(), 0);
                    let masks: Vec<_> = parts
                        .iter()
                        .map(|(vector, dims)| (vector.undefined.as_ref().unwrap_or(&none), *dims))
                        .collect();
                    concatenate(&masks, *dimension, to, pool)
                });
                Vector { lanes: joined, undefined }
            }
            Kind::Load { base, indices, window, steps, to, unused } => {
                let view = self.view(*base).window(&self.indices(indices), window, steps, inst.site);
                if *unused {
                    self.memory.probe(&view)?;
                    return Ok(());
                }
                let vector = self.memory.load(&view, self.pool)?;
                if to.rank() == window.rank() {
                    vector
                } else {
                    let undefined = vector.undefined.map(|masks| masks.reshape(window, to, self.pool));
                    Vector { lanes: vector.lanes.reshape(window, to, self.pool), undefined }
                }
            }
            Kind::Store { value, base, indices, window, mask, point } => {
                return self.vector_store(inst.site, *value, *base, indices, window, mask.as_ref(), *point);
            }
            _ => return Ok(()),
        };
        self.put(inst.out, result);
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of the instruction")]
    fn vector_store(
        &mut self,
        site: u32,
        value: Slot,
        base: Slot,
        indices: &[Slot],
        window: &Dims,
        mask: Option<&Slot>,
        point: u32,
    ) -> Result<(), Stop> {
        let raise = |vector: Cow<'_, Vector>| Vector {
            lanes: vector.lanes.raise(window.rank()),
            undefined: vector.undefined.as_ref().map(|masks| masks.raise(window.rank())),
        };
        let value = raise(of(self.cells, value));
        let mask = mask.map(|&slot| raise(of(self.cells, slot)));
        if let Some(mask) = &mask {
            let on = mask.lanes.lanes.iter().filter(|&&lane| lane != 0).count();
            let class = if on == 0 { 0 } else { 1 + u32::from(on == mask.lanes.lanes.len()) };
            self.hit(point + class);
        }
        let base = self.view(base);
        let start = self.indices(indices);
        let view = base.window(&start, window, &[1; crate::value::MAX_RANK], site);
        match &mask {
            // Only the lanes that the mask leaves on must lie inside.
            Some(mask) if view.complaint.is_some() => {
                let base = base.into_owned();
                self.memory.store_lanes(&base, &start, window, &value, mask, site, self.pool)?;
            }
            mask => self.memory.store(&view, &value, mask.as_ref())?,
        }
        Ok(())
    }
}

/// Undefined bits of a two-operand result where one operand is defined; a shift's is its count.
fn half_mask(op: Binary, mask: &Grid, defined: &Grid, pool: &mut Pool) -> Grid {
    match op {
        Binary::AndI => mask.zip(defined, pool, |mask, lane| mask & lane),
        Binary::OrI => mask.zip(defined, pool, |mask, lane| mask & !lane),
        Binary::ShlI | Binary::ShrUI => op.grid(pool, mask, defined),
        Binary::XorI => mask.map(pool, |mask| mask),
        _ => mask.map(pool, spread),
    }
}

/// Undefined bits of a two-operand result.
fn mask_grid(op: Binary, (a, ua): (&Grid, &Grid), (b, ub): (&Grid, &Grid), pool: &mut Pool) -> Grid {
    match op {
        Binary::AndI | Binary::OrI | Binary::ShlI | Binary::ShrUI => {
            let dims = a.dims.broadcast(&b.dims).broadcast(&ua.dims).broadcast(&ub.dims);
            let [a, ua, b, ub] = [a, ua, b, ub].map(|grid| grid.expand(&dims, pool));
            let mut out = pool.take(dims.len());
            for (i, slot) in out.slots().iter_mut().enumerate() {
                *slot = binary_mask(op, (a.lanes[i], ua.lanes[i]), (b.lanes[i], ub.lanes[i]));
            }
            Grid::new(dims, out)
        }
        Binary::XorI => ua.zip(ub, pool, |ua, ub| ua | ub),
        _ => ua.zip(ub, pool, |ua, ub| spread(ua | ub)),
    }
}

fn concatenate(parts: &[(&Grid, Dims)], dimension: usize, to: &Dims, pool: &mut Pool) -> Grid {
    let mut out = pool.take(to.len());
    let outer: usize = (0..dimension).map(|dim| to.get(dim)).product();
    let inner = |dims: &Dims| (dimension..dims.rank()).map(|dim| dims.get(dim)).product::<usize>();
    let row = inner(to);
    let mut first = 0;
    let slots = out.slots();
    for (grid, dims) in parts {
        let full = grid.expand(dims, pool);
        let run = inner(dims);
        for index in 0..outer {
            let at = index * row + first;
            slots[at..at + run].copy_from_slice(&full.lanes[index * run..(index + 1) * run]);
        }
        first += run;
    }
    Grid::new(*to, out)
}
