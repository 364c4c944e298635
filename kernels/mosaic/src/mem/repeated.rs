//! Rows that repeat one element, kept as that element until somebody wants them otherwise.
//!
//! Softmax statistics fill buffers of 128 lanes with one value a row, and memory starts out undefined row by row: neither is
//! worth writing out before it is read by lanes.
//!
//! Invariant: where `rows[i]` is something, it is what row i of the allocation holds, and the row's bytes and shadow mean
//! nothing; `count` rows are something.

/// What a row repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    /// Raw bits, in the low ones.
    pub(super) raw: u32,
    pub(super) undefined: bool,
}

/// Memory that nobody has written to: its bits mean nothing, but are the same in every run.
const UNWRITTEN: Element = Element { raw: 0, undefined: true };

/// The rows of an allocation, along its last dimension.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeated {
    /// Elements in a row; 0 where rows aren't looked at.
    pub(super) width: usize,
    rows: Vec<Option<Element>>,
    count: usize,
}

/// Rows shorter than this are as quickly written.
const LEAST_WIDTH: usize = 32;

impl Repeated {
    /// `rows` rows of `width` elements, unwritten; `reused` is what an earlier run left.
    pub(super) fn unwritten(rows: usize, width: usize, reused: Repeated) -> Repeated {
        if width < LEAST_WIDTH {
            return Repeated::default();
        }
        let mut repeated = Repeated { width, ..reused };
        repeated.rows.resize(rows, None);
        repeated.forget();
        repeated
    }

    /// All rows are unwritten from now on; `false` where rows aren't looked at.
    pub(super) fn forget(&mut self) -> bool {
        self.rows.fill(Some(UNWRITTEN));
        self.count = self.rows.len();
        self.width != 0
    }

    /// Whether no row is kept as an element.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn get(&self, row: usize) -> Option<Element> {
        self.rows[row]
    }

    pub(super) fn set(&mut self, row: usize, element: Element) {
        self.count += usize::from(self.rows[row].is_none());
        self.rows[row] = Some(element);
    }

    /// Takes out what the rows repeat: runs of rows with the same element, as their first row, their number and the element.
    pub(super) fn take(&mut self, mut f: impl FnMut(usize, usize, Element)) {
        let mut at = 0;
        for same in self.rows.chunk_by(|a, b| a == b) {
            if let Some(element) = same[0] {
                f(at, same.len(), element);
            }
            at += same.len();
        }
        self.rows.fill(None);
        self.count = 0;
    }
}
