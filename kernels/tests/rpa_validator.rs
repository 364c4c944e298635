//! The Rust port of upstream's checks against a recorded table of upstream's own answers, word for word.
//!
//! `COUNTERSIGN_VALIDATOR_TABLE=FILE` reads another table, e.g. a larger one; `data/record_rpa_validator.py` writes them.

use std::collections::BTreeMap;

use countersign_kernels::rpa::validator::{
    CHECKS, Number, Shaped, StaticCall, Verdict, check_of_message, dynamic_check_call, static_check,
};
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
