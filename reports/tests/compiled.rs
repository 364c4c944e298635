//! The compile matrix's page and JSON say what the cells say.

use std::collections::BTreeMap;

use countersign_reports::{
    COMPILED_VERSION, CompileReport, CompileVerdict, CompiledCell, CompiledRow, MemoryOverflow,
    compiled_to_html, compiled_to_json,
};

fn cell(label: &str, verdict: CompileVerdict) -> CompiledCell {
    CompiledCell {
        label: label.into(),
        verdict,
        code_bytes: None,
        overflow: None,
        message: None,
        cause: None,
    }
}

fn report() -> CompileReport {
    let compiles = |label| CompiledCell { code_bytes: Some(90_112), ..cell(label, CompileVerdict::Compiles) };
    let overflow = MemoryOverflow { space: "vmem".into(), asked: 28 << 20, limit: 16 << 20 };
    let too_large = CompiledCell { overflow: Some(overflow), ..cell("2048", CompileVerdict::TooLarge) };
    let known = CompiledCell {
        message: Some("Unsupported <matmul>\nmore".into()),
        cause: Some("no fp8 there".into()),
        ..cell("v4", CompileVerdict::RefusedByCompiler)
    };
    CompileReport {
        version: COMPILED_VERSION,
        tool: "countersign 0".into(),
        kernel: "k".into(),
        packages: BTreeMap::from([("jax".into(), "1".into())]),
        compiler: "libtpu 1".into(),
        generations: vec!["v4".into(), "v5e".into()],
        variants: vec![CompiledRow { name: "fp8".into(), cells: vec![known, compiles("v5e")] }],
        borders: vec![CompiledRow { name: "queries".into(), cells: vec![compiles("16"), too_large] }],
    }
}

#[test]
fn the_page_says_what_was_refused_and_why() {
    let html = compiled_to_html(&report());
    for part in [
        "88.0 KiB",
        "Unsupported &lt;matmul&gt;",
        "Known: no fp8 there",
        "28.0 MiB of vmem, which has 16.0 MiB",
        "2048 ✗",
    ] {
        assert!(html.contains(part), "no {part}");
    }
    assert!(!html.contains("<script") && !html.contains("http-equiv"));
}

#[test]
fn an_explained_refusal_is_no_news() {
    let mut report = report();
    assert!(report.cells().all(|(_, cell)| !cell.is_news()));
    report.variants[0].cells[0].cause = None;
    assert_eq!(report.cells().filter(|(_, cell)| cell.is_news()).count(), 1);
    let text = compiled_to_json(&report).unwrap();
    assert_eq!(serde_json::from_str::<CompileReport>(&text).unwrap(), report);
}
