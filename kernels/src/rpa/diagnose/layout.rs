//! Hypotheses about the arrays' extents, and a plain sentence for whatever no hypothesis explains.
//!
//! Invariant: every rule has a sentence here or in its own breach; none is passed over.

use super::{Candidate, Cause, Repair, State, count};
use crate::rpa::contract::{Breach, Scope};

/// Arrays that were padded to different numbers of sequences.
pub(super) fn candidates(state: &State) -> Vec<Candidate> {
    let (rows, columns) = (state.rows(), state.metadata.pages_per_seq);
    let (cu, kv) = (&state.metadata.cu_q_lens, &state.metadata.kv_lens);
    let sequences = usize::try_from(state.metadata.num_seqs).unwrap_or(0);
    let mut found = Vec::new();
    let mut push = |sentence: String, why: String, advice: &str, repair: Repair| {
        let cause = Cause {
            slip: "not-padded",
            sentence,
            why,
            places: Vec::new(),
            repair,
            stands_in: false,
            advice: advice.to_owned(),
            unsure: None,
        };
        found.push(Candidate { cause, tier: 0 });
    };
    let most = format!("page_indices has {}", count(rows, "row"));
    if kv.len() < rows && kv.len() >= sequences && sequences > 0 {
        let mut values = kv.clone();
        values.resize(rows, 0);
        push(
            format!("kv_lens isn't padded to the page table's {rows} rows"),
            format!("it has {}, {most}", entries(kv.len())),
            "kv_lens = np.pad(kv_lens, (0, page_indices.shape[0] - len(kv_lens)))",
            Repair { kv_lens: Some(values), ..Repair::default() },
        );
    }
    // One short of its rows, an array lacks an end rather than padding: a matter for the sums.
    if cu.len() <= rows && cu.len() == sequences + 1 && sequences > 0 {
        let mut values = cu.clone();
        values.resize(rows + 1, cu[sequences]);
        push(
            format!("cu_q_lens isn't padded to the page table's {rows} rows, and one more"),
            format!("it has {}, {most}", entries(cu.len())),
            "cu_q_lens = np.pad(cu_q_lens, (0, page_indices.shape[0] + 1 - len(cu_q_lens)), mode=\"edge\")",
            Repair { cu_q_lens: Some(values), ..Repair::default() },
        );
    }
    if rows >= sequences && rows > 0 && kv.len() > rows && cu.len() == kv.len() + 1 {
        let mut values = state.metadata.page_indices.clone();
        values.resize(kv.len() * columns, 0);
        push(
            format!("page_indices isn't padded to the {} rows of the other arrays", kv.len()),
            format!("{most}, kv_lens {}", entries(kv.len())),
            "page_indices = np.pad(page_indices, ((0, len(kv_lens) - page_indices.shape[0]), (0, 0)))",
            Repair { page_indices: Some((columns, values)), ..Repair::default() },
        );
    }
    found
}

fn entries(number: usize) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}

/// A cause for each rule that `left` names, once: what is wrong, in the rule's own words.
pub(super) fn named(state: &State, left: &[Breach]) -> Vec<Cause> {
    let mut named: Vec<Cause> = Vec::new();
    for breach in left {
        if named.iter().any(|cause| cause.slip == breach.rule.id) {
            continue;
        }
        let same = left.iter().filter(|other| other.rule.id == breach.rule.id);
        let number = same.clone().count();
        let more = if number > 1 { format!(", and {} more", number - 1) } else { String::new() };
        let is_static = breach.rule.scope == Scope::Static;
        named.push(Cause {
            slip: breach.rule.id,
            sentence: format!("{}{more}", breach.detail),
            why: format!("the rule: {}", breach.rule.sentence.trim_end_matches('.')),
            places: same.flat_map(|breach| breach.entries.clone()).take(8).collect(),
            repair: Repair::default(),
            stands_in: false,
            advice: advice(breach.rule.id, state),
            unsure: Some(
                if is_static {
                    "it is a matter of the call, not of the metadata"
                } else {
                    "no single correction suggests itself"
                }
                .to_owned(),
            ),
        });
    }
    named
}

/// What to do about a rule that needs more than other metadata.
fn advice(rule: &str, state: &State) -> String {
    let dims = (state.call.q.shape.last(), state.call.kv_pages.shape.last());
    match (rule, dims) {
        ("head-dim-equal", (Some(q), Some(kv))) if q < kv => {
            format!("pad q's last dimension with zeros to {kv}, as the cache's was: np.pad(q, ((0, 0), (0, 0), (0, {})))", kv - q)
        }
        ("head-dim-equal", (Some(_), Some(_))) => "q and the cache belong to different models, or one was padded and the other not".to_owned(),
        ("heads-divisible", _) => "kv_pages holds K and V heads in turn: [pages, page_size, 2 * kv_heads, head_dim]".to_owned(),
        ("combined-heads-even" | "operand-ranks", _) => {
            "q is [tokens, q_heads, head_dim], kv_pages [pages, page_size, 2 * kv_heads, head_dim] with K and V heads in turn".to_owned()
        }
        _ => String::new(),
    }
}
