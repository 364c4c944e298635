//! Physical pages elsewhere.
//!
//! Invariant: the table names the same contents as before.

use countersign_kernels::Variant;
use countersign_reference::Batch;

use super::Follow;
use super::values::total;
use crate::payload::Stream;

/// Every physical page at another place, and the table changed to fit.
pub(super) fn permuted(variant: &Variant, batch: &Batch, stream: &mut Stream) -> Option<Follow> {
    if variant.pages < 2 {
        return None;
    }
    let mut place: Vec<usize> = (0..variant.pages).collect();
    for last in (1..place.len()).rev() {
        place.swap(last, stream.below(last as u64 + 1) as usize);
    }
    let mut second = batch.clone();
    let page = batch.kv_pages.bytes.len() / variant.pages;
    for (from, to) in place.iter().enumerate() {
        second.kv_pages.bytes[to * page..][..page]
            .copy_from_slice(&batch.kv_pages.bytes[from * page..][..page]);
    }
    for entry in &mut second.metadata.page_indices {
        // What names no page is garbage that nobody may use.
        if let Some(to) = usize::try_from(*entry).ok().and_then(|from| place.get(from)) {
            *entry = i32::try_from(*to).ok()?;
        }
    }
    Some(Follow::same_rows(variant, second, (0..total(batch)).map(|row| (row, row)).collect()))
}
