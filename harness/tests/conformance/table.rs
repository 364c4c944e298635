//! The table of ops: programs by definition, kernels against the interpreter.
//!
//! Invariant: what it says of programs is a function of the files in `kernels/mosaic/tests/ops`, and tested against the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use countersign_mosaic::{known_ops, parse};

use crate::micro::{Inexact, Results};
use crate::page::{self, Section};
use crate::uses::{Use, uses};

/// Ops that no Pallas kernel can be made to contain, and why.
pub(crate) const WITHOUT_KERNEL: [(&str, &str); 0] = [];

/// Known ops that no kernel had.
pub(crate) fn without_kernel(results: &Results) -> Vec<String> {
    let seen: BTreeSet<&str> = results.measured.keys().map(|of| of.op.as_str()).collect();
    known_ops().into_iter().filter(|op| !seen.contains(op)).map(str::to_owned).collect()
}

/// How many programs there are for each op at each type: those of the op's own file that use it there.
pub(crate) fn programs() -> BTreeMap<Use, usize> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/mosaic/tests/ops");
    let mut programs = BTreeMap::new();
    for op in known_ops() {
        let path = folder.join(format!("{}.mlir", op.replace('.', "/")));
        for text in std::fs::read_to_string(&path).unwrap().split("// -----\n") {
            let module = parse(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for of in uses(&module).into_iter().filter(|of| of.op == op) {
                *programs.entry(of).or_default() += 1;
            }
        }
    }
    programs
}

/// The section's text.
pub(crate) fn text(results: &Results) -> String {
    let programs = programs();
    let mut text = format!(
        "{} ops; {} programs. {} kernels ran, {} cases, {} elements compared.\n\n\
         | op | type | programs | kernels | cases | elements | largest difference, ulps | denormals flushed | why |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---|\n",
        known_ops().len(),
        programs.values().sum::<usize>(),
        results.ran,
        results.cases,
        results.elements
    );
    let rows: BTreeSet<&Use> = programs.keys().chain(results.measured.keys()).collect();
    for of in rows {
        let count = programs.get(of).copied().unwrap_or(0);
        let _ = write!(text, "| {} | {} | {count} |", of.op, of.dtype);
        let _ = match results.measured.get(of) {
            None => writeln!(text, " 0 | | | | | |"),
            Some(measured) => {
                let why =
                    Inexact::of(of).filter(|_| measured.ulps > 0.0).map_or("", |inexact| inexact.reason);
                let (kernels, cases, elements) = (measured.kernels, measured.cases, measured.elements);
                let (ulps, flushed) = (measured.ulps, measured.flushed);
                writeln!(text, " {kernels} | {cases} | {elements} | {ulps:.3} | {flushed} | {why} |")
            }
        };
    }
    for (title, notes) in [
        (
            "Where Pallas' lowering means something else than JAX; the VM does what the op says",
            &results.differing,
        ),
        ("Kernels that Pallas lowers and the VM refuses, by the op that it names", &results.unsupported),
        ("Kernels that Pallas doesn't lower, by its words", &results.refused),
    ] {
        let count: usize = notes.values().map(BTreeSet::len).sum();
        let _ = writeln!(text, "\n{title} ({count}):\n");
        for (reason, names) in notes {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(text, "- {reason}: {}", names.join(", "));
        }
    }
    let _ = writeln!(text, "\nOps without a kernel of their own: {}.", WITHOUT_KERNEL.len());
    for (op, reason) in WITHOUT_KERNEL {
        let _ = writeln!(text, "- {op}: {reason}");
    }
    text
}

/// The page's list of ops and their programs is that of the sources; what was measured may be of another day.
#[test]
fn the_published_page_knows_all_ops_and_programs() {
    let page = page::published(Section::Ops);
    let mut listed = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| op ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let of = Use { op: cells[1].to_owned(), dtype: cells[2].to_owned() };
        let count: usize = cells[3].parse().unwrap();
        assert!(count == 0 || listed.insert(of, count).is_none(), "{row} stands there twice");
    }
    assert_eq!(listed, programs(), "publish the page again: CONTRIBUTING.md says how");
}
