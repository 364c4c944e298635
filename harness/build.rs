//! Embeds the corpus in the binary (every TOML file below a folder of `corpus/`, by its relative path, sorted), and the hash of
//! the sources that it was built from, so that a sign-off can say by what it was made.
//!
//! Invariant: nothing is checked here; a broken file fails a test, not the build.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

/// Folders and files, from the workspace's root, that decide what the program does.
const SOURCES: [&str; 11] = [
    "Cargo.lock",
    "corpus/known.toml",
    "corpus/upstream.toml",
    "harness/src",
    "kernels/catalog",
    "kernels/mosaic/src",
    "kernels/python",
    "kernels/src",
    "reference/dtype/src",
    "reference/src",
    "reports/src",
];

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
    fs::write(out.join("corpus.rs"), format!("&[\n{entries}]\n"))?;

    let mut hash = Sha256::new();
    for source in SOURCES {
        add(&mut hash, &root.join(".."), source)?;
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=COUNTERSIGN_SOURCE_SHA256={hex}");
    Ok(())
}

/// Hashes names and bytes of what is below `path`, in the order of their names, but for what Python leaves behind.
fn add(hash: &mut Sha256, root: &Path, path: &str) -> io::Result<()> {
    let full = root.join(path);
    if full.is_dir() {
        let entries = fs::read_dir(&full)?.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names = entries.collect::<io::Result<Vec<_>>>()?;
        names.sort();
        for name in names.iter().filter_map(|name| name.to_str()) {
            if !name.starts_with(['.', '_']) || name.ends_with(".py") {
                add(hash, root, &format!("{path}/{name}"))?;
            }
        }
        return Ok(());
    }
    // File by file: a folder would also count as changed when Python leaves a cache in it.
    println!("cargo::rerun-if-changed={}", full.display());
    hash.update(path);
    hash.update([0]);
    hash.update(fs::read(&full)?);
    hash.update([0]);
    Ok(())
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
