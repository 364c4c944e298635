//! Faults: what the machine caught a kernel doing, as a value with the kernel's own source stack.
//!
//! Invariant: a fault accuses the kernel or its batch, never us; what we can't execute is `Unsupported` (`program`).

use std::fmt;

use countersign_dtype::DType;

use crate::ir::{Frame, MemorySpace};
use crate::mem::AllocationId;

/// Kinds of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultClass {
    /// An access outside an allocation's logical shape.
    OutOfBounds,
    /// An undefined value decided a branch, an index or a copy.
    UndefinedUse,
    /// An access to memory that a copy in flight reads or writes.
    Race,
    /// A wait for more bytes than copies in flight can ever deliver.
    Deadlock,
    /// A copy in flight, or a semaphore that isn't zero, at the kernel's end.
    Residue,
    /// An output block visited again after it was written back.
    OutputRevisited,
    /// Integer division by zero, or its one overflow.
    Arithmetic,
    /// A position that doesn't fit into its narrow integer type.
    Narrowing,
}

impl FaultClass {
    /// All classes.
    pub const ALL: [FaultClass; 8] = [
        FaultClass::OutOfBounds,
        FaultClass::UndefinedUse,
        FaultClass::Race,
        FaultClass::Deadlock,
        FaultClass::Residue,
        FaultClass::OutputRevisited,
        FaultClass::Arithmetic,
        FaultClass::Narrowing,
    ];

    /// Stable kebab-case name.
    pub const fn name(self) -> &'static str {
        match self {
            FaultClass::OutOfBounds => "out-of-bounds",
            FaultClass::UndefinedUse => "undefined-use",
            FaultClass::Race => "race",
            FaultClass::Deadlock => "deadlock",
            FaultClass::Residue => "residue",
            FaultClass::OutputRevisited => "output-revisited",
            FaultClass::Arithmetic => "arithmetic",
            FaultClass::Narrowing => "narrowing",
        }
    }
}

/// What an allocation is to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An operand of the call.
    Operand,
    /// An output of the call.
    Output,
    /// The buffer of an operand's or output's block that the runtime copies in and out.
    Window,
    /// Scratch, data or semaphores.
    Scratch,
}

/// An allocation: what was accessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// What a person should call it: `kv_pages`, `scratch 0`, `window of output 0`.
    pub label: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Element type; `None` for semaphores.
    pub dtype: Option<DType>,
    /// Extents.
    pub shape: Vec<usize>,
    /// Where it lies.
    pub space: MemorySpace,
}

/// The other party of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherSite {
    /// What happened there, to follow a colon: `the copy in flight was started`.
    pub role: &'static str,
    /// Index into [`crate::Program::sites`].
    pub site: u32,
    /// The IR op.
    pub op: String,
    /// Python stack, innermost frame first.
    pub stack: Vec<Frame>,
}

/// A fault with everything that a person needs to find its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its class.
    pub class: FaultClass,
    /// The IR op, e.g. `tpu.enqueue_dma`; `window` where the runtime moves a block.
    pub op: String,
    /// Index of the op's place into [`crate::Program::sites`]; none where the runtime moves a block by no op.
    pub site: Option<u32>,
    /// The same of the op that applied the index, of a fault of an index.
    pub index_site: Option<u32>,
    /// Python stack of the op, innermost frame first; empty where the module has no locations.
    pub stack: Vec<Frame>,
    /// Grid point, outermost index first; empty after the last one.
    pub grid: Vec<i64>,
    /// The allocation that was accessed, if there was an access.
    pub place: Option<Place>,
    /// The offending indices, if any.
    pub indices: Vec<i64>,
    /// One sentence: what was accessed, what the limit is.
    pub message: String,
    /// The other site: of a race, or of an index applied elsewhere than where the access is.
    pub other: Option<OtherSite>,
}

/// `operand pages, f32 [4, 8] in any`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.origin {
            Origin::Operand => "operand ",
            // Their labels say it.
            Origin::Output | Origin::Window | Origin::Scratch => "",
        };
        let dtype = self.dtype.map_or("semaphores", DType::name);
        let space = match self.space {
            MemorySpace::Any => "memory of any space",
            MemorySpace::Hbm => "HBM",
            MemorySpace::Vmem => "VMEM",
            MemorySpace::Smem => "SMEM",
            MemorySpace::Semaphore => "semaphore memory",
        };
        write!(f, "{what}{}, {dtype} {:?} in {space}", self.label, self.shape)
    }
}

/// Everything, a line each, without a newline at the end.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.class.name(), self.op)?;
        match self.grid.as_slice() {
            [] => write!(f, ", after the last grid point")?,
            grid => write!(f, ", grid point {grid:?}")?,
        }
        write!(f, "\n  {}", self.message)?;
        if let Some(place) = &self.place {
            write!(f, "\n  {place}")?;
        }
        frames(f, &self.stack)?;
        if let Some(other) = &self.other {
            write!(f, "\n  {} in {}", other.role, other.op)?;
            frames(f, &other.stack)?;
        }
        Ok(())
    }
}

fn frames(f: &mut fmt::Formatter<'_>, stack: &[Frame]) -> fmt::Result {
    for Frame { file, line, function } in stack {
        write!(f, "\n    {file}:{line}")?;
        if !function.is_empty() {
            write!(f, " in {function}")?;
        }
    }
    Ok(())
}

/// The role of the site where a view was taken that a later access finds outside.
pub(crate) const INDEX_APPLIED: &str = "the index was applied";

/// A fault as an op reports it; the machine adds op, stack and grid point.
#[derive(Debug, Clone)]
pub(crate) struct Trap {
    pub(crate) class: FaultClass,
    pub(crate) allocation: Option<AllocationId>,
    pub(crate) indices: Vec<i64>,
    pub(crate) message: String,
    /// What the other party did, and its site (index into the program's sites).
    pub(crate) other: Option<(&'static str, u32)>,
    /// Whether the runtime's window met it, not an op.
    pub(crate) window: bool,
}

impl Trap {
    pub(crate) fn new(class: FaultClass, message: impl Into<String>) -> Trap {
        Trap {
            class,
            allocation: None,
            indices: Vec::new(),
            message: message.into(),
            other: None,
            window: false,
        }
    }
}

/// Why execution ended before its time.
#[derive(Debug, Clone)]
pub(crate) enum Stop {
    Trap(Box<Trap>),
    OutOfFuel,
}

impl From<Trap> for Stop {
    fn from(trap: Trap) -> Stop {
        Stop::Trap(Box::new(trap))
    }
}
