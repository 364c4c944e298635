//! A benchmark's JSON and page.
//!
//! Invariant: `ratios` has every key whatever was measured; the page is well-formed, loads nothing, and has its plots.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not recognised as tests")]

use countersign_reports::{
    Bench, Growth, GrowthPoint, RATIOS, SanitizerCost, Throughput, TimedCase, TimedVariant, Times,
    bench_to_html, bench_to_json,
};
use scraper::{Html, Selector};

fn times(vm: f64) -> Times {
    Times {
        vm_ms: Some(vm),
        vm_unwatched_ms: Some(vm / 1.05),
        native_ms: Some(vm / 2.0),
        reference_ms: Some(3.0),
        interpreter_warm_ms: Some(600.0 * vm),
        jax_reference_fresh_ms: Some(60_000.0),
        ..Times::default()
    }
}

fn sample() -> Bench {
    let variant = |name: &str, vm| {
        TimedVariant::new(name, vec![TimedCase { name: "seed 7, case 1".into(), times: times(vm) }])
    };
    let points = [64, 128, 256].map(|size| GrowthPoint { size, times: times(size as f64 / 1000.0) }).to_vec();
    Bench {
        kernel: "a<b".into(),
        pinned: true,
        cores: 2,
        probe: Some(TimedCase { name: "probe".into(), times: times(0.5) }),
        variants: vec![variant("f32-q4-kv4", 0.5), variant("bf16&more", 2.0)],
        sanitizers: vec![SanitizerCost { name: "all".into(), on_over_off: 1.05, largest: 1.07 }],
        throughput: [1, 2]
            .map(|jobs| Throughput {
                jobs,
                cases: 400 * jobs as u64,
                seconds: 4.0,
                cases_per_second: 100.0 * jobs as f64,
            })
            .to_vec(),
        growth: vec![Growth { axis: "kv length".into(), fixed: "16 query tokens".into(), points }],
        ..Bench::default()
    }
    .summed_up()
}

#[test]
fn ratios_are_plain_numbers_under_every_key() {
    let json: serde_json::Value = serde_json::from_str(&bench_to_json(&sample()).unwrap()).unwrap();
    let ratios = json["ratios"].as_object().unwrap();
    let mut keys: Vec<&str> = ratios.keys().map(String::as_str).collect();
    keys.sort_unstable();
    let mut wanted = RATIOS.to_vec();
    wanted.sort_unstable();
    assert_eq!(keys, wanted);
    let near = |key: &str, value: f64| {
        assert!((ratios[key].as_f64().unwrap() / value - 1.0).abs() < 1e-9, "{key}: {}", ratios[key]);
    };
    near("vm_over_interpreter_warm", 600.0);
    near("vm_over_interpreter_probe", 600.0);
    near("vm_time_over_native", 2.0);
    near("reference_over_jax_fresh", 20_000.0);
    near("sanitizers_on_over_off", 1.05);
    near("two_jobs_over_one", 2.0);
    assert!(ratios["reference_over_jax_warm"].is_null());
    assert_eq!(json["spreads"]["vm_over_interpreter_warm"]["cases"], 2);
    assert_eq!(json["variants"][1]["cases"][0]["vm_ms"], 2.0);
}

#[test]
fn the_page_is_whole_and_loads_nothing() {
    let text = bench_to_html(&sample());
    let page = Html::parse_document(&text);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    let count = |selector: &str| page.select(&Selector::parse(selector).unwrap()).count();
    assert_eq!(count("script, link, img, iframe"), 0);
    assert_eq!(count("h1"), 1);
    assert_eq!(count("section"), 5);
    assert_eq!(count("svg.growth polyline"), 3, "a line for VM, native and reference");
    assert_eq!(count("svg:not([role=img])"), 0);
    assert!(count("figure svg.spread:not(.growth)") >= 4, "bars of each ratio that was measured");
    assert!(text.contains("a&lt;b") && text.contains("bf16&amp;more"));
    let nothing = bench_to_html(&Bench::default().summed_up());
    assert!(nothing.contains("not measured"));
}
