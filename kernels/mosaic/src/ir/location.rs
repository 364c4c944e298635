//! Locations: each op's Python call stack, resolved from MLIR's nested locations.
//!
//! Invariant: identical locations share one id; a stack is innermost frame first.

/// Index into [`Locations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationId(pub u32);

impl LocationId {
    /// The unknown location, always entry 0: an empty stack.
    pub const UNKNOWN: LocationId = LocationId(0);
}

/// One Python frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Source file as the exporter saw it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Qualified function name, `kernel.<locals>.body`; empty where the text gives none.
    pub function: String,
}

/// All locations of a module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Locations {
    /// Stacks by id, innermost frame first; entry 0 is empty.
    pub stacks: Vec<Vec<Frame>>,
}

impl Locations {
    /// The stack of `id`, innermost frame first.
    pub fn stack(&self, id: LocationId) -> &[Frame] {
        self.stacks.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }
}
