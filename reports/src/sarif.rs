//! The report as SARIF 2.1.0, which code hosts show beside the kernel's source lines.
//!
//! A distinct finding is a result. Its rule is what the signature calls its kind; its place is the line of the kernel that the
//! finding names, or line 1 of the kernel's file. Known findings are there, suppressed with their cause.
//!
//! Invariant: the same finding has the same fingerprint in every run: its signature.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use serde_sarif::sarif::{
    ArtifactLocation, Invocation, Location, Message, MultiformatMessageString, PhysicalLocation, PropertyBag,
    Region, ReportingDescriptor, Result as Found, ResultLevel, Run, Sarif, Suppression, Tool, ToolComponent,
};

use crate::{FindingReport, FindingStatus, Report};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Renders `report`, with a final newline.
///
/// # Errors
/// Only if a number cannot be represented, which no field of the model allows.
pub fn to_sarif(report: &Report) -> Result<String, serde_json::Error> {
    let (name, version) = report.tool.split_once(' ').unwrap_or((&report.tool, ""));
    let titles = report.findings.iter().map(|finding| (finding.kind.as_str(), finding.title.as_str()));
    let kinds: BTreeMap<&str, &str> = titles.collect();
    let rules: Vec<ReportingDescriptor> = kinds
        .iter()
        .map(|(kind, title)| {
            let text = MultiformatMessageString::builder().text(*title).build();
            ReportingDescriptor::builder().id(*kind).short_description(text).build()
        })
        .collect();
    let driver = ToolComponent::builder()
        .name(name)
        .version(version)
        .information_uri("https://github.com/countersign/countersign")
        .rules(rules)
        .build();
    let file = report.kernels.iter().find_map(|kernel| Some(kernel.source.as_ref()?.file.as_str()));
    let results: Vec<Found> = report.findings.iter().map(|finding| result(finding, file)).collect();
    let invocation = Invocation::builder()
        .execution_successful(report.exit_code != 2)
        .exit_code(i64::from(report.exit_code))
        .build();
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .invocations(vec![invocation])
        .results(results)
        .build();
    let sarif = Sarif::builder().schema(SCHEMA).version(json!("2.1.0")).runs(vec![run]).build();
    let mut text = serde_json::to_string_pretty(&sarif)?;
    text.push('\n');
    Ok(text)
}

fn result(finding: &FindingReport, file: Option<&str>) -> Found {
    let level = match finding.status {
        FindingStatus::Known => ResultLevel::Note,
        FindingStatus::New | FindingStatus::Returned => ResultLevel::Error,
    };
    let mut text = format!("{} {}", finding.title, finding.detail);
    if let Some(case) = &finding.file {
        text += &format!(" To see it again: countersign replay {case}");
    }
    let (file, line) = place(finding).unwrap_or((file.unwrap_or("kernel.py"), 1));
    let location = Location::builder()
        .physical_location(
            PhysicalLocation::builder()
                .artifact_location(ArtifactLocation::builder().uri(file).build())
                .region(Region::builder().start_line(i64::from(line)).build())
                .build(),
        )
        .build();
    let fingerprints = BTreeMap::from([("signature/v1".to_owned(), finding.signature.clone())]);
    let additional: BTreeMap<String, Value> = BTreeMap::from([
        ("signature".to_owned(), json!(finding.signature)),
        ("effect".to_owned(), json!(finding.effect)),
        ("cases".to_owned(), json!(finding.count)),
        ("variant".to_owned(), json!(finding.variant)),
    ]);
    let properties = PropertyBag::builder().additional_properties(additional).build();
    let suppressions = match &finding.cause {
        Some(cause) if finding.status == FindingStatus::Known => {
            let kind = json!("external");
            vec![Suppression::builder().kind(kind).justification(cause.clone()).build()]
        }
        _ => Vec::new(),
    };
    Found::builder()
        .rule_id(finding.kind.clone())
        .level(level)
        .message(Message::builder().text(text).build())
        .locations(vec![location])
        .partial_fingerprints(fingerprints)
        .properties(properties)
        .suppressions(suppressions)
        .build()
}

/// The kernel's line that a finding names: where it faulted, or what its signature says.
fn place(finding: &FindingReport) -> Option<(&str, u32)> {
    let faulted = finding.fault.as_ref().and_then(|fault| fault.stack.first());
    if let Some(frame) = faulted {
        return Some((&frame.file, frame.line));
    }
    let (place, _) = finding.locus.split_once(',')?;
    let (file, line) = place.rsplit_once(':')?;
    Some((file, line.parse().ok()?))
}
