//! What the TPU's compiler makes of a kernel: its variants by generation, and borders of what compiles.
//!
//! Invariant: shows what it is given; a cell is of one call.

mod page;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use page::compiled_to_html;
pub(crate) use page::{matrix, refusals};

/// Version of [`CompileReport`]'s form.
pub const COMPILED_VERSION: u32 = 1;

/// A compile matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileReport {
    /// [`COMPILED_VERSION`].
    pub version: u32,
    /// Name and version of the program.
    pub tool: String,
    /// The kernel's id.
    pub kernel: String,
    /// Version by package name.
    pub packages: BTreeMap<String, String>,
    /// Which compiler.
    pub compiler: String,
    /// Columns of [`CompileReport::variants`].
    pub generations: Vec<String>,
    /// A row a variant, a cell a generation.
    pub variants: Vec<CompiledRow>,
    /// A row an axis of the option space, a cell a value: where the kernel stops compiling.
    pub borders: Vec<CompiledRow>,
}

/// A row of cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledRow {
    /// The variant, or the axis.
    pub name: String,
    /// In order.
    pub cells: Vec<CompiledCell>,
}

/// What came of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledCell {
    /// Generation, or the value on the axis.
    pub label: String,
    /// In a word.
    pub verdict: CompileVerdict,
    /// Size of the code, where it compiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_bytes: Option<u64>,
    /// The memory that is too small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<MemoryOverflow>,
    /// The words of who refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// What came of a call, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompileVerdict {
    /// It compiles.
    Compiles,
    /// The kernel's own check refuses it, with a message.
    RefusedByCheck,
    /// It fails before the compiler sees anything.
    DoesNotLower,
    /// The compiler says that a memory is too small.
    TooLarge,
    /// The compiler refuses it for another reason.
    RefusedByCompiler,
    /// No answer in the time given.
    TimedOut,
    /// The compiler's process died.
    Failed,
}

/// A memory that is too small; sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryOverflow {
    /// `vmem`, `smem` or `hbm`.
    pub space: String,
    /// What the kernel needs.
    pub asked: u64,
    /// What there is.
    pub limit: u64,
}

impl CompileVerdict {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            CompileVerdict::Compiles => "compiles",
            CompileVerdict::RefusedByCheck => "refused by its check",
            CompileVerdict::DoesNotLower => "does not lower",
            CompileVerdict::TooLarge => "too large",
            CompileVerdict::RefusedByCompiler => "refused by the compiler",
            CompileVerdict::TimedOut => "no answer in time",
            CompileVerdict::Failed => "the compiler died",
        }
    }

    /// Whether the static check let a call through that the compiler then refused.
    pub const fn is_accepted_and_refused(self) -> bool {
        matches!(self, CompileVerdict::TooLarge | CompileVerdict::RefusedByCompiler)
    }

    /// Whether the compiler has said nothing.
    pub const fn is_unanswered(self) -> bool {
        matches!(self, CompileVerdict::TimedOut | CompileVerdict::Failed)
    }
}

impl CompiledCell {
    /// A finding: the check accepted it, the compiler refused it, and nobody has explained why.
    pub fn is_news(&self) -> bool {
        self.verdict.is_accepted_and_refused() && self.cause.is_none()
    }

    /// What is to be said of it in a line.
    pub fn words(&self) -> String {
        let mut text = self.verdict.words().to_owned();
        if let Some(MemoryOverflow { space, asked, limit }) = &self.overflow {
            text += &format!(": {} of {space}, which has {}", size(*asked), size(*limit));
        } else if let Some(line) = self.message.as_deref().and_then(|message| message.lines().next()) {
            text += &format!(": {line}");
        }
        text
    }
}

/// Bytes for a person.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

impl CompileReport {
    /// All cells of the matrix, each with its row's name.
    pub fn cells(&self) -> impl Iterator<Item = (&str, &CompiledCell)> {
        self.variants.iter().flat_map(|row| row.cells.iter().map(|cell| (row.name.as_str(), cell)))
    }
}

/// The report as pretty-printed JSON with a final newline.
///
/// # Errors
/// Only if a number cannot be represented, which no field allows.
pub fn compiled_to_json(report: &CompileReport) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
