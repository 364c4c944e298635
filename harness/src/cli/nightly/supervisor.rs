//! The worker processes of a night: started, listened to, replaced when they die or hang.
//!
//! Invariant: whatever becomes of a worker, what it had told is kept, its case in flight is stored as a suspect, and the rest
//! goes on. An event is written after the file that it names.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::json;

use super::Night;
use crate::campaign::write_whole;
use crate::case::Case;
use crate::night::{Message, Progress, Store, Target};

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(200);
/// How long a worker may take to load the kernel before it counts as hung.
const LOADING: Duration = Duration::from_secs(600);
/// How long workers may take to end once they are told to.
const ENDING: Duration = Duration::from_secs(10);
/// Workers that are started again, a target.
const RESTARTS: u64 = 50;

/// What came of a search.
#[derive(Debug, Default)]
pub(super) struct Searched {
    pub(super) sums: Progress,
    pub(super) seconds: f64,
}

struct Worker {
    child: Child,
    /// Kept open while the worker is to go on.
    stdin: Option<ChildStdin>,
    current: PathBuf,
    heard: Instant,
    ready: bool,
    sums: Progress,
}

/// A line of a worker; `None`: its output ended.
type Heard = (u64, Option<Message>);

impl Night<'_> {
    /// Searches a target on all workers for so long.
    pub(super) fn search(
        &mut self,
        kernel: &str,
        target: Target,
        corpus: &Store,
        share: Duration,
    ) -> Searched {
        let (sender, receiver) = channel::<Heard>();
        let mut workers: BTreeMap<u64, Worker> = BTreeMap::new();
        let mut searched = Searched::default();
        let (mut started, mut first) = (0, None::<Instant>);
        let mut deadline = Instant::now() + LOADING;
        let mut ending = false;
        loop {
            while !ending && workers.len() < self.jobs && started < self.jobs as u64 + RESTARTS {
                match self.start(kernel, target, corpus, started, &sender) {
                    Ok(worker) => drop(workers.insert(started, worker)),
                    Err(error) => {
                        self.trouble(format!("no worker for {kernel} {target}: {error}"));
                        started = u64::MAX / 2; // and no further attempt
                    }
                }
                started += 1;
            }
            if workers.is_empty() {
                break;
            }
            match receiver.recv_timeout(TICK) {
                Ok((id, Some(message))) => {
                    if let Some(worker) = workers.get_mut(&id) {
                        worker.heard = Instant::now();
                        if matches!(message, Message::Ready) {
                            worker.ready = true;
                            if first.is_none() {
                                first = Some(Instant::now());
                                deadline = Instant::now() + share;
                            }
                        }
                        if let Message::Progress(sums) = &message {
                            worker.sums = sums.clone();
                        }
                    }
                    self.hear(kernel, corpus, message);
                }
                Ok((id, None)) => {
                    if let Some(worker) = workers.remove(&id) {
                        self.ended(kernel, target, worker, ending, &mut searched.sums);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            let over = Instant::now() >= deadline || self.interrupted.load(Ordering::Relaxed);
            if over && !ending {
                ending = true;
                deadline = Instant::now() + ENDING;
                workers.values_mut().for_each(|worker| worker.stdin = None);
            }
            for worker in workers.values_mut() {
                let limit = if worker.ready { self.hang } else { self.hang.max(LOADING) };
                let hangs = worker.heard.elapsed() > limit || (ending && over && Instant::now() >= deadline);
                if hangs && worker.stdin.take().is_some() | ending {
                    let _ = worker.child.kill(); // it may have ended by itself
                    worker.heard = Instant::now();
                }
            }
        }
        searched.seconds = first.map_or(0.0, |first| first.elapsed().as_secs_f64());
        searched
    }

    fn start(
        &mut self,
        kernel: &str,
        target: Target,
        corpus: &Store,
        id: u64,
        sender: &Sender<Heard>,
    ) -> std::io::Result<Worker> {
        let current = self.working.join(format!("{kernel}-{target}-{id}.current"));
        let log = OpenOptions::new().create(true).append(true).open(self.working.join("workers.log"));
        let stderr = log.map_or_else(|_| Stdio::null(), Stdio::from);
        let seed = self.seed ^ (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["nightly-worker", "--kernel", kernel, "--target", target.name()]);
        command.args(["--seed", &seed.to_string(), "--current"]).arg(&current);
        command.arg("--corpus").arg(corpus.folder()).args(&self.passed_on);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn()?;
        self.event("worker", json!({ "kernel": kernel, "target": target.name(), "pid": child.id() }));
        if let Some(out) = child.stdout.take() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    // Half a line is what a kill leaves.
                    if let Ok(message) = serde_json::from_str(&line)
                        && sender.send((id, Some(message))).is_err()
                    {
                        return;
                    }
                }
                let _ = sender.send((id, None)); // the search may be over
            });
        }
        let stdin = child.stdin.take();
        Ok(Worker { child, stdin, current, heard: Instant::now(), ready: false, sums: Progress::default() })
    }

    fn hear(&mut self, kernel: &str, corpus: &Store, message: Message) {
        match message {
            Message::Ready | Message::Progress(_) => {}
            Message::Keep(case) => match Message::unpack(&case) {
                Ok((bytes, _)) => match corpus.add(&bytes) {
                    Ok((name, true)) => {
                        let path = corpus.folder().join(name);
                        self.event("corpus", json!({ "kernel": kernel, "file": path }));
                    }
                    Ok((_, false)) => {}
                    Err(error) => self.trouble(format!("a case of the corpus could not be stored: {error}")),
                },
                Err(why) => self.trouble(format!("a worker sent what is no case: {why}")),
            },
            Message::Finding { case, signature, detail } => match Message::unpack(&case) {
                Ok((_, case)) => self.found(kernel, case, &signature, &detail),
                Err(why) => self.trouble(format!("a finding came without a case ({why}): {signature}")),
            },
            Message::Panic { case, message } => {
                let case = Message::unpack(&case).ok().map(|(_, case)| case);
                let file =
                    case.and_then(|case| self.suspect(&case)).unwrap_or_else(|| "not stored".to_owned());
                self.panics += 1;
                self.trouble(format!("a fault of countersign itself: {message}; its case: {file}"));
            }
        }
    }

    /// A worker's output ended. Where nobody wanted that, its case in flight becomes a suspect.
    fn ended(&mut self, kernel: &str, target: Target, mut worker: Worker, wanted: bool, sums: &mut Progress) {
        let killed_by_us = worker.stdin.is_none() && !wanted;
        worker.stdin = None;
        let status = worker.child.wait();
        let clean = status.as_ref().is_ok_and(|status| status.success());
        add(sums, &worker.sums);
        if !(clean && wanted) {
            let what = match (&status, killed_by_us) {
                (_, true) => "hung and was killed".to_owned(),
                (Ok(status), false) => format!("ended with {status}"),
                (Err(error), false) => format!("ended: {error}"),
            };
            let file = in_flight(&worker.current).and_then(|case| self.suspect(&case));
            let file = file.map_or_else(String::new, |file| format!("; its case is kept: {file}"));
            self.trouble(format!("a worker for {kernel} {target} {what}{file}"));
        }
        let _ = fs::remove_file(&worker.current); // of use no more
    }

    /// Stores a case that a worker hung or died on; the file's name.
    fn suspect(&mut self, case: &Case) -> Option<String> {
        let bytes = case.to_bytes().ok()?;
        let name = format!("suspects/{}.toml", &crate::night::name_of(&bytes)[..16]);
        let path = self.out.join(&name);
        let written = fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
            .and_then(|()| write_whole(&path, case.to_toml().as_bytes()));
        match written {
            Ok(()) => {
                self.event("suspect", json!({ "file": name }));
                Some(name)
            }
            Err(error) => {
                self.trouble(format!("a suspect could not be stored: {error}"));
                None
            }
        }
    }
}

/// The case that a worker was at.
fn in_flight(path: &Path) -> Option<Case> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    File::open(path).ok()?.read_to_end(&mut bytes).ok()?;
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    Case::from_bytes(rest.get(..u32::from_le_bytes(*length) as usize)?).ok()
}

fn add(sums: &mut Progress, more: &Progress) {
    sums.cases += more.cases;
    sums.rejected += more.rejected;
    sums.known += more.known;
    sums.unsupported += more.unsupported;
    for (dtypes, r) in &more.largest {
        let most = sums.largest.entry(dtypes.clone()).or_insert(*r);
        *most = r.max(*most);
    }
}
