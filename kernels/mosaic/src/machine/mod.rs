//! The virtual machine: runs a program on operands and says what it computed, or what fault it met.
//!
//! Invariant: same program, operands and policy give the same run, bit for bit, on any machine; a `Machine` keeps only
//! buffers and coverage from one run to the next.

mod copies;
mod exec;
mod fold;
mod narrowing;
mod pipeline;
mod sanitizers;
mod trace;
mod vector;

pub(crate) use fold::Folder;
pub use sanitizers::Sanitizers;
pub use trace::{Step, Trace, trace};

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use countersign_dtype::{Array, DType};

use crate::fault::{Fault, INDEX_APPLIED, OtherSite, Stop, Trap};
use crate::mem::{Allocation, Buffers, DmaOrder, Memory, View};
use crate::ops::arithmetic::Arithmetic;
use crate::program::{Constant, Program};
use crate::value::{Pool, Scalar, Vector};

/// One operand: its values, which elements nobody may rely on, and a name for messages.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a> {
    /// The name of the parameter, e.g. `kv_pages`.
    pub label: &'a str,
    /// Values, in the operand's shape.
    pub array: &'a Array,
    /// Element ranges that are undefined memory: sorted, disjoint, within the array.
    pub undefined: &'a [Range<usize>],
}

/// Type and shape of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpec {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<usize>,
}

/// What a run is free to choose, made a choice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Policy {
    /// When pending copies land.
    pub dma: DmaOrder,
    /// How f32 arithmetic is done.
    pub arithmetic: Arithmetic,
    /// Ops that may be executed before the run counts as a hang.
    pub fuel: u64,
    /// Which checks are on.
    pub sanitizers: Sanitizers,
}

/// An output and its undefined elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Values; those of undefined elements mean nothing.
    pub array: Array,
    /// Undefined element ranges, sorted and disjoint.
    pub undefined: Vec<Range<usize>>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// To its end without a fault.
    Finished,
    /// At a fault.
    Fault(Box<Fault>),
    /// Not within its fuel.
    OutOfFuel,
}

/// A run's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Outputs as they were at the end, also after a fault.
    pub outputs: Vec<Output>,
    /// How it ended.
    pub end: End,
    /// Ops executed.
    pub fuel_used: u64,
}

/// A value that a function returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// Lanes in row-major order: floats as f32 bits, integers sign-extended, masks 0 or 1.
    pub lanes: Vec<u32>,
    /// Undefined bits of each lane.
    pub undefined: Vec<u32>,
}

/// Operands or outputs that don't fit the program: the caller's mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// Wrong number of operands or outputs.
    #[error("the kernel takes {expected} {what}, {given} were given")]
    Count {
        /// `operands` or `outputs`.
        what: &'static str,
        /// What the program wants.
        expected: usize,
        /// What it got.
        given: usize,
    },
    /// An operand of the wrong type or shape.
    #[error("{label} is {given}, the kernel takes {expected}")]
    Mismatch {
        /// The operand.
        label: String,
        /// Its type and shape.
        given: String,
        /// The program's.
        expected: String,
    },
}

/// What a slot holds.
#[derive(Debug, Clone, Default)]
enum Cell {
    #[default]
    Empty,
    Scalar(Scalar),
    Vector(Vector),
    View(View),
}

/// Runs one program, again and again.
#[derive(Debug)]
pub struct Machine {
    program: Arc<Program>,
    cells: Vec<Cell>,
    pool: Pool,
    buffers: Vec<Buffers>,
    coverage: Vec<u64>,
}

/// A run under way.
struct Execution<'r> {
    program: &'r Program,
    cells: &'r mut [Cell],
    pool: &'r mut Pool,
    coverage: &'r mut [u64],
    memory: Memory<'r>,
    policy: &'r Policy,
    fuel: u64,
    grid: Vec<i64>,
    /// Rows of the last copy of each copying op, by its first coverage point.
    copied: BTreeMap<u32, (i64, i64)>,
    /// Room for values on their way from slots to slots.
    moving: Vec<Cell>,
    /// The instruction being executed, for faults.
    site: u32,
}

impl Machine {
    /// A machine for `program`.
    pub fn new(program: Arc<Program>) -> Machine {
        let mut cells = vec![Cell::Empty; program.slots];
        for (slot, constant) in &program.constants {
            cells[*slot as usize] = match constant {
                Constant::Scalar(bits) => Cell::Scalar(Scalar::defined(*bits)),
                Constant::Vector(vector) => Cell::Vector(vector.to_vector()),
            };
        }
        Machine {
            cells,
            coverage: vec![0; program.points.len().div_ceil(64)],
            pool: Pool::default(),
            buffers: Vec::new(),
            program,
        }
    }

    /// The program that it runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Coverage points hit since `new` or [`Machine::clear_coverage`]: bit i of word i / 64 is point i of
    /// [`Program::coverage_points`].
    pub fn coverage(&self) -> &[u64] {
        &self.coverage
    }

    /// Forgets which points were hit, so that what is hit next can be told apart.
    pub fn clear_coverage(&mut self) {
        self.coverage.fill(0);
    }

    /// What the last run's function returned, in order; kernels return nothing, test programs do.
    pub fn returned(&mut self) -> Vec<Returned> {
        let slots = self.program.body.yields.iter().zip(&self.program.returns);
        let (cells, pool) = (&self.cells, &mut self.pool);
        slots
            .map(|(&slot, dims)| {
                let vector = vector::of(cells, slot);
                let lanes = vector.lanes.raise(dims.rank()).expand(dims, pool).lanes.to_vec();
                let undefined = vector.undefined.as_ref().map_or_else(
                    || vec![0; lanes.len()],
                    |masks| masks.raise(dims.rank()).expand(dims, pool).lanes.to_vec(),
                );
                Returned { lanes, undefined }
            })
            .collect()
    }
}

impl<'r> Execution<'r> {
    fn new(
        program: &'r Program,
        cells: &'r mut [Cell],
        pool: &'r mut Pool,
        coverage: &'r mut [u64],
        policy: &'r Policy,
    ) -> Execution<'r> {
        let memory = Memory::new(policy.dma, policy.sanitizers.races);
        let (fuel, grid, copied, moving, site) = (policy.fuel, Vec::new(), BTreeMap::new(), Vec::new(), 0);
        Execution { program, cells, pool, coverage, memory, policy, fuel, grid, copied, moving, site }
    }

    fn hit(&mut self, point: u32) {
        self.coverage[point as usize / 64] |= 1 << (point % 64);
    }

    fn fault(&self, trap: Trap) -> Fault {
        // An index map without ops has no site.
        let site = self.program.sites.get(self.site as usize);
        let stack = site.map(|site| site.stack.clone()).unwrap_or_default();
        let other = trap.other.and_then(|(role, id)| {
            let site = self.program.sites.get(id as usize)?;
            // A line that both computes the index and accesses says nothing twice; two turns of a loop can race.
            let is_news = role != INDEX_APPLIED || site.stack != stack;
            is_news.then(|| OtherSite { role, site: id, op: site.op.clone(), stack: site.stack.clone() })
        });
        let op = site.filter(|_| !trap.window).map_or_else(|| "window".to_owned(), |site| site.op.clone());
        let allocation = trap.allocation.map(|id| &self.memory.allocations[id as usize]);
        Fault {
            class: trap.class,
            op,
            site: site.map(|_| self.site),
            index_site: trap.other.filter(|(role, _)| *role == INDEX_APPLIED).map(|(_, site)| site),
            stack,
            grid: self.grid.clone(),
            place: allocation.map(Allocation::place),
            indices: trap.indices,
            message: trap.message,
            other,
        }
    }

    fn end(&self, result: Result<(), Stop>) -> End {
        match result {
            Ok(()) => End::Finished,
            Err(Stop::OutOfFuel) => End::OutOfFuel,
            Err(Stop::Trap(trap)) => End::Fault(Box::new(self.fault(*trap))),
        }
    }
}
