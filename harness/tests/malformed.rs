//! Malformed inputs and environments, as the binary meets them: each gives a message on one line that names the place, a
//! remedy, and exit code 2; nothing panics, and nothing is prepared for an input that can't be read.
//!
//! Invariant: a row of the tables below is one thing wrong and a word that its message must have.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not recognised as tests")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A sound case, of which each row spoils one thing.
fn sound() -> &'static str {
    let found =
        countersign::corpus::builtin().iter().find(|(name, _)| name.ends_with("two-prefills-of-600.toml"));
    found.unwrap().1
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(arguments)
        .current_dir(folder)
        .env("COUNTERSIGN_HOME", folder.join("home"))
        .output()
        .unwrap()
}

/// What is wrong with the answer: it must be exit code 2, one line of message with every word, no panic, and no environment
/// prepared.
fn complaint(folder: &Path, arguments: &[&str], words: &[&str]) -> Option<String> {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let message = errors.lines().find(|line| line.trim_start().starts_with(['×', 'e'])).unwrap_or_default();
    let missing: Vec<&&str> = words.iter().filter(|word| !message.contains(**word)).collect();
    let sound = output.status.code() == Some(2)
        && missing.is_empty()
        && !errors.contains("panicked")
        && !errors.contains("fault of countersign")
        && !folder.join("home").exists();
    (!sound).then(|| format!("{arguments:?}: {:?}, lacks {missing:?}: {errors}", output.status.code()))
}

/// Every complaint about `answers`, or nothing.
#[track_caller]
fn assert_none(answers: impl IntoIterator<Item = Option<String>>) {
    let complaints: Vec<String> = answers.into_iter().flatten().collect();
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

/// Both commands that read a case, on `bytes`.
fn both(bytes: &[u8], word: &str) -> [Option<String>; 2] {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.toml"), bytes).unwrap();
    ["show", "replay"].map(|command| complaint(folder.path(), &[command, "bad.toml"], &["bad.toml", word]))
}

/// A line of the sound case that starts with `key`, replaced by `with`.
fn with_line(key: &str, with: &str) -> Vec<u8> {
    let lines = sound().lines().map(|line| if line.starts_with(key) { with } else { line });
    let text = lines.collect::<Vec<_>>().join("\n");
    assert_ne!(text, sound().trim_end(), "the case has no line {key}");
    text.into_bytes()
}

/// The sound case with the name of a variant instead of its table.
fn named_variant(name: &str) -> Vec<u8> {
    let (head, rest) = sound().split_once("[case.variant]").unwrap();
    let (_, tail) = rest.split_once("[case.payload]").unwrap();
    format!("{}[case.payload]{tail}", head.replace("num_seqs", &format!("variant = \"{name}\"\nnum_seqs")))
        .into_bytes()
}

#[test]
fn case_files() {
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("an empty file", Vec::new(), "`case` is missing"),
        ("only white space", b"\n\n  \n".to_vec(), "`case` is missing"),
        ("cut in the middle", sound().as_bytes()[..120].to_vec(), "line"),
        ("not UTF-8", vec![0xff, 0xfe, 0, 1], "UTF-8"),
        ("not TOML", b"version 1".to_vec(), "line 1"),
        ("JSON", b"{\"case\": 1}".to_vec(), "line 1"),
        ("another version", with_line("version", "version = 9"), "version 1"),
        ("a version that isn't a number", with_line("version", "version = \"one\""), "version"),
        ("an unknown kernel", with_line("kernel", "kernel = \"no-such\""), "no-such"),
        ("an unknown variant", named_variant("no-such"), "no-such"),
        ("an unknown key", with_line("num_seqs", "num_seqs = 2\nnum_sequences = 2"), "num_sequences"),
        ("NaN where an integer belongs", with_line("num_seqs", "num_seqs = nan"), "integer"),
        ("a fraction where an integer belongs", with_line("num_seqs", "num_seqs = 1.5"), "integer"),
        ("an integer beyond int32", with_line("num_seqs", "num_seqs = 99999999999"), "i32"),
        ("text in an array of integers", with_line("kv_lens", "kv_lens = [\"a\"]"), "kv_lens"),
        ("an array too short", with_line("kv_lens", "kv_lens = [600]"), "kv_lens"),
        (
            "an absurd number of columns",
            with_line("pages_per_seq", "pages_per_seq = 4000000000000"),
            "pages_per_seq",
        ),
        ("a negative number of columns", with_line("pages_per_seq", "pages_per_seq = -1"), "pages_per_seq"),
        ("an unknown pattern", with_line("pattern", "pattern = \"normal@7\""), "normal@7"),
        ("a pattern without a version", with_line("pattern", "pattern = \"normal\""), "normal"),
        ("a negative seed", with_line("seed", "seed = -1"), "seed"),
        (
            "an expectation that is no signature",
            with_line("signatures", "signatures = [\"nonsense\"]"),
            "nonsense",
        ),
        ("a payload twice", [sound().as_bytes(), b"\n[case.payload]\n"].concat(), "line"),
    ];
    assert_none(rows.iter().flat_map(|(what, bytes, word)| {
        both(bytes, word).map(|answer| answer.map(|complaint| format!("{what}: {complaint}")))
    }));
}

#[test]
fn absurd_variants() {
    let inline = |key: &str, value: &str| {
        let keys = [
            ("tokens", "8"),
            ("q_heads", "2"),
            ("kv_heads", "1"),
            ("head_dim", "128"),
            ("page_size", "4"),
            ("pages", "4"),
            ("max_seqs", "2"),
            ("pages_per_seq", "2"),
            ("q_dtype", "\"f32\""),
            ("kv_dtype", "\"f32\""),
            ("generation", "\"v5e\""),
        ];
        let lines =
            keys.map(|(name, usual)| format!("{name} = {}\n", if name == key { value } else { usual }));
        format!(
            "[case]\nversion = 1\nkernel = \"jax-rpa\"\nnum_seqs = 1\ncu_q_lens = [0, 1, 0]\nkv_lens = [1, 0]\n\
             pages_per_seq = 2\npage_fill = 0\npage_indices = [[0]]\n[case.payload]\npattern = \"normal@1\"\nseed = 1\n\
             [case.variant]\n{}",
            lines.concat()
        )
    };
    let rows = [
        ("tokens", "0"),
        ("pages", "1000000000"),
        ("head_dim", "9223372036854775807"),
        ("page_size", "-4"),
        ("q_dtype", "\"f33\""),
        ("generation", "\"v99\""),
    ];
    assert_none(rows.iter().flat_map(|(key, value)| both(inline(key, value).as_bytes(), key)));
}

#[test]
fn files_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder.toml")).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let rows: [(&[&str], &str); 7] = [
        (&["show", "missing.toml"], "missing.toml"),
        (&["replay", "missing.toml"], "missing.toml"),
        (&["show", "folder.toml"], "folder.toml"),
        (&["replay", "folder.toml"], "folder.toml"),
        (&["fuzz", "--known", "folder.toml"], "folder.toml"),
        (&["fuzz", "--out", "file"], "file"),
        (&["fuzz", "--out", "file/below"], "file"),
    ];
    assert_none(rows.iter().map(|(arguments, word)| complaint(folder.path(), arguments, &[word])));
}

#[test]
fn known_files() {
    let rows = [
        ("version = 1\n[[known]]\nsignature = 7\n", "string"),
        (
            "version = 1\n[[known]]\nsignature = \"nonsense\"\nwhen = \"num_seqs > 0\"\nstatus = \"open\"\ncause = \"c\"\n",
            "nonsense",
        ),
        (
            "version = 1\n[[known]]\nsignature = \"gap:accepts-invalid|jax-rpa|num-seqs-nonnegative|undefined-use|*\"\nwhen = \"num_seqs >\"\nstatus = \"open\"\ncause = \"c\"\n",
            "when",
        ),
        ("[[known]\n", "unclosed"),
        ("version = 1\nsurprise = 1\n", "surprise"),
    ];
    assert_none(rows.iter().map(|(text, word)| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("known.toml"), text).unwrap();
        complaint(folder.path(), &["fuzz", "--known", "known.toml"], &["known.toml", word])
    }));
}
