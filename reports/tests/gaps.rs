//! The gaps report's renderers.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

use std::collections::BTreeMap;

use countersign_reports::{
    ContractTable, Counts, FindingReport, FindingStatus, GAPS_VERSION, Gap, GapsReport, ProbeRow, RuleRow,
    Side, SlipRow, SweepReport, ValidatorWords, contract_from_json, counts_text, effect_words, gaps_to_html,
    gaps_to_json, gaps_to_markdown,
};

fn counts(of: &[(&str, u64)]) -> Counts {
    of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn finding(signature: &str) -> FindingReport {
    let fields: Vec<&str> = signature.split('|').collect();
    FindingReport {
        signature: signature.to_owned(),
        status: FindingStatus::Known,
        title: "a gap".to_owned(),
        detail: "breaks a rule (kv_lens[0] = 0 <&>)".to_owned(),
        cause: Some("because".to_owned()),
        link: None,
        count: 3,
        case: 0,
        variant: "v".to_owned(),
        validators: ValidatorWords {
            r#static: "accepts".to_owned(),
            dynamic: "accepts".to_owned(),
            asked: true,
        },
        kind: fields[0].to_owned(),
        locus: fields[2].to_owned(),
        effect: fields[3].to_owned(),
        options: fields[4].to_owned(),
        kernel: Some("The kernel ends silently".to_owned()),
        fault: None,
        batch: None,
        file: None,
        case_file: Some("[case]\nversion = 1\n".to_owned()),
        minimised: None,
        others: None,
        third: None,
        repro: None,
        suspects: None,
    }
}

fn sample() -> GapsReport {
    let side = |effect: &str| Side {
        tried: 4,
        r#static: counts(&[("accepts", 4)]),
        dynamic: counts(&[("q-len-within-kv-len", 3), ("accepts", 1)]),
        effects: counts(&[(effect, 4)]),
    };
    let rule = RuleRow {
        id: "kv-len-positive".to_owned(),
        sentence: "No sequence is empty | at all.".to_owned(),
        standing: "disputed".to_owned(),
        scope: "sequence".to_owned(),
        arrays: vec!["kv_lens".to_owned()],
        messages: Vec::new(),
        kept: side("right"),
        broken: side("residue"),
        gaps: counts(&[("gap:mishandles-disputed", 4)]),
        probes: vec![ProbeRow { name: "kv_len = 0".to_owned(), ..ProbeRow::default() }],
    };
    let gap = |signature: &str| Gap {
        finding: finding(signature),
        attribution: vec!["Rows 3 to 5 of sequence 1 are wrong.".to_owned()],
        origin: "a test".to_owned(),
        regression: Some("regressions/k/empty.toml".to_owned()),
        known: Some("gap:mishandles-disputed|k|kv-len-positive|residue|*".to_owned()),
        script: Err("nobody wrote one".to_owned()),
    };
    GapsReport {
        version: GAPS_VERSION,
        tool: "countersign 0".to_owned(),
        command: "countersign kernels gaps k".to_owned(),
        contract: ContractTable {
            version: GAPS_VERSION,
            kernel: "k".to_owned(),
            packages: BTreeMap::from([("jax".to_owned(), "0.10.2".to_owned())]),
            variants: vec!["v".to_owned()],
            static_variants: vec!["v".to_owned()],
            rules: vec![rule],
            ..ContractTable::default()
        },
        slips: vec![SlipRow {
            slip: "empty-sequence".to_owned(),
            keeping: "disputed".to_owned(),
            cases: 10,
            others: 4,
            ..SlipRow::default()
        }],
        gaps: vec![gap("gap:mishandles-disputed|k|kv-len-positive|residue|-")],
        sweep: Some(SweepReport {
            variants: vec!["v".to_owned()],
            singles: counts(&[("option", 5)]),
            pairs: 2,
            outcomes: BTreeMap::from([("broken".to_owned(), counts(&[("lowers", 1)]))]),
            words: vec![("static check: cap-nonzero".to_owned(), 1, "soft_cap=0.0 must".to_owned())],
            gaps: vec![gap("gap:does-not-lower|k|kernel.py:7,TypeError|lowering-crash|-")],
            ..SweepReport::default()
        }),
    }
}

#[test]
fn both_renderers_show_every_part() {
    let report = sample();
    for text in [gaps_to_html(&report), gaps_to_markdown(&report)] {
        for part in [
            "kv-len-positive",
            "copies still in flight at the end",
            "empty-sequence",
            "4 of 10",
            "Rows 3 to 5 of sequence 1 are wrong.",
            "soft_cap=0.0 must",
            "kernel.py:7,TypeError",
            "countersign kernels gaps k",
            "jax 0.10.2",
            "corpus/regressions/k/empty.toml",
            "nobody wrote one",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }
}

#[test]
fn what_is_quoted_is_escaped() {
    let html = gaps_to_html(&sample());
    assert!(!html.contains("<script") && !html.contains("<&>") && html.contains("&lt;&amp;&gt;"));
    let markdown = gaps_to_markdown(&sample());
    assert!(markdown.contains("empty \\| at all"), "{markdown}");
}

#[test]
fn a_table_reads_back_and_another_version_does_not() {
    let table = sample().contract;
    let text = gaps_to_json(&table).unwrap();
    assert_eq!(contract_from_json(&text), Ok(table));
    assert!(contract_from_json(&text.replacen("\"version\": 1", "\"version\": 9", 1)).is_err());
}

#[test]
fn counts_read_most_first() {
    let counts = counts(&[("residue", 2), ("hang", 7), ("other", 2)]);
    let text = counts_text(&counts, |name| effect_words(name).to_owned());
    assert_eq!(text, "does not end 7, other 2, copies still in flight at the end 2");
}
