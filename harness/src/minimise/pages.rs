//! Canonical page numbers: the batch's pages become 0, 1, 2, … in the order of their first use.
//!
//! Invariant: pages that were apart stay apart, pages that were shared stay shared; a number that names no page may only come
//! nearer to those that do.

use super::batch::Parts;
use super::sequences::with_parts;
use super::{Context, Draft};

pub(super) fn candidates(context: &Context<'_>, draft: &Draft) -> Vec<Draft> {
    let variant = context.variant(draft);
    let parts = Parts::of(&draft.case.metadata);
    let exists = |page: i32| usize::try_from(page).is_ok_and(|page| page < variant.pages);
    let mut seen: Vec<i32> = Vec::new();
    for page in parts.owned_pages(variant.page_size).filter(|&page| exists(page)) {
        if !seen.contains(&page) {
            seen.push(page);
        }
    }
    let number = |page: i32| seen.iter().position(|&seen| seen == page).map_or(page, |number| number as i32);
    let nearest = |page: i32| match page {
        page if exists(page) => number(page),
        page if page < 0 => -1,
        _ => variant.pages as i32,
    };
    let renumbered = |owned: &dyn Fn(i32) -> i32, rest: &dyn Fn(i32) -> i32| {
        let mut parts = parts.clone();
        for sequence in &mut parts.sequences {
            let used = sequence.used(variant.page_size);
            for (column, page) in sequence.row.iter_mut().enumerate() {
                *page = if column < used { owned(*page) } else { rest(*page) };
            }
        }
        with_parts(draft, &parts)
    };
    // What stands past a sequence's pages may matter by naming a page that the batch owns: the first will do.
    let first = |page: i32| if exists(page) { 0 } else { page };
    let candidates = [&nearest as &dyn Fn(i32) -> i32, &number]
        .map(|owned| [renumbered(owned, &|page| page), renumbered(owned, &first)]);
    candidates.into_iter().flatten().flatten().collect()
}
