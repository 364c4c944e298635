//! The benchmark as text for a terminal.
//!
//! Invariant: shows what was measured; computes nothing.

use countersign_reports::{Bench, TimedCase};

use super::super::table::{self, row};

/// Times, ratios, and the rest.
pub(super) fn describe(bench: &Bench) -> String {
    let mut text = format!("times in ms, {}\n", if bench.pinned { "on one core" } else { "on any core" });
    text += &table::render(&times(bench));
    for note in &bench.notes {
        text += &format!("  {note}\n");
    }
    let mut rows = vec![row!["ratio", "value", "of a case, from", "to"]];
    for (name, value) in &bench.ratios {
        let Some(value) = value else { continue };
        let (from, to) = match bench.spreads.get(name) {
            Some(spread) => (
                format!("{:.2} ({})", spread.smallest, spread.smallest_at),
                format!("{:.2} ({})", spread.largest, spread.largest_at),
            ),
            None => (String::new(), String::new()),
        };
        rows.push(row![name.replace('_', " "), format!("{value:.2}"), from, to]);
    }
    text += "\n";
    text += &table::render(&rows);
    if !bench.sanitizers.is_empty() {
        let mut rows = vec![row!["sanitizer", "on over off", "largest"]];
        rows.extend(
            bench.sanitizers.iter().map(|cost| {
                row![cost.name, format!("{:.3}", cost.on_over_off), format!("{:.3}", cost.largest)]
            }),
        );
        text += "\n";
        text += &table::render(&rows);
    }
    if !bench.throughput.is_empty() {
        let mut rows = vec![row!["threads", "cases", "cases/s"]];
        rows.extend(
            bench
                .throughput
                .iter()
                .map(|run| row![run.jobs, run.cases, format!("{:.0}", run.cases_per_second)]),
        );
        text += "\n";
        text += &table::render(&rows);
    }
    for growth in &bench.growth {
        let mut rows = vec![row![growth.axis, "VM", "native", "reference"]];
        rows.extend(growth.points.iter().map(|point| {
            let times = &point.times;
            row![point.size, ms(times.vm_ms), ms(times.native_ms), ms(times.reference_ms)]
        }));
        text += &format!("\n{}\n", growth.fixed);
        text += &table::render(&rows);
    }
    text
}

fn times(bench: &Bench) -> Vec<Vec<String>> {
    let mut rows = vec![row![
        "variant",
        "VM",
        "new kernel",
        "native",
        "reference",
        "interpreter",
        "new",
        "JAX's ref.",
        "fresh"
    ]];
    let mut add = |name: &str, case: &TimedCase| {
        let t = &case.times;
        rows.push(row![
            name,
            ms(t.vm_ms),
            ms(t.vm_new_ms),
            ms(t.native_ms),
            ms(t.reference_ms),
            ms(t.interpreter_warm_ms),
            ms(t.interpreter_new_ms),
            ms(t.jax_reference_warm_ms),
            ms(t.jax_reference_fresh_ms),
        ]);
    };
    for variant in &bench.variants {
        variant.cases.iter().for_each(|case| add(&variant.name, case));
    }
    if let Some(probe) = &bench.probe {
        add("(the interpreter's probe)", probe);
    }
    rows
}

fn ms(time: Option<f64>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| format!("{time:.3}"))
}
