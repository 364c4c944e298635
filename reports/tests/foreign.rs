//! JUnit and SARIF keep to the schemas of those who read them, of a run that uses every field.
//!
//! Invariant: the schemas are as their owners publish them (`foreign/README.md`), and each is shown to refuse what it should.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

mod sample;

use boon::{Compiler, SchemaIndex, Schemas};
use countersign_reports::*;
use sample::sample;
use serde_json::Value;
use uppsala::XsdValidator;

/// A replay, a campaign, and one without findings.
fn reports() -> [Report; 3] {
    let replay = sample();
    let campaign = Report { command: "fuzz".to_owned(), cases: Vec::new(), ..sample() };
    let clean = Report { findings: Vec::new(), internal_errors: Vec::new(), ..campaign.clone() };
    [replay, campaign, clean]
}

/// What JUnit's schema has against a document.
fn junit_violations(xml: &str) -> Vec<String> {
    let schema = uppsala::parse(include_str!("foreign/junit-10.xsd")).unwrap();
    let validator = XsdValidator::from_schema(&schema).unwrap();
    let errors = validator.validate(&uppsala::parse(xml).unwrap());
    errors.into_iter().map(|error| error.message).collect()
}

#[test]
fn junit_keeps_to_the_schema_of_jenkins() {
    for report in reports() {
        let xml = to_junit(&report).unwrap();
        assert_eq!(junit_violations(&xml), Vec::<String>::new(), "{xml}");
        let otherwise = xml.replace("skipped=", "disabled=");
        assert!(junit_violations(&otherwise)[0].contains("disabled"), "{otherwise}");
    }
}

#[test]
fn what_is_known_is_counted_as_skipped() {
    let mut report = reports()[1].clone();
    report.findings.iter_mut().for_each(|finding| finding.status = FindingStatus::Known);
    let (xml, count) = (to_junit(&report).unwrap(), report.findings.len());
    assert!(xml.contains(&format!("skipped=\"{count}\"")), "{xml}");
    assert_eq!(junit_violations(&xml), Vec::<String>::new(), "{xml}");
}

fn sarif_schema() -> (Schemas, SchemaIndex) {
    const NAME: &str = "https://example.org/sarif";
    let schema = serde_json::from_str(include_str!("foreign/sarif-schema-2.1.0.json")).unwrap();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.enable_format_assertions();
    compiler.add_resource(NAME, schema).unwrap();
    let index = compiler.compile(NAME, &mut schemas).unwrap();
    (schemas, index)
}

#[test]
fn sarif_keeps_to_its_schema() {
    let (schemas, schema) = sarif_schema();
    for report in reports() {
        let mut sarif: Value = serde_json::from_str(&to_sarif(&report).unwrap()).unwrap();
        let verdict = schemas.validate(&sarif, schema).map_err(|error| format!("{error:#}"));
        assert_eq!(verdict, Ok(()), "{sarif:#}");
        sarif["runs"][0]["tool"]["driver"].as_object_mut().unwrap().remove("name");
        assert!(schemas.validate(&sarif, schema).is_err());
    }
}
