//! Calls compiled ahead of time by the TPU's own compiler, in parallel processes, each answer cached by content.
//!
//! Invariant: an answer is a function of the call, the packages and the compiler, whichever process gave it. No answer in time,
//! or a process that died, is kept in no cache and never taken for a refusal.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::env::{Environment, Progress, SetupError, sha256_hex, write_atomic};
use crate::export::{NamedCall, Refusal, keys};
use crate::worker::{Timeouts, Worker, WorkerError};

/// Which stage refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The kernel's own check, or JAX, before the compiler saw anything.
    Lowering,
    /// The TPU compiler.
    Compiler,
}

/// A memory that is too small for a kernel; sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    /// `vmem`, `smem` or `hbm`.
    pub space: String,
    /// What the kernel needs.
    pub asked: u64,
    /// What there is.
    pub limit: u64,
}

/// What came of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Compilation {
    /// It compiles.
    Compiled {
        /// Size of its code.
        code_bytes: u64,
        /// Memory that it needs besides operands and results.
        temporary_bytes: u64,
    },
    /// It doesn't.
    Refused {
        /// Who says so.
        by: Stage,
        /// In which words.
        #[serde(flatten)]
        refusal: Refusal,
        /// Where they are about a memory.
        overflow: Option<Overflow>,
    },
    /// No answer within the time.
    TimedOut,
    /// The process died, or couldn't be started.
    Failed {
        /// Its last words.
        why: String,
    },
}

/// How calls are compiled.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Processes.
    pub jobs: usize,
    /// For one call.
    pub time_limit: Duration,
}

/// Compiles `calls` with the compiler in folder `libtpu`; the answers, in their order. `done` is told of each.
///
/// # Errors
/// Where the environment doesn't work or the cache can't be written; what becomes of a call is a [`Compilation`].
pub fn compile_calls(
    environment: &Environment,
    libtpu: &Path,
    calls: &[NamedCall],
    effort: Effort,
    progress: &dyn Progress,
    done: &(dyn Fn(&NamedCall) + Sync),
) -> Result<Vec<Compilation>, SetupError> {
    let compiler = libtpu.file_name().unwrap_or_default().to_string_lossy();
    let cache = Cache { folder: environment.home().join("compiled") };
    let names: Vec<String> = keys(environment, calls)?
        .iter()
        .map(|key| sha256_hex(format!("{key} {compiler}").as_bytes()))
        .collect();
    let answers: Vec<Mutex<Option<Compilation>>> =
        names.iter().map(|name| Mutex::new(cache.load(name))).collect();
    let is_missing = |index: &usize| lock(&answers[*index]).is_none();
    let missing: Vec<usize> = (0..calls.len()).filter(is_missing).collect();
    for (index, _) in calls.iter().enumerate().filter(|(index, _)| !missing.contains(index)) {
        done(&calls[index]);
    }
    if !missing.is_empty() {
        progress.step(&format!("compiling {} calls", missing.len()));
    }
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let work = || {
        let mut worker = None;
        while let Some(&index) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            let answer = compile(environment, libtpu, &calls[index], effort.time_limit, &mut worker);
            if let Err(error) = cache.store(&names[index], &answer) {
                lock(&failure).get_or_insert(error);
            }
            *lock(&answers[index]) = Some(answer);
            done(&calls[index]);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..effort.jobs.min(missing.len()) {
            scope.spawn(work);
        }
    });
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let unanswered = || Compilation::Failed { why: "it was not asked".to_owned() };
    let take = |answer: Mutex<Option<Compilation>>| {
        answer.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(unanswered)
    };
    Ok(answers.into_iter().map(take).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One call, by a process that is started where there is none, and given up where it doesn't answer.
fn compile(
    environment: &Environment,
    libtpu: &Path,
    call: &NamedCall,
    time_limit: Duration,
    worker: &mut Option<Worker>,
) -> Compilation {
    let timeouts = Timeouts { compile: time_limit, ..Timeouts::default() };
    let running = match worker.take() {
        Some(running) => Ok(running),
        None => Worker::start_compiler(environment, libtpu, timeouts),
    };
    let mut running = match running {
        Ok(running) => running,
        Err(error) => return Compilation::Failed { why: error.to_string() },
    };
    match running.compile(&call.call) {
        Ok(answer) => {
            *worker = Some(running);
            answer
        }
        Err(WorkerError::TimedOut(_)) => Compilation::TimedOut,
        Err(error) => Compilation::Failed { why: error.to_string() },
    }
}

/// Answers on disk, a file each.
struct Cache {
    folder: PathBuf,
}

impl Cache {
    fn load(&self, name: &str) -> Option<Compilation> {
        serde_json::from_slice(&fs::read(self.folder.join(name)).ok()?).ok()
    }

    fn store(&self, name: &str, answer: &Compilation) -> Result<(), SetupError> {
        if matches!(answer, Compilation::TimedOut | Compilation::Failed { .. }) {
            return Ok(());
        }
        fs::create_dir_all(&self.folder).map_err(|error| SetupError::io(&self.folder, error))?;
        let path = self.folder.join(name);
        let text = serde_json::to_vec(answer).map_err(|error| SetupError::io(&path, error.into()))?;
        write_atomic(&path, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_compiler_said_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().join("compiled") };
        let text = r#"{"id":1,"ok":true,"outcome":"refused","by":"compiler","type":"JaxRuntimeError","message":"no room",
            "line":null,"deliberate":false,"overflow":{"space":"vmem","asked":2,"limit":1}}"#;
        let refused: Compilation = serde_json::from_str(text).unwrap();
        let overflow = Overflow { space: "vmem".into(), asked: 2, limit: 1 };
        assert!(
            matches!(&refused, Compilation::Refused { by: Stage::Compiler, overflow: Some(found), .. } if *found == overflow)
        );
        let compiled = Compilation::Compiled { code_bytes: 3, temporary_bytes: 0 };
        for answer in [refused, compiled] {
            cache.store("name", &answer).unwrap();
            assert_eq!(cache.load("name"), Some(answer));
        }
        cache.store("hung", &Compilation::TimedOut).unwrap();
        assert_eq!(cache.load("hung"), None);
    }
}
