//! A benchmark as one HTML page: ratios, each variant's times, sanitizers, throughput, growth.
//!
//! Invariant: a function of the benchmark alone; nothing is loaded, no script runs.

use maud::{Markup, html};

use super::plot::{Line, bars, lines, millis, number};
use super::{Bench, Growth, TimedCase, Times};
use crate::html::{Section, page};

type Column = (&'static str, fn(&Times) -> Option<f64>);

const COLUMNS: [Column; 9] = [
    ("VM", |t| t.vm_ms),
    ("VM, new kernel", |t| t.vm_new_ms),
    ("native", |t| t.native_ms),
    ("native, keys trimmed", |t| t.native_filled_ms),
    ("reference", |t| t.reference_ms),
    ("interpreter", |t| t.interpreter_warm_ms),
    ("interpreter, new shape", |t| t.interpreter_new_ms),
    ("JAX's reference", |t| t.jax_reference_warm_ms),
    ("JAX's reference, fresh", |t| t.jax_reference_fresh_ms),
];

/// What a reader is told of a ratio, and the aim that a line shows.
const SHOWN: [(&str, &str, Option<f64>); 5] = [
    ("vm_over_interpreter_warm", "How many times faster the VM is than JAX's interpreter, warm", Some(500.0)),
    ("vm_time_over_native", "The VM's time over that of the algorithm by hand", Some(2.0)),
    (
        "reference_over_jax_fresh",
        "How many times faster the reference is than JAX's, fresh lengths",
        Some(10_000.0),
    ),
    ("reference_over_jax_warm", "How many times faster the reference is than JAX's, warm", None),
    ("sanitizers_on_over_off", "The VM's time with all sanitizers over that with none", Some(1.1)),
];

/// Renders `bench` as a whole HTML document.
pub fn bench_to_html(bench: &Bench) -> String {
    let section = |id, title, body| Section { id, title, body };
    let sections = [
        section("ratios", "Ratios", ratios(bench)),
        section("variants", "Times of each variant", variants(bench)),
        section("sanitizers", "Cost of the sanitizers", sanitizers(bench)),
        section("throughput", "Cases a second", throughput(bench)),
        section("growth", "How time grows", html! { @for growth in &bench.growth { (grown(growth)) } }),
    ];
    let header = html! {
        p.tool { (bench.tool) }
        h1 { "Benchmark of " (bench.kernel) }
        p.lead {
            "Every ratio is of two times of one case in one run, "
            @if bench.pinned { "each side on one core" } @else { "not held on a core" }
            ", of " (bench.cores) ". The times of one machine say little; the ratios say more."
        }
        @if !bench.packages.is_empty() {
            p.note { @for (name, version) in &bench.packages { (name) " " (version) " " } }
        }
        @for note in &bench.notes { p.warn { (note) } }
    };
    page(&format!("countersign bench: {}", bench.kernel), &header, &sections, &html! {})
}

fn ratios(bench: &Bench) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table.plain {
                thead { tr { th scope="col" { "ratio" } th.number scope="col" { "value" } th scope="col" { "of a case, from" } th scope="col" { "to" } } }
                tbody {
                    @for (key, value) in &bench.ratios {
                        @let spread = bench.spreads.get(key);
                        tr {
                            th scope="row" { code { (key) } }
                            td.number { @if let Some(value) = value { (number(*value)) } @else { "not measured" } }
                            td { @if let Some(s) = spread { (number(s.smallest)) " (" (s.smallest_at) ")" } }
                            td { @if let Some(s) = spread { (number(s.largest)) " (" (s.largest_at) ")" } }
                        }
                    }
                }
            }
        }
        @for (key, title, aim) in SHOWN {
            @let rows = by_variant(bench, key);
            @if !rows.is_empty() {
                figure {
                    figcaption { strong { (title) } @if let Some(aim) = aim { ". The line is the aim, " (number(aim)) } ". Logarithmic." }
                    (bars(title, aim, &rows))
                }
            }
        }
    }
}

fn by_variant<'b>(bench: &'b Bench, key: &str) -> Vec<(&'b str, f64)> {
    let ratio = |variant: &'b super::TimedVariant| Some((variant.name.as_str(), *variant.ratios.get(key)?));
    bench.variants.iter().filter_map(ratio).collect()
}

fn variants(bench: &Bench) -> Markup {
    if bench.variants.is_empty() && bench.probe.is_none() {
        return html! {};
    }
    let row = |name: &str, case: &TimedCase| {
        html! {
            tr {
                th scope="row" { (name) span.sentence { (case.name) } }
                @for (_, of) in COLUMNS { td.number { @if let Some(ms) = of(&case.times) { (millis(ms)) } @else { "–" } } }
            }
        }
    };
    html! {
        div.scroll tabindex="0" {
            table.plain.wide {
                thead { tr { th scope="col" { "variant" } @for (name, _) in COLUMNS { th.number scope="col" { (name) } } } }
                tbody {
                    @if let Some(probe) = &bench.probe { (row("the interpreter's probe", probe)) }
                    @for variant in &bench.variants { @for case in &variant.cases { (row(&variant.name, case)) } }
                }
            }
        }
    }
}

fn sanitizers(bench: &Bench) -> Markup {
    if bench.sanitizers.is_empty() {
        return html! {};
    }
    html! {
        p { "Time with a sanitizer over time without, everything else on." }
        table.plain {
            thead { tr { th scope="col" { "sanitizer" } th.number scope="col" { "geometric mean" } th.number scope="col" { "largest of a variant" } } }
            tbody {
                @for cost in &bench.sanitizers {
                    tr { th scope="row" { (cost.name) } td.number { (format!("{:.3}", cost.on_over_off)) } td.number { (format!("{:.3}", cost.largest)) } }
                }
            }
        }
    }
}

fn throughput(bench: &Bench) -> Markup {
    if bench.throughput.is_empty() {
        return html! {};
    }
    html! {
        p { "Whole trials of generated cases as `fuzz` runs them: generation, contract, VM, reference, comparison, judgement." }
        table.plain {
            thead { tr { th scope="col" { "threads" } th.number scope="col" { "cases" } th.number scope="col" { "seconds" } th.number scope="col" { "cases/s" } } }
            tbody {
                @for run in &bench.throughput {
                    tr {
                        th scope="row" { (run.jobs) }
                        td.number { (run.cases) } td.number { (format!("{:.1}", run.seconds)) } td.number { (number(run.cases_per_second)) }
                    }
                }
            }
        }
    }
}

fn grown(growth: &Growth) -> Markup {
    let line = |name: &'static str, of: fn(&Times) -> Option<f64>| Line {
        name,
        points: growth
            .points
            .iter()
            .filter_map(|point| Some((point.size as f64, of(&point.times)?)))
            .collect(),
    };
    let shown =
        [line("VM", |t| t.vm_ms), line("native", |t| t.native_ms), line("reference", |t| t.reference_ms)];
    html! {
        figure {
            figcaption { strong { "By " (growth.axis) } "; " (growth.fixed) ". Both scales are logarithmic." }
            (lines(&growth.axis, &shown))
        }
    }
}
