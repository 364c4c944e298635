//! Short nights under faults: nothing that the event log announced is lost, the rest goes on, and the report says what happened.
//!
//! Invariant: which instruction a kill hits is up to the machine, and must not matter.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use countersign::case::Case;
use countersign::corpus::CorpusFile;
use serde_json::Value;

use crate::real;

struct Nights {
    folder: tempfile::TempDir,
}

impl Nights {
    fn new() -> Nights {
        real(); // the environment and the exports are there
        let folder = tempfile::tempdir().unwrap();
        let (_, case) = countersign::corpus::builtin()
            .iter()
            .find(|(path, _)| {
                path.ends_with("total-q-within-rows-residue.toml") || path.starts_with("seeds/")
            })
            .unwrap();
        fs::create_dir(folder.path().join("corpus")).unwrap();
        fs::write(folder.path().join("corpus/one.toml"), case).unwrap();
        Nights { folder }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.current_dir(self.folder.path());
        command.args(["nightly", "--corpus", "corpus", "--out", "out"]).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The events so far. What they announce is there and readable, or a later event says that it went.
    fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.out().join("events.jsonl")).unwrap_or_default();
        let events: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut there: BTreeSet<PathBuf> = BTreeSet::new();
        for event in &events {
            let file = || self.out().join(event["file"].as_str().unwrap());
            match event["event"].as_str().unwrap() {
                "finding" | "minimised" | "suspect" | "corpus" => drop(there.insert(file())),
                "gone" => drop(there.remove(&file())),
                "corpus minimised" => {
                    for dropped in event["dropped"].as_array().unwrap() {
                        there.remove(Path::new(dropped.as_str().unwrap()));
                    }
                }
                _ => {}
            }
        }
        for path in there {
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("lost: {}: {error}", path.display()));
            if path.extension().is_some_and(|ending| ending == "case") {
                Case::from_bytes(&bytes).unwrap();
            } else {
                CorpusFile::from_toml(&String::from_utf8(bytes).unwrap()).unwrap();
            }
        }
        events
    }

    fn report(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.out().join("night.json")).unwrap()).unwrap()
    }

    /// Waits until an event of that name was written after `seen` events; it.
    fn wait_for(&self, name: &str, seen: usize) -> Value {
        let started = Instant::now();
        loop {
            let event = self.events().into_iter().skip(seen).find(|event| event["event"] == name);
            if let Some(event) = event {
                return event;
            }
            assert!(started.elapsed() < Duration::from_secs(300), "no event `{name}`");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn signal(name: &str, pid: &Value) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(status.success(), "kill {name} {pid}");
}

#[test]
fn a_hung_and_a_killed_worker_cost_their_cases_only() {
    let nights = Nights::new();
    let mut night = nights.start(&["--time", "20s", "--jobs", "1", "--hang", "3s", "--state", "state"]);
    let hung = nights.wait_for("worker", 0);
    nights.wait_for("corpus", 0); // it is at work
    signal("-STOP", &hung["pid"]);
    let seen = nights.events().len();
    nights.wait_for("trouble", 0);
    let killed = nights.wait_for("worker", seen);
    let seen = nights.events().len();
    nights.wait_for("corpus", seen); // and its successor is
    signal("-KILL", &killed["pid"]);
    let code = night.wait().unwrap().code();
    let report = nights.report();
    let troubles = report["troubles"].to_string();
    assert!(matches!(code, Some(1 | 3)), "{code:?}: {troubles}");
    assert!(troubles.contains("hung and was killed; its case is kept: suspects/"), "{troubles}");
    assert!(troubles.contains("signal: 9"), "{troubles}");
    assert_eq!(report["targets"].as_array().unwrap().len(), 2);
    assert!(nights.events().iter().filter(|event| event["event"] == "suspect").count() >= 1);
}

/// As root a folder can always be written, so a file takes its place.
#[test]
fn without_a_place_for_the_state_the_night_goes_on() {
    let nights = Nights::new();
    fs::write(nights.folder.path().join("state"), "not a folder").unwrap();
    let code = nights.start(&["--time", "3s", "--jobs", "1", "--state", "state"]).wait().unwrap().code();
    let report = nights.report();
    assert!(matches!(code, Some(1 | 3)), "{code:?}: {report}");
    assert!(report["troubles"].to_string().contains("can't be written"), "{report}");
    assert!(nights.events().iter().any(|event| event["event"] == "corpus"));
}

#[test]
fn a_killed_night_loses_nothing_and_the_next_takes_up() {
    let nights = Nights::new();
    let arguments = |time| ["--time", time, "--jobs", "1", "--state", "state"];
    let mut announced = 0;
    for moment in [3, 6, 9] {
        let mut night = nights.start(&arguments("10m")); // none ends by itself
        std::thread::sleep(Duration::from_secs(moment));
        night.kill().unwrap(); // SIGKILL; workers end by themselves
        night.wait().unwrap();
        let events = nights.events().len();
        assert!(events > announced, "the log is only ever appended to");
        announced = events;
    }
    nights.start(&arguments("5s")).wait().unwrap();
    nights.events();
    let report = nights.report();
    assert_eq!(report["number"], 4);
    assert!(report["troubles"].to_string().contains("night 3 was killed"), "{report}");
    assert!(!report["trends"].as_array().unwrap().is_empty());
}
