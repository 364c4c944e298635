//! The report as JUnit XML, which CI systems show as a list of tests.
//!
//! A replayed case is a test: it fails where its outcome isn't what it expects. Of a fuzz run each distinct finding is one: a
//! known one is skipped with its cause, a new one fails. Variants that could not be loaded, faults of our own, and what could not
//! be run or asked are errors.
//!
//! Invariant: a test fails or errs if and only if the report's exit code isn't 0 for it; nothing in the text depends on the
//! clock but the run's time.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Xml, SerializeError, TestCase, TestCaseStatus, TestSuite};
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::QName;
use quick_xml::{Reader, Writer};

use crate::{CaseReport, FindingReport, FindingStatus, Report};

/// Renders `report`.
///
/// # Errors
/// Only if the XML can't be written to memory.
pub fn to_junit(report: &Report) -> Result<String, SerializeError> {
    let mut xml = Xml::new(format!("countersign {}", report.command));
    xml.set_time(Duration::try_from_secs_f64(report.timing.seconds).unwrap_or_default());
    let kernels: Vec<&str> = report.kernels.iter().map(|kernel| kernel.id.as_str()).collect();
    let mut suite = TestSuite::new(kernels.join(", "));
    for (name, value) in [("tool", Some(&report.tool)), ("profile", report.profile.as_ref())] {
        if let Some(value) = value {
            suite.add_property((name, value.as_str()));
        }
    }
    for kernel in &report.kernels {
        for (package, version) in &kernel.packages {
            suite.add_property((package.as_str(), version.as_str()));
        }
    }
    suite.add_test_cases(report.cases.iter().map(|case| replayed(case, report)));
    if report.cases.is_empty() {
        let mut all = TestCase::new(format!("{} cases", report.summary.cases), TestCaseStatus::success());
        all.set_classname(&report.command);
        suite.add_test_case(all);
        suite.add_test_cases(report.findings.iter().map(|finding| found(finding, &report.command)));
    }
    let variants = report.kernels.iter().flat_map(|kernel| &kernel.variants);
    for (variant, failure) in variants.filter_map(|variant| Some((variant, variant.failure.as_ref()?))) {
        suite.add_test_case(error("variant not loaded", &variant.name, failure));
    }
    for fault in &report.internal_errors {
        suite.add_test_case(error(&fault.kind, &format!("case {}", fault.case), &fault.message));
    }
    let summary = &report.summary;
    for (count, what) in [(summary.unsupported, "unsupported"), (summary.unasked, "unasked")] {
        if count > 0 {
            suite.add_test_case(error("incomplete", what, &format!("{count} {what}")));
        }
    }
    if summary.interrupted {
        suite.add_test_case(error("incomplete", "interrupted", "the run was interrupted"));
    }
    xml.add_test_suite(suite);
    skipped_by_name(&xml.to_string()?)
}

/// Names the count of skipped tests `skipped`, as readers of JUnit do and the schema of Jenkins has it; it comes as `disabled`.
fn skipped_by_name(xml: &str) -> Result<String, SerializeError> {
    let (mut reader, mut writer) = (Reader::from_str(xml), Writer::new(Vec::new()));
    loop {
        match reader.read_event()? {
            Event::Eof => return Ok(String::from_utf8_lossy(&writer.into_inner()).into_owned()),
            Event::Start(start) if start.name().as_ref() == b"testsuite" => {
                let mut renamed = BytesStart::new("testsuite");
                for attribute in start.attributes() {
                    let mut attribute = attribute.map_err(quick_xml::Error::from)?;
                    if attribute.key.as_ref() == b"disabled" {
                        attribute.key = QName(b"skipped");
                    }
                    renamed.push_attribute(attribute);
                }
                writer.write_event(Event::Start(renamed))?;
            }
            event => writer.write_event(event)?,
        }
    }
}

fn error(kind: &str, name: &str, message: &str) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_type(kind).set_message(message);
    let mut test = TestCase::new(name, status);
    test.set_classname(format!("countersign: {kind}"));
    test
}

fn replayed(case: &CaseReport, report: &Report) -> TestCase {
    let mut status = match case.outcome.as_str() {
        "met" => TestCaseStatus::success(),
        _ => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    let shows = match case.shows.is_empty() {
        true => "nothing".to_owned(),
        false => case.shows.join("\n"),
    };
    let details = report
        .findings
        .iter()
        .filter(|finding| finding.status != FindingStatus::Known && case.shows.contains(&finding.signature));
    if case.outcome != "met" {
        let mut text = format!("the batch is {}\n", case.keeping);
        for breach in &case.breaches {
            text += &format!("breaks {breach}\n");
        }
        text += &format!(
            "static check: {}\ndynamic check: {}\nkernel: {}\n",
            case.validators.r#static, case.validators.dynamic, case.kernel
        );
        for finding in details {
            text += &format!("\n{}", described(finding));
        }
        status
            .set_type(&case.outcome)
            .set_message(format!("{}: shows {shows}", case.outcome))
            .set_description(text);
    }
    let mut test = TestCase::new(&case.name, status);
    test.set_classname(&report.command).set_system_out(format!("shows {shows}"));
    test
}

fn found(finding: &FindingReport, command: &str) -> TestCase {
    let mut status = match finding.status {
        FindingStatus::Known => TestCaseStatus::skipped(),
        FindingStatus::New | FindingStatus::Returned => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    match &finding.cause {
        Some(cause) if finding.status == FindingStatus::Known => status.set_type("known").set_message(cause),
        _ => status.set_type("new").set_message(&finding.title),
    };
    status.set_description(described(finding));
    let mut test = TestCase::new(&finding.signature, status);
    test.set_classname(command);
    test
}

/// What happened, where, and how to see it again.
fn described(finding: &FindingReport) -> String {
    let mut text = format!("{}\n{}\n{}\n", finding.signature, finding.title, finding.detail);
    if let Some(fault) = &finding.fault {
        text += &format!("{}: {}\n", fault.op, fault.message);
        fault.stack.iter().for_each(|frame| text += &format!("    {frame}\n"));
        fault.meaning.iter().for_each(|sentence| text += &format!("{sentence}\n"));
    }
    if let Some(file) = &finding.file {
        text += &format!("countersign replay {file}\n");
    }
    text
}
