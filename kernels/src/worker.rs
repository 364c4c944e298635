//! A persistent Python process that asks the real validators, the real tracer, JAX's TPU interpreter, and a real TPU.
//!
//! Invariant: every question ends in an answer or a [`WorkerError`] within its time; a process that died or hung is
//! replaced before the next question, a few times, and then no more. Nothing here judges an answer.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use countersign_dtype::{Array, DType};
use countersign_reference::Metadata;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::{Call, dtype_name};
use crate::compile::Compilation;
use crate::env::{Environment, Versions};
use crate::export::Refusal;
use crate::operand_type::OperandType;
use crate::rpa::validator::{Shaped, StaticCall};

/// How often a process that died or hung is replaced.
const REPLACEMENTS: u32 = 5;

/// How long a question may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a new process has imported jax and answers.
    pub start: Duration,
    /// Validation and tracing.
    pub ask: Duration,
    /// A run of the interpreter, tracing included.
    pub interpret: Duration,
    /// Lowering and compiling for a TPU.
    pub compile: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        let seconds = Duration::from_secs;
        Timeouts { start: seconds(120), ask: seconds(60), interpret: seconds(300), compile: seconds(300) }
    }
}

/// Why there is no answer. A finding that needed one is `unasked`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// It can't be started, or died too often.
    #[error("the Python worker is unavailable: {0}")]
    Unavailable(String),
    /// No answer in time; the process was ended.
    #[error("the Python worker did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The process ended while it was asked, twice in a row; its last words.
    #[error("the Python worker died: {0}")]
    Died(String),
    /// It says that the question was malformed: a fault of ours.
    #[error("the Python worker rejected the question: {0}")]
    Rejected(String),
}

/// One validator's word.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Asked {
    /// It returned.
    Accepts,
    /// It raised deliberately, with a message.
    Refuses(Refusal),
    /// It failed by accident, or by a bare assertion.
    Crashes(Refusal),
}

/// Both validators' words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkerVerdict {
    /// Of the check that the entry point itself makes.
    #[serde(rename = "static")]
    pub static_check: Asked,
    /// Of the check of values; asked where the static one accepts.
    #[serde(rename = "dynamic")]
    pub dynamic_check: Option<Asked>,
}

/// Whether a call lowers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Traced {
    /// It does.
    Lowers,
    /// It doesn't.
    Refused(Refusal),
}

/// What JAX sees.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Devices {
    /// Its default platform: `cpu`, `tpu`, …
    pub platform: String,
    /// The kind of each TPU.
    pub tpus: Vec<String>,
}

/// How the interpreter runs a kernel; undefined memory is always NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterpretOptions {
    /// Look for races between copies and accesses (twice as slow).
    pub detect_races: bool,
    /// Copies land when they are started, not when they are waited for.
    pub eager_copies: bool,
}

/// What the interpreter, or the kernel's own reference, made of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interpreted {
    /// It ran to the end.
    Ran {
        /// The outputs.
        outputs: Vec<Array>,
        /// Whether there was a race, where it was asked to look.
        race: Option<bool>,
        /// How long the call took in the process, encoding apart.
        elapsed: Duration,
    },
    /// It raised.
    Raised(Refusal),
}

/// The worker; ends with its value.
pub struct Worker {
    command: Box<dyn Fn() -> Command + Send>,
    timeouts: Timeouts,
    process: Option<Process>,
    replacements: u32,
    next_id: u64,
    versions: Option<Versions>,
}

impl Worker {
    /// Starts the process and waits until it answers.
    ///
    /// # Errors
    /// [`WorkerError::Unavailable`] with its last words.
    pub fn start(environment: &Environment) -> Result<Worker, WorkerError> {
        Worker::start_with(environment, Timeouts::default())
    }

    /// As [`Worker::start`], with times of one's own.
    ///
    /// # Errors
    /// As [`Worker::start`].
    pub fn start_with(environment: &Environment, timeouts: Timeouts) -> Result<Worker, WorkerError> {
        let environment = environment.clone();
        Worker::with_command(Box::new(move || environment.command(&["worker"])), timeouts)
    }

    /// Starts a process that can also compile, with the compiler in that folder.
    ///
    /// # Errors
    /// As [`Worker::start`].
    pub fn start_compiler(
        environment: &Environment,
        compiler: &Path,
        timeouts: Timeouts,
    ) -> Result<Worker, WorkerError> {
        let (environment, compiler) = (environment.clone(), compiler.to_path_buf());
        let command = move || {
            let mut command = environment.command(&["worker"]);
            command.env("COUNTERSIGN_LIBTPU", &compiler);
            command
        };
        Worker::with_command(Box::new(command), timeouts)
    }

    /// Starts a process whose JAX may look for a TPU.
    ///
    /// # Errors
    /// As [`Worker::start`].
    pub fn start_on_devices(environment: &Environment) -> Result<Worker, WorkerError> {
        let environment = environment.clone();
        let command = move || environment.command(&["worker", "--any-platform"]);
        Worker::with_command(Box::new(command), Timeouts::default())
    }

    fn with_command(
        command: Box<dyn Fn() -> Command + Send>,
        timeouts: Timeouts,
    ) -> Result<Worker, WorkerError> {
        let mut worker =
            Worker { command, timeouts, process: None, replacements: 0, next_id: 0, versions: None };
        worker.ensure_running()?;
        Ok(worker)
    }

    /// What is installed in the process.
    pub fn versions(&self) -> Option<&Versions> {
        self.versions.as_ref()
    }

    /// Asks the real static check, and where it accepts the dynamic one, about `metadata`. The payload's values are not
    /// sent: no validator looks at them.
    ///
    /// # Errors
    /// Where there is no answer.
    pub fn validate(&mut self, call: &Call, metadata: &Metadata) -> Result<WorkerVerdict, WorkerError> {
        self.validate_values(call, &metadata_arrays(metadata))
    }

    /// As [`Worker::validate`], with values by operand name; for a call whose shapes are overridden pass what fits them,
    /// operands without values stay abstract.
    ///
    /// # Errors
    /// Where there is no answer.
    pub fn validate_values(
        &mut self,
        call: &Call,
        values: &[(&str, Array)],
    ) -> Result<WorkerVerdict, WorkerError> {
        let values: Value = values.iter().map(|(name, array)| ((*name).to_owned(), encode(array))).collect();
        self.ask(json!({"kind": "validate", "call": call, "values": values}), self.timeouts.ask)
    }

    /// Whether the real entry point lowers.
    ///
    /// # Errors
    /// Where there is no answer.
    pub fn trace(&mut self, call: &Call) -> Result<Traced, WorkerError> {
        self.ask(json!({"kind": "trace", "call": call}), self.timeouts.ask)
    }

    /// What the TPU compiler makes of the call.
    ///
    /// # Errors
    /// Where there is no answer; of a worker that wasn't started with a compiler there is none.
    pub fn compile(&mut self, call: &Call) -> Result<Compilation, WorkerError> {
        self.ask(json!({"kind": "compile", "call": call}), self.timeouts.compile)
    }

    /// What JAX sees on this machine.
    ///
    /// # Errors
    /// Where there is no answer.
    pub fn devices(&mut self) -> Result<Devices, WorkerError> {
        self.ask(json!({"kind": "devices"}), self.timeouts.ask)
    }

    /// Runs the real kernel on the first TPU, on `values`, one array per operand.
    ///
    /// # Errors
    /// Where there is no answer, as without a TPU.
    pub fn execute(&mut self, call: &Call, values: &[(&str, &Array)]) -> Result<Interpreted, WorkerError> {
        let values: Value = values.iter().map(|(name, array)| ((*name).to_owned(), encode(array))).collect();
        self.run(json!({"kind": "execute", "call": call, "values": values}))
    }

    /// Runs the real kernel in JAX's interpreter on `values`, one array per operand, typed as the call says.
    ///
    /// # Errors
    /// Where there is no answer.
    pub fn interpret(
        &mut self,
        call: &Call,
        values: &[(&str, &Array)],
        options: InterpretOptions,
    ) -> Result<Interpreted, WorkerError> {
        let values: Value = values.iter().map(|(name, array)| ((*name).to_owned(), encode(array))).collect();
        let dma = if options.eager_copies { "eager" } else { "on_wait" };
        self.run(json!({
            "kind": "interpret", "call": call, "values": values, "detect_races": options.detect_races, "dma": dma
        }))
    }

    /// Runs `function`, the reference that the kernel's own module has, on `values`.
    ///
    /// # Errors
    /// Where there is no answer.
    pub fn reference(
        &mut self,
        call: &Call,
        function: &str,
        values: &[(&str, &Array)],
    ) -> Result<Interpreted, WorkerError> {
        let values: Value = values.iter().map(|(name, array)| ((*name).to_owned(), encode(array))).collect();
        self.run(json!({"kind": "reference", "call": call, "values": values, "function": function}))
    }

    fn run(&mut self, question: Value) -> Result<Interpreted, WorkerError> {
        match self.ask(question, self.timeouts.interpret)? {
            Outcome::Ran { outputs, race, seconds } => {
                let outputs = outputs.into_iter().map(EncodedArray::decode).collect::<Result<_, _>>()?;
                let elapsed = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                Ok(Interpreted::Ran { outputs, race, elapsed })
            }
            Outcome::Raised(refusal) => Ok(Interpreted::Raised(refusal)),
        }
    }

    /// Asks once more where the process died, since it may have been ended from outside.
    fn ask<T: for<'de> Deserialize<'de>>(
        &mut self,
        mut question: Value,
        time: Duration,
    ) -> Result<T, WorkerError> {
        let mut last_words = String::new();
        for _ in 0..2 {
            self.ensure_running()?;
            match self.exchange(&mut question, time) {
                Err(WorkerError::Died(words)) => last_words = words,
                answer => {
                    let answer = answer?;
                    return serde_json::from_value(answer).map_err(|error| {
                        WorkerError::Unavailable(format!("an answer that makes no sense: {error}"))
                    });
                }
            }
        }
        Err(WorkerError::Died(last_words))
    }

    fn ensure_running(&mut self) -> Result<(), WorkerError> {
        if self.process.is_some() {
            return Ok(());
        }
        if self.next_id > 0 {
            if self.replacements == REPLACEMENTS {
                return Err(WorkerError::Unavailable(format!("it died or hung {} times", REPLACEMENTS + 1)));
            }
            self.replacements += 1;
        }
        let process =
            Process::spawn((self.command)()).map_err(|error| WorkerError::Unavailable(error.to_string()))?;
        self.process = Some(process);
        let answer = self
            .exchange(&mut json!({"kind": "hello"}), self.timeouts.start)
            .map_err(|error| WorkerError::Unavailable(format!("it did not start: {error}")))?;
        self.versions = serde_json::from_value(answer).ok();
        Ok(())
    }

    /// One question, one answer. A process that doesn't answer as it should is ended.
    fn exchange(&mut self, question: &mut Value, time: Duration) -> Result<Value, WorkerError> {
        let Some(process) = &mut self.process else {
            return Err(WorkerError::Unavailable("not running".to_owned()));
        };
        let id = self.next_id;
        self.next_id += 1;
        question["id"] = id.into();
        let answer = process.exchange(question, time);
        if answer.is_err() {
            self.process = None;
        }
        let answer = answer?;
        if answer["id"] != id {
            self.process = None;
            return Err(WorkerError::Unavailable("an answer to another question".to_owned()));
        }
        match answer["ok"].as_bool() {
            Some(true) => Ok(answer),
            _ => {
                Err(WorkerError::Rejected(answer["error"].as_str().unwrap_or("without a reason").to_owned()))
            }
        }
    }
}

/// The metadata as operands of the ragged paged attention family.
fn metadata_arrays(metadata: &Metadata) -> [(&'static str, Array); 4] {
    let columns = metadata.pages_per_seq;
    let rows = metadata.page_indices.len().checked_div(columns).unwrap_or(0);
    [
        ("kv_lens", Array::from_i32(&[metadata.kv_lens.len()], &metadata.kv_lens)),
        ("page_indices", Array::from_i32(&[rows, columns], &metadata.page_indices)),
        ("cu_q_lens", Array::from_i32(&[metadata.cu_q_lens.len()], &metadata.cu_q_lens)),
        ("num_seqs", Array::from_i32(&[1], &[metadata.num_seqs])),
    ]
}

/// The metadata as operands of a call of any shapes, `num_seqs` in its own element type. A table that the call makes wider or
/// narrower than the metadata's is filled up with zeros, or cut.
pub fn metadata_values(call: &StaticCall, metadata: &Metadata) -> Vec<(&'static str, Array)> {
    let int32 = |shaped: &Shaped, values: &[i32]| {
        let mut values = values.to_vec();
        values.resize(shaped.shape.iter().product(), 0);
        Array::from_i32(&shaped.shape, &values)
    };
    let entries: usize = call.num_seqs.shape.iter().product();
    let all = |dtype, value: f32| Array::from_f32(dtype, &call.num_seqs.shape, &vec![value; entries]);
    let count = match OperandType::from_numpy_name(&call.num_seqs.dtype) {
        // What isn't the VM's goes as the bytes of a type of its width.
        Some(OperandType::Of(DType::I32) | OperandType::U32) | None => {
            int32(&call.num_seqs, &[metadata.num_seqs])
        }
        Some(OperandType::U8) => all(DType::I8, metadata.num_seqs as f32),
        Some(OperandType::Of(DType::I1)) => all(DType::I8, f32::from(metadata.num_seqs != 0)),
        Some(OperandType::Of(dtype)) => all(dtype, metadata.num_seqs as f32),
    };
    vec![
        ("kv_lens", int32(&call.kv_lens, &metadata.kv_lens)),
        ("page_indices", int32(&call.page_indices, &metadata.page_indices)),
        ("cu_q_lens", int32(&call.cu_q_lens, &metadata.cu_q_lens)),
        ("num_seqs", count),
    ]
}

fn encode(array: &Array) -> Value {
    Value::String(BASE64_STANDARD.encode(&array.bytes))
}

#[derive(Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum Outcome {
    Ran { outputs: Vec<EncodedArray>, race: Option<bool>, seconds: f64 },
    Raised(Refusal),
}

#[derive(Deserialize)]
struct EncodedArray {
    #[serde(with = "dtype_name")]
    dtype: DType,
    shape: Vec<usize>,
    data: String,
}

impl EncodedArray {
    fn decode(self) -> Result<Array, WorkerError> {
        let length = Array::byte_len(self.dtype, self.shape.iter().product());
        match BASE64_STANDARD.decode(&self.data) {
            Ok(bytes) if bytes.len() == length => Ok(Array { dtype: self.dtype, shape: self.shape, bytes }),
            _ => Err(WorkerError::Unavailable("an output whose bytes don't fit its shape".to_owned())),
        }
    }
}

/// A running process, its answers coming in over a channel, its last words kept.
struct Process {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<String>,
    last_words: Arc<Mutex<VecDeque<String>>>,
}

impl Process {
    fn spawn(mut command: Command) -> std::io::Result<Process> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let missing = || std::io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&last_words);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n') {
                let Ok(line) = line else { return };
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(String::from_utf8_lossy(&line).into_owned());
                if kept.len() > 20 {
                    kept.pop_front();
                }
            }
        });
        Ok(Process { child, stdin, answers, last_words })
    }

    fn exchange(&mut self, question: &Value, time: Duration) -> Result<Value, WorkerError> {
        let mut line = question.to_string();
        line.push('\n');
        // A process that no longer reads has died, which the wait for its answer finds out.
        let _ = self.stdin.write_all(line.as_bytes()).and_then(|()| self.stdin.flush());
        match self.answers.recv_timeout(time) {
            Ok(answer) => serde_json::from_str(&answer)
                .map_err(|error| WorkerError::Unavailable(format!("an answer that is not JSON: {error}"))),
            Err(RecvTimeoutError::Timeout) => Err(WorkerError::TimedOut(time)),
            Err(RecvTimeoutError::Disconnected) => Err(WorkerError::Died(self.epitaph())),
        }
    }

    /// How it ended, and its last words.
    fn epitaph(&mut self) -> String {
        let _ = self.child.kill(); // its output is closed, so it is of no use any more
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        format!("{status}: {}", crate::env::last_lines(&words.join("\n")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended already
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that is a shell script: `$id` is the question's id, `$line` the question.
    fn worker(script: &str) -> Result<Worker, WorkerError> {
        let script = format!(
            "while read -r line; do\n\
             id=$(printf '%s' \"$line\" | sed 's/.*\"id\":\\([0-9]*\\).*/\\1/')\n\
             case \"$line\" in\n\
             *hello*) echo '{{\"id\":'$id',\"ok\":true,\"python\":\"3.12.1\",\"packages\":{{}}}}';;\n\
             *) {script};;\n\
             esac; done"
        );
        let command = move || {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &script]);
            command
        };
        let milliseconds = Duration::from_millis;
        let timeouts =
            Timeouts { start: milliseconds(10_000), ask: milliseconds(300), ..Timeouts::default() };
        Worker::with_command(Box::new(command), timeouts)
    }

    fn call() -> Call {
        Call {
            entry_point: "module:function".into(),
            generation: "v5e".into(),
            operands: Vec::new(),
            options: Default::default(),
            skip_static_validation: false,
        }
    }

    #[test]
    fn an_answer_comes_back() {
        let mut worker = worker("echo '{\"id\":'$id',\"ok\":true,\"outcome\":\"lowers\"}'").unwrap();
        assert_eq!(worker.versions().unwrap().python, "3.12.1");
        assert_eq!(worker.trace(&call()), Ok(Traced::Lowers));
        assert_eq!(worker.trace(&call()), Ok(Traced::Lowers));
    }

    #[test]
    fn a_rejected_question_does_not_end_the_process() {
        let mut worker = worker("echo '{\"id\":'$id',\"ok\":false,\"error\":\"malformed\"}'").unwrap();
        for _ in 0..REPLACEMENTS + 2 {
            assert_eq!(worker.trace(&call()), Err(WorkerError::Rejected("malformed".into())));
        }
    }

    #[test]
    fn a_hung_process_is_replaced_a_few_times_and_then_no_more() {
        let mut worker = worker("sleep 60").unwrap();
        for _ in 0..=REPLACEMENTS {
            assert_eq!(worker.trace(&call()), Err(WorkerError::TimedOut(Duration::from_millis(300))));
        }
        assert!(matches!(worker.trace(&call()), Err(WorkerError::Unavailable(_))));
    }

    #[test]
    fn a_process_that_dies_twice_on_a_question_leaves_its_last_words() {
        let mut worker = worker("echo Segmentation >&2; exit 3").unwrap();
        let Err(WorkerError::Died(words)) = worker.trace(&call()) else { panic!("it did not die") };
        assert!(words.contains("exit status: 3"), "{words}");
    }

    #[test]
    fn a_process_that_dies_once_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("died").display().to_string();
        let answer = "echo '{\"id\":'$id',\"ok\":true,\"outcome\":\"lowers\"}'";
        let mut worker = worker(&format!("test -e {mark} || {{ touch {mark}; exit 1; }}; {answer}")).unwrap();
        assert_eq!(worker.trace(&call()), Ok(Traced::Lowers));
    }

    #[test]
    fn a_process_that_never_starts_is_unavailable() {
        let command = || Command::new("/nonexistent/python");
        let started = Worker::with_command(Box::new(command), Timeouts::default());
        assert!(matches!(started, Err(WorkerError::Unavailable(_))));
    }

    #[test]
    fn verdicts_are_read() {
        let text = r#"{"id":1,"ok":true,"static":{"verdict":"accepts"},
            "dynamic":{"verdict":"refuses","type":"ValueError","message":"no","line":193}}"#;
        let verdict: WorkerVerdict = serde_json::from_str(text).unwrap();
        assert_eq!(verdict.static_check, Asked::Accepts);
        let refusal =
            Refusal { kind: "ValueError".into(), message: "no".into(), line: Some(193), deliberate: false };
        assert_eq!(verdict.dynamic_check, Some(Asked::Refuses(refusal)));
    }
}
