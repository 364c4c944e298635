//! What the TPU's compiler makes of a kernel, judged: which refusals are findings, which are explained; and where the option space
//! ends.
//!
//! Invariant: a refusal by the compiler of a call that the kernel's own check accepts is a finding unless an entry of
//! `known.toml` explains it. What got no answer is never a refusal.

mod borders;

use countersign_kernels::catalogue::{KernelEntry, kernel_name};
use countersign_kernels::compile::{Compilation, Overflow, Stage};
use countersign_kernels::{Generation, Variant};
use countersign_reports::{CompileVerdict, CompiledCell, CompiledRow, MemoryOverflow};
use serde::Deserialize;

pub use borders::{Border, borders};

/// Refusals that are explained.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownRefusals {
    refusal: Vec<KnownRefusal>,
}

/// A refusal that is explained.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownRefusal {
    kernel: String,
    generations: Vec<String>,
    kv_dtypes: Vec<String>,
    message: String,
    cause: String,
}

impl KnownRefusal {
    /// Why it is refused.
    pub fn cause(&self) -> &str {
        self.cause.trim()
    }

    /// What the compiler says.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Which calls it explains, in words.
    pub fn condition(&self) -> String {
        format!("generation {}, kv_dtype {}", self.generations.join(" or "), self.kv_dtypes.join(" or "))
    }
}

impl KnownRefusals {
    /// Those that come with the program.
    ///
    /// # Errors
    /// Only where the embedded file is malformed, which a test excludes.
    pub fn builtin() -> Result<KnownRefusals, String> {
        toml::from_str(include_str!("known.toml")).map_err(|error| error.to_string())
    }

    fn cause(&self, kernel: &KernelEntry, variant: &Variant, message: &str) -> Option<&str> {
        let generation = variant.generation.name();
        let explains = |known: &&KnownRefusal| {
            known.kernel == kernel_name(&kernel.id)
                && known.generations.iter().any(|name| name == generation)
                && known.kv_dtypes.iter().any(|name| name == variant.kv_dtype.name())
                && message.contains(&known.message)
        };
        self.refusal.iter().find(explains).map(KnownRefusal::cause)
    }

    /// The entry that explains `cell`. The cell says which by its cause, and there must be one with these words.
    pub fn of(&self, cell: &CompiledCell) -> Option<&KnownRefusal> {
        let cause = cell.cause.as_deref()?;
        let said = cell.message.as_deref().unwrap_or_default();
        let explains = |known: &&KnownRefusal| known.cause() == cause && said.contains(&known.message);
        self.refusal.iter().find(explains).filter(|_| cell.verdict.is_accepted_and_refused())
    }
}

/// Every variant compiled for each generation: a row a variant. `compile` answers in the order of what it is asked.
///
/// # Errors
/// Those of `compile`.
pub fn matrix<E>(
    kernel: &KernelEntry,
    variants: &[Variant],
    generations: &[Generation],
    known: &KnownRefusals,
    compile: impl FnOnce(&[Variant]) -> Result<Vec<Compilation>, E>,
) -> Result<Vec<CompiledRow>, E> {
    let on = |variant: &Variant| {
        let variant = variant.clone();
        generations.iter().map(move |&generation| Variant { generation, ..variant.clone() })
    };
    let all: Vec<Variant> = variants.iter().flat_map(on).collect();
    let answers = compile(&all)?;
    let cells: Vec<CompiledCell> = all
        .iter()
        .zip(&answers)
        .map(|(variant, answer)| cell(kernel, variant, variant.generation.name(), answer, known))
        .collect();
    let rows = variants.iter().zip(cells.chunks(generations.len().max(1)));
    Ok(rows
        .map(|(variant, cells)| CompiledRow { name: variant.name.clone(), cells: cells.to_vec() })
        .collect())
}

/// The cell of what came of `variant`.
pub fn cell(
    kernel: &KernelEntry,
    variant: &Variant,
    label: &str,
    answer: &Compilation,
    known: &KnownRefusals,
) -> CompiledCell {
    let mut cell = CompiledCell {
        label: label.to_owned(),
        verdict: CompileVerdict::Compiles,
        code_bytes: None,
        overflow: None,
        message: None,
        cause: None,
    };
    match answer {
        Compilation::Compiled { code_bytes, .. } => cell.code_bytes = Some(*code_bytes),
        Compilation::Refused { by, refusal, overflow } => {
            cell.verdict = match (by, overflow) {
                (Stage::Lowering, _) if refusal.deliberate => CompileVerdict::RefusedByCheck,
                (Stage::Lowering, _) => CompileVerdict::DoesNotLower,
                (Stage::Compiler, Some(_)) => CompileVerdict::TooLarge,
                (Stage::Compiler, None) => CompileVerdict::RefusedByCompiler,
            };
            let memory = |Overflow { space, asked, limit }: &Overflow| MemoryOverflow {
                space: space.clone(),
                asked: *asked,
                limit: *limit,
            };
            cell.overflow = overflow.as_ref().map(memory);
            cell.cause = known.cause(kernel, variant, &refusal.message).map(str::to_owned);
            cell.message = Some(refusal.to_string());
        }
        Compilation::TimedOut => cell.verdict = CompileVerdict::TimedOut,
        Compilation::Failed { why } => {
            cell.verdict = CompileVerdict::Failed;
            cell.message = Some(why.clone());
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use countersign_kernels::catalogue::Catalogue;
    use countersign_kernels::export::Refusal;

    use super::*;

    fn refused(by: Stage, message: &str, deliberate: bool, overflow: Option<Overflow>) -> Compilation {
        let refusal = Refusal { kind: "MosaicError".into(), message: message.into(), line: None, deliberate };
        Compilation::Refused { by, refusal, overflow }
    }

    #[test]
    fn only_the_refusal_that_is_explained_is_known() {
        let catalogue = Catalogue::builtin().unwrap();
        let kernel = catalogue.kernel("jax-rpa").unwrap();
        let known = KnownRefusals::builtin().unwrap();
        let words = "E2001: Unsupported matmul RHS type on target: vector<128x128xf8E5M2>";
        let news = |name: &str, generation, answer: &Compilation| {
            let variant = Variant { generation, ..kernel.variant(name).unwrap().clone() };
            cell(kernel, &variant, "", answer, &known).is_news()
        };
        let answer = refused(Stage::Compiler, words, false, None);
        assert!(!news("f32-f8e4m3fn-q4-kv2-window", Generation::V4, &answer));
        assert!(news("f32-f8e4m3fn-q4-kv2-window", Generation::V5e, &answer));
        assert!(news("bf16-q4-kv4", Generation::V4, &answer));
        let other = refused(Stage::Compiler, "no", false, None);
        assert!(news("f32-f8e4m3fn-q4-kv2-window", Generation::V4, &other));
        for (answer, verdict) in [
            (refused(Stage::Lowering, "no", true, None), CompileVerdict::RefusedByCheck),
            (refused(Stage::Lowering, "no", false, None), CompileVerdict::DoesNotLower),
            (Compilation::TimedOut, CompileVerdict::TimedOut),
        ] {
            let variant = kernel.variant("bf16-q4-kv4").unwrap();
            let cell = cell(kernel, variant, "", &answer, &known);
            assert_eq!((cell.verdict, cell.is_news()), (verdict, false));
        }
    }
}
