//! The sign-off's renderers against a document that uses every field.
//!
//! Invariant: JSON keeps to its schema and comes back the same; the page loads nothing and escapes what it quotes.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

mod sample;
mod schema;

use std::collections::BTreeMap;

use countersign_reports::*;
use sample::sample;
use serde_json::Value;

fn signoff() -> Signoff {
    let claim = |id: &str, standing, details: &[&str]| Claim {
        id: id.into(),
        sentence: "What is claimed <of it>.".into(),
        standing,
        required: "0 new".into(),
        measured: "1 new".into(),
        details: details.iter().map(|detail| (*detail).to_owned()).collect(),
    };
    let explained =
        Explained { signature: "gap:accepts-invalid|k|rule|hang|-".into(), entry: 0, count: 2, case: 0 };
    let mutant = |fate: &str, why: Option<&str>| MutantReport {
        variant: "v".into(),
        operator: "min-max".into(),
        op: "arith.minsi".into(),
        number: 12,
        place: 0,
        constant: Some("7".into()),
        file: Some("kernel.py".into()),
        line: Some(2),
        fate: fate.into(),
        case: (fate == "killed").then_some(3),
        why: why.map(str::to_owned),
    };
    Signoff {
        version: SIGNOFF_VERSION,
        tool: "countersign 0.1.0".into(),
        verdict: Verdict::Refused,
        refused: vec!["findings".into()],
        kernel: "jax-rpa".into(),
        packages: BTreeMap::from([("jax".into(), "0.10.2".into())]),
        unpinned: true,
        mutant: Some("v:min-max:12:0".into()),
        seed: 1,
        policy: "version = 1\n".into(),
        inputs: BTreeMap::from([("source".into(), "ab".into())]),
        hashes: BTreeMap::from([("campaign".into(), "cd".into())]),
        claims: vec![
            claim("regressions", Standing::Met, &[]),
            claim("findings", Standing::Failed, &["<script>alert(1)</script>"]),
            claim("compile", Standing::NotMeasured, &["the TPU compiler wasn't asked"]),
        ],
        waivers: vec![Waiver {
            signature: "gap:accepts-invalid|k|rule|hang|*".into(),
            when: "num_seqs > 1".into(),
            reason: "because".into(),
            link: Some("https://example.org/1".into()),
            expires: "2030-01-31".into(),
            regressions: vec!["regressions/k/a.toml".into()],
            cases: 2,
            calls: vec!["v on v4".into()],
        }],
        not_seen: NOT_SEEN.map(str::to_owned).to_vec(),
        regressions: Replayed { report: sample(), explained: vec![explained.clone()] },
        campaign: Fuzzed { report: sample(), explained: vec![explained] },
        controls: ControlsReport {
            cases: 10,
            rows: 100,
            vacuous: 1,
            unsupported: 0,
            largest_r: BTreeMap::from([(
                "f32/f32".into(),
                BTreeMap::from([("exact@1".into(), Ratio(0.25)), ("v5e".into(), Ratio(f64::INFINITY))]),
            )]),
            alarms: vec!["control 3".into()],
        },
        relations: Some(RelationsReport {
            relations: vec![RelationReport {
                relation: "V doubled".into(),
                exactness: "bitwise".into(),
                held: 9,
                not_applicable: 1,
                neither_ended: 1,
                failures: vec!["v case 1".into()],
            }],
            not_asked: vec!["a huge soft cap".into()],
        }),
        mutation: Some(MutationReport {
            score: 0.5,
            score_with_equivalents: 0.25,
            killed: 1,
            survived: 1,
            equivalent: 1,
            not_run: 1,
            cases: 400,
            controls: 1080,
            false_alarms: vec!["v case 2".into()],
            mutants: vec![
                mutant("killed", Some("divergence|k|-|wrong-rows|-")),
                mutant("survived", None),
                mutant("equivalent", Some("the same")),
                mutant("not run", Some("no such place")),
            ],
        }),
        compiled: Some(compiled()),
        timing: SignoffTiming {
            date: "2026-01-01".into(),
            seconds: BTreeMap::from([("campaign".into(), 1.5)]),
            trends: vec![Trend { title: "unexplained findings".into(), points: vec![(1, 2.0), (2, 0.0)] }],
        },
    }
}

fn compiled() -> CompileReport {
    let cell = |label: &str, verdict| CompiledCell {
        label: label.into(),
        verdict,
        code_bytes: (verdict == CompileVerdict::Compiles).then_some(2048),
        overflow: None,
        message: (verdict != CompileVerdict::Compiles).then(|| "Unsupported <matmul>".into()),
        cause: None,
    };
    let cells = vec![cell("v4", CompileVerdict::RefusedByCompiler), cell("v5e", CompileVerdict::Compiles)];
    CompileReport {
        version: COMPILED_VERSION,
        tool: "countersign 0.1.0".into(),
        kernel: "jax-rpa".into(),
        packages: BTreeMap::from([("jax".into(), "0.10.2".into())]),
        compiler: "libtpu 1".into(),
        generations: vec!["v4".into(), "v5e".into()],
        variants: vec![CompiledRow { name: "v".into(), cells }],
        borders: Vec::new(),
    }
}

fn violations(value: &Value) -> Vec<String> {
    schema::violations(&serde_json::from_str(SIGNOFF_SCHEMA).unwrap(), value)
}

#[test]
fn json_keeps_to_its_schema_and_comes_back() {
    let text = signoff_to_json(&signoff()).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(violations(&value), Vec::<String>::new());
    assert_eq!(signoff_from_json(&text).unwrap(), signoff());
    let schema: Value = serde_json::from_str(SIGNOFF_SCHEMA).unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(value.get(key).is_some(), "the sample leaves {key} out");
    }
    assert_eq!((&value["verdict"], &value["mutation"]["score"]), (&"refused".into(), &0.5.into()));
}

#[test]
fn the_schema_refuses_what_the_model_cannot_say() {
    let mut value = serde_json::to_value(signoff()).unwrap();
    value["verdict"] = "perhaps".into();
    value["controls"]["largest_r"]["f32/f32"]["v5e"] = Value::Null;
    value["claims"][0]["standing"] = "odd".into();
    value["mutation"]["mutants"][0]["fate"] = "lost".into();
    value["extra"] = Value::Null;
    assert_eq!(violations(&value).len(), 5, "{:?}", violations(&value));
}

#[test]
fn other_versions_and_keys_are_no_signoffs() {
    let text = signoff_to_json(&signoff()).unwrap();
    assert!(
        signoff_from_json(&text.replacen("\"version\": 1", "\"version\": 9", 1)).unwrap_err().contains('9')
    );
    assert!(signoff_from_json(&text.replacen("\"seed\"", "\"sed\"", 1)).is_err());
}

#[test]
fn markdown_says_what_matters() {
    let markdown = signoff_to_markdown(&signoff());
    for part in [
        "# jax-rpa: refused for findings\n",
        "**A fault was put into this kernel on purpose:** v:min-max:12:0",
        "lowered with jax 0.10.2",
        "| **compile**: What is claimed <of it>. | not measured | 0 new | 1 new |",
        "## Mutation score 0.500\n\n1 killed, 1 survived, 1 not run, 1 equivalent (0.250 with these against us)",
        "| `gap:accepts-invalid\\|k\\|rule\\|hang\\|*` where `num_seqs > 1` | 2030-01-31 | v on v4 | because |",
        "## Bytes of code by libtpu 1\n\n| variant | v4 | v5e |\n| --- | --- | --- |\n| v | refused by the compiler | 2048 |",
        "| source | `ab` |",
        NOT_SEEN[0],
    ] {
        assert!(markdown.contains(part), "{part}\n{markdown}");
    }
}

#[test]
fn the_page_is_whole_and_escapes_what_it_quotes() {
    let page = signoff_to_html(&signoff());
    let parsed = scraper::Html::parse_document(&page);
    assert_eq!(parsed.errors, Vec::<String>::new());
    assert!(!page.contains("<script"), "a script");
    for part in [
        "refused for findings",
        "v:min-max:12:0",
        "not measured",
        "mutation score",
        "2030-01-31",
        "Left over",
        "2.0 KiB",
        "Unsupported &lt;matmul&gt;",
        "night 1: 2, night 2: 0",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for limit in NOT_SEEN {
        assert!(page.contains(limit), "{limit}");
    }
    for anchor in parsed.select(&scraper::Selector::parse("a[href^='#']").unwrap()) {
        let id = &anchor.value().attr("href").unwrap()[1..];
        let target = scraper::Selector::parse(&format!("#{id}")).unwrap();
        assert!(parsed.select(&target).next().is_some(), "#{id} is nowhere");
    }
}

#[test]
fn many_megabytes_of_findings_are_a_page() {
    let mut signoff = signoff();
    let finding = signoff.regressions.report.findings[0].clone();
    let size = serde_json::to_string(&finding).unwrap().len();
    signoff.regressions.report.findings = (0..10_000_000 / size + 1)
        .map(|number| FindingReport {
            signature: format!("{}{number}", finding.signature),
            ..finding.clone()
        })
        .collect();
    let page = signoff_to_html(&signoff);
    let cards = page.matches("<details class=\"finding ").count();
    assert!(cards > signoff.regressions.report.findings.len(), "{cards}");
    assert!(page.len() < 100_000_000, "{}", page.len());
}
