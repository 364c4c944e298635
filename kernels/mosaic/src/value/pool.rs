//! Buffers of lanes and their reuse, so that a warm VM allocates nothing.
//!
//! Invariant: a buffer handed out has the asked length; its contents are unspecified but initialised. A buffer that is
//! referred to twice is never written to.

use std::ops::Deref;
use std::rc::Rc;

/// Lanes, shared by those who refer to them. A single lane needs no buffer.
#[derive(Debug, Clone)]
pub(crate) struct Lanes(Storage);

#[derive(Debug, Clone)]
enum Storage {
    One(u32),
    Many(Rc<Vec<u32>>),
}

impl Lanes {
    pub(crate) fn one(lane: u32) -> Lanes {
        Lanes(Storage::One(lane))
    }

    /// Leaves a single lane behind.
    pub(crate) fn take(&mut self) -> Lanes {
        std::mem::replace(self, Lanes::one(0))
    }

    /// Whether nobody else refers to them.
    pub(crate) fn is_unique(&self) -> bool {
        match &self.0 {
            Storage::One(_) => true,
            Storage::Many(lanes) => Rc::strong_count(lanes) == 1,
        }
    }

    /// To write to: of a fresh buffer without cost, of a shared one a copy.
    pub(crate) fn slots(&mut self) -> &mut [u32] {
        match &mut self.0 {
            Storage::One(lane) => std::slice::from_mut(lane),
            Storage::Many(lanes) => Rc::make_mut(lanes).as_mut_slice(),
        }
    }
}

impl From<Vec<u32>> for Lanes {
    fn from(lanes: Vec<u32>) -> Lanes {
        match lanes.as_slice() {
            [lane] => Lanes::one(*lane),
            _ => Lanes(Storage::Many(Rc::new(lanes))),
        }
    }
}

impl Deref for Lanes {
    type Target = [u32];

    #[inline(always)]
    fn deref(&self) -> &[u32] {
        match &self.0 {
            Storage::One(lane) => std::slice::from_ref(lane),
            Storage::Many(lanes) => lanes,
        }
    }
}

/// Free buffers, by the power of two that their capacity reaches.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    classes: Vec<Vec<Rc<Vec<u32>>>>,
}

impl Pool {
    /// A buffer of `len` lanes with unspecified contents; the caller owns the only reference.
    pub(crate) fn take(&mut self, len: usize) -> Lanes {
        if len == 1 {
            return Lanes::one(0);
        }
        let class = len.next_power_of_two().trailing_zeros() as usize;
        let reused = self.classes.get_mut(class).and_then(Vec::pop);
        let mut lanes = reused.unwrap_or_else(|| Rc::new(Vec::with_capacity(1 << class)));
        if lanes.len() != len {
            Rc::make_mut(&mut lanes).resize(len, 0);
        }
        Lanes(Storage::Many(lanes))
    }

    /// Takes a buffer back if nobody else refers to it.
    pub(crate) fn give(&mut self, lanes: Lanes) {
        if let Storage::Many(lanes) = lanes.0
            && Rc::strong_count(&lanes) == 1
            && lanes.capacity().is_power_of_two()
        {
            let class = lanes.capacity().trailing_zeros() as usize;
            if self.classes.len() <= class {
                self.classes.resize_with(class + 1, Vec::new);
            }
            self.classes[class].push(lanes);
        }
    }
}
