//! Hypotheses about `num_seqs`, and about sequences that are in the batch without taking part.
//!
//! Invariant: a sequence that holds query tokens and cache is never dropped as padding.

use super::cumulative::ascends;
use super::{Candidate, Cause, Repair, State, entry};
use crate::rpa::contract::{Breach, Entry};

pub(super) fn candidates(state: &State, breaches: &[Breach]) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(out_of_range(state));
    found.extend(past_the_live(state));
    found.extend(idle_sequences(state, breaches));
    found
}

fn scalar() -> Vec<Entry> {
    vec![Entry { array: "num_seqs", index: Vec::new() }]
}

fn num_seqs(count: usize) -> Repair {
    Repair { num_seqs: Some(count as i32), ..Repair::default() }
}

/// Sequences from the first on that have query tokens, as many cached ones, and rows of q.
fn live(state: &State) -> usize {
    let (cu, kv) = (&state.metadata.cu_q_lens, &state.metadata.kv_lens);
    if cu.first() != Some(&0) {
        return 0;
    }
    let most = state.rows().min(kv.len()).min(cu.len() - 1);
    let is_live = |sequence: &usize| {
        let q_len = state.q_len(*sequence);
        q_len > 0
            && q_len <= i64::from(kv[*sequence])
            && i64::from(cu[sequence + 1]) <= state.variant.tokens as i64
    };
    (0..most).take_while(is_live).count()
}

/// num_seqs above the table's rows, or not positive.
fn out_of_range(state: &State) -> Option<Candidate> {
    let (named, rows) = (i64::from(state.metadata.num_seqs), state.rows());
    if (1..=rows as i64).contains(&named) {
        return None;
    }
    let live = live(state);
    if live == 0 {
        return None;
    }
    let filled = format!(
        "the arrays hold {live} sequence{} with {}s and cache",
        if live == 1 { "" } else { "s" },
        state.dealt().unit
    );
    let (slip, sentence) = if named <= 0 {
        ("num-seqs-not-set", format!("num_seqs = {named}: it looks as if it was never set"))
    } else if named == live as i64 + 1 {
        (
            "num-seqs-off-by-one",
            format!("num_seqs = {named} is one too many: it looks like the length of cu_q_lens"),
        )
    } else {
        (
            "num-seqs-wrong",
            format!("num_seqs = {named} counts something else than sequences: page_indices has {rows} rows"),
        )
    };
    // What follows may be of an earlier batch; what doesn't follow can't.
    let rest = &state.metadata.kv_lens[live..];
    let unsure = (named <= 0 && live == rows && rows > 1)
        .then(|| format!("rows of an earlier batch may be among the {live}"));
    let why = if rest.iter().all(|kv_len| *kv_len == 0) {
        filled
    } else {
        format!("{filled}, and others behind them")
    };
    let advice = "num_seqs = np.array([len(q_lens)], np.int32)".to_owned();
    let cause = Cause {
        slip,
        sentence,
        why,
        places: scalar(),
        repair: num_seqs(live),
        stands_in: false,
        advice,
        unsure,
    };
    Some(Candidate { cause, tier: 0 })
}

/// num_seqs counts rows past the batch's own: padding, or what an earlier batch left there.
fn past_the_live(state: &State) -> Option<Candidate> {
    let (sequences, live) = (state.sequences(), live(state));
    let cu = &state.metadata.cu_q_lens;
    if live == 0 || live >= sequences || cu.len() <= sequences {
        return None;
    }
    let (ends, kv) = (&cu[live + 1..=sequences], &state.metadata.kv_lens[live..sequences]);
    let total = cu[live];
    let (more, named) = (sequences - live, state.metadata.num_seqs);
    let has_no_rows = ends.iter().all(|end| *end == 0) || ends.iter().all(|end| *end == total);
    let is_empty = kv.iter().all(|kv_len| *kv_len == 0);
    let extra = if more == 1 { format!("row {live}") } else { format!("rows {live} to {}", sequences - 1) };
    let unit = state.dealt().unit;
    let (slip, sentence, why, tier) = if has_no_rows && is_empty && more == 1 {
        let sentence = format!("num_seqs = {named} is one too many: the batch has {live}");
        ("num-seqs-off-by-one", sentence, format!("{extra} is empty: no {unit}s, no cache"), 0)
    } else if has_no_rows && is_empty {
        let sentence = format!("num_seqs = {named} counts padding: the batch has {live}");
        ("num-seqs-counts-padding", sentence, format!("{extra} are empty: no {unit}s, no cache"), 0)
    } else if ends[0] < total && ascends(ends) {
        let sentence =
            format!("num_seqs = {named} is that of another batch: from row {live} on the arrays look stale");
        let why = format!(
            "cu_q_lens falls from {total} to {} there and goes on from that, as if the earlier, longer batch had not been overwritten",
            ends[0]
        );
        ("stale-tail", sentence, why, u8::from(more == 1 || has_no_rows))
    } else {
        return None;
    };
    let mut places = scalar();
    places.extend((live + 1..=sequences).take(8).map(|index| entry("cu_q_lens", index)));
    let advice = "num_seqs = np.array([len(q_lens)], np.int32)   # set together with the arrays".to_owned();
    let cause =
        Cause { slip, sentence, why, places, repair: num_seqs(live), stands_in: false, advice, unsure: None };
    Some(Candidate { cause, tier })
}

/// Sequences without query tokens in the midst of others, where nothing worse is wrong.
fn idle_sequences(state: &State, breaches: &[Breach]) -> Option<Candidate> {
    let sequences = state.sequences();
    let cu = &state.metadata.cu_q_lens;
    let idle = |breach: &Breach| ["q-len-positive", "kv-len-positive"].contains(&breach.rule.id);
    if !breaches.iter().any(idle) || cu.len() <= sequences {
        return None;
    }
    let busy: Vec<usize> = (0..sequences).filter(|&sequence| state.q_len(sequence) != 0).collect();
    let dropped: Vec<usize> = (0..sequences).filter(|&sequence| state.q_len(sequence) == 0).collect();
    if busy.is_empty() {
        return None;
    }
    let (rows, columns) = (state.rows(), state.metadata.pages_per_seq);
    let mut ends = vec![cu[0]];
    ends.extend(busy.iter().map(|sequence| cu[sequence + 1]));
    let mut kv_lens: Vec<i32> = busy.iter().map(|&sequence| state.metadata.kv_lens[sequence]).collect();
    kv_lens.resize(state.metadata.kv_lens.len(), 0);
    let row = |sequence: &usize| &state.metadata.page_indices[sequence * columns..(sequence + 1) * columns];
    let mut pages: Vec<i32> = busy.iter().flat_map(row).copied().collect();
    pages.resize(rows * columns, 0);
    let few: Vec<String> = dropped.iter().take(4).map(usize::to_string).collect();
    let which = format!("{}{}", few.join(", "), if dropped.len() > 4 { ", …" } else { "" });
    let (is_one, empty) =
        (dropped.len() == 1, dropped.iter().all(|&sequence| state.metadata.kv_lens[sequence] == 0));
    let unit = state.dealt().unit;
    let what = if empty { format!("neither {unit}s nor cache") } else { format!("no {unit}s") };
    let cause = Cause {
        slip: "idle-sequences",
        sentence: format!(
            "sequence{} {which} {} {what}: not scheduled in this step, and still in the batch",
            if is_one { "" } else { "s" },
            if is_one { "has" } else { "have" }
        ),
        why: "its two entries of cu_q_lens are equal".to_owned(),
        places: dropped
            .iter()
            .take(4)
            .flat_map(|&sequence| [entry("cu_q_lens", sequence + 1), entry("kv_lens", sequence)])
            .collect(),
        repair: Repair {
            cu_q_lens: Some(super::cumulative::padded(ends, state)),
            kv_lens: Some(kv_lens),
            page_indices: Some((columns, pages)),
            num_seqs: Some(busy.len() as i32),
            ..Repair::default()
        },
        stands_in: false,
        advice: "leave such sequences out of the batch's arrays, and out of num_seqs".to_owned(),
        unsure: None,
    };
    Some(Candidate { cause, tier: 1 })
}
