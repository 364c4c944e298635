//! The report model and its renderers.
//!
//! Invariant: shows what it is given; judges nothing, reads no kernel.
