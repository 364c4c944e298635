//! What the targets share: the counters that carry the kernel's own coverage to libFuzzer.
//!
//! Invariant: the only `unsafe` of the fuzz targets is here.

/// One byte for each point of coverage, by hash; see `countersign::fuzzing::Guide`.
const COUNTERS: usize = 1 << 16;

// libFuzzer finds this section by its name (Linux only), zeroes it before an input and reads it after.
#[cfg_attr(target_os = "linux", unsafe(link_section = "__libfuzzer_extra_counters"))]
#[used]
static mut EXTRA: [u8; COUNTERS] = [0; COUNTERS];

/// Calls `then` with the counters; with none if `COUNTERSIGN_UNGUIDED` is set, to compare.
pub fn with_counters<T>(then: impl FnOnce(&mut [u8]) -> T) -> T {
    if std::env::var_os("COUNTERSIGN_UNGUIDED").is_some() {
        return then(&mut []);
    }
    let counters = &raw mut EXTRA;
    // SAFETY: libFuzzer runs one input at a time on one thread and touches the counters only between two of them, so this is
    // the only reference while `then` runs; no target calls this function within `then`.
    then(unsafe { &mut *counters })
}
