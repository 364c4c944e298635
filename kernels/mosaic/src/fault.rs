//! Faults: what the machine caught a kernel doing, as a value with the kernel's own source stack.
//!
//! Invariant: a fault accuses the kernel or its batch, never us; what we can't execute is `Unsupported` (`program`).

use crate::ir::{Frame, MemorySpace};

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
}

impl FaultClass {
    /// All classes.
    pub const ALL: [FaultClass; 7] = [
        FaultClass::OutOfBounds,
        FaultClass::UndefinedUse,
        FaultClass::Race,
        FaultClass::Deadlock,
        FaultClass::Residue,
        FaultClass::OutputRevisited,
        FaultClass::Arithmetic,
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
        }
    }
}

/// A fault with everything that a person needs to find its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its class.
    pub class: FaultClass,
    /// The IR op, e.g. `tpu.enqueue_dma`.
    pub op: String,
    /// Python stack of the op, innermost frame first; empty where the module has no locations.
    pub stack: Vec<Frame>,
    /// Grid point, outermost index first; empty after the last one.
    pub grid: Vec<i64>,
    /// Memory space of the access, if there was one.
    pub space: Option<MemorySpace>,
    /// The offending indices, if any.
    pub indices: Vec<i64>,
    /// One sentence: what was accessed, what the limit is.
    pub message: String,
    /// Stack of the other site (of a race; of the copy left in flight), innermost frame first.
    pub other: Option<Vec<Frame>>,
}

/// A fault as an op reports it; the machine adds op, stack and grid point.
#[derive(Debug, Clone)]
pub(crate) struct Trap {
    pub(crate) class: FaultClass,
    pub(crate) space: Option<MemorySpace>,
    pub(crate) indices: Vec<i64>,
    pub(crate) message: String,
    /// Site (index into the program's sites) of the other party.
    pub(crate) other: Option<u32>,
}

impl Trap {
    pub(crate) fn new(class: FaultClass, message: impl Into<String>) -> Trap {
        Trap { class, space: None, indices: Vec::new(), message: message.into(), other: None }
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
