//! Dumps of the size that servers make: read in pieces, the payload never.
//!
//! Invariant: memory is asserted; time is only printed.

#![cfg(target_os = "linux")]

use std::time::Instant;

use super::python;

/// Made with NumPy: 100,000 sequences in a table of 3,200,000 entries, right, with lengths instead of sums, or with the pages of
/// another pool.
const LARGE: &str = r"
import sys, numpy as np
path, kind = sys.argv[1:]
n, columns, page_size = 100_000, 32, 16
rng = np.random.default_rng(1)
kv = rng.integers(1, columns * page_size + 1, n).astype(np.int32)
q = np.where(rng.random(n) < 0.9, 1, kv).astype(np.int32)
pages = rng.integers(0, 200_000, (n, columns)).astype(np.int32)
ends = np.concatenate([[0], np.cumsum(q)]).astype(np.int32)
cu = np.pad(q, (0, 1)) if kind == 'lengths' else ends
pages = pages + 200_000 if kind == 'pool' else pages
np.savez(path, kv_lens=kv, page_indices=pages, cu_q_lens=cu, num_seqs=np.array([n], np.int32))
";

/// Peak resident memory of a run in kB, its exit code, its output.
fn measured(arguments: &[&str]) -> (u64, Option<i32>, String) {
    let started = Instant::now();
    let code = "import resource, subprocess, sys\n\
                run = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)\n\
                sys.stdout.buffer.write(run.stdout)\n\
                print(run.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)";
    let environment =
        countersign_kernels::env::Environment::open(None, None, &countersign_kernels::env::Silent).unwrap();
    let output = std::process::Command::new(environment.python())
        .args(["-c", code, env!("CARGO_BIN_EXE_countersign")])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let last: Vec<&str> = text.lines().last().unwrap().split(' ').collect();
    let (code, peak) = (last[0].parse().unwrap(), last[1].parse().unwrap());
    println!(
        "{arguments:?}: {:.2} s with Python's start, peak {} MB, exit {code}",
        started.elapsed().as_secs_f64(),
        peak / 1024
    );
    (peak, Some(code), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_hundred_thousand_sequences_take_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, exit, words) in [
        ("right", 0, "the batch is right"),
        ("lengths", 1, "cu_q_lens looks like lengths"),
        ("pool", 1, "numbers of another pool"),
    ] {
        let file = folder.path().join(format!("{kind}.npz"));
        python(&["-c", LARGE, file.to_str().unwrap(), kind]);
        let shapes = "tokens=20000000,page_size=16,pages=200000";
        let (peak, code, text) = measured(&["diagnose", file.to_str().unwrap(), "--variant", shapes]);
        assert_eq!(code, Some(exit), "{text}");
        assert!(text.contains(words), "{text}");
        let beyond = peak.saturating_sub(std::fs::metadata(&file).unwrap().len() / 1024);
        assert!(beyond < 200 * 1024, "{} MB beyond the file", beyond / 1024);
    }
}

#[test]
fn of_a_large_payload_the_header_is_read_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump");
    // np.lib.format.open_memmap makes a file with a hole: 4 GB that take no room.
    let code = "import sys, numpy as np\n\
                from numpy.lib.format import open_memmap\n\
                from pathlib import Path\n\
                folder = Path(sys.argv[1]); folder.mkdir()\n\
                open_memmap(folder / 'q.npy', 'w+', np.float32, (8192, 32, 128))\n\
                open_memmap(folder / 'kv_pages.npy', 'w+', np.float32, (65536, 16, 8, 128))\n\
                np.save(folder / 'kv_lens.npy', np.array([5, 29], np.int32))\n\
                np.save(folder / 'page_indices.npy', np.array([[7, 0], [65535, 3]], np.int32))\n\
                np.save(folder / 'cu_q_lens.npy', np.array([0, 5, 6], np.int32))\n\
                np.save(folder / 'num_seqs.npy', np.array([2], np.int32))";
    python(&["-c", code, path.to_str().unwrap()]);
    let (peak, code, text) = measured(&["diagnose", path.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{text}");
    assert!(peak < 64 * 1024, "{peak} kB");
}
