//! A campaign killed without warning, over and over, in one folder: nothing that was announced is lost.
//!
//! Invariant: the moments are spread over start, loading and campaign; which instruction they hit is up to the machine, and
//! must not matter.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use countersign::corpus::CorpusFile;
use serde_json::Value;

use crate::real;

const KILLS: u32 = 20;
/// Between one moment and the next; the last comes after three seconds.
const STEP: Duration = Duration::from_millis(150);

fn fuzz(out: &Path, seed: u32, cases: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(["fuzz", "--cases", cases, "--seed", &seed.to_string(), "--jobs", "2", "--out"]).arg(out);
    for variant in ["f32-q4-kv4", "bf16-q4-kv4", "f32-q16-kv8"] {
        command.args(["--variant", variant]);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The events so far; every line must be one, and every case that one announces must be there and be readable.
fn events(out: &Path) -> Vec<Value> {
    let text = fs::read_to_string(out.join("events.jsonl")).unwrap_or_default();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in events.iter().filter(|event| event["event"] == "finding") {
        let file = out.join(event["file"].as_str().unwrap());
        let text = fs::read_to_string(&file).unwrap();
        CorpusFile::from_toml(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    events
}

#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_announced() {
    real(); // the environment and the exports are there
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut announced = 0;
    for kill in 0..KILLS {
        let mut child = fuzz(&out, kill, "1000000");
        std::thread::sleep(STEP * (kill + 1));
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        let findings = events(&out).iter().filter(|event| event["event"] == "finding").count();
        assert!(findings >= announced, "the log is only ever appended to");
        announced = findings;
    }
    assert!(announced > 0, "no finding was announced before a kill, so that nothing was tested");
    let status = fuzz(&out, 1, "300").wait().unwrap();
    assert_eq!(status.code(), Some(0), "the next run is a clean one, and all findings are known");
    let last = events(&out).pop().unwrap();
    assert_eq!(last["event"], "ended");
    let report = fs::read_to_string(out.join("report.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["summary"]["cases"], 300);
    println!("{KILLS} kills, {announced} findings announced, all readable");
}
