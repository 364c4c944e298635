//! Coverage of copies: where along its allocation each one goes, and where compared with the one before.
//!
//! Invariant: looks at copies that started, and changes nothing but coverage.

use crate::mem::View;
use crate::program::{CopyPlace, CopyStep, CoverageKind};

use super::Execution;

/// Rows of the larger of a copy's two allocations: the first copied, the one after the last, and how many there are.
pub(super) type Rows = (i64, i64, i64);

impl Execution<'_> {
    /// The rows that a copy touches; none of an empty one, or of an allocation without dimensions.
    pub(super) fn rows_copied(&self, source: &View, target: &View) -> Option<Rows> {
        let size = |view: &View| self.memory.allocations[view.allocation as usize].dims.len();
        let larger = if size(source) >= size(target) { source } else { target };
        let dims = self.memory.allocations[larger.allocation as usize].dims;
        let (first, end) = larger.span()?;
        let rows = i64::from(*dims.as_slice().first()?);
        let row_len = (dims.len() as i64 / rows.max(1)).max(1);
        Some((first / row_len, (end - 1) / row_len + 1, rows))
    }

    /// Hits the points of a copy that the op whose points begin at `point` started.
    pub(super) fn copied(&mut self, point: u32, rows: Option<Rows>) {
        let Some((first, end, rows)) = rows else { return };
        let place = match (first == 0, end == rows) {
            (true, true) => CopyPlace::Whole,
            (true, false) => CopyPlace::First,
            (false, true) => CopyPlace::Last,
            (false, false) => CopyPlace::Inner,
        };
        self.hit_kind(point, CoverageKind::Copy(place));
        if let Some((before, before_end)) = self.copied.insert(point, (first, end)) {
            let step = if first == before_end {
                CopyStep::Next
            } else if first == before {
                CopyStep::Same
            } else {
                CopyStep::Apart
            };
            self.hit_kind(point, CoverageKind::Step(step));
        }
    }

    fn hit_kind(&mut self, first: u32, kind: CoverageKind) {
        if let Some(at) = CoverageKind::OF_COPY.iter().position(|other| *other == kind) {
            self.hit(first + at as u32);
        }
    }
}
