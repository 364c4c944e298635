//! A report that uses every field, for the tests of the renderers.

#![allow(dead_code, reason = "not every test needs every part")]

use std::collections::BTreeMap;

use countersign_reports::*;

/// Every field is set to something that can be told from its default.
pub(crate) fn sample() -> Report {
    let words = ValidatorWords {
        r#static: "accepts".into(),
        dynamic: "q_len=9 must be less or equal to kv_len=8".into(),
        asked: true,
    };
    let counts = |name: &str, count| BTreeMap::from([(name.to_owned(), count)]);
    Report {
        schema_version: SCHEMA_VERSION,
        tool: "countersign 0.1.0".into(),
        command: "fuzz".into(),
        profile: Some("v5e@1".into()),
        exit_code: 1,
        summary: Summary {
            cases: 10,
            kept: 5,
            disputed: 2,
            broken: 3,
            findings_new: 1,
            largest_r: 0.25,
            largest_r_at: Some(Place { variant: "v".into(), case: 3, token: 1, head: 2, lane: 3 }),
            kept_rows_compared_share: 1.0,
            r: BTreeMap::from([("f32, f32".into(), distribution())]),
            hits: Hits {
                boundary: BTreeMap::from([("kv-len-page".into(), 4), ("q-len-0".into(), 0)]),
                boundary_by_variant: BTreeMap::from([
                    ("kv-len-page".into(), counts("v", 4)),
                    ("q-len-0".into(), BTreeMap::from([("v".into(), 0), ("w".into(), 0)])),
                ]),
                option_pairs: BTreeMap::from([
                    (
                        "window: none".into(),
                        BTreeMap::from([("cap: none".into(), 10), ("cap: set".into(), 0)]),
                    ),
                    ("window: set".into(), BTreeMap::from([("cap: none".into(), 0), ("cap: set".into(), 0)])),
                ]),
                slip: counts("shifted", 0),
                pattern: counts("normal@1", 10),
                variant: counts("v", 10),
            },
            ..Summary::default()
        },
        campaign: Some(CampaignReport { seed: 1, only: Some("broken".into()), variants: vec!["v".into()] }),
        kernels: vec![KernelReport {
            id: "jax-rpa".into(),
            packages: BTreeMap::from([("jax".into(), "0.10.2".into())]),
            source_hash: "abc".into(),
            unpinned: true,
            axes: ["window", "cap"]
                .map(|name| OptionAxis { name: name.into(), values: vec!["none".into(), "set".into()] })
                .into(),
            variants: vec![
                variant("v", "none", "none", None),
                variant("w", "set", "none", Some("does not lower")),
            ],
            coverage: CoverageReport {
                variants: BTreeMap::from([("v".into(), (3, 4))]),
                lines: vec![
                    line(7, 3, 3, &["the branch's false side", "a copy of the last block"]),
                    line(8, 2, 1, &[]),
                    line(9, 1, 0, &["the loop with no turn"]),
                ],
            },
            source: Some(SourceText {
                file: "kernel.py".into(),
                lines: (1..=9).map(|line| format!("  line_{line} < 2")).collect(),
            }),
        }],
        findings: vec![FindingReport {
            signature: "fault|jax-rpa|kernel.py:7,tpu.wait_dma2|deadlock|-".into(),
            status: FindingStatus::New,
            title: "the kernel deadlocks".into(),
            detail: "waits for more than was started".into(),
            cause: Some("a cause".into()),
            link: Some("https://example.org/1".into()),
            count: 2,
            case: 4,
            variant: "v".into(),
            validators: words.clone(),
            kind: "fault".into(),
            locus: "kernel.py:7,tpu.wait_dma2".into(),
            effect: "deadlock".into(),
            options: "-".into(),
            kernel: Some("The kernel faults".into()),
            fault: Some(FaultReport {
                class: "deadlock".into(),
                op: "tpu.wait_dma2".into(),
                grid: vec![0, 1],
                message: "waits for more than was started".into(),
                stack: vec![StackFrame { file: "kernel.py".into(), line: 7, function: "wait".into() }],
                other: vec![StackFrame { file: "kernel.py".into(), line: 8, function: String::new() }],
                other_role: Some("the index was applied".into()),
                place: Some("semaphores 2, semaphores [2] in semaphore memory".into()),
                meaning: vec!["sequence 1 has kv_len 9".into()],
                path: vec!["memref.load of kv_lens[1] = 9    kernel.py:7".into()],
            }),
            batch: Some(batch()),
            file: Some("findings/a.toml".into()),
            case_file: Some("[case]\nversion = 1\n".into()),
            minimised: Some(MinimisedReport {
                original: "originals/a.toml".into(),
                before: SizeReport { sequences: 5, queries: 37, keys: 120 },
                after: SizeReport { sequences: 1, queries: 1, keys: 4 },
                executions: 43,
                complete: true,
            }),
            suspects: Some("Covered by this case and by none of 64 passing ones: kernel.py:7".into()),
            others: Some("Sequence 0 changes the output of others: 1 of 2 row(s) of sequence 1".into()),
            repro: Some("findings/a.py".into()),
        }],
        rules: BTreeMap::from([(
            "kv-lens-in-table".into(),
            Tally {
                sentence: "Pages reach.".into(),
                standing: "stated".into(),
                cases: 3,
                alone: 2,
                kernel: counts("right", 2),
                validators: counts("static accepts, dynamic refuses", 2),
            },
        )]),
        slips: BTreeMap::from([("shifted".into(), Tally::default())]),
        cases: vec![CaseReport {
            name: "a".into(),
            breaches: vec!["kv-lens-in-table: sequence 0".into()],
            keeping: "broken".into(),
            validators: words,
            kernel: "answers".into(),
            shows: vec!["x".into()],
            outcome: "new".into(),
        }],
        internal_errors: vec![InternalError { kind: "panic".into(), case: 2, message: "boom".into() }],
        timing: Timing { seconds: 1.0, cases_per_second: 10.0, jobs: 2, out: Some("/somewhere".into()) },
    }
}

fn variant(name: &str, window: &str, cap: &str, failure: Option<&str>) -> VariantReport {
    VariantReport {
        name: name.into(),
        options: BTreeMap::from([("window".into(), window.into()), ("cap".into(), cap.into())]),
        failure: failure.map(str::to_owned),
        warnings: vec!["VMEM: about 17.0 MiB of 16.0 MiB on v4".into()],
    }
}

fn line(line: u32, ops: u64, hit: u64, missed: &[&str]) -> LineCoverage {
    let missed = missed.iter().map(|&words| words.to_owned()).collect();
    LineCoverage { file: "kernel.py".into(), line, ops, hit, missed }
}

fn distribution() -> RDistribution {
    let mut distribution = RDistribution::default();
    let mut rows = [0; R_BINS];
    (rows[0], rows[R_UNIT - 2], rows[R_UNIT + 1]) = (3, 20, 1);
    let place = Place { variant: "v".into(), case: 3, token: 1, head: 2, lane: 3 };
    distribution.add(&rows, Some((0.25, place)));
    distribution
}

/// Two sequences of a table of three; the second claims more rows than q has, and a page that isn't there.
pub(crate) fn batch() -> BatchReport {
    let breach = |rule: &str, array: &str, index: &[usize]| BreachReport {
        rule: rule.into(),
        sentence: format!("The rule {rule} holds."),
        standing: "stated".into(),
        detail: format!("{array}{index:?} is wrong"),
        entries: vec![EntryReport { array: array.into(), index: index.to_vec() }],
    };
    BatchReport {
        rows_of: Some("q".to_owned()),
        rows: 8,
        page_size: 4,
        pages: 5,
        table_rows: 3,
        columns: 2,
        query_block: Some(4),
        kv_block: Some(2),
        num_seqs: 2,
        cu_q_lens: vec![0, 3, 10, 77],
        sequences: vec![
            SequenceReport { kv_len: 3, pages: vec![4, -9], remarks: vec!["prefill".into()] },
            SequenceReport { kv_len: 9, pages: vec![2, 6], remarks: vec!["chunked prefill".into()] },
            SequenceReport { kv_len: 1000, pages: vec![0, 0], remarks: Vec::new() },
        ],
        wrong_rows: vec![(1, 2), (4, 6)],
        breaches: vec![
            breach("total-q-within-rows", "cu_q_lens", &[2]),
            breach("page-index-in-range", "page_indices", &[1, 1]),
        ],
        payload: vec!["normal@1 with seed 7, q f32, cache f32".into()],
    }
}
