//! Two kernels of one family, or two releases of one, on the same cases: what each does, and where they differ.
//!
//! Invariant: both get the same batch, variant by variant; a case that either can't run is counted and compared no further. A
//! function of seed and number of cases, on any number of threads.

use std::collections::{BTreeMap, BTreeSet};

use countersign_kernels::Variant;
use countersign_kernels::catalogue::kernel_name;
use countersign_kernels::engine::Policy;
use countersign_mosaic::ir::Module;
use countersign_reports::{ChangedCase, FindingChange, RELEASES_VERSION, ReleaseSide, ReleasesReport};
use similar::{ChangeTag, TextDiff};

use crate::campaign::{Subject as _, tool};
use crate::case::Case;
use crate::generate::generate;
use crate::judge::judge;
use crate::loaded::Loaded;
use crate::ordered::in_order;
use crate::trial::{Conduct, run_trial};

/// Cases that are listed one by one.
const LISTED: usize = 100;

/// A case for both: a position among the variants, which both have loaded in the same order.
#[derive(Debug, Clone)]
pub struct Shared {
    /// For people.
    pub name: String,
    /// Which variant.
    pub position: usize,
    /// The batch.
    pub case: Case,
}

/// What to compare.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Seed of the generated cases.
    pub seed: u64,
    /// How many.
    pub cases: u64,
    /// Variants, by position, that cases are generated for.
    pub drawn: usize,
    /// Cases of the corpus.
    pub regressions: &'a [Shared],
    /// Threads.
    pub jobs: usize,
}

/// What one of them did with a case.
struct Done {
    conduct: String,
    /// Signatures without the release, with what they mean.
    shows: BTreeMap<String, &'static str>,
    /// Largest error of a right row.
    r: Option<f64>,
    coverage: Vec<u64>,
    is_unsupported: bool,
}

fn run(loaded: &Loaded, shared: &Shared) -> Done {
    let kernel = loaded.kernel();
    let variant = &loaded.variants()[shared.position];
    let mut engine = loaded.engine(shared.position);
    let case = Case { kernel: kernel.id.clone(), ..shared.case.clone() };
    let failed = |conduct: String| Done {
        conduct,
        shows: BTreeMap::new(),
        r: None,
        coverage: Vec::new(),
        is_unsupported: true,
    };
    let trial = match run_trial(Some(engine.as_mut()), kernel, variant, &case, &Policy::default()) {
        Ok(trial) => trial,
        Err(error) => return failed(error.to_string()),
    };
    if let Conduct::Unsupported(why) = &trial.conduct {
        return failed(why.clone());
    }
    let name = |finding: &crate::judge::Finding| {
        let mut signature = finding.signature.clone();
        signature.kernel = kernel_name(&signature.kernel).to_owned();
        (signature.to_string(), finding.signature.kind.title())
    };
    Done {
        conduct: trial.conduct.name().to_owned(),
        shows: judge(&trial).findings.iter().map(name).collect(),
        r: match &trial.conduct {
            Conduct::Finished(comparison) => comparison.largest_right.map(|worst| worst.r),
            _ => None,
        },
        coverage: engine.coverage().to_vec(),
        is_unsupported: false,
    }
}

/// Compares two kernels that were loaded with the same variants in the same order.
pub fn compare(sides: [&Loaded; 2], plan: &Plan<'_>, go_on: &(dyn Fn() -> bool + Sync)) -> ReleasesReport {
    let variants: Vec<Variant> = sides[0].variants()[..plan.drawn].to_vec();
    let position = |case: &Case| variants.iter().position(|variant| variant.name == case.variant.name());
    let generated = (0..plan.cases).filter_map(|index| {
        let case = generate(plan.seed, index, &sides[0].kernel().id, &variants, None).case;
        let name = format!("case {index} of seed {}", plan.seed);
        position(&case).map(|position| Shared { name, position, case })
    });
    let all: Vec<Shared> = plan.regressions.iter().cloned().chain(generated).collect();
    let mut sums = Sums::default();
    let mut coverage = sides.map(|loaded| vec![Vec::new(); loaded.variants().len()]);
    let work = |index: usize| sides.map(|loaded| run(loaded, &all[index]));
    in_order(all.len(), plan.jobs, go_on, &work, &mut |index, done| {
        let Ok(done) = done else {
            sums.unsupported += 1;
            return;
        };
        for (sums, done) in coverage.iter_mut().zip(&done) {
            unite(&mut sums[all[index].position], &done.coverage);
        }
        sums.add(
            &all[index],
            &variant_name(sides[0], all[index].position),
            &done,
            index < plan.regressions.len(),
        );
    });
    let modules = sides.map(|loaded| (0..plan.drawn).filter_map(|at| loaded.module(at)).collect::<Vec<_>>());
    let [first, second] = modules.each_ref().map(|modules| ops(modules));
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let count = |ops: &BTreeMap<String, u64>, name: &String| ops.get(name).copied().unwrap_or(0);
    let op_changes = names
        .into_iter()
        .map(|name| (name.clone(), [count(&first, name), count(&second, name)]))
        .filter(|(_, [a, b])| a != b)
        .collect();
    let reports = [0, 1].map(|side| sides[side].report(&coverage[side]));
    let points = reports.each_ref().map(|report| {
        let all = report.coverage.variants.values();
        all.fold((0, 0), |sum, points| (sum.0 + points.0, sum.1 + points.1))
    });
    let lines = reports.each_ref().map(|report| {
        let lines = &report.coverage.lines;
        (lines.iter().filter(|line| line.hit > 0).count() as u64, lines.len() as u64)
    });
    let source = match (&reports[0].source, &reports[1].source) {
        (Some(first), Some(second)) => Some(diff(&first.lines, &second.lines)),
        _ => None,
    };
    let side = |side: usize| ReleaseSide {
        kernel: sides[side].kernel().id.clone(),
        packages: reports[side].packages.clone(),
        source_sha256: reports[side].source_hash.clone(),
        lacks: Vec::new(),
        failures: sides[side]
            .failures()
            .map(|(variant, why)| (variant.name.clone(), why.to_owned()))
            .collect(),
    };
    let (alike, findings): (Vec<FindingChange>, Vec<FindingChange>) =
        sums.findings.into_values().partition(|change| change.cases[0] == change.cases[1]);
    ReleasesReport {
        version: RELEASES_VERSION,
        tool: tool(),
        sides: [side(0), side(1)],
        seed: plan.seed,
        generated: sums.generated,
        regressions: sums.regressions,
        unsupported: sums.unsupported,
        variants: variants.iter().map(|variant| variant.name.clone()).collect(),
        source,
        findings,
        findings_alike: alike.len() as u64,
        changes: sums.changes,
        changed: sums.changed,
        ops: [first.values().sum(), second.values().sum()],
        op_changes,
        points,
        lines,
        errors: sums.errors,
    }
}

fn variant_name(loaded: &Loaded, position: usize) -> String {
    loaded.variants()[position].name.clone()
}

#[derive(Default)]
struct Sums {
    generated: u64,
    regressions: u64,
    unsupported: u64,
    findings: BTreeMap<String, FindingChange>,
    changes: Vec<ChangedCase>,
    changed: u64,
    errors: BTreeMap<String, [f64; 2]>,
}

impl Sums {
    fn add(&mut self, shared: &Shared, variant: &str, done: &[Done; 2], is_regression: bool) {
        if done.iter().any(|done| done.is_unsupported) {
            self.unsupported += 1;
            return;
        }
        *if is_regression { &mut self.regressions } else { &mut self.generated } += 1;
        for (side, (own, other)) in [(&done[0], &done[1]), (&done[1], &done[0])].into_iter().enumerate() {
            for (signature, title) in &own.shows {
                let change = self.findings.entry(signature.clone()).or_insert_with(|| FindingChange {
                    signature: signature.clone(),
                    title: (*title).to_owned(),
                    cases: [0, 0],
                    first: None,
                });
                change.cases[side] += 1;
                if !other.shows.contains_key(signature) {
                    change.first.get_or_insert_with(|| shared.name.clone());
                }
            }
            if let Some(r) = own.r {
                let largest = &mut self.errors.entry(variant.to_owned()).or_default()[side];
                *largest = largest.max(r);
            }
        }
        if done[0].conduct != done[1].conduct || done[0].shows != done[1].shows {
            self.changed += 1;
            if self.changes.len() < LISTED {
                let told = |done: &Done| {
                    let shows: Vec<&str> = done.shows.keys().map(String::as_str).collect();
                    if shows.is_empty() {
                        done.conduct.clone()
                    } else {
                        format!("{}: {}", done.conduct, shows.join(", "))
                    }
                };
                self.changes
                    .push(ChangedCase { name: shared.name.clone(), conduct: done.each_ref().map(told) });
            }
        }
    }
}

fn unite(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(sums.len().max(more.len()), 0);
    sums.iter_mut().zip(more).for_each(|(sum, bits)| *sum |= bits);
}

/// How many of each op.
fn ops(modules: &[Module]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for module in modules {
        module.walk(|op, _| *counts.entry(op.name.clone()).or_insert(0) += 1);
    }
    counts
}

/// The lines that only one text has, each with its sign and number.
fn diff(first: &[String], second: &[String]) -> Vec<String> {
    let (first, second) = (first.join("\n") + "\n", second.join("\n") + "\n");
    let changes = TextDiff::from_lines(first.as_str(), second.as_str());
    let shown = changes.iter_all_changes().filter_map(|change| {
        let (sign, line) = match change.tag() {
            ChangeTag::Equal => return None,
            ChangeTag::Delete => ('-', change.old_index()),
            ChangeTag::Insert => ('+', change.new_index()),
        };
        let number = line.map_or(0, |line| line + 1);
        Some(format!("{sign}{number}: {}", change.value().trim_end()))
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_lines_of_one_side_alone() {
        let text = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert_eq!(diff(&text(&["a", "b", "c"]), &text(&["a", "x", "c"])), ["-2: b", "+2: x"]);
        assert!(diff(&text(&["a"]), &text(&["a"])).is_empty());
    }
}
