//! What the targets share: how a target over cases is made, and the counters that carry the kernel's own coverage to libFuzzer.
//!
//! Invariant: the only `unsafe` of the fuzz targets is here.

use std::cell::Cell;
use std::time::Instant;

use countersign::fuzzing::{Taken, Tally};

/// Defines `with_counters`, for a target that tells libFuzzer what an input covers of the kernel's IR: one byte for each point of
/// coverage, by hash, see `countersign::fuzzing::mark`. Others go without, since libFuzzer reads all of them after every input,
/// which costs more than a fast target does.
///
/// `with_counters(then)` calls `then` with the counters; with none if `COUNTERSIGN_UNGUIDED` is set, to compare. And with the name
/// of a bug to put into the kernel, where `COUNTERSIGN_BUG` has one.
#[macro_export]
macro_rules! kernel_counters {
    () => {
        const COUNTERS: usize = 1 << 16;

        // libFuzzer finds this section by its name (Linux only), zeroes it before an input and reads it after.
        #[cfg_attr(target_os = "linux", unsafe(link_section = "__libfuzzer_extra_counters"))]
        #[used]
        static mut EXTRA: [u8; COUNTERS] = [0; COUNTERS];

        fn with_counters<T>(then: impl FnOnce(&mut [u8], Option<&str>) -> T) -> T {
            let bug = std::env::var("COUNTERSIGN_BUG").ok();
            let bug = bug.as_deref();
            if std::env::var_os("COUNTERSIGN_UNGUIDED").is_some() {
                return then(&mut [], bug);
            }
            let counters = &raw mut EXTRA;
            // SAFETY: libFuzzer runs one input at a time on one thread and touches the counters only between two of them, so this
            // is the only reference while `then` runs; no target calls this function within `then`.
            then(unsafe { &mut *counters }, bug)
        }
    };
}

thread_local! {
    static TALLY: Cell<(Tally, Option<Instant>)> = const { Cell::new((Tally { decoded: 0, rejected: 0, known: 0 }, None)) };
}

/// Counts an input; says on standard error what came of all so far whenever the decoded cases reach a power of two. Time is
/// that since the first input ended, so without the set-up; a cargo-fuzz job is one thread.
pub fn count(taken: &Taken) {
    TALLY.with(|cell| {
        let (mut tally, first) = cell.get();
        let first = first.unwrap_or_else(Instant::now);
        match taken {
            Taken::Tried { known } => {
                tally.decoded += 1;
                tally.known += known;
            }
            Taken::Rejected => tally.rejected += 1,
        }
        cell.set((tally, Some(first)));
        let Tally { decoded, rejected, known } = tally;
        if matches!(taken, Taken::Tried { .. }) && decoded.is_power_of_two() {
            let rate = (decoded - 1) as f64 / first.elapsed().as_secs_f64();
            eprintln!(
                "{decoded} cases, {rate:.0}/s, {rejected} inputs rejected, {known} known findings passed over"
            );
        }
    });
}

/// A target over cases: what is none isn't kept, and libFuzzer's changes are made to typed cases.
#[macro_export]
macro_rules! case_target {
    ($target:expr) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| -> libfuzzer_sys::Corpus {
            let taken = ($target)(data);
            $crate::count(&taken);
            match taken {
                countersign::fuzzing::Taken::Tried { .. } => libfuzzer_sys::Corpus::Keep,
                countersign::fuzzing::Taken::Rejected => libfuzzer_sys::Corpus::Reject,
            }
        });
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max: usize, seed: u32| {
            countersign::fuzzing::mutate(data, size, max, seed)
        });
        libfuzzer_sys::fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
            countersign::fuzzing::crossover(one, other, out, seed)
        });
    };
}
