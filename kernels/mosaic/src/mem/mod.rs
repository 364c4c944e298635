//! Memory: allocations, views of them, and the one door through which every access goes.
//!
//! Invariant: ops never touch bytes. `Memory` (access.rs, dma.rs) checks in a fixed order: the index is defined, the
//! access lies inside, no copy in flight is disturbed; only then does it read or write.

mod access;
mod allocation;
mod codec;
mod dma;
mod rows;
mod shadow;
mod view;

pub(crate) use access::Memory;
pub(crate) use allocation::{Allocation, Buffers};
pub use dma::DmaOrder;
pub(crate) use view::{AllocationId, Complaint, View};
