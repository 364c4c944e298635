//! The renderers against a report that uses every field: JSON keeps to the schema, Markdown is as recorded.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

use std::collections::BTreeMap;

use countersign_reports::*;
use serde_json::Value;

fn sample() -> Report {
    let words = ValidatorWords {
        r#static: "accepts".into(),
        dynamic: "q_len=9 must be less or equal to kv_len=8".into(),
        asked: true,
    };
    let counts = |name: &str, count| BTreeMap::from([(name.to_owned(), count)]);
    Report {
        schema_version: SCHEMA_VERSION,
        tool: "countersign 0.1.0".into(),
        command: "fuzz".into(),
        profile: Some("v5e@1".into()),
        exit_code: 1,
        summary: Summary {
            cases: 10,
            kept: 5,
            disputed: 2,
            broken: 3,
            findings_new: 1,
            largest_r: 0.25,
            largest_r_at: Some(Place { variant: "v".into(), case: 3, token: 1, head: 2, lane: 3 }),
            kept_rows_compared_share: 1.0,
            hits: Hits {
                boundary: counts("kv_len=page-1", 4),
                slip: counts("shifted", 0),
                pattern: counts("normal@1", 10),
                variant: counts("v", 10),
            },
            ..Summary::default()
        },
        campaign: Some(CampaignReport { seed: 1, only: Some("broken".into()), variants: vec!["v".into()] }),
        kernels: vec![KernelReport {
            id: "jax-rpa".into(),
            packages: BTreeMap::from([("jax".into(), "0.10.2".into())]),
            source_hash: "abc".into(),
            unpinned: true,
            coverage: CoverageReport {
                variants: BTreeMap::from([("v".into(), (3, 4))]),
                lines: vec![
                    LineCoverage { file: "kernel.py".into(), line: 7, ops: 3, hit: 3 },
                    LineCoverage { file: "kernel.py".into(), line: 9, ops: 1, hit: 0 },
                ],
            },
        }],
        findings: vec![FindingReport {
            signature: "fault|jax-rpa|kernel.py:7,tpu.wait_dma2|deadlock|-".into(),
            status: FindingStatus::New,
            title: "the kernel deadlocks".into(),
            detail: "waits for more than was started".into(),
            cause: Some("a cause".into()),
            link: Some("https://example.org/1".into()),
            count: 2,
            case: 4,
            variant: "v".into(),
            validators: words.clone(),
            stack: vec!["kernel.py:7 in wait".into()],
            file: Some("findings/a.toml".into()),
        }],
        rules: BTreeMap::from([(
            "kv-lens-in-table".into(),
            Tally {
                sentence: "Pages reach.".into(),
                standing: "stated".into(),
                cases: 3,
                alone: 2,
                kernel: counts("right", 2),
                validators: counts("static accepts, dynamic refuses", 2),
            },
        )]),
        slips: BTreeMap::from([("shifted".into(), Tally::default())]),
        cases: vec![CaseReport {
            name: "a".into(),
            breaches: vec!["kv-lens-in-table: sequence 0".into()],
            keeping: "broken".into(),
            validators: words,
            kernel: "answers".into(),
            shows: vec!["x".into()],
            outcome: "new".into(),
        }],
        internal_errors: vec![InternalError { kind: "panic".into(), case: 2, message: "boom".into() }],
        timing: Timing { seconds: 1.0, cases_per_second: 10.0, jobs: 2, out: Some("/somewhere".into()) },
    }
}

/// Checks `value` against the few schema keywords that the schema uses; any other keyword is an error here.
fn check(schema: &Value, root: &Value, value: &Value, path: &str, errors: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" => {}
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                check(&root["$defs"][name], root, value, path, errors);
            }
            "type" => {
                let right = match rule.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "number" => value.is_number(),
                    "integer" => value.is_u64() || value.is_i64(),
                    other => panic!("type {other}"),
                };
                if !right {
                    errors.push(format!("{path} is no {rule}"));
                }
            }
            "minimum" => {
                if value.as_f64().is_some_and(|value| value < rule.as_f64().unwrap()) {
                    errors.push(format!("{path} is below {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    errors.push(format!("{path} is not one of {rule}"));
                }
            }
            "const" => {
                if rule != value {
                    errors.push(format!("{path} is not {rule}"));
                }
            }
            "items" => {
                for (index, item) in value.as_array().unwrap().iter().enumerate() {
                    check(rule, root, item, &format!("{path}[{index}]"), errors);
                }
            }
            "minItems" | "maxItems" => {
                let (length, limit) = (value.as_array().unwrap().len() as u64, rule.as_u64().unwrap());
                if (keyword == "minItems" && length < limit) || (keyword == "maxItems" && length > limit) {
                    errors.push(format!("{path} has {length} items"));
                }
            }
            "properties" => {
                for (key, rule) in rule.as_object().unwrap() {
                    if let Some(item) = value.get(key) {
                        check(rule, root, item, &format!("{path}.{key}"), errors);
                    }
                }
            }
            "required" => {
                for key in rule.as_array().unwrap() {
                    if value.get(key.as_str().unwrap()).is_none() {
                        errors.push(format!("{path} lacks {key}"));
                    }
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (key, item) in value.as_object().unwrap() {
                    if known.is_some_and(|known| known.contains_key(key)) {
                        continue;
                    }
                    match rule {
                        Value::Bool(false) => errors.push(format!("{path}.{key} is unknown")),
                        rule => check(rule, root, item, &format!("{path}.{key}"), errors),
                    }
                }
            }
            other => panic!("the schema uses {other}, which this check doesn't know"),
        }
    }
}

fn violations(value: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut errors = Vec::new();
    check(&schema, &schema, value, "report", &mut errors);
    errors
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
    for key in schema["$defs"]["finding"]["properties"].as_object().unwrap().keys() {
        assert!(value["findings"][0].get(key).is_some(), "the sample's finding leaves {key} out");
    }
}

#[test]
fn markdown_says_what_matters() {
    insta::assert_snapshot!(to_markdown(&sample()));
}
