//! Cases a second: whole trials as `fuzz` runs them, on one thread and on two.
//!
//! Invariant: the same campaign for any number of threads, so that only the number of cases within the time differs.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use countersign_kernels::engine::Policy;
use countersign_reports::Throughput;

use super::subjects::{SEED, Subjects};
use super::{Run, Stop};
use crate::campaign::{self, Observer, Plan, Totals};
use crate::known::KnownFile;

/// Time of one measurement.
const TIME: Duration = Duration::from_secs(4);

struct Silent;

impl Observer for Silent {
    fn case(&mut self, _totals: &Totals, _fresh: &[usize]) {}
    fn panicked(&mut self, _totals: &Totals) {}
}

/// On one thread and on two; must run before the process is held on a core.
pub(super) fn measure(subjects: &Subjects, run: &Run) -> Result<Vec<Throughput>, Stop> {
    let known = KnownFile::builtin().map_err(super::Failure::from)?;
    let mut measured = Vec::new();
    for jobs in [1, 2] {
        run.step(&format!("cases a second, {jobs} thread(s)"))?;
        let policy = Policy::default();
        let plan = Plan { seed: SEED, cases: None, jobs, only: None, policy, known: &known };
        let started = Instant::now();
        let go_on = || started.elapsed() < TIME && !run.interrupted.load(Ordering::Relaxed);
        let totals = campaign::run(&subjects.drawn_from, &plan, &go_on, &mut Silent);
        let seconds = started.elapsed().as_secs_f64();
        let cases_per_second = totals.cases as f64 / seconds;
        measured.push(Throughput { jobs, cases: totals.cases, seconds, cases_per_second });
    }
    Ok(measured)
}
