//! The renderers against a report that uses every field: JSON keeps to the schema, Markdown is as recorded.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

mod sample;
mod schema;

use countersign_reports::*;
use sample::sample;
use serde_json::Value;

fn violations(value: &Value) -> Vec<String> {
    schema::violations(&serde_json::from_str(SCHEMA).unwrap(), value)
}

#[test]
fn json_keeps_to_the_schema_and_comes_back() {
    let text = to_json(&sample()).unwrap();
    assert_eq!(violations(&serde_json::from_str(&text).unwrap()), Vec::<String>::new());
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), sample());
}

#[test]
fn the_schema_refuses_what_the_model_cannot_say() {
    let mut value = serde_json::to_value(sample()).unwrap();
    value["summary"]["cases"] = Value::String("ten".into());
    value["findings"][0]["status"] = Value::String("odd".into());
    value["extra"] = Value::Null;
    value["kernels"][0].as_object_mut().unwrap().remove("unpinned");
    assert_eq!(violations(&value).len(), 4, "{:?}", violations(&value));
}

#[test]
fn every_field_of_the_sample_is_in_the_schema() {
    // A field added to the model without its schema line fails in `json_keeps_to_the_schema_and_comes_back` only if the
    // sample sets it, so the optional ones must all be set.
    let value = serde_json::to_value(sample()).unwrap();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(value.get(key).is_some(), "the sample leaves {key} out");
    }
    for (name, part) in [
        ("finding", &value["findings"][0]),
        ("fault", &value["findings"][0]["fault"]),
        ("batch", &value["findings"][0]["batch"]),
        ("summary", &value["summary"]),
        ("r", &value["summary"]["r"]["f32, f32"]),
        ("kernel", &value["kernels"][0]),
        ("variant", &value["kernels"][0]["variants"][1]),
    ] {
        for key in schema["$defs"][name]["properties"].as_object().unwrap().keys() {
            assert!(part.get(key).is_some(), "the sample's {name} leaves {key} out");
        }
    }
}

#[test]
fn markdown_says_what_matters() {
    insta::assert_snapshot!(to_markdown(&sample()));
}

#[test]
fn junit_fails_for_what_is_new_and_skips_what_is_known() {
    let report = sample();
    let xml = quick_junit::Report::deserialize_from_str(&to_junit(&report).unwrap()).unwrap();
    assert_eq!(xml.test_suites.len(), 1);
    let tests = &xml.test_suites[0].test_cases;
    let failed = tests.iter().filter(|test| {
        let kind = quick_junit::NonSuccessKind::Failure;
        matches!(&test.status, quick_junit::TestCaseStatus::NonSuccess { kind: is, .. } if *is == kind)
    });
    let unmet = report.cases.iter().filter(|case| case.outcome != "met").count();
    assert_eq!(failed.count(), unmet);
    assert!(unmet > 0);
    let fuzzed = Report { cases: Vec::new(), ..report };
    insta::assert_snapshot!(to_junit(&fuzzed).unwrap());
}

#[test]
fn sarif_is_read_back_and_places_findings() {
    let text = to_sarif(&sample()).unwrap();
    let sarif: serde_sarif::sarif::Sarif = serde_json::from_str(&text).unwrap();
    assert_eq!(sarif.runs[0].results.as_ref().unwrap().len(), sample().findings.len());
    insta::assert_snapshot!(text);
}
