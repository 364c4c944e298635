//! Hypotheses about `kv_lens`: what it holds instead of the cache's lengths, the query tokens included.
//!
//! Invariant: entries past the last sequence stay as they are.

use super::cumulative::{padded, sums};
use super::{Candidate, Cause, Repair, State, count, entry, few};
use crate::rpa::contract::Breach;

pub(super) fn candidates(state: &State, breaches: &[Breach]) -> Vec<Candidate> {
    let sequences = state.sequences();
    if sequences == 0 || state.metadata.cu_q_lens.len() <= sequences {
        return Vec::new();
    }
    let mut found = Vec::new();
    found.extend(swapped(state, sequences));
    found.extend(without_the_new_tokens(state, sequences));
    found.extend(cumulative(state, sequences, breaches));
    found.extend(one_length(state, sequences, breaches));
    found.extend(table_too_narrow(state, sequences));
    found
}

/// kv_lens with its first entries replaced.
fn with(state: &State, lens: impl Iterator<Item = i64>) -> Option<Vec<i32>> {
    let mut kv = state.metadata.kv_lens.clone();
    for (to, len) in kv.iter_mut().zip(lens) {
        *to = i32::try_from(len).ok().filter(|len| *len >= 0)?;
    }
    Some(kv)
}

fn swapped(state: &State, sequences: usize) -> Option<Candidate> {
    let kv = &state.metadata.kv_lens[..sequences];
    let longer = (0..sequences).filter(|&sequence| state.q_len(sequence) > i64::from(kv[sequence])).count();
    let fits =
        (0..sequences).all(|sequence| state.q_len(sequence) >= i64::from(kv[sequence]) && kv[sequence] > 0);
    if longer == 0 || !fits {
        return None;
    }
    let unit = state.dealt().unit;
    let cause = Cause {
        slip: "lengths-swapped",
        sentence: "kv_lens and the lengths in cu_q_lens look swapped".to_owned(),
        why: format!(
            "no sequence has fewer {unit}s than tokens in the cache, and {longer} of {sequences} have more; the other way round is possible"
        ),
        places: (0..sequences)
            .filter(|&sequence| state.q_len(sequence) > i64::from(kv[sequence]))
            .take(8)
            .map(|at| entry("kv_lens", at))
            .collect(),
        repair: Repair {
            cu_q_lens: Some(padded(sums(kv)?, state)),
            kv_lens: Some(with(state, (0..sequences).map(|sequence| state.q_len(sequence)))?),
            ..Repair::default()
        },
        stands_in: false,
        advice: "cu_q_lens from the lengths of this step; kv_lens from the cache's, the new tokens included"
            .to_owned(),
        unsure: None,
    };
    // One such sequence alone is as well an entry that is wrong by itself.
    Some(Candidate { cause, tier: u8::from(longer < 2) })
}

/// The cache's lengths before this step's tokens.
fn without_the_new_tokens(state: &State, sequences: usize) -> Option<Candidate> {
    let kv = &state.metadata.kv_lens[..sequences];
    let short: Vec<usize> =
        (0..sequences).filter(|&sequence| state.q_len(sequence) > i64::from(kv[sequence])).collect();
    let several: Vec<usize> = (0..sequences).filter(|&sequence| state.q_len(sequence) > 1).collect();
    if short.is_empty() || kv.iter().any(|kv_len| *kv_len < 0) {
        return None;
    }
    let whole = short.iter().filter(|&&sequence| kv[sequence] == 0).count();
    let tier = if whole == short.len()
        && whole == several.iter().filter(|sequence| kv[**sequence] == 0).count()
        && (whole > 1 || several.len() == 1)
    {
        0
    } else {
        1 + u8::from(short.len() < 2)
    };
    let unit = state.dealt().unit;
    let why = if whole > 0 {
        format!(
            "{} with {unit}s {} kv_len 0, as before a prefill",
            count(whole, "sequence"),
            if whole == 1 { "has" } else { "have" }
        )
    } else {
        format!(
            "{} fewer tokens in the cache than {unit}s",
            if short.len() == 1 {
                "a sequence has".to_owned()
            } else {
                format!("{} sequences have", short.len())
            }
        )
    };
    let cause = Cause {
        slip: "kv-lens-without-new-tokens",
        sentence: format!("kv_lens looks like the lengths before this step: it lacks the new {unit}s"),
        why,
        places: short.iter().take(8).map(|&at| entry("kv_lens", at)).collect(),
        repair: Repair {
            kv_lens: Some(with(state, (0..sequences).map(|at| i64::from(kv[at]) + state.q_len(at)))?),
            ..Repair::default()
        },
        stands_in: false,
        advice:
            "kv_lens = context_lens + q_lens: the kernel is called after the new K and V are in the cache"
                .to_owned(),
        unsure: None,
    };
    Some(Candidate { cause, tier })
}

/// Running sums instead of lengths.
fn cumulative(state: &State, sequences: usize, breaches: &[Breach]) -> Option<Candidate> {
    let kv = &state.metadata.kv_lens;
    let shift = usize::from(kv[0] == 0);
    let ends = kv.get(shift..shift + sequences)?;
    let ascends = ends.windows(2).all(|pair| pair[0] < pair[1]) && ends[0] > 0;
    let past_the_table = breaches.iter().any(|breach| breach.rule.id == "kv-lens-in-table");
    if sequences < 2 || !ascends || !past_the_table {
        return None;
    }
    let before = std::iter::once(0).chain(ends.iter().copied());
    let lens = ends.iter().zip(before).map(|(end, before)| i64::from(*end) - i64::from(before));
    let cause = Cause {
        slip: "kv-lens-cumulative",
        sentence: "kv_lens looks cumulative: it should hold lengths".to_owned(),
        why: format!(
            "it ascends, {}, and its last entry is more than a row of the page table reaches",
            few(ends)
        ),
        places: vec![entry("kv_lens", sequences - 1 + shift)],
        repair: Repair { kv_lens: Some(with(state, lens)?), ..Repair::default() },
        stands_in: false,
        advice: "kv_lens = np.diff(cu_kv_lens)".to_owned(),
        unsure: None,
    };
    // Of a few lengths, some ascend by chance.
    Some(Candidate { cause, tier: u8::from(sequences < 4) })
}

/// One length that is wrong by itself.
fn one_length(state: &State, sequences: usize, breaches: &[Breach]) -> Option<Candidate> {
    let mut of_lengths = breaches.iter().filter(|breach| {
        breach.sequence.is_some_and(|sequence| sequence < sequences)
            && breach.entries.iter().any(|entry| entry.array == "kv_lens")
    });
    let at = of_lengths.next()?.sequence?;
    if of_lengths.any(|breach| breach.sequence != Some(at)) {
        return None;
    }
    let (q_len, kv_len) = (state.q_len(at), i64::from(state.metadata.kv_lens[at]));
    let unit = state.dealt().unit;
    let reach = state.variant.page_size.saturating_mul(state.metadata.pages_per_seq) as i64;
    if q_len < 1 || q_len > reach {
        return None;
    }
    let (slip, sentence, len, tier, unsure) = if kv_len + 1 == q_len {
        (
            "off-by-one-length",
            format!("kv_lens[{at}] looks one too small: it lacks a new token"),
            q_len,
            1,
            None,
        )
    } else if kv_len == reach + 1 {
        (
            "off-by-one-length",
            format!("kv_lens[{at}] looks one too large: a row of the page table reaches {reach}"),
            reach,
            0,
            Some(format!(
                "a table of one column more is right as well, if sequence {at} has {kv_len} tokens"
            )),
        )
    } else if (0..q_len).contains(&kv_len) {
        let unsure = format!("kv_lens[{at}] can be anything from {q_len} to {reach}");
        (
            "kv-len-below-q-len",
            format!("kv_lens[{at}] = {kv_len} lacks tokens: the sequence has {q_len} {unit}s alone"),
            q_len,
            1,
            Some(unsure),
        )
    } else if kv_len < 0 || kv_len > i64::from(i32::MAX) / 2 {
        let unsure = format!("kv_lens[{at}] can be anything from {q_len} to {reach}");
        (
            "garbage-length",
            format!("kv_lens[{at}] = {kv_len} looks like garbage: an overflow, or memory never written"),
            q_len,
            0,
            Some(unsure),
        )
    } else {
        return None;
    };
    let mut kv_lens = state.metadata.kv_lens.clone();
    kv_lens[at] = i32::try_from(len).ok()?;
    let cause = Cause {
        slip,
        sentence,
        why: format!(
            "no other length is out of place; cu_q_lens gives sequence {at} {q_len} {unit}{}",
            if q_len == 1 { "" } else { "s" }
        ),
        places: vec![entry("kv_lens", at)],
        repair: Repair { kv_lens: Some(kv_lens), ..Repair::default() },
        stands_in: false,
        advice: String::new(),
        unsure,
    };
    Some(Candidate { cause, tier })
}

/// Lengths that no row of the page table can hold.
fn table_too_narrow(state: &State, sequences: usize) -> Option<Candidate> {
    let columns = state.metadata.pages_per_seq;
    let needs = |sequence: usize| state.pages_for(state.metadata.kv_lens[sequence]);
    let longest = (0..sequences).max_by_key(|&sequence| needs(sequence))?;
    let needed = needs(longest);
    // Wider than any real table: some kv_len is garbage.
    if needed <= columns || needed > 64 * columns.max(64) {
        return None;
    }
    let past = (0..sequences).filter(|&sequence| needs(sequence) > columns).count();
    let reach = state.variant.page_size.saturating_mul(columns) as i64;
    let clipped =
        with(state, state.metadata.kv_lens[..sequences].iter().map(|len| i64::from(*len).clamp(0, reach)))?;
    let (kv_len, page_size) = (state.metadata.kv_lens[longest], state.variant.page_size);
    let cause = Cause {
        slip: "table-too-narrow",
        sentence: format!(
            "page_indices has too few columns: {columns}, where kv_lens[{longest}] = {kv_len} needs {needed} pages of {page_size} tokens"
        ),
        why: if past == 1 {
            "one sequence is longer than its row reaches".to_owned()
        } else {
            format!("{past} sequences are longer than their rows reach")
        },
        places: (0..sequences)
            .filter(|&sequence| needs(sequence) > columns)
            .take(8)
            .map(|at| entry("kv_lens", at))
            .collect(),
        repair: Repair { kv_lens: Some(clipped), ..Repair::default() },
        stands_in: true,
        advice: format!(
            "page_indices = np.zeros(({}, {needed}), np.int32), with the pages of each sequence in its row",
            state.rows()
        ),
        unsure: Some("the pages of the missing columns are in no array".to_owned()),
    };
    Some(Candidate { cause, tier: 1 })
}
