//! A call stack with the text of each line that the report has.
//!
//! Invariant: innermost frame first, as the report gives it.

use maud::{Markup, html};

use crate::{SourceText, StackFrame};

/// The stack as a list; says so where the lowered kernel has no place for the op.
pub(super) fn stack(frames: &[StackFrame], sources: &[&SourceText]) -> Markup {
    html! {
        @if frames.is_empty() {
            p.note { "The lowered kernel gives no source line for this op." }
        } @else {
            ol.stack.scroll tabindex="0" {
                @for frame in frames {
                    li {
                        span.at title=[qualified(frame)] {
                            (frame.file) ":" (frame.line)
                            @if !frame.function.is_empty() { " in " (innermost(frame)) }
                        }
                        @if let Some(text) = line(frame, sources) { code { (text) } }
                    }
                }
            }
        }
    }
}

/// The function without those that it is local to, which would fill the line.
fn innermost(frame: &StackFrame) -> &str {
    frame.function.rsplit("<locals>.").next().unwrap_or(&frame.function)
}

/// The whole name, where it is longer.
fn qualified(frame: &StackFrame) -> Option<&str> {
    (innermost(frame) != frame.function).then_some(frame.function.as_str())
}

/// The text of a frame's line, without indentation.
fn line<'a>(frame: &StackFrame, sources: &[&'a SourceText]) -> Option<&'a str> {
    let source = sources.iter().find(|source| source.file == frame.file)?;
    let line = source.lines.get(usize::try_from(frame.line).ok()?.checked_sub(1)?)?;
    Some(line.trim())
}
