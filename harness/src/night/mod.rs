//! What nights leave to each other: the grown corpus and the history; and how a night's processes talk.
//!
//! Invariant: no clock and no process here; dates are given. What is stored is stored whole or not at all.

mod history;
mod message;
mod pack;
mod sift;
mod store;

pub use history::{Earlier, History, RunRecord, TargetRecord, UNEXPLAINED};
pub use message::{Message, Progress, Target};
pub use pack::{PackError, Packed, Unpacked, pack, unpack};
pub use sift::{Sifted, sift};
pub use store::{Named, Store, name_of};
