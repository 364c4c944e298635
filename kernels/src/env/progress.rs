//! How slow work tells what it is doing.
//!
//! Invariant: messages are for people; nothing depends on whether anyone listens.

/// A listener of slow work; the command line draws it.
pub trait Progress: Sync {
    /// Work on something begins, or goes on with it: replaces the line before.
    fn step(&self, message: &str);

    /// Something is finished and worth a line that stays.
    fn done(&self, message: &str);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _message: &str) {}

    fn done(&self, _message: &str) {}
}
