//! For a batch that can't be run itself: a small one with the same slip, out of the built-in corpus.
//!
//! Invariant: every name here is that of a seed (tested).

/// The seed with the same slip; of a slip that isn't one of the generator's, nothing.
pub fn seed_of(slip: &str) -> Option<&'static str> {
    Some(match slip {
        "leading-zero-missing" => "cu-leading-zero-missing",
        "lengths-not-sums" => "cu-lengths-not-sums",
        "lengths-after-zero" => "cu-lengths-after-zero",
        "exclusive-shift" => "cu-exclusive-shift",
        "starts-above-zero" => "cu-starts-above-zero",
        "too-few-rows" => "cu-total-far-above-rows",
        "total-missing" | "stale-tail" => "cu-decreasing-step",
        "off-by-one-entry" | "one-entry" => "cu-entry-plus-one",
        "garbage-entry" => "cu-near-int32-max",
        "num-seqs-off-by-one" => "num-seqs-one-more",
        "num-seqs-counts-padding" => "num-seqs-counts-padding",
        "num-seqs-not-set" => "num-seqs-zero",
        "num-seqs-wrong" => "num-seqs-far-above-table",
        "kv-lens-without-new-tokens" | "lengths-swapped" | "off-by-one-length" | "kv-len-below-q-len" => {
            "kv-len-below-q-len"
        }
        "kv-lens-cumulative" | "table-too-narrow" => "kv-len-past-table",
        "garbage-length" => "kv-len-negative",
        "pages-of-another-pool" | "slots-not-pages" | "one-page-past-the-cache" | "pages-from-one" => {
            "page-total-pages"
        }
        "page-not-allocated" | "garbage-page" => "page-minus-one",
        "idle-sequences" => "empty-sequence",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_in_the_built_in_corpus() {
        let source = include_str!("stand_in.rs");
        let table = source
            .split("Some(match slip")
            .nth(1)
            .and_then(|rest| rest.split("_ => return None").next())
            .unwrap();
        let slips: Vec<&str> = table.split('"').skip(1).step_by(2).collect();
        assert!(slips.len() > 20);
        for slip in slips {
            if let Some(seed) = seed_of(slip) {
                let name = format!("seeds/{seed}.toml");
                assert!(crate::corpus::builtin().iter().any(|(file, _)| *file == name), "{name}");
            }
        }
    }
}
