//! Exported kernels: the text of the module with its manifest, cached by content.
//!
//! Invariant: what comes out of the cache is what was put in (its hash is checked), under a key that covers everything the
//! text depends on: call, packages or sources, interpreter, exporter, and the folders that locations name.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Stdio};

use serde::{Deserialize, Serialize};

use crate::Variant;
use crate::call::Call;
use crate::env::{Environment, Lock, Progress, SetupError, exporter_hash, sha256_hex, write_atomic};
use crate::manifest::{Manifest, VERSION};

/// A kernel as the TPU compiler would be given it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// Generic-form MLIR with locations.
    pub mlir: String,
    /// Its description.
    pub manifest: Manifest,
    /// The content key that it is cached under.
    pub key: String,
}

/// Why a call does not lower: the words of the kernel, of JAX, or of our own reader of the glue around the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Type of the Python exception.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its message.
    pub message: String,
    /// Line in the kernel's own source file, where it passed through there.
    pub line: Option<u32>,
    /// Whether the kernel's own file raised it on purpose, with a message: a refusal, not an accident.
    #[serde(default)]
    pub deliberate: bool,
}

/// What was raised, in its words, and where in the kernel.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { kind, message, line, .. } = self;
        f.write_str(kind)?;
        if !message.is_empty() {
            write!(f, ": {message}")?;
        }
        line.map_or(Ok(()), |line| write!(f, " (line {line} of the kernel)"))
    }
}

/// Outcome of one export.
pub type ExportResult = Result<Exported, Refusal>;

/// A call with the name that progress shows.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedCall {
    /// For people, e.g. the variant's name; not part of the key.
    pub name: String,
    /// What is lowered.
    pub call: Call,
}

/// Exports `variants` of the entry point `module:function`, in their order.
///
/// # Errors
/// Where the environment doesn't work; a variant that does not lower is a [`Refusal`] in the result.
pub fn export(
    environment: &Environment,
    entry_point: &str,
    variants: &[Variant],
    progress: &dyn Progress,
) -> Result<Vec<ExportResult>, SetupError> {
    let calls: Vec<NamedCall> = variants
        .iter()
        .map(|variant| NamedCall { name: variant.name.clone(), call: Call::of(entry_point, variant) })
        .collect();
    export_calls(environment, &calls, progress)
}

/// Exports `calls`, in their order: those not in the cache in one run of Python, each kept as soon as it arrives.
///
/// # Errors
/// As [`export`].
pub fn export_calls(
    environment: &Environment,
    calls: &[NamedCall],
    progress: &dyn Progress,
) -> Result<Vec<ExportResult>, SetupError> {
    let cache = Cache { folder: environment.home().join("kernels") };
    let keys = keys(environment, calls)?;
    let mut results: Vec<Option<ExportResult>> = keys.iter().map(|key| cache.load(key)).collect();
    if results.iter().any(Option::is_none) {
        let _lock = Lock::acquire(environment.home(), progress)?;
        for (result, key) in results.iter_mut().zip(&keys) {
            if result.is_none() {
                *result = cache.load(key); // another process may have exported it while we waited
            }
        }
        let missing: Vec<usize> = (0..calls.len()).filter(|&index| results[index].is_none()).collect();
        if !missing.is_empty() {
            Run { environment, cache: &cache, calls, keys: &keys, progress }
                .export(&missing, &mut results)?;
        }
    }
    let missing = |index: usize| SetupError::Exporter {
        what: calls[index].name.clone(),
        detail: "the exporter ended without an answer".to_owned(),
    };
    results.into_iter().enumerate().map(|(index, result)| result.ok_or_else(|| missing(index))).collect()
}

/// The content key of each call.
pub(crate) fn keys(environment: &Environment, calls: &[NamedCall]) -> Result<Vec<String>, SetupError> {
    let exporter = exporter_hash();
    let mut sources: Vec<(&str, String)> = Vec::new();
    calls
        .iter()
        .map(|named| {
            let entry_point = named.call.entry_point.as_str();
            let known = sources.iter().find(|(known, _)| *known == entry_point).map(|(_, hash)| hash.clone());
            let hash = match known {
                Some(hash) => hash,
                None => {
                    let hash = source_hash(environment, &named.call)?;
                    sources.push((entry_point, hash.clone()));
                    hash
                }
            };
            let text = serde_json::to_string(&(
                &named.call,
                environment.versions(),
                environment.python().to_string_lossy(),
                &hash,
                &exporter,
            ));
            text.map(|text| sha256_hex(text.as_bytes()))
                .map_err(|error| SetupError::Exporter { what: named.name.clone(), detail: error.to_string() })
        })
        .collect()
}

/// Hash of the sources that may be edited: nothing for pinned packages, whose versions say it all.
fn source_hash(environment: &Environment, call: &Call) -> Result<String, SetupError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Identity {
        Known { sources_sha256: String },
        Unknown { error: String },
    }
    let entry_point = call.entry_point.as_str();
    if !environment.is_unpinned() && !is_file(entry_point) {
        return Ok(String::new());
    }
    let operands = call.operands.iter().map(|operand| operand.name.as_str());
    let arguments: Vec<&str> = ["identify", entry_point].into_iter().chain(operands).collect();
    let text = environment.run(&arguments)?;
    match serde_json::from_str(&text).map_err(|error| environment.broken(&error.to_string()))? {
        Identity::Known { sources_sha256 } => Ok(sources_sha256),
        Identity::Unknown { error } => {
            Err(SetupError::Kernel { entry_point: entry_point.to_owned(), detail: error })
        }
    }
}

/// Whether an entry point is a function of a user's file and not of an installed package.
fn is_file(entry_point: &str) -> bool {
    entry_point.rsplit_once(':').is_some_and(|(module, _)| module.ends_with(".py"))
}

/// Exported kernels and refusals on disk, a folder each.
struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// What is kept under `key`, or nothing where it is absent, unreadable, or not what was kept.
    fn load(&self, key: &str) -> Option<ExportResult> {
        let entry = self.folder.join(key);
        if let Ok(text) = fs::read(entry.join("refusal.json")) {
            return serde_json::from_slice(&text).ok().map(Err);
        }
        let manifest: Manifest = serde_json::from_slice(&fs::read(entry.join("manifest.json")).ok()?).ok()?;
        let mlir = fs::read_to_string(entry.join("kernel.mlir")).ok()?;
        let sound = manifest.version == VERSION
            && manifest.key == key
            && manifest.mlir_sha256 == sha256_hex(mlir.as_bytes());
        sound.then(|| Ok(Exported { mlir, manifest, key: key.to_owned() }))
    }

    fn has_folder(&self, key: &str) -> bool {
        self.folder.join(key).exists()
    }

    /// Keeps files under `key`, replacing a damaged entry; the folder appears with all of them in it.
    fn store(&self, key: &str, files: &[(&str, &[u8])]) -> Result<(), SetupError> {
        let temporary = Temporary::create(&self.folder)?;
        for (name, bytes) in files {
            write_atomic(&temporary.path.join(name), bytes)?;
        }
        let entry = self.folder.join(key);
        if entry.exists() {
            fs::remove_dir_all(&entry).map_err(|error| SetupError::io(&entry, error))?;
        }
        fs::rename(&temporary.path, &entry).map_err(|error| SetupError::io(&entry, error))
    }

    /// Removes what interrupted processes left; only while the lock is held.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(".tmp-") {
                let _ = fs::remove_dir_all(entry.path()); // left-overs are harmless
            }
        }
    }
}

/// A folder that goes with its value.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn create(parent: &Path) -> Result<Temporary, SetupError> {
        let path = parent.join(crate::env::temporary_name());
        fs::create_dir_all(&path).map_err(|error| SetupError::io(&path, error))?;
        Ok(Temporary { path })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path); // gone already where it was renamed
    }
}

/// One line of the exporter.
#[derive(Deserialize)]
struct Line {
    index: usize,
    status: Status,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    deliberate: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Refused,
    Error,
}

/// One run of the Python exporter.
struct Run<'a> {
    environment: &'a Environment,
    cache: &'a Cache,
    calls: &'a [NamedCall],
    keys: &'a [String],
    progress: &'a dyn Progress,
}

impl Run<'_> {
    fn export(&self, missing: &[usize], results: &mut [Option<ExportResult>]) -> Result<(), SetupError> {
        self.cache.sweep();
        let out = Temporary::create(&self.cache.folder)?;
        let damaged = missing.iter().filter(|&&index| self.cache.has_folder(&self.keys[index])).count();
        match damaged {
            0 => self.progress.step(&format!("exporting {} kernels", missing.len())),
            _ => self.progress.step(&format!(
                "exporting {} kernels, {damaged} of them damaged in the cache",
                missing.len()
            )),
        }
        let mut command = self.environment.command(&["export"]);
        command.arg("--out").arg(&out.path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| self.environment.broken(&error.to_string()))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (answered, errors) = std::thread::scope(|scope| {
            let errors = scope.spawn(|| read_all(stderr));
            scope.spawn(|| self.send(missing, stdin));
            let answered = self.receive(missing, stdout, &out.path, results);
            if answered.is_err() {
                let _ = child.kill(); // the error at hand is the one to report
            }
            (answered, errors.join().unwrap_or_default())
        });
        let status = child.wait().map_err(|error| self.environment.broken(&error.to_string()))?;
        answered?;
        if !status.success() {
            return Err(self.environment.broken(&crate::env::last_lines(&errors)));
        }
        self.progress.done(&format!("exported {} kernels", missing.len()));
        Ok(())
    }

    /// Writes the calls, a line each. A reader that is gone shows in what it answers.
    fn send(&self, missing: &[usize], stdin: Option<ChildStdin>) {
        let Some(mut stdin) = stdin else { return };
        for &index in missing {
            let Ok(mut line) = serde_json::to_vec(&self.calls[index].call) else { return };
            line.push(b'\n');
            if stdin.write_all(&line).is_err() {
                return;
            }
        }
    }

    fn receive(
        &self,
        missing: &[usize],
        stdout: Option<ChildStdout>,
        out: &Path,
        results: &mut [Option<ExportResult>],
    ) -> Result<(), SetupError> {
        let Some(stdout) = stdout else { return Ok(()) };
        let mut failed = None;
        for (count, text) in BufReader::new(stdout).lines().enumerate() {
            let text = text.map_err(|error| self.environment.broken(&error.to_string()))?;
            let line: Line =
                serde_json::from_str(&text).map_err(|error| self.environment.broken(&error.to_string()))?;
            let Some(&index) = missing.get(line.index) else {
                return Err(self
                    .environment
                    .broken(&format!("an answer to call {}, never asked", line.index)));
            };
            let name = &self.calls[index].name;
            self.progress.step(&format!("exported {name} ({} of {})", count + 1, missing.len()));
            match line.status {
                Status::Ok => results[index] = Some(Ok(self.keep(index, &out.join(line.index.to_string()))?)),
                Status::Refused => {
                    let Line { kind, message, line, deliberate, .. } = line;
                    let refusal = Refusal { kind, message, line, deliberate };
                    let text = serde_json::to_vec_pretty(&refusal)
                        .map_err(|error| self.fault(index, &error.to_string()))?;
                    self.cache.store(&self.keys[index], &[("refusal.json", &text)])?;
                    results[index] = Some(Err(refusal));
                }
                Status::Error if line.message.contains("No space left on device") => {
                    return Err(SetupError::DiskFull { path: out.to_path_buf() });
                }
                // The others are still kept.
                Status::Error => {
                    failed = Some(self.fault(index, &format!("{}: {}", line.kind, line.message)))
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Completes the manifest and keeps both files.
    fn keep(&self, index: usize, folder: &Path) -> Result<Exported, SetupError> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| SetupError::io(&path, error))
        };
        let mlir = read("kernel.mlir")?;
        let fault = |error: serde_json::Error| self.fault(index, &format!("its manifest: {error}"));
        let mut manifest: Manifest = serde_json::from_str(&read("manifest.json")?).map_err(fault)?;
        let key = self.keys[index].clone();
        manifest.key.clone_from(&key);
        manifest.mlir_sha256 = sha256_hex(mlir.as_bytes());
        manifest.unpinned = self.environment.is_unpinned() || is_file(&self.calls[index].call.entry_point);
        let text = serde_json::to_vec_pretty(&manifest).map_err(fault)?;
        self.cache.store(&key, &[("kernel.mlir", mlir.as_bytes()), ("manifest.json", &text)])?;
        Ok(Exported { mlir, manifest, key })
    }

    fn fault(&self, index: usize, detail: &str) -> SetupError {
        SetupError::Exporter { what: self.calls[index].name.clone(), detail: detail.to_owned() }
    }
}

fn read_all(stderr: Option<ChildStderr>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stderr) = stderr {
        let _ = stderr.read_to_end(&mut bytes); // a broken pipe only shortens the message
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_kept_and_a_damaged_one_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().join("kernels") };
        assert_eq!(cache.load("k"), None);
        let refusal =
            Refusal { kind: "ValueError".into(), message: "no".into(), line: Some(7), deliberate: true };
        cache.store("k", &[("refusal.json", &serde_json::to_vec(&refusal).unwrap())]).unwrap();
        assert_eq!(cache.load("k"), Some(Err(refusal)));
        fs::write(cache.folder.join("k/refusal.json"), "{").unwrap();
        assert_eq!(cache.load("k"), None);
        cache.store("k", &[("kernel.mlir", b"text")]).unwrap();
        assert_eq!(cache.load("k"), None, "a text without a manifest");
        assert!(!cache.folder.join("k/refusal.json").exists());
    }

    #[test]
    fn left_overs_of_a_killed_process_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().to_path_buf() };
        fs::create_dir_all(cache.folder.join(".tmp-1-0/0")).unwrap();
        cache.store("k", &[("refusal.json", b"{}")]).unwrap();
        cache.sweep();
        let names: Vec<_> =
            fs::read_dir(&cache.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["k"]);
    }
}
