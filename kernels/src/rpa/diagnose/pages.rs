//! Hypotheses about the numbers in `page_indices`.
//!
//! Invariant: a number is only renumbered where all of them follow one formula.

use super::{Candidate, Cause, Repair, State, count};
use crate::rpa::contract::{Breach, Entry};

pub(super) fn candidates(state: &State, breaches: &[Breach]) -> Vec<Candidate> {
    let rule = "page-index-in-range";
    let Some((row, column, value)) = outside(state).next() else { return Vec::new() };
    if breaches.iter().all(|breach| breach.rule.id != rule) {
        return Vec::new();
    }
    let facts = Facts::of(state);
    let place = |(row, column, _)| Entry { array: "page_indices", index: vec![row, column] };
    let places: Vec<Entry> = outside(state).take(8).map(place).collect();
    let wrong = facts.used - facts.inside;
    let mut found = Vec::new();
    found.extend(slots(state, &facts, &places));
    found.extend(filler(state, &places));
    found.extend(from_one(state, &facts, &places));
    if facts.least < 0 && found.is_empty() {
        let unsure = Some("which page was meant is in no array".to_owned());
        let sentence = format!("page_indices[{row}, {column}] = {value} is no page number");
        let why = "a negative number within the pages that a kv_len uses".to_owned();
        found.push(unmendable("garbage-page", sentence, why, places, 1, unsure, state));
    } else if facts.least >= 0 {
        let (pages, most) = (state.variant.pages, facts.most);
        let sentence = if wrong == 1 {
            format!("page_indices[{row}, {column}] = {value} is past the cache's {pages} pages")
        } else {
            format!(
                "page_indices holds numbers of another pool: up to {most}, where kv_pages has {pages} pages"
            )
        };
        let why = if facts.inside == 0 {
            let numbers = count(facts.used, "number");
            format!("none of the {numbers} in use is among the cache's: all lie in {} to {most}", facts.least)
        } else {
            format!("{wrong} of {} in use are past the cache", count(facts.used, "number"))
        };
        let (slip, unsure) = if wrong == 1 {
            ("one-page-past-the-cache", "which page was meant is in no array")
        } else {
            ("pages-of-another-pool", "how that pool's pages are numbered in this cache is in no array")
        };
        found.push(unmendable(slip, sentence, why, places, 1, Some(unsure.to_owned()), state));
    }
    found
}

/// The entries in use that name no page: row, column, value.
fn outside(state: &State) -> impl Iterator<Item = (usize, usize, i32)> {
    let pages = state.variant.pages;
    let is_outside = move |page: i32| usize::try_from(page).map_or(true, |page| page >= pages);
    (0..state.sequences()).flat_map(move |row| {
        let used = state.used_pages(row).iter().enumerate();
        used.filter(move |(_, page)| is_outside(**page)).map(move |(column, page)| (row, column, *page))
    })
}

/// Of the page numbers in use.
struct Facts {
    used: usize,
    inside: usize,
    least: i32,
    most: i32,
    /// Whether all are multiples of the page size.
    multiples: bool,
}

impl Facts {
    fn of(state: &State) -> Facts {
        let mut facts = Facts { used: 0, inside: 0, least: i32::MAX, most: i32::MIN, multiples: true };
        let (pages, page_size) = (state.variant.pages, state.variant.page_size.max(1) as i64);
        for &page in (0..state.sequences()).flat_map(|sequence| state.used_pages(sequence)) {
            facts.used += 1;
            facts.inside += usize::from(usize::try_from(page).is_ok_and(|page| page < pages));
            (facts.least, facts.most) = (facts.least.min(page), facts.most.max(page));
            facts.multiples &= i64::from(page) % page_size == 0;
        }
        facts
    }
}

/// The whole table with every number in use changed.
fn renumbered(state: &State, change: impl Fn(i32) -> i32) -> Repair {
    let columns = state.metadata.pages_per_seq;
    let mut pages = state.metadata.page_indices.clone();
    for sequence in 0..state.sequences() {
        let used = state.used_pages(sequence).len();
        pages[sequence * columns..][..used].iter_mut().for_each(|page| *page = change(*page));
    }
    Repair { page_indices: Some((columns, pages)), ..Repair::default() }
}

/// Token slots instead of pages.
fn slots(state: &State, facts: &Facts, places: &[Entry]) -> Option<Candidate> {
    let page_size = i32::try_from(state.variant.page_size).ok().filter(|size| *size > 1)?;
    if !facts.multiples
        || facts.least < 0
        || facts.used < 2
        || (facts.most / page_size) as usize >= state.variant.pages
    {
        return None;
    }
    let cause = Cause {
        slip: "slots-not-pages",
        sentence: "page_indices holds token slots, not page numbers".to_owned(),
        why: format!(
            "every number in use is a multiple of the page size, {page_size}, and divided by it names a page"
        ),
        places: places.to_vec(),
        repair: renumbered(state, |page| page / page_size),
        stands_in: false,
        advice: "page_indices = slot_indices // page_size".to_owned(),
        unsure: None,
    };
    Some(Candidate { cause, tier: 0 })
}

/// Numbers from 1 on.
fn from_one(state: &State, facts: &Facts, places: &[Entry]) -> Option<Candidate> {
    if facts.least < 1 || facts.most as usize != state.variant.pages || facts.used < 3 {
        return None;
    }
    let cause = Cause {
        slip: "pages-from-one",
        sentence: "page_indices looks numbered from 1: pages are numbered from 0".to_owned(),
        why: format!(
            "the numbers in use lie in {} to {}, which is how many pages the cache has",
            facts.least, facts.most
        ),
        places: places.to_vec(),
        repair: renumbered(state, |page| page - 1),
        stands_in: false,
        advice: "page_indices = page_indices - 1".to_owned(),
        unsure: Some("a single wrong number looks the same".to_owned()),
    };
    Some(Candidate { cause, tier: 0 })
}

/// A filler at the end of a row's used part: pages that were never allocated.
fn filler(state: &State, places: &[Entry]) -> Option<Candidate> {
    let (row, column, first) = outside(state).next()?;
    let is_last = |(row, column, _)| {
        let used: &[i32] = state.used_pages(row);
        used[column..].iter().all(|page| *page == first)
    };
    if !(first < 0 || first == i32::MAX) || !outside(state).all(is_last) {
        return None;
    }
    let kv_len = state.metadata.kv_lens[row];
    let needed = state.used_pages(row).len();
    let sentence = format!(
        "page_indices[{row}, {column}] = {first} is a filler, but kv_lens[{row}] = {kv_len} uses it: a page was not allocated, or kv_len is too long"
    );
    let why = format!(
        "{kv_len} tokens take {} of {}; row {row} has {}",
        count(needed, "page"),
        state.variant.page_size,
        column
    );
    let unsure = Some(format!(
        "either allocate {} more, or kv_lens[{row}] is at most {}",
        count(needed - column, "page"),
        column * state.variant.page_size
    ));
    Some(unmendable("page-not-allocated", sentence, why, places.to_vec(), 0, unsure, state))
}

/// A cause that no array can undo: in the repaired batch the numbers in use are replaced by page 0 where they name none, so that
/// what else is wrong shows.
fn unmendable(
    slip: &'static str,
    sentence: String,
    why: String,
    places: Vec<Entry>,
    tier: u8,
    unsure: Option<String>,
    state: &State,
) -> Candidate {
    let pages = state.variant.pages;
    let inside = |page: i32| usize::try_from(page).is_ok_and(|page| page < pages);
    let repair = renumbered(state, |page| if inside(page) { page } else { 0 });
    Candidate {
        cause: Cause { slip, sentence, why, places, repair, stands_in: true, advice: String::new(), unsure },
        tier,
    }
}
