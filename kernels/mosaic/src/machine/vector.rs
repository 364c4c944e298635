//! Execution of vector instructions.
//!
//! Invariant: definedness costs nothing while all is defined: each operation looks at masks only where an operand has them.

use crate::fault::{Stop, Trap};
use crate::ops::matmul;
use crate::ops::reduce;
use crate::ops::scalar::{Binary, Unary};
use crate::program::{Inst, Kind, Slot};
use crate::value::{Dims, Grid, Vector};

use super::exec::{binary_mask, check_division, spread, unary_mask};
use super::{Cell, Machine};

impl Machine {
    pub(super) fn vector_of(&mut self, slot: Slot) -> Vector {
        match &self.cells[slot as usize] {
            Cell::Vector(vector) => vector.clone(),
            Cell::Scalar(scalar) => {
                let (bits, undefined) = (scalar.bits, scalar.undefined);
                let lanes = Grid::splat(&mut self.pool, 0, bits);
                let undefined = (undefined != 0).then(|| Grid::splat(&mut self.pool, 0, undefined));
                Vector { lanes, undefined }
            }
            Cell::Empty | Cell::View(_) => Vector {
                lanes: Grid::splat(&mut self.pool, 0, 0),
                undefined: Some(Grid::splat(&mut self.pool, 0, u32::MAX)),
            },
        }
    }

    fn put(&mut self, out: Slot, vector: Vector) {
        self.set(out, Cell::Vector(vector));
    }

    pub(super) fn vector_unary(&mut self, out: Slot, steps: &[Unary], a: Slot) {
        let mut vector = self.vector_of(a);
        for &step in steps {
            let lanes = self.policy.arithmetic.unary_grid(step, &vector.lanes, &mut self.pool);
            let undefined = vector
                .undefined
                .as_ref()
                .map(|masks| masks.map(&mut self.pool, |mask| unary_mask(step, mask)));
            let old = std::mem::replace(&mut vector, Vector { lanes, undefined });
            old.recycle(&mut self.pool);
        }
        self.put(out, vector);
    }

    pub(super) fn vector_binary(
        &mut self,
        out: Slot,
        op: Binary,
        a: Slot,
        b: Slot,
        then: Option<Unary>,
    ) -> Result<(), Stop> {
        let (a, b) = (self.vector_of(a), self.vector_of(b));
        let pool = &mut self.pool;
        if matches!(op, Binary::DivSI | Binary::RemSI) && a.undefined.is_none() && b.undefined.is_none() {
            let bad = a.lanes.zip(&b.lanes, pool, |a, b| u32::from(check_division(a, b).is_err()));
            if bad.lanes.iter().any(|&lane| lane != 0) {
                return Err(Trap::new(
                    crate::FaultClass::Arithmetic,
                    "a lane's division by zero or overflow",
                )
                .into());
            }
            pool.give(bad.lanes);
        }
        let mut lanes = self.policy.arithmetic.binary_grid(op, &a.lanes, &b.lanes, pool);
        let mut undefined = match (&a.undefined, &b.undefined) {
            (None, None) => None,
            (ua, ub) => {
                let none = Grid::splat(pool, a.lanes.dims.rank(), 0);
                Some(mask_grid(
                    op,
                    (&a.lanes, ua.as_ref().unwrap_or(&none)),
                    (&b.lanes, ub.as_ref().unwrap_or(&none)),
                    pool,
                ))
            }
        };
        if let Some(then) = then {
            let rounded = then.grid(pool, &lanes);
            pool.give(std::mem::replace(&mut lanes, rounded).lanes);
            undefined = undefined.map(|masks| masks.map(pool, |mask| unary_mask(then, mask)));
        }
        a.recycle(pool);
        b.recycle(pool);
        self.put(out, Vector { lanes, undefined });
        Ok(())
    }

    pub(super) fn select(&mut self, out: Slot, condition: Slot, on: Slot, off: Slot) {
        if let Cell::Scalar(flag) = self.cells[condition as usize] {
            // The chosen arm's definedness alone counts; an undefined choice chooses undefined.
            let mut chosen = self.cells[if flag.bits != 0 { on } else { off } as usize].clone();
            if !flag.is_defined() {
                match &mut chosen {
                    Cell::Scalar(scalar) => scalar.undefined = u32::MAX,
                    Cell::Vector(vector) => {
                        let rank = vector.lanes.dims.rank();
                        vector.undefined = Some(Grid::splat(&mut self.pool, rank, u32::MAX));
                    }
                    Cell::Empty | Cell::View(_) => {}
                }
            }
            self.set(out, chosen);
            return;
        }
        let (condition, on, off) = (self.vector_of(condition), self.vector_of(on), self.vector_of(off));
        let pool = &mut self.pool;
        let lanes = condition.lanes.select(&on.lanes, &off.lanes, pool);
        let mut undefined = match (&on.undefined, &off.undefined) {
            (None, None) => None,
            (on, off) => {
                let none = Grid::splat(pool, lanes.dims.rank(), 0);
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
        for vector in [condition, on, off] {
            vector.recycle(pool);
        }
        self.put(out, Vector { lanes, undefined });
    }

    pub(super) fn vector(&mut self, inst: &Inst) -> Result<(), Stop> {
        match &inst.kind {
            Kind::VectorConstant(constant) => self.put(inst.out, constant.to_vector()),
            Kind::Iota { dims, dimension } => {
                let mut stored = Dims::ones(dims.rank());
                stored.set(*dimension, dims.get(*dimension));
                let mut lanes = self.pool.take(stored.len());
                for (i, lane) in lanes.iter_mut().enumerate() {
                    *lane = i as u32;
                }
                self.put(inst.out, Vector::defined(Grid::new(stored, lanes)));
            }
            Kind::Broadcast { a, rank } => {
                let vector = self.vector_of(*a);
                let undefined = vector.undefined.as_ref().map(|masks| masks.raise(*rank));
                let lanes = vector.lanes.raise(*rank);
                self.put(inst.out, Vector { lanes, undefined });
            }
            Kind::ShapeCast { a, from, to } => {
                let vector = self.vector_of(*a);
                let undefined =
                    vector.undefined.as_ref().map(|masks| masks.reshape(from, to, &mut self.pool));
                let lanes = vector.lanes.reshape(from, to, &mut self.pool);
                self.put(inst.out, Vector { lanes, undefined });
            }
            Kind::Reduce { reduction, a, accumulator, from, to } => {
                let (a, accumulator) = (self.vector_of(*a), self.vector_of(*accumulator));
                let flush = self.policy.arithmetic.flush_denormals;
                let result = reduce::last(*reduction, &a, &accumulator, from, to, flush, &mut self.pool);
                a.recycle(&mut self.pool);
                self.put(inst.out, result);
            }
            Kind::Matmul(op) => {
                let (lhs, rhs) = (self.vector_of(op.lhs), self.vector_of(op.rhs));
                let accumulator = self.vector_of(op.accumulator);
                let arithmetic = &self.policy.arithmetic;
                let result = matmul::matmul(op, &lhs, &rhs, &accumulator, arithmetic, &mut self.pool);
                lhs.recycle(&mut self.pool);
                rhs.recycle(&mut self.pool);
                self.put(inst.out, result);
            }
            Kind::Concatenate { parts, dimension, to } => {
                let parts: Vec<(Vector, Dims)> =
                    parts.iter().map(|(slot, dims)| (self.vector_of(*slot), *dims)).collect();
                let lanes: Vec<_> = parts.iter().map(|(vector, dims)| (&vector.lanes, *dims)).collect();
                let joined = concatenate(&lanes, *dimension, to, &mut self.pool);
                let undefined = parts.iter().any(|(vector, _)| vector.undefined.is_some()).then(|| {
                    let none = Grid::splat(&mut self.pool, to.rank(), 0);
                    let masks: Vec<_> = parts
                        .iter()
                        .map(|(vector, dims)| (vector.undefined.as_ref().unwrap_or(&none), *dims))
                        .collect();
                    concatenate(&masks, *dimension, to, &mut self.pool)
                });
                self.put(inst.out, Vector { lanes: joined, undefined });
            }
            Kind::Load { base, indices, window, steps, to, unused } => {
                let view = self.view(*base).window(&self.indices(indices), window, steps, inst.site);
                if *unused {
                    self.memory.probe(&view)?;
                    return Ok(());
                }
                let vector = self.memory.load(&view, &mut self.pool)?;
                let vector = if to.rank() == window.rank() {
                    vector
                } else {
                    let undefined = vector.undefined.map(|masks| masks.reshape(window, to, &mut self.pool));
                    Vector { lanes: vector.lanes.reshape(window, to, &mut self.pool), undefined }
                };
                self.put(inst.out, vector);
            }
            Kind::Store { value, base, indices, window, mask, point } => {
                let value = self.vector_of(*value);
                let raise = |vector: Vector| Vector {
                    lanes: vector.lanes.raise(window.rank()),
                    undefined: vector.undefined.map(|masks| masks.raise(window.rank())),
                };
                let value = raise(value);
                let mask = mask.map(|slot| raise(self.vector_of(slot)));
                if let Some(mask) = &mask {
                    let on = mask.lanes.lanes.iter().filter(|&&lane| lane != 0).count();
                    let class = if on == 0 { 0 } else { 1 + u32::from(on == mask.lanes.lanes.len()) };
                    self.hit(point + class);
                }
                let base = self.view(*base);
                let start = self.indices(indices);
                let steps = [1; crate::value::MAX_RANK];
                let view = base.window(&start, window, &steps, inst.site);
                match &mask {
                    // Only the lanes that the mask leaves on must lie inside.
                    Some(mask) if view.complaint.is_some() => {
                        self.memory.store_lanes(
                            &base,
                            &start,
                            window,
                            &value,
                            mask,
                            inst.site,
                            &mut self.pool,
                        )?;
                    }
                    mask => self.memory.store(&view, &value, mask.as_ref(), &mut self.pool)?,
                }
                value.recycle(&mut self.pool);
                if let Some(mask) = mask {
                    mask.recycle(&mut self.pool);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Undefined bits of a two-operand result.
fn mask_grid(
    op: Binary,
    (a, ua): (&Grid, &Grid),
    (b, ub): (&Grid, &Grid),
    pool: &mut crate::value::Pool,
) -> Grid {
    match op {
        Binary::AndI | Binary::OrI | Binary::ShlI | Binary::ShrUI => {
            let dims = a.dims.broadcast(&b.dims).broadcast(&ua.dims).broadcast(&ub.dims);
            let [a, ua, b, ub] = [a, ua, b, ub].map(|grid| grid.expand(&dims, pool));
            let mut out = pool.take(dims.len());
            for (i, slot) in out.iter_mut().enumerate() {
                *slot = binary_mask(op, (a.lanes[i], ua.lanes[i]), (b.lanes[i], ub.lanes[i]));
            }
            Grid::new(dims, out)
        }
        Binary::XorI => ua.zip(ub, pool, |ua, ub| ua | ub),
        _ => ua.zip(ub, pool, |ua, ub| spread(ua | ub)),
    }
}

fn concatenate(parts: &[(&Grid, Dims)], dimension: usize, to: &Dims, pool: &mut crate::value::Pool) -> Grid {
    let mut out = pool.take(to.len());
    let outer: usize = (0..dimension).map(|dim| to.get(dim)).product();
    let inner = |dims: &Dims| (dimension..dims.rank()).map(|dim| dims.get(dim)).product::<usize>();
    let row = inner(to);
    let mut first = 0;
    for (grid, dims) in parts {
        let full = grid.expand(dims, pool);
        let run = inner(dims);
        for index in 0..outer {
            let at = index * row + first;
            out[at..at + run].copy_from_slice(&full.lanes[index * run..(index + 1) * run]);
        }
        first += run;
    }
    Grid::new(*to, out)
}
