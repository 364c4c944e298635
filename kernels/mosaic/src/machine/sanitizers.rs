//! Which of the checks that a run can do without are on.
//!
//! Invariant: on by default, all of them. Bounds, semaphores and divisions are always checked: without them the machine itself
//! couldn't go on.

/// Checks that can be left out, to measure what they cost. A run without one says nothing about its class of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sanitizers {
    /// Which memory and which bits of values are undefined. Without it scratch memory starts as zeros, and what operands hold
    /// in undefined places counts.
    pub definedness: bool,
    /// Accesses that disturb a copy in flight.
    pub races: bool,
}

impl Default for Sanitizers {
    fn default() -> Sanitizers {
        Sanitizers { definedness: true, races: true }
    }
}
