//! Hypotheses about `cu_q_lens`: which mistake in building a cumulative sum gives what stands there.
//!
//! Invariant: a repaired array has one entry more than the page table has rows; past the last sequence it repeats the total.

use super::{Candidate, Cause, Repair, State, count, entry, few};
use crate::rpa::contract::{Breach, Entry};

pub(super) fn candidates(state: &State, breaches: &[Breach]) -> Vec<Candidate> {
    let sequences = state.sequences();
    let mut found = super::count::candidates(state, breaches);
    if sequences == 0 || state.metadata.cu_q_lens.is_empty() {
        return found;
    }
    found.extend(leading_zero_missing(state, sequences));
    found.extend(lengths_not_sums(state, sequences));
    found.extend(total_missing(state, sequences));
    found.extend(two_zeros(state, sequences));
    found.extend(counted_from_elsewhere(state, sequences));
    found.extend(one_entry(state, sequences, breaches));
    found.extend(too_few_rows(state, sequences));
    found
}

/// A zero, then the running sums of `lens`; nothing where they leave int32 or decrease.
pub(super) fn sums(lens: &[i32]) -> Option<Vec<i32>> {
    let mut ends = Vec::with_capacity(lens.len() + 1);
    let mut total = 0i32;
    ends.push(0);
    for len in lens {
        total = total.checked_add(*len).filter(|_| *len >= 0)?;
        ends.push(total);
    }
    Some(ends)
}

/// `ends` as a whole array: the total is repeated past the last sequence.
pub(super) fn padded(mut ends: Vec<i32>, state: &State) -> Vec<i32> {
    let total = ends.last().copied().unwrap_or(0);
    ends.resize(ends.len().max(state.rows() + 1), total);
    ends
}

pub(super) fn ascends(values: &[i32]) -> bool {
    values.is_sorted() && values.first().is_none_or(|first| *first >= 0)
}

fn repair(ends: Vec<i32>, state: &State) -> Repair {
    Repair { cu_q_lens: Some(padded(ends, state)), ..Repair::default() }
}

fn places(indices: impl IntoIterator<Item = usize>) -> Vec<Entry> {
    indices.into_iter().take(8).map(|index| entry("cu_q_lens", index)).collect()
}

/// What the total says about q, where its rows are known.
fn about_q(total: i32, state: &State) -> String {
    if i64::from(total) == state.variant.tokens as i64 {
        format!("; with it they end at {total}, which is how many rows q has")
    } else {
        String::new()
    }
}

fn leading_zero_missing(state: &State, sequences: usize) -> Option<Candidate> {
    let cu = &state.metadata.cu_q_lens;
    let ends = cu.get(..sequences)?;
    if ends[0] <= 0 || !ascends(ends) {
        return None;
    }
    let total = ends[sequences - 1];
    let is_short = cu.len() == state.rows();
    let after = cu.get(sequences).copied();
    let tier = if is_short || after.is_none_or(|next| next <= total) { 0 } else { 2 };
    let why = if is_short {
        format!(
            "it has {}, one fewer than it needs, and starts with {}",
            count(cu.len(), "entry").replace("entrys", "entries"),
            ends[0]
        )
    } else {
        format!("it starts with {} and reaches its total one entry early{}", ends[0], about_q(total, state))
    };
    let cause = Cause {
        slip: "leading-zero-missing",
        sentence: "cu_q_lens lacks its leading zero: it looks like a plain cumulative sum".to_owned(),
        why,
        places: places([0]),
        repair: repair([&[0], ends].concat(), state),
        stands_in: false,
        advice: "cu_q_lens = np.concatenate([[0], np.cumsum(q_lens)])".to_owned(),
        unsure: None,
    };
    Some(Candidate { cause, tier })
}

fn lengths_not_sums(state: &State, sequences: usize) -> Vec<Candidate> {
    let (cu, kv) = (&state.metadata.cu_q_lens, &state.metadata.kv_lens);
    let mut found = Vec::new();
    for skip in [0, 1] {
        let Some(lens) = cu.get(skip..skip + sequences) else { continue };
        let zero_fits = (cu[0] == 0) == (skip == 1);
        if sequences < 2 || !zero_fits || lens.iter().all(|len| *len == 0) {
            continue;
        }
        let Some(ends) = sums(lens) else { continue };
        let total = ends[sequences];
        let fit = lens.iter().zip(kv).all(|(len, kv)| len <= kv);
        let (slip, after, advice) = if skip == 0 {
            ("lengths-not-sums", "", "cu_q_lens = np.concatenate([[0], np.cumsum(q_lens)])")
        } else {
            (
                "lengths-after-zero",
                " after the leading zero",
                "cu_q_lens = np.cumsum(np.concatenate([[0], q_lens]))",
            )
        };
        let cause = Cause {
            slip,
            sentence: format!(
                "cu_q_lens looks like lengths, not their cumulative sum{}",
                if skip == 1 { ", behind a leading zero" } else { "" }
            ),
            why: if fit {
                format!(
                    "{} are possible lengths{after}: none is more than its kv_len; their sum is {total}{}",
                    few(lens),
                    if i64::from(total) == state.variant.tokens as i64 {
                        ", which is how many rows q has"
                    } else {
                        ""
                    }
                )
            } else {
                format!("{} could be lengths{after}", few(lens))
            },
            places: places(skip..skip + sequences),
            repair: repair(ends, state),
            stands_in: false,
            advice: advice.to_owned(),
            unsure: None,
        };
        found.push(Candidate { cause, tier: u8::from(!fit) });
    }
    found
}

/// The total of the first `sequences`, of which all but the last end at `before`: a guess, and why it is one.
fn total_after(
    before: i32,
    state: &State,
    sequences: usize,
    given: Option<i32>,
) -> Option<(i32, Option<String>)> {
    let last = i64::from(state.metadata.kv_lens[sequences - 1]);
    let tokens = (state.variant.tokens as i64).min(i64::from(i32::MAX));
    let (least, most) = (i64::from(before) + 1, (i64::from(before) + last).min(tokens));
    let fits = |total: i64| (least..=most).contains(&total);
    if let Some(total) = given.filter(|&total| fits(i64::from(total))) {
        return Some((total, None));
    }
    let unsure = format!(
        "the last sequence has between 1 and {} {}s, and no array says how many",
        most - i64::from(before),
        state.dealt().unit
    );
    match least.cmp(&most) {
        std::cmp::Ordering::Greater => None,
        std::cmp::Ordering::Equal => Some((least as i32, None)),
        std::cmp::Ordering::Less if fits(tokens) => Some((
            tokens as i32,
            Some(format!("{unsure}; {tokens} if {} has no padding rows", state.dealt().array)),
        )),
        std::cmp::Ordering::Less => Some((most as i32, Some(unsure))),
    }
}

fn total_missing(state: &State, sequences: usize) -> Option<Candidate> {
    let cu = &state.metadata.cu_q_lens;
    let ends = cu.get(..sequences)?;
    let before = ends[sequences - 1];
    let next = cu.get(sequences).copied();
    if ends[0] != 0 || !ascends(ends) || next.is_some_and(|next| next > before) {
        return None;
    }
    let (total, unsure) = total_after(before, state, sequences, None)?;
    let is_short = cu.len() == state.rows();
    let tier =
        if is_short || next.is_none_or(|next| next == 0 && (before > 0 || sequences == 1)) { 0 } else { 1 };
    let cause = Cause {
        slip: "total-missing",
        sentence: "cu_q_lens lacks its last entry, the total: it looks like an exclusive sum".to_owned(),
        why: match next {
            Some(next) if !is_short => format!(
                "cu_q_lens[{sequences}] = {next} follows {before}, where the end of sequence {} belongs",
                sequences - 1
            ),
            Some(_) | None => {
                format!("it starts with 0 and has {} entries, one fewer than it needs", cu.len())
            }
        },
        places: places([sequences.min(cu.len() - 1)]),
        repair: repair([ends, &[total]].concat(), state),
        stands_in: false,
        advice: "cu_q_lens = np.concatenate([[0], np.cumsum(q_lens)])   # as many sums as sequences"
            .to_owned(),
        unsure,
    };
    Some(Candidate { cause, tier })
}

fn two_zeros(state: &State, sequences: usize) -> Option<Candidate> {
    let cu = &state.metadata.cu_q_lens;
    let ends = cu.get(1..=sequences)?;
    if sequences < 2 || cu[0] != 0 || cu[1] != 0 || !ascends(ends) || ends[1] == 0 {
        return None;
    }
    let (total, unsure) = total_after(ends[sequences - 1], state, sequences, cu.get(sequences + 1).copied())?;
    let cause = Cause {
        slip: "exclusive-shift",
        sentence: "cu_q_lens is shifted by one: it starts with two zeros".to_owned(),
        why: format!(
            "sequence 0 has no {}s, and every other sequence has those of the one before it{}",
            state.dealt().unit,
            if unsure.is_none() { about_q(total, state) } else { String::new() }
        ),
        places: places([0, 1]),
        repair: repair([ends, &[total]].concat(), state),
        stands_in: false,
        advice: "put a zero before an inclusive sum, or none before an exclusive one; not both".to_owned(),
        unsure,
    };
    Some(Candidate { cause, tier: 0 })
}

fn counted_from_elsewhere(state: &State, sequences: usize) -> Option<Candidate> {
    let ends = state.metadata.cu_q_lens.get(..=sequences)?;
    let (first, total) = (ends[0], ends[sequences]);
    if first <= 0 || !ascends(ends) {
        return None;
    }
    let tokens = state.variant.tokens as i64;
    let is_past = i64::from(total) > tokens;
    let (tier, unsure) = if is_past && i64::from(total - first) <= tokens {
        (0, None)
    } else {
        (
            1,
            Some(format!(
                "q must hold the tokens of row {first} in row 0 then, and no array says whether it does"
            )),
        )
    };
    let cause = Cause {
        slip: "starts-above-zero",
        sentence: format!("cu_q_lens counts from {first}, not from 0: it looks cut out of a larger batch"),
        why: format!(
            "all its entries ascend from {first}{}",
            if is_past {
                format!(", and the last, {total}, is past {}'s {tokens} rows", state.dealt().array)
            } else {
                String::new()
            }
        ),
        places: places([0]),
        repair: repair(ends.iter().map(|end| end - first).collect(), state),
        stands_in: false,
        advice: format!("cu_q_lens = cu_q_lens - cu_q_lens[0], with q cut the same way: q[{first}:]"),
        unsure,
    };
    Some(Candidate { cause, tier })
}

/// One entry that is wrong by itself: where the others leave room for it.
fn one_entry(state: &State, sequences: usize, breaches: &[Breach]) -> Vec<Candidate> {
    let (cu, kv) = (&state.metadata.cu_q_lens, &state.metadata.kv_lens);
    if cu.len() <= sequences {
        return Vec::new();
    }
    let mut suspects: Vec<usize> = Vec::new();
    for breach in breaches.iter().filter(|breach| breach.rule.arrays.contains(&"cu_q_lens")) {
        let of_sequence = breach.sequence.map(|sequence| [sequence, sequence + 1]);
        let named = breach
            .entries
            .iter()
            .filter(|entry| entry.array == "cu_q_lens")
            .filter_map(|entry| entry.index.first().copied());
        for suspect in of_sequence.into_iter().flatten().chain(named).filter(|suspect| *suspect <= sequences)
        {
            if !suspects.contains(&suspect) {
                suspects.push(suspect);
            }
        }
        if suspects.len() > 6 {
            return Vec::new(); // not one entry
        }
    }
    let wide = |at: usize| i64::from(cu[at]);
    suspects
        .iter()
        .filter_map(|&at| {
            let (mut least, mut most) =
                (0, if at == 0 { 0 } else { (state.variant.tokens as i64).min(i64::from(i32::MAX)) });
            if at > 0 {
                least = least.max(wide(at - 1) + 1);
                most = most.min(wide(at - 1) + i64::from(kv[at - 1]));
            }
            if at < sequences {
                least = least.max(wide(at + 1) - i64::from(kv[at]));
                most = most.min(wide(at + 1) - 1);
            }
            if least > most {
                return None;
            }
            // The neighbours' usual lengths first: a whole prefill or a decode on either side.
            let before = (at > 0).then(|| [wide(at - 1) + 1, wide(at - 1) + i64::from(kv[at - 1])]);
            let after = (at < sequences).then(|| [wide(at + 1) - 1, wide(at + 1) - i64::from(kv[at])]);
            // The last end has q's rows for its other side, the first one 0.
            let last_row = state.variant.tokens as i64;
            let usual = |value: i64| {
                usize::from(before.map_or(value == 0, |usual| usual.contains(&value)))
                    + usize::from(after.map_or(value == last_row, |usual| usual.contains(&value)))
            };
            let near = [wide(at) - 1, wide(at) + 1]
                .into_iter()
                .filter(|value| (least..=most).contains(value))
                .max_by_key(|value| usual(*value));
            let guesses = before
                .into_iter()
                .chain(after)
                .flatten()
                .chain([least])
                .filter(|value| (least..=most).contains(value));
            let value = near.or_else(|| guesses.max_by_key(|value| usual(*value)))?;
            let (slip, sentence, tier) = if near.is_some() {
                let word = if value < wide(at) { "large" } else { "small" };
                (
                    "off-by-one-entry",
                    format!("cu_q_lens[{at}] looks one too {word}"),
                    u8::from(usual(value) < 2),
                )
            } else if wide(at) < 0 || wide(at) > i64::from(i32::MAX) / 2 {
                (
                    "garbage-entry",
                    format!(
                        "cu_q_lens[{at}] = {} looks like garbage: an overflow, or memory never written",
                        cu[at]
                    ),
                    0,
                )
            } else {
                ("one-entry", format!("cu_q_lens[{at}] = {} doesn't fit its neighbours", cu[at]), 1)
            };
            let mut ends = cu[..=sequences].to_vec();
            ends[at] = value as i32;
            let is_only = least == most || near.is_some() && usual(value) == 2;
            let cause = Cause {
                slip,
                sentence,
                why: if least == most {
                    format!("with the lengths around it, it can only be {value}")
                } else {
                    format!("with the lengths around it, it can be {least} to {most}")
                },
                places: places([at]),
                repair: repair(ends, state),
                stands_in: false,
                advice: String::new(),
                unsure: (!is_only).then(|| format!("cu_q_lens[{at}] can be anything from {least} to {most}")),
            };
            Some(Candidate { cause, tier })
        })
        .collect()
}

/// Correct sums, for more tokens than q has rows.
fn too_few_rows(state: &State, sequences: usize) -> Option<Candidate> {
    let ends = state.metadata.cu_q_lens.get(..=sequences)?;
    let (total, tokens) = (*ends.last()?, state.variant.tokens);
    if i64::from(total) <= tokens as i64 || ends[0] != 0 || !ascends(ends) {
        return None;
    }
    let (total, dealt) = (total as usize, state.dealt());
    let missing = total - tokens;
    let cause = Cause {
        slip: "too-few-rows",
        sentence: format!("{} has too few rows: {tokens} for {total} {}s", dealt.array, dealt.unit),
        why: format!(
            "cu_q_lens is in order otherwise: it looks built for a larger token budget, or {} was cut",
            dealt.array
        ),
        places: places([sequences]),
        repair: Repair { rows_of_q: Some(total), ..Repair::default() },
        stands_in: false,
        advice: format!(
            "{}   # {total} rows at least; a server's bucket would be {}",
            dealt.more.replace("{missing}", &missing.to_string()).replace("{needed}", &total.to_string()),
            total.next_power_of_two()
        ),
        unsure: Some(format!(
            "the {missing} missing rows of {} are in no array; the metadata can stay as it is",
            dealt.array
        )),
    };
    Some(Candidate { cause, tier: 0 })
}
