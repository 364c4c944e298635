//! JSON against a JSON Schema: the few keywords that our schemas use.
//!
//! Invariant: a keyword that isn't known here is an error, never passed over.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

use serde_json::Value;

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
            "anyOf" => {
                let fits = |rule: &Value| {
                    let mut errors = Vec::new();
                    check(rule, root, value, path, &mut errors);
                    errors.is_empty()
                };
                if !rule.as_array().unwrap().iter().any(fits) {
                    errors.push(format!("{path} is none of {rule}"));
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

/// Where `value` departs from `schema`.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check(schema, schema, value, "report", &mut errors);
    errors
}
