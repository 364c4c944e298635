//! Optimisation: the same program with less to execute.
//!
//! Constants are folded into slots that are filled once a machine; equal pure instructions are executed once; what doesn't
//! change in a loop is computed before it; what nobody reads isn't computed.
//!
//! Invariant: operands, policy and sanitizers give the same outputs, faults (with their sites) and coverage as in the plain
//! program. Only the count of executed ops is lower. Whatever depends on the policy (float arithmetic) or can fault is
//! neither folded nor moved.

mod alias;
mod fold;
mod hoist;

use super::{Program, lifetime};

impl Program {
    /// The program with less to execute; see the module for what stays the same.
    pub fn optimized(mut self) -> Program {
        let mut body = std::mem::take(&mut self.body);
        self.constants.extend(fold::fold(&mut body, &self));
        alias::merge(&mut body);
        hoist::hoist(&mut body);
        // What was hoisted out of two loops may be equal.
        alias::merge(&mut body);
        lifetime::finish(&mut body, self.slots);
        self.body = body;
        self
    }
}
