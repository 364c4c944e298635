//! Independent pieces of work spread over threads, their results heard of in order.
//!
//! Invariant: who hears of the results can't tell how many threads there were. Pieces heard of are a prefix 0..n.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use crate::campaign::panic_message;

/// Does pieces 0 to `count` - 1 on `jobs` threads; `each` hears of them on this thread, in order, a panic as its text.
/// `go_on` is asked before a piece is begun; what was begun is finished.
pub fn in_order<T: Send>(
    count: usize,
    jobs: usize,
    go_on: &(dyn Fn() -> bool + Sync),
    work: &(dyn Fn(usize) -> T + Sync),
    each: &mut dyn FnMut(usize, Result<T, String>),
) {
    let next = AtomicUsize::new(0);
    let jobs = jobs.clamp(1, count.max(1));
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(jobs);
        for _ in 0..jobs {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                // Asked before a piece is taken, so that none is taken and then left out.
                while go_on() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let result = catch_unwind(AssertUnwindSafe(|| work(index)));
                    if sender.send((index, result.map_err(|panic| panic_message(&*panic)))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut heard = 0;
        for (index, result) in receiver {
            early.insert(index, result);
            while let Some(result) = early.remove(&heard) {
                each(heard, result);
                heard += 1;
            }
        }
    });
}

/// One result for each of `items`, in their order.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = work(item);
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_a_panic_is_one_of_them() {
        for jobs in [1, 2, 7] {
            let work = |index: usize| {
                std::thread::sleep(std::time::Duration::from_micros(97 * (index as u64 % 5)));
                assert_ne!(index, 13, "unlucky");
                index * index
            };
            let mut heard = Vec::new();
            in_order(40, jobs, &|| true, &work, &mut |index, result| heard.push((index, result)));
            assert_eq!(heard.len(), 40);
            for (position, (index, result)) in heard.into_iter().enumerate() {
                assert_eq!(position, index);
                match result {
                    Ok(square) => assert_eq!(square, index * index),
                    Err(message) => assert!(index == 13 && message.contains("unlucky"), "{message}"),
                }
            }
        }
    }

    #[test]
    fn what_was_begun_is_heard_of_and_nothing_else() {
        let begun = AtomicUsize::new(0);
        let go_on = || begun.load(Ordering::Relaxed) < 10;
        let mut heard = 0;
        in_order(1000, 3, &go_on, &|_| begun.fetch_add(1, Ordering::Relaxed), &mut |index, _| {
            assert_eq!(index, heard);
            heard += 1;
        });
        assert_eq!(heard, begun.load(Ordering::Relaxed));
        assert!((10..13).contains(&heard));
    }
}
