//! The grid and its windows: what the runtime does around the kernel's body.
//!
//! Invariant: the grid runs row-major, last index fastest. An input block is copied in when its index changes; an output
//! block is undefined at its first visit, written back when its index changes and at the end, and must not come again.
//! An edge block is copied only where it lies inside the array; the rest of the buffer stays undefined. Scratch persists
//! over grid steps and is undefined at the start.

use std::collections::BTreeSet;

use countersign_dtype::{Array, DType};

use crate::fault::{FaultClass, Origin, Stop, Trap};
use crate::ir::MemorySpace;
use crate::mem::{Allocation, AllocationId, Buffers, View};
use crate::program::{Parameter, Program, Slot, Window};
use crate::value::{Dims, Scalar};

use super::{BindError, Cell, End, Execution, Machine, Operand, Output, OutputSpec, Policy, Run};

/// A windowed array during a run.
struct Pipelined {
    parameter: usize,
    array: AllocationId,
    buffer: AllocationId,
    current: Option<Vec<i64>>,
    written: BTreeSet<Vec<i64>>,
}

impl Machine {
    /// Runs the program once.
    ///
    /// # Errors
    /// If operands or outputs don't fit the program.
    pub fn run(
        &mut self,
        operands: &[Operand],
        outputs: &[OutputSpec],
        policy: &Policy,
    ) -> Result<Run, BindError> {
        self.run_and_look(operands, outputs, policy, |_, _| ())
    }

    /// Runs the program once; `look` sees what the run leaves before it is taken apart.
    pub(super) fn run_and_look(
        &mut self,
        operands: &[Operand],
        outputs: &[OutputSpec],
        policy: &Policy,
        look: impl FnOnce(&Execution<'_>, &End),
    ) -> Result<Run, BindError> {
        let (cells, coverage) = (&mut self.cells, &mut self.coverage);
        let mut execution = Execution::new(&self.program, cells, &mut self.pool, coverage, policy);
        let (mut pipelined, results) =
            execution.bind(operands, outputs, std::mem::take(&mut self.buffers).into_iter())?;
        let outcome = execution.grid(&mut pipelined).and_then(|()| execution.finish());
        let end = execution.end(outcome);
        look(&execution, &end);
        let fuel_used = policy.fuel - execution.fuel;
        let mut given = Vec::new();
        for (id, allocation) in execution.memory.allocations.into_iter().enumerate() {
            self.buffers.push(match results.contains(&(id as AllocationId)) {
                true => {
                    let (bytes, undefined, buffers) = allocation.into_output();
                    given.push((bytes, undefined));
                    buffers
                }
                false => allocation.into_buffers(),
            });
        }
        let outputs = given.into_iter().zip(outputs).map(|((bytes, undefined), spec)| {
            let array = Array { dtype: spec.dtype, shape: spec.shape.clone(), bytes };
            Output { array, undefined }
        });
        Ok(Run { outputs: outputs.collect(), end, fuel_used })
    }
}

/// Buffers of the last run.
type Old = std::vec::IntoIter<Buffers>;

impl<'r> Execution<'r> {
    fn bind(
        &mut self,
        operands: &'r [Operand<'r>],
        outputs: &[OutputSpec],
        mut old: Old,
    ) -> Result<(Vec<Pipelined>, Vec<AllocationId>), BindError> {
        let program = self.program;
        let count = |what, expected, given| match expected == given {
            true => Ok(()),
            false => Err(BindError::Count { what, expected, given }),
        };
        count("operands", program.operand_count(), operands.len())?;
        count("outputs", program.output_count(), outputs.len())?;
        let (mut operands, mut specs) = (operands.iter(), outputs.iter());
        let (mut pipelined, mut results) = (Vec::new(), Vec::new());
        let mut scratch = 0;
        for (index, parameter) in program.parameters.iter().enumerate() {
            match parameter {
                Parameter::Prefetch { slot, dtype, dims } => {
                    if let Some(operand) = operands.next() {
                        let id = self.operand(&mut old, operand, *dtype, Some(dims), MemorySpace::Smem)?;
                        self.see(*slot, id);
                    }
                }
                Parameter::Array { slot, dtype, dims, space, output, window } => {
                    let whole = window.is_none().then_some(dims);
                    let home = if whole.is_some() { *space } else { MemorySpace::Hbm };
                    let array = match output {
                        false => match operands.next() {
                            Some(operand) => self.operand(&mut old, operand, *dtype, whole, home)?,
                            None => continue,
                        },
                        true => match specs.next() {
                            Some(spec) => self.result(&mut old, spec, results.len(), *dtype, whole, home)?,
                            None => continue,
                        },
                    };
                    if *output {
                        results.push(array);
                    }
                    let Some(window) = window else {
                        self.see(*slot, array);
                        continue;
                    };
                    let label = format!("window of {}", self.memory.allocations[array as usize].label);
                    let buffer = self.fresh(&mut old, label, Origin::Window, *space, *dtype, window.block);
                    self.see(*slot, buffer);
                    let rank = self.memory.allocations[array as usize].dims.rank();
                    if rank != window.block.rank() {
                        return Err(BindError::Mismatch {
                            label: self.memory.allocations[array as usize].label.clone(),
                            given: format!("of rank {rank}"),
                            expected: format!("rank {}", window.block.rank()),
                        });
                    }
                    pipelined.push(Pipelined {
                        parameter: index,
                        array,
                        buffer,
                        current: None,
                        written: BTreeSet::new(),
                    });
                }
                Parameter::Scratch { slot, dtype, dims, space } => {
                    let label = format!("scratch {scratch}");
                    let id = self.fresh(&mut old, label, Origin::Scratch, *space, *dtype, *dims);
                    scratch += 1;
                    self.see(*slot, id);
                }
                Parameter::Semaphores { slot, dims } => {
                    old.next();
                    let id = self.memory.add(Allocation::semaphores(format!("semaphores {scratch}"), *dims));
                    scratch += 1;
                    self.see(*slot, id);
                }
            }
        }
        Ok((pipelined, results))
    }

    fn see(&mut self, slot: Slot, id: AllocationId) {
        let allocation = &self.memory.allocations[id as usize];
        self.cells[slot as usize] = Cell::View(View::whole(id, allocation.dtype, allocation.dims));
    }

    /// Undefined memory.
    fn fresh(
        &mut self,
        old: &mut Old,
        label: String,
        origin: Origin,
        space: MemorySpace,
        dtype: DType,
        dims: Dims,
    ) -> AllocationId {
        let buffers = old.next().unwrap_or_default();
        let tracked = self.policy.sanitizers.definedness;
        self.memory.add(Allocation::undefined(label, origin, space, dtype, dims, tracked, buffers))
    }

    fn operand(
        &mut self,
        old: &mut Old,
        operand: &'r Operand<'r>,
        dtype: DType,
        dims: Option<&Dims>,
        space: MemorySpace,
    ) -> Result<AllocationId, BindError> {
        let given = Dims::new(&operand.array.shape);
        let fits = operand.array.dtype == dtype
            && given.is_some_and(|given| dims.is_none_or(|dims| *dims == given))
            && operand.array.bytes.len() == Array::byte_len(dtype, operand.array.len());
        let Some(given) = given.filter(|_| fits) else {
            return Err(BindError::Mismatch {
                label: operand.label.to_owned(),
                given: format!("{} {:?}", operand.array.dtype.name(), operand.array.shape),
                expected: format!("{} {:?}", dtype.name(), dims.map(|dims| dims.as_slice().to_vec())),
            });
        };
        old.next();
        let (label, array) = (operand.label.to_owned(), operand.array);
        let tracked = self.policy.sanitizers.definedness;
        Ok(self.memory.add(Allocation::lent(label, space, given, array, operand.undefined, tracked)))
    }

    fn result(
        &mut self,
        old: &mut Old,
        spec: &OutputSpec,
        index: usize,
        dtype: DType,
        dims: Option<&Dims>,
        space: MemorySpace,
    ) -> Result<AllocationId, BindError> {
        let label = format!("output {index}");
        let given = Dims::new(&spec.shape).filter(|given| dims.is_none_or(|dims| dims == given));
        let Some(given) = given.filter(|_| spec.dtype == dtype) else {
            return Err(BindError::Mismatch {
                label,
                given: format!("{} {:?}", spec.dtype.name(), spec.shape),
                expected: format!("{} {:?}", dtype.name(), dims.map(|dims| dims.as_slice().to_vec())),
            });
        };
        Ok(self.fresh(old, label, Origin::Output, space, dtype, given))
    }

    fn grid(&mut self, pipelined: &mut [Pipelined]) -> Result<(), Stop> {
        let program = self.program;
        self.grid = vec![0; program.grid.len()];
        for _ in 0..program.grid_steps() {
            // A step costs fuel by itself, so that a large grid over nothing ends too.
            self.fuel = self.fuel.checked_sub(1).ok_or(Stop::OutOfFuel)?;
            for window in pipelined.iter_mut() {
                self.enter(program, window)?;
            }
            for (&slot, &index) in program.grid_slots.iter().zip(&self.grid) {
                self.cells[slot as usize] = Cell::Scalar(Scalar::defined(index as u32));
            }
            self.block(&program.body)?;
            for dim in (0..self.grid.len()).rev() {
                self.grid[dim] += 1;
                if self.grid[dim] < program.grid[dim] || dim == 0 {
                    break;
                }
                self.grid[dim] = 0;
            }
        }
        for window in pipelined.iter_mut() {
            self.write_back(program, window);
        }
        self.grid.clear();
        Ok(())
    }

    /// What the kernel must not leave behind; blamed on the op that started it.
    fn finish(&mut self) -> Result<(), Stop> {
        self.memory.finish().map_err(|(trap, site)| {
            self.site = site.unwrap_or(self.site);
            Stop::from(trap)
        })
    }

    /// Moves a window to the current grid point's block.
    fn enter(&mut self, program: &Program, pipelined: &mut Pipelined) -> Result<(), Stop> {
        let Parameter::Array { output, window: Some(window), .. } = &program.parameters[pipelined.parameter]
        else {
            return Ok(());
        };
        self.moved(program, pipelined, window, *output).map_err(|stop| match stop {
            Stop::Trap(trap) if trap.window => {
                // An index map that only passes indices on has no op to name.
                self.site = program.last_line(&window.transform.body).unwrap_or(u32::MAX);
                Trap { allocation: Some(pipelined.array), ..*trap }.into()
            }
            other => other,
        })
    }

    fn moved(
        &mut self,
        program: &Program,
        pipelined: &mut Pipelined,
        window: &Window,
        output: bool,
    ) -> Result<(), Stop> {
        let index = self.block_index(program, window)?;
        if pipelined.current.as_ref() == Some(&index) {
            return Ok(());
        }
        self.write_back(program, pipelined);
        let label = self.memory.allocations[pipelined.array as usize].label.clone();
        if pipelined.written.contains(&index) {
            let message = format!("block {index:?} of {label} is visited again after it was written back");
            let trap = Trap::new(FaultClass::OutputRevisited, message);
            return Err(Trap { indices: index, window: true, ..trap }.into());
        }
        let array = self.memory.allocations[pipelined.array as usize].dims;
        let Some((outside, inside)) = self.clip(pipelined, window, &index) else {
            let message = format!("block {index:?} of {label} {:?} lies outside", array.as_slice());
            let trap = Trap::new(FaultClass::OutOfBounds, message);
            return Err(Trap { indices: index, window: true, ..trap }.into());
        };
        self.memory.allocations[pipelined.buffer as usize].reset(self.policy.sanitizers.definedness);
        if !output {
            self.memory.copy(&outside, &inside);
        }
        pipelined.current = Some(index);
        Ok(())
    }

    fn write_back(&mut self, program: &Program, pipelined: &mut Pipelined) {
        let Parameter::Array { output: true, window: Some(window), .. } =
            &program.parameters[pipelined.parameter]
        else {
            return;
        };
        let Some(index) = pipelined.current.take() else { return };
        if let Some((outside, inside)) = self.clip(pipelined, window, &index) {
            self.memory.copy(&inside, &outside);
        }
        pipelined.written.insert(index);
    }

    /// The part of a block that lies inside its array, as views of array and buffer; `None` if it lies outside whole.
    fn clip(&self, pipelined: &Pipelined, window: &Window, index: &[i64]) -> Option<(View, View)> {
        let (array, buffer) = (
            &self.memory.allocations[pipelined.array as usize],
            &self.memory.allocations[pipelined.buffer as usize],
        );
        let mut start = Vec::new();
        let mut sizes = window.block;
        for (dim, &index) in index.iter().enumerate() {
            let first = index.checked_mul(window.block.get(dim) as i64)?;
            let room = array.dims.get(dim) as i64 - first;
            if first < 0 || room <= 0 {
                return None;
            }
            sizes.set(dim, room.min(window.block.get(dim) as i64) as usize);
            start.push(Some(first));
        }
        let origin = vec![Some(0); start.len()];
        let outside = View::whole(pipelined.array, array.dtype, array.dims).slice(&start, &sizes, 0);
        let inside = View::whole(pipelined.buffer, buffer.dtype, buffer.dims).slice(&origin, &sizes, 0);
        Some((outside, inside))
    }

    /// Runs a window's index map at the current grid point.
    fn block_index(&mut self, program: &Program, window: &Window) -> Result<Vec<i64>, Stop> {
        let transform = &window.transform;
        for (&slot, &index) in transform.grid_slots.iter().zip(&self.grid) {
            self.cells[slot as usize] = Cell::Scalar(Scalar::defined(index as u32));
        }
        for (&slot, parameter) in transform.scalar_slots.iter().zip(&program.parameters[..program.prefetch]) {
            if let Parameter::Prefetch { slot: operand, .. } = parameter {
                self.cells[slot as usize] = self.cells[*operand as usize].clone();
            }
        }
        self.block(&transform.body)?;
        transform
            .body
            .yields
            .iter()
            .map(|&slot| {
                let index = self.scalar(slot);
                if !index.is_defined() {
                    let message = "a window's block index is undefined";
                    let trap = Trap { window: true, ..Trap::new(FaultClass::UndefinedUse, message) };
                    return Err(trap.into());
                }
                Ok(index.as_i64())
            })
            .collect()
    }
}
