//! Embeds the corpus in the binary: every TOML file below a folder of `corpus/`, by its relative path, sorted.
//!
//! Invariant: nothing is read or checked here beyond file names; a broken file fails a test, not the build.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let missing = |name| io::Error::other(format!("cargo did not set {name}"));
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| missing("CARGO_MANIFEST_DIR"))?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| missing("OUT_DIR"))?);
    let corpus = root.join("../corpus").canonicalize()?;
    println!("cargo::rerun-if-changed={}", corpus.display());

    let mut names = Vec::new();
    for folder in ["regressions", "seeds", "upstream"] {
        collect(&corpus, folder, &mut names)?;
    }
    names.sort();
    let entry = |name: &String| format!("    ({name:?}, include_str!({:?})),\n", corpus.join(name));
    let entries: String = names.iter().map(entry).collect();
    fs::write(out.join("corpus.rs"), format!("&[\n{entries}]\n"))
}

fn collect(corpus: &Path, folder: &str, names: &mut Vec<String>) -> io::Result<()> {
    let path = corpus.join(folder);
    if !path.is_dir() {
        return Ok(());
    }
    println!("cargo::rerun-if-changed={}", path.display());
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else { continue };
        let relative = format!("{folder}/{name}");
        if entry.file_type()?.is_dir() {
            collect(corpus, &relative, names)?;
        } else if name.ends_with(".toml") {
            names.push(relative);
        }
    }
    Ok(())
}
