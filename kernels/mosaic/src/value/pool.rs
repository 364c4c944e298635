//! Reuse of lane buffers, so that a warm VM allocates nothing.
//!
//! Invariant: a buffer handed out has the asked length; its contents are unspecified but initialised.

use std::rc::Rc;

/// Free buffers, by the power of two that their capacity reaches.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    classes: Vec<Vec<Rc<Vec<u32>>>>,
}

impl Pool {
    /// A buffer of `len` lanes with unspecified contents; the caller owns the only reference.
    pub(crate) fn take(&mut self, len: usize) -> Vec<u32> {
        let class = len.next_power_of_two().trailing_zeros() as usize;
        let reused =
            self.classes.get_mut(class).and_then(Vec::pop).and_then(|lanes| Rc::try_unwrap(lanes).ok());
        let mut lanes = reused.unwrap_or_else(|| Vec::with_capacity(len.next_power_of_two()));
        lanes.resize(len, 0);
        lanes
    }

    /// Takes a buffer back if nobody else refers to it.
    pub(crate) fn give(&mut self, lanes: Rc<Vec<u32>>) {
        if Rc::strong_count(&lanes) == 1 && lanes.capacity().is_power_of_two() {
            let class = lanes.capacity().trailing_zeros() as usize;
            if self.classes.len() <= class {
                self.classes.resize_with(class + 1, Vec::new);
            }
            self.classes[class].push(lanes);
        }
    }
}
