//! Short nights under faults: nothing that the event log announced is lost, the rest goes on, and the report says what happened.
//!
//! Invariant: which instruction a kill hits is up to the machine, and must not matter.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use countersign::case::Case;
use countersign::corpus::{CorpusFile, Origin};
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

    /// A night in a process group of its own; what it prints goes to the file `printed`.
    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.current_dir(self.folder.path());
        command.args(["nightly", "--corpus", "corpus", "--out", "out"]).args(arguments);
        let printed = fs::File::create(self.folder.path().join("printed")).unwrap();
        command.stdout(printed.try_clone().unwrap()).stderr(printed).process_group(0).spawn().unwrap()
    }

    fn printed(&self) -> String {
        fs::read_to_string(self.folder.path().join("printed")).unwrap()
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
    let status = Command::new("kill").args([name, "--", &pid.to_string()]).status().unwrap();
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

/// A Python that kills itself whenever it is to export and `spared` says no; otherwise that of the environment.
fn mortal(folder: &Path, spared: &str) -> PathBuf {
    let path = folder.join("python");
    let text = format!(
        "#!/bin/sh\ncase \" $* \" in *\" export \"*) {spared} || kill -KILL $$ ;; esac\nexec {} \"$@\"\n",
        real().environment.python().display()
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A kernel that nothing was exported of yet, so that Python is needed: the installed one with another last line.
fn night_of_mortal_python(nights: &Nights, spared: &str) -> (Option<i32>, Value) {
    let folder = nights.folder.path();
    let python = mortal(folder, spared);
    let (text, _) = crate::own_file::edited("< kv_len - kv_len_start", "< kv_len - kv_len_start");
    fs::write(folder.join("own.py"), format!("{text}# {}\n", folder.display())).unwrap();
    let mut more = vec!["--time", "5s", "--jobs", "1", "--state", "state", "--python"];
    more.extend([python.to_str().unwrap(), "--kernel-from", "own.py:ragged_paged_attention"]);
    let code = nights.start(&more).wait().unwrap().code();
    (code, nights.report())
}

#[test]
fn a_killed_python_is_started_once_more() {
    let nights = Nights::new();
    let (code, report) = night_of_mortal_python(&nights, "! mkdir died 2> /dev/null");
    let troubles = report["troubles"].to_string();
    assert!(matches!(code, Some(1 | 3)), "{code:?}: {troubles}");
    assert!(troubles.contains("could not be replayed at the first attempt"), "{troubles}");
    assert!(!troubles.contains("could not be replayed:"), "{troubles}");
    assert_eq!((&report["replayed"], report["targets"].as_array().unwrap().len()), (&Value::from(1), 2));
}

#[test]
fn without_any_python_the_night_says_so_and_keeps_what_earlier_nights_found() {
    let nights = Nights::new();
    let finding = nights.folder.path().join("state/findings/new-x.toml");
    fs::create_dir_all(finding.parent().unwrap()).unwrap();
    let (_, found) =
        countersign::corpus::builtin().iter().find(|(path, _)| path.starts_with("seeds/")).unwrap();
    let mut found = CorpusFile::from_toml(found).unwrap();
    let signature = "divergence|jax-rpa|-|wrong-rows|-";
    found.origin = Some(Origin {
        when: "2026-01-01".to_owned(),
        from: "a night".to_owned(),
        cause: format!("shows {signature}: as an earlier night saw it"),
    });
    fs::write(&finding, found.to_toml()).unwrap();
    let (code, report) = night_of_mortal_python(&nights, "false");
    let troubles = report["troubles"].to_string();
    assert_eq!(code, Some(2), "{troubles}");
    assert!(troubles.contains("jax-rpa could not be searched: "), "{troubles}");
    assert_eq!(report["findings"][0]["signature"], signature, "{report}");
    assert!(finding.exists());
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

/// Kills after which a night is started anew: supervisor, workers and Python, or the supervisor alone, or a worker and then the
/// supervisor. With `COUNTERSIGN_KILLS=20` the kernel is a broken copy, so that findings are announced, too.
#[test]
fn a_killed_night_loses_nothing_and_the_next_takes_up() {
    let nights = Nights::new();
    let many = std::env::var("COUNTERSIGN_KILLS").ok().map(|kills| kills.parse::<i64>().unwrap());
    let (kills, longest) = many.map_or((3, 10), |kills| (kills, 40));
    let mut more = vec!["--jobs", "2", "--state", "state"];
    if many.is_some() {
        let (text, _) = crate::own_file::edited("< kv_len - kv_len_start", "<= kv_len - kv_len_start");
        fs::write(nights.folder.path().join("own.py"), text).unwrap();
        more.extend(["--kernel-from", "own.py:ragged_paged_attention"]);
    }
    let start = |time| nights.start(&[&["--time", time], &more[..]].concat());
    let (mut announced, mut random) = (0, 0x2545_f491_4f6c_dd1d_u64);
    for kill in 0..kills {
        let mut night = start("10m"); // none ends by itself
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let moment = Duration::from_millis(1000 + (random >> 33) % (longest * 1000));
        std::thread::sleep(moment);
        match kill % 3 {
            0 => signal("-KILL", &Value::from(-i64::from(night.id()))),
            1 => {}
            _ => {
                let worker = nights.events().into_iter().rfind(|event| event["event"] == "worker");
                let pid = worker.map(|worker| worker["pid"].to_string());
                // It may be gone, and no longer ours.
                let ours = |pid: &String| {
                    fs::read_to_string(format!("/proc/{pid}/stat"))
                        .is_ok_and(|stat| stat.contains("(countersign)"))
                };
                if let Some(pid) = pid.filter(ours) {
                    let _ = Command::new("kill").args(["-KILL", &pid]).status();
                }
            }
        }
        night.kill().unwrap(); // SIGKILL; workers end by themselves
        night.wait().unwrap();
        let events = nights.events().len();
        assert!(events > announced, "the log is only ever appended to");
        println!("kill {kill} after {} ms: {} events", moment.as_millis(), events - announced);
        announced = events;
    }
    start("5s").wait().unwrap();
    let events = nights.events();
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    let stored = countersign::night::Store::all(&nights.folder.path().join("state/corpus")).unwrap();
    let mut cases = 0;
    for (_, _, store) in stored {
        let (whole, unreadable) = store.cases().unwrap();
        assert_eq!(unreadable, Vec::<String>::new());
        cases += whole.len();
    }
    let report = nights.report();
    println!(
        "{kills} kills; announced: {} cases of the corpus ({cases} in it), {} findings, {} minimised, {} suspects; lost: 0",
        count("corpus"),
        count("finding"),
        count("minimised"),
        count("suspect")
    );
    assert_eq!(report["number"], kills + 1);
    assert!(report["troubles"].to_string().contains(&format!("night {kills} was killed")), "{report}");
    assert!(!report["trends"].as_array().unwrap().is_empty());
    assert!(cases > 0);
    assert!(many.is_none() || count("finding") > 0, "the broken copy was never found out");
}

/// A small file system; unmounted at the end.
struct Disk(PathBuf);

impl Disk {
    /// Takes a machine that lets us mount; elsewhere `None`, with a word about it.
    fn mount(folder: PathBuf) -> Option<Disk> {
        fs::create_dir(&folder).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(&folder).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Disk(folder));
        }
        println!("not tested: no file system can be mounted here, which takes root");
        None
    }

    fn fill(&self) {
        let mut ballast = fs::File::create(self.0.join("ballast")).unwrap();
        while ballast.write_all(&[0; 512]).is_ok() {}
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status(); // the folder goes anyway
    }
}

#[test]
fn a_disk_that_fills_costs_nothing_that_was_announced_and_the_night_says_so() {
    let nights = Nights::new();
    let Some(disk) = Disk::mount(nights.folder.path().join("disk")) else { return };
    fs::create_dir(disk.0.join("out")).unwrap();
    std::os::unix::fs::symlink(disk.0.join("out"), nights.out()).unwrap();
    let arguments = |time| ["--time", time, "--jobs", "1", "--state", "disk/state"];
    let mut night = nights.start(&arguments("10s"));
    nights.wait_for("corpus", 0);
    disk.fill();
    let code = night.wait().unwrap().code();
    let printed = nights.printed();
    assert_eq!(code, Some(2), "{printed}"); // no report could be written
    assert!(printed.contains("No space left on device"), "{printed}");
    assert!(printed.contains("jax-rpa differential"), "what was searched is told all the same: {printed}");
    let announced = nights.events().len();
    let text = fs::read_to_string(nights.out().join("events.jsonl")).unwrap();
    assert_eq!(text.lines().count(), announced, "no line is cut short");
    // With room again, the next night has what was stored.
    fs::remove_file(disk.0.join("ballast")).unwrap();
    let code = nights.start(&arguments("3s")).wait().unwrap().code();
    let report = nights.report();
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?}: {report}");
    assert_eq!(report["number"], 2);
    assert!(nights.events().len() > announced);
}
