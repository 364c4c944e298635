//! A worker process of a night: searches one target until its standard input ends, and tells what it meets.
//!
//! Invariant: it writes the case in flight to its file before it tries it, and nothing else to any file. Where the supervisor
//! is gone, it ends.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use countersign_kernels::catalogue::Tier;
use countersign_kernels::engine::Policy;

use super::super::console::Failure;
use super::super::fuzz::{known, watch_interrupts};
use super::super::{ProfileArgument, PythonArgument, session};
use crate::campaign::Subject as _;
use crate::case::Case;
use crate::fuzzing::{Guidance, Hunt, Probe};
use crate::judge::Finding;
use crate::known::KnownFile;
use crate::loaded::Loaded;
use crate::night::{Message, Progress, Store, Target};
use crate::options;

/// Time between two signs of life.
const EVERY: Duration = Duration::from_millis(500);
/// How long a case may go on once the supervisor is done.
const GRACE: Duration = Duration::from_secs(20);

/// Arguments of the hidden command.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Arguments {
    /// The kernel's id.
    #[arg(long)]
    kernel: String,
    /// What to search.
    #[arg(long)]
    target: Target,
    /// Seed.
    #[arg(long)]
    seed: u64,
    /// File for the case in flight.
    #[arg(long)]
    current: PathBuf,
    /// The grown corpus to start from.
    #[arg(long)]
    corpus: PathBuf,
    /// Known findings of the user's.
    #[arg(long)]
    known: Vec<PathBuf>,
    #[command(flatten)]
    profile: ProfileArgument,
    #[command(flatten)]
    python: PythonArgument,
}

pub(in super::super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    watch_interrupts()?; // a Ctrl-C reaches us too; the supervisor says when to end
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    let known = known(&arguments.known)?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, kernel.variants(Tier::Small).cloned().collect())?;
    let stored = Store::open(&arguments.corpus).and_then(|store| store.cases());
    let (cases, _) = stored.map_err(|error| Failure::file(&arguments.corpus, error))?;
    let start = cases.into_iter().map(|(_, case)| case).collect();
    let file = File::create(&arguments.current).map_err(|error| Failure::file(&arguments.current, error))?;
    let mut voice = Voice { file, told: Instant::now() };
    voice.say(&Message::Ready);
    let over = watch_supervisor();
    let policy = Policy::of(arguments.profile.profile);
    match arguments.target {
        Target::Differential => {
            differential(&loaded, &known, policy, start, arguments.seed, &over, &mut voice)
        }
        Target::Validators => validators(&loaded, &known, start, arguments.seed, &over, &mut voice),
    }
    Ok(0)
}

/// Raised when standard input ends: the supervisor wants it, or is gone.
fn watch_supervisor() -> Arc<AtomicBool> {
    let over = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&over);
    std::thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new()); // an error ends it as well
        raised.store(true, Ordering::Relaxed);
        std::thread::sleep(GRACE);
        std::process::exit(0);
    });
    over
}

struct Voice {
    file: File,
    told: Instant,
}

impl Voice {
    fn say(&mut self, message: &Message) {
        let line = serde_json::to_string(message).unwrap_or_default();
        // Nobody listens any more: there is nothing left to do.
        if writeln!(io::stdout(), "{line}").is_err() {
            std::process::exit(0);
        }
    }

    /// Notes the case in flight; in one piece, so that a kill leaves this one or the last.
    fn begins(&mut self, case: &Case) {
        let Ok(bytes) = case.to_bytes() else { return };
        let mut record = (bytes.len() as u32).to_le_bytes().to_vec();
        record.extend(bytes);
        // Without it (a full disk) only the suspect of a hang would be missing.
        let _ = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(&record));
    }

    fn keep(&mut self, case: &Case) {
        if let Some(case) = Message::pack(case) {
            self.say(&Message::Keep(case));
        }
    }

    fn findings(&mut self, case: &Case, findings: Vec<Finding>) {
        for Finding { signature, detail, .. } in findings {
            if let Some(case) = Message::pack(case) {
                self.say(&Message::Finding { case, signature: signature.to_string(), detail });
            }
        }
    }

    /// The sums, now and then.
    fn progress(&mut self, sums: impl FnOnce() -> Progress, now: bool) {
        if now || self.told.elapsed() >= EVERY {
            self.told = Instant::now();
            self.say(&Message::Progress(sums()));
        }
    }
}

fn differential(
    loaded: &Loaded,
    known: &KnownFile,
    policy: Policy,
    start: Vec<Case>,
    seed: u64,
    over: &AtomicBool,
    voice: &mut Voice,
) {
    let mut hunt = Hunt::new(loaded, known, policy, Guidance::Coverage, start, seed);
    let mut largest = std::collections::BTreeMap::new();
    let sums = |hunt: &Hunt<'_>, largest: &std::collections::BTreeMap<String, f64>| Progress {
        cases: hunt.tally().decoded,
        rejected: hunt.tally().rejected,
        known: hunt.tally().known,
        unsupported: hunt.unsupported(),
        largest: largest.clone(),
    };
    while !over.load(Ordering::Relaxed) {
        let stored = hunt.waiting() > 0;
        let step = hunt.step_after(&mut |case| voice.begins(case));
        if step.fresh > 0 && !stored {
            voice.keep(&step.case);
        }
        if let (Some(message), Some(case)) = (step.panic, Message::pack(&step.case)) {
            voice.say(&Message::Panic { case, message });
        }
        if let Some((position, r)) = step.largest {
            let most = largest.entry(options::dtypes(&loaded.variants()[position])).or_insert(r);
            *most = r.max(*most);
        }
        voice.findings(&step.case, step.findings);
        voice.progress(|| sums(&hunt, &largest), false);
    }
    voice.progress(|| sums(&hunt, &largest), true);
}

fn validators(
    loaded: &Loaded,
    known: &KnownFile,
    start: Vec<Case>,
    seed: u64,
    over: &AtomicBool,
    voice: &mut Voice,
) {
    let mut probe = Probe::new(loaded.kernel(), loaded.variants(), known, start, seed);
    let sums = |probe: &Probe<'_>| Progress {
        cases: probe.tally().decoded,
        rejected: probe.tally().rejected,
        known: probe.tally().known,
        ..Progress::default()
    };
    while !over.load(Ordering::Relaxed) {
        let stored = probe.waiting() > 0;
        let (case, fresh, findings) = probe.step(&mut |case| voice.begins(case));
        if fresh && !stored {
            voice.keep(&case);
        }
        voice.findings(&case, findings);
        voice.progress(|| sums(&probe), false);
    }
    voice.progress(|| sums(&probe), true);
}
