//! Timing on a machine that others use: the smallest of many runs, sides in turn.
//!
//! Invariant: sides are timed within the same moments, so that a busy moment hits all of them; what a side returns is kept
//! alive past its timing.

use std::time::{Duration, Instant};

/// Rounds in which every side has its turn.
const ROUNDS: usize = 7;
/// A turn is at least so long, and at least two runs: the first finds the caches of another side.
const TURN: Duration = Duration::from_millis(4);

/// Something to time.
pub(super) type Side<'a> = Box<dyn FnMut() + 'a>;

/// The shortest run of each side, in milliseconds.
pub(super) fn smallest(sides: &mut [Side<'_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; sides.len()];
    for _ in 0..ROUNDS {
        for (side, best) in sides.iter_mut().zip(&mut best) {
            let turn = Instant::now();
            let mut runs = 0;
            while runs < 2 || turn.elapsed() < TURN {
                let start = Instant::now();
                side();
                *best = best.min(milliseconds(start.elapsed()));
                runs += 1;
            }
        }
    }
    best
}

/// A time in milliseconds.
pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Holds this thread, and what it starts from now on, on one core; says whether that is possible.
pub(super) fn pin() -> bool {
    core_affinity::get_core_ids()
        .and_then(|cores| cores.last().copied())
        .is_some_and(core_affinity::set_for_current)
}
