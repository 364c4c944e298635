//! A fault with everything around it as text: the kernel's source with both sites marked, what was accessed, what the values
//! mean, and the path of values that led there.
//!
//! Invariant: shows what it is given. Where the kernel's source isn't at hand, or isn't the one that was lowered, the same is
//! said by file and line.

use std::fmt::Write as _;

use countersign_kernels::Variant;
use countersign_kernels::engine::{Engine, Policy};
use countersign_kernels::rpa::bind::bind;
use countersign_mosaic::ir::Frame;
use countersign_mosaic::{Fault, Step, Trace};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity, SourceCode,
};

use crate::case::Case;
use crate::loaded::base_name;

/// Columns before the places of a path.
const PLACES_AT: usize = 72;

/// The kernel's own source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// File name without folders.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// What a report keeps of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// What the values mean, a sentence each.
    pub meaning: Vec<String>,
    /// The steps, a line each, indented by two spaces a step, with the place at the end.
    pub path: Vec<String>,
}

/// Runs a case that faulted again and follows its values back; `None` where it doesn't fault, or the engine can't.
pub fn follow(
    engine: &mut dyn Engine,
    variant: &Variant,
    case: &Case,
    policy: &Policy,
    source_file: &str,
) -> Option<Followed> {
    let batch = case.batch(variant).ok()?;
    let trace = engine.trace(&batch, &bind(variant, &batch), policy)?;
    Some(Followed {
        meaning: variant.family.model().meaning(variant, &trace),
        path: lines(&trace, source_file),
    })
}

/// All of it, ending in a newline. `meaning` are sentences about the values, in the words of the kernel's family.
pub fn text(trace: &Trace, meaning: &[String], source: Option<&Source>) -> String {
    let shown = source.and_then(|source| shown(&trace.fault, source));
    let mut text = shown.unwrap_or_else(|| format!("{}\n", trace.fault));
    for sentence in meaning {
        let _ = writeln!(text, "  {sentence}");
    }
    if !trace.path.is_empty() {
        text += "\nthe values that led there, from the fault back\n";
    }
    for line in lines(trace, source.map_or("", |source| &source.file)) {
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn lines(trace: &Trace, source_file: &str) -> Vec<String> {
    let line = |step: &Step| {
        let line = step.to_string();
        let place = place(step, source_file).map_or_else(String::new, |frame| {
            let gap = " ".repeat(PLACES_AT.saturating_sub(line.chars().count()));
            format!("{gap} {}:{}", base_name(&frame.file), frame.line)
        });
        line + &place
    };
    let cut = trace.cut.then(|| "… and more".to_owned());
    trace.path.iter().map(line).chain(cut).collect()
}

/// The frame of a step to show: the innermost one in the kernel's own file, else the innermost.
fn place<'s>(step: &'s Step, source_file: &str) -> Option<&'s Frame> {
    step.stack.iter().find(|frame| base_name(&frame.file) == source_file).or(step.stack.first())
}

/// The fault on the kernel's source, a snippet for each line; `None` where none of its frames lies there.
fn shown(fault: &Fault, source: &Source) -> Option<String> {
    let snippet = |frame: &Frame, heading: String, label: &str, help: Option<String>| {
        let (offset, len) =
            (base_name(&frame.file) == source.file).then(|| span(&source.text, frame.line)).flatten()?;
        let severity = if help.is_some() { Severity::Error } else { Severity::Advice };
        let named = NamedSource::new(&source.file, source.text.clone());
        let label = LabeledSpan::new(Some(label.to_owned()), offset, len);
        let mut text = String::new();
        let handler =
            GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_wrap_lines(false);
        let message = Message { heading, severity, help, source: named, label };
        handler.render_report(&mut text, &message).ok().map(|()| text)
    };
    let mut help = fault.place.as_ref().map_or_else(String::new, |place| format!("it is {place}; "));
    help += &match fault.grid.as_slice() {
        [] => "after the last grid point".to_owned(),
        grid => format!("at grid point {grid:?}"),
    };
    // Frames of libraries say less than the message does; the innermost of the kernel's own gets it.
    let own = |frame: &&Frame| base_name(&frame.file) == source.file;
    let mut frames = fault.stack.iter().filter(own);
    let heading = format!("{}: {}", fault.class.name(), fault.message);
    let mut text = snippet(frames.next()?, heading, &format!("{} here", fault.op), Some(help))?;
    text.extend(frames.filter_map(|frame| snippet(frame, "called from".to_owned(), "here", None)));
    if let Some(other) = &fault.other {
        for (depth, frame) in other.stack.iter().filter(own).enumerate() {
            let heading = if depth == 0 { other.role } else { "called from" };
            text.extend(snippet(frame, heading.to_owned(), &format!("{} here", other.op), None));
        }
    }
    Some(text)
}

/// Offset and length of a line's text, from 1.
fn span(text: &str, line: u32) -> Option<(usize, usize)> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let before: usize = text.split_inclusive('\n').take(index).map(str::len).sum();
    let line = text.split_inclusive('\n').nth(index)?.trim_end();
    let indent = line.len() - line.trim_start().len();
    Some((before + indent, line.len() - indent))
}

#[derive(Debug)]
struct Message {
    heading: String,
    severity: Severity,
    help: Option<String>,
    source: NamedSource<String>,
    label: LabeledSpan,
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.heading)
    }
}

impl std::error::Error for Message {}

impl Diagnostic for Message {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(self.label.clone())))
    }
}

#[cfg(test)]
mod tests {
    use countersign_mosaic::{FaultClass, OtherSite};

    use super::*;

    fn frame(file: &str, line: u32) -> Frame {
        Frame { file: file.to_owned(), line, function: "kernel".to_owned() }
    }

    fn trace() -> Trace {
        let fault = Fault {
            class: FaultClass::Race,
            op: "vector.load".to_owned(),
            site: None,
            index_site: None,
            stack: vec![frame("/lib/jax/indexing.py", 9), frame("/lib/kernel.py", 3)],
            grid: vec![0, 2],
            place: None,
            indices: Vec::new(),
            message: "reads scratch 0, which a copy in flight from pages to scratch 0 writes".to_owned(),
            other: Some(OtherSite {
                role: "the copy in flight was started",
                site: 0,
                op: "tpu.enqueue_dma".to_owned(),
                stack: vec![frame("/lib/kernel.py", 2)],
            }),
        };
        let step = Step {
            depth: 1,
            what: "arith.addi(3, 1)".to_owned(),
            value: "4".to_owned(),
            read: None,
            scalar: None,
            stack: vec![frame("/lib/jax/core.py", 70), frame("/lib/kernel.py", 1)],
        };
        Trace { fault, path: vec![step], cut: true }
    }

    #[test]
    fn both_sites_stand_on_the_source() {
        let source = "slot = (i + 1) % 2\n  copy(slot).start()\n  total += buffer[slot]\n".to_owned();
        let source = Source { file: "kernel.py".to_owned(), text: source };
        let meaning = ["sequence 1 has kv_len 4".to_owned()];
        insta::assert_snapshot!(text(&trace(), &meaning, Some(&source)));
    }

    #[test]
    fn without_a_source_it_is_said_in_words() {
        insta::assert_snapshot!(text(&trace(), &[], None));
    }
}
