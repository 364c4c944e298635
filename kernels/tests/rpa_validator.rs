//! The Rust port of upstream's checks against upstream's own answers, word for word: a recorded table of calls of every
//! kind, and metadata that is asked about on the spot.
//!
//! `COUNTERSIGN_VALIDATOR_TABLE=FILE` reads another table, e.g. a larger one; `data/record_rpa_validator.py` writes them.

#![allow(clippy::unwrap_used)] // a test

use std::collections::BTreeMap;

use countersign_kernels::call::Call;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::checks::{
    CHECKS, Number, Shaped, StaticCall, Verdict, check_of_message, dynamic_check, dynamic_check_call,
    static_check,
};
use countersign_kernels::env::{Environment, Silent};
use countersign_kernels::worker::{Asked, Worker};
use countersign_reference::Metadata;
use serde_json::Value;

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|entry| entry.as_i64().unwrap()).collect()
}

fn int32s(value: &Value) -> Vec<i32> {
    integers(value).into_iter().map(|entry| entry as i32).collect()
}

fn extents(value: &Value) -> Vec<usize> {
    integers(value).into_iter().map(|entry| entry as usize).collect()
}

fn read(row: &Value) -> (StaticCall, Metadata) {
    let option = |name: &str| &row["options"][name];
    let number = |name: &str| match option(name) {
        Value::Null => None,
        value if value.is_i64() => value.as_i64().map(Number::Int),
        value => value.as_f64().map(Number::Float),
    };
    let dtype = |at: usize| row["dtypes"][at].as_str().unwrap();
    let (kv_lens, cu_q_lens) = (int32s(&row["kv_lens"]), int32s(&row["cu_q_lens"]));
    let table = extents(&row["page_indices"]);
    let call = StaticCall {
        family: countersign_kernels::family::Family::Rpa,
        q: Shaped::new(&extents(&row["q"]), "float32"),
        kv_pages: Shaped::new(&extents(&row["kv_pages"]), "float32"),
        kv_lens: Shaped::new(&[kv_lens.len()], dtype(0)),
        page_indices: Shaped::new(&table, dtype(1)),
        cu_q_lens: Shaped::new(&[cu_q_lens.len()], dtype(2)),
        num_seqs: Shaped::new(&extents(&row["num_seqs_shape"]), "int32"),
        sm_scale: number("sm_scale"),
        sliding_window: number("sliding_window"),
        soft_cap: number("soft_cap"),
        mask_value: number("mask_value"),
        k_scale: number("k_scale"),
        v_scale: number("v_scale"),
        num_kv_pages_per_block: option("num_kv_pages_per_block").as_i64(),
        num_queries_per_block: option("num_queries_per_block").as_i64(),
        vmem_limit_bytes: option("vmem_limit_bytes").as_i64(),
    };
    let metadata = Metadata {
        kv_lens,
        page_indices: vec![0; table.iter().product()],
        pages_per_seq: table.last().copied().unwrap_or(0),
        cu_q_lens,
        num_seqs: row["num_seqs"].as_i64().unwrap() as i32,
    };
    (call, metadata)
}

/// Upstream's answer as a verdict; the check follows from the message alone.
fn upstream(answer: &Value) -> Verdict {
    let Some(parts) = answer.as_array() else { return Verdict::Accepts };
    let (kind, message) = (parts[0].as_str().unwrap(), parts[1].as_str().unwrap());
    match check_of_message(message) {
        Some(check) => Verdict::Refuses { check, message: message.to_string() },
        None if message.is_empty() => Verdict::Crashes { message: kind.to_string() },
        None => Verdict::Crashes { message: format!("{kind}: {message}") },
    }
}

#[test]
fn port_and_upstream_say_the_same() {
    let table = match std::env::var("COUNTERSIGN_VALIDATOR_TABLE") {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => include_str!("data/rpa_validator.jsonl").to_string(),
    };
    let mut differences = Vec::new();
    let mut answers: BTreeMap<&str, usize> = BTreeMap::new();
    for line in table.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (call, metadata) = read(&row);
        for (name, ours, theirs) in [
            ("static", static_check(&call), upstream(&row["static"])),
            ("dynamic", dynamic_check_call(&call, &metadata), upstream(&row["dynamic"])),
        ] {
            if ours != theirs {
                differences.push(format!("{name}: ours {ours:?}\n  upstream {theirs:?}\n  {line}"));
            }
            let answer = match theirs {
                Verdict::Accepts => "accepts",
                Verdict::Refuses { check, .. } => check,
                Verdict::Crashes { .. } => "crashes",
            };
            *answers.entry(answer).or_default() += 1;
        }
    }
    println!("{} calls: {answers:?}", table.lines().count());
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    for check in CHECKS {
        assert!(answers.contains_key(check.id), "no recorded call fails {}", check.id);
    }
    assert!(answers.contains_key("accepts") && answers.contains_key("crashes"));
}

/// Numbers from a linear congruential generator, so that the questions are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick(&mut self, choices: &[i32]) -> i32 {
        choices[self.below(choices.len())]
    }
}

/// Metadata that upstream accepts, with up to two entries replaced by values at a limit.
fn metadata(numbers: &mut Numbers, tokens: i32, reach: i32, rows: usize, columns: usize) -> Metadata {
    let mut kv_lens: Vec<i32> = (0..rows).map(|_| 1 + numbers.below(reach as usize) as i32).collect();
    let mut cu_q_lens = vec![0];
    for kv_len in &kv_lens {
        let start = cu_q_lens[cu_q_lens.len() - 1];
        let most = (*kv_len).min(tokens - start);
        cu_q_lens.push(start + numbers.below(most as usize + 1) as i32);
    }
    let mut num_seqs = numbers.below(rows + 1) as i32;
    for _ in 0..numbers.below(3) {
        let (row, entry) = (numbers.below(rows), numbers.below(rows + 1));
        let limits = [i32::MAX, i32::MAX - 6, i32::MIN, -1, 0];
        match numbers.below(4) {
            0 => {
                num_seqs = numbers.pick(&[
                    limits[0],
                    limits[2],
                    -1,
                    -2,
                    rows as i32,
                    rows as i32 + 1,
                    -(rows as i32) - 2,
                ])
            }
            1 => kv_lens[row] = numbers.pick(&[limits[0], limits[1], limits[2], -1, 0, reach, reach + 1]),
            2 => {
                cu_q_lens[entry] = numbers.pick(&[limits[0], limits[1], limits[2], -1, 0, tokens, tokens + 1])
            }
            _ => cu_q_lens[entry] += numbers.pick(&[-1, 1]),
        }
    }
    Metadata { kv_lens, page_indices: vec![0; rows * columns], pages_per_seq: columns, cu_q_lens, num_seqs }
}

#[test]
fn port_and_worker_say_the_same_of_fresh_metadata() {
    let environment = Environment::open(None, None, &Silent).unwrap_or_else(|error| panic!("{error}"));
    let mut worker = Worker::start(&environment).unwrap();
    let catalogue = Catalogue::builtin().unwrap();
    let kernel = catalogue.kernel("jax-rpa").unwrap();
    let entry_point = format!("{}:{}", kernel.python.module, kernel.python.entry_point);
    let mut numbers = Numbers(7);
    let mut answers: BTreeMap<&str, usize> = BTreeMap::new();
    for variant in kernel.variants(Tier::Small) {
        let call = Call::of(&entry_point, variant);
        let reach = (variant.page_size * variant.pages_per_seq) as i32;
        for _ in 0..24 {
            let (rows, columns) = (variant.max_seqs, variant.pages_per_seq);
            let metadata = metadata(&mut numbers, variant.tokens as i32, reach, rows, columns);
            let answer = worker.validate(&call, &metadata).unwrap();
            assert_eq!(answer.static_check, Asked::Accepts);
            let theirs = match answer.dynamic_check.unwrap() {
                Asked::Accepts => Verdict::Accepts,
                Asked::Refuses(refusal) => {
                    let check = check_of_message(&refusal.message).unwrap_or_else(|| panic!("{refusal:?}"));
                    Verdict::Refuses { check, message: refusal.message }
                }
                Asked::Crashes(refusal) => Verdict::Crashes { message: refusal.message },
            };
            assert_eq!(dynamic_check(variant, &metadata), theirs, "{}: {metadata:?}", variant.name);
            let answer = if let Verdict::Refuses { check, .. } = theirs { check } else { "accepts" };
            *answers.entry(answer).or_default() += 1;
        }
    }
    println!("{answers:?}");
    assert_eq!(
        answers.len(),
        5,
        "{answers:?}: every dynamic check refuses once, and some metadata is accepted"
    );
}
