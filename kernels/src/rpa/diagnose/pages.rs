//! Hypotheses about the numbers in `page_indices`.
//!
//! Invariant: a number is only renumbered where all of them follow one formula.

use super::{Candidate, Cause, Repair, State, count};
use crate::rpa::contract::{Breach, Entry};

pub(super) fn candidates(state: &State, breaches: &[Breach]) -> Vec<Candidate> {
    let rule = "page-index-in-range";
    let wrong: Vec<&Entry> =
        breaches.iter().filter(|breach| breach.rule.id == rule).flat_map(|breach| &breach.entries).collect();
    let Some(first) = wrong.first().map(|entry| (*entry).clone()) else { return Vec::new() };
    let facts = Facts::of(state);
    let places: Vec<Entry> = wrong.iter().take(8).map(|entry| (*entry).clone()).collect();
    let value = state.metadata.page_indices[first.index[0] * state.metadata.pages_per_seq + first.index[1]];
    let one = wrong.len() == 1;
    let mut found = Vec::new();
    found.extend(slots(state, &facts, &places));
    found.extend(filler(state, &wrong, &places));
    found.extend(from_one(state, &facts, &places));
    if facts.least < 0 && found.is_empty() {
        let unsure = Some("which page was meant is in no array".to_owned());
        let sentence =
            format!("page_indices[{}, {}] = {value} is no page number", first.index[0], first.index[1]);
        found.push(unmendable(
            "garbage-page",
            sentence,
            "a negative number within the pages that a kv_len uses".to_owned(),
            places,
            1,
            unsure,
            state,
        ));
    } else if facts.least >= 0 {
        let (pages, most) = (state.variant.pages, facts.most);
        let sentence = if one {
            format!(
                "page_indices[{}, {}] = {value} is past the cache's {pages} pages",
                first.index[0], first.index[1]
            )
        } else {
            format!(
                "page_indices holds numbers of another pool: up to {most}, where kv_pages has {pages} pages"
            )
        };
        let why = if facts.inside == 0 {
            format!(
                "none of the {} in use is among the cache's: all lie in {} to {most}",
                count(facts.used, "number"),
                facts.least
            )
        } else {
            format!("{} of {} in use are past the cache", wrong.len(), count(facts.used, "number"))
        };
        let slip = if one { "one-page-past-the-cache" } else { "pages-of-another-pool" };
        let unsure = Some(if one {
            "which page was meant is in no array".to_owned()
        } else {
            "how that pool's pages are numbered in this cache is in no array".to_owned()
        });
        found.push(unmendable(slip, sentence, why, places, 1, unsure, state));
    }
    found
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
fn filler(state: &State, wrong: &[&Entry], places: &[Entry]) -> Option<Candidate> {
    let columns = state.metadata.pages_per_seq;
    let value = |entry: &Entry| state.metadata.page_indices[entry.index[0] * columns + entry.index[1]];
    let first = value(wrong[0]);
    let is_last = |entry: &&Entry| {
        let used = state.used_pages(entry.index[0]);
        used[entry.index[1]..].iter().all(|page| *page == first)
    };
    if !(first < 0 || first == i32::MAX) || !wrong.iter().all(is_last) {
        return None;
    }
    let (row, column) = (wrong[0].index[0], wrong[0].index[1]);
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
