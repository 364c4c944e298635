//! Kernels ready to run: exported, parsed, lowered to the VM's program, one for each variant.
//!
//! Invariant: a variant that can't be loaded is still there, with the reason; its cases count as unsupported, and nothing
//! pretends that they ran.

use std::ops::Range;
use std::sync::Arc;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Lowered, Policy, VmEngine};
use countersign_kernels::export::{ExportResult, Exported};
use countersign_kernels::manifest::Manifest;
use countersign_kernels::memory::Memory;
use countersign_kernels::rpa::bind::Bound;
use countersign_kernels::rpa::facts;
use countersign_mosaic::ir::{Module, print};
use countersign_mosaic::{Coverage, LineHits, Program, parse};
use countersign_reference::Batch;
use countersign_reports::{CoverageReport, KernelReport, LineCoverage, SourceText, VariantReport};

use crate::campaign::Subject;
use crate::options;
use crate::traced::Source;

/// A kernel with its loaded variants.
#[derive(Debug)]
pub struct Loaded {
    kernel: KernelEntry,
    variants: Vec<Variant>,
    programs: Vec<Result<VariantProgram, String>>,
    unpinned: bool,
}

/// One loaded variant.
#[derive(Debug, Clone)]
struct VariantProgram {
    exported: Arc<Exported>,
    program: Lowered,
}

impl Loaded {
    /// Loads `exports`, which are of `variants`, in their order.
    pub fn new(
        kernel: &KernelEntry,
        variants: Vec<Variant>,
        exports: Vec<ExportResult>,
        unpinned: bool,
    ) -> Loaded {
        let programs: Vec<_> = exports.into_iter().map(load).collect();
        let tuned = |(variant, program): (&Variant, &Result<VariantProgram, String>)| match program {
            Ok(loaded) => facts::tuned(variant, loaded.program.plain()),
            Err(_) => variant.clone(),
        };
        let variants = variants.iter().zip(&programs).map(tuned).collect();
        Loaded { kernel: kernel.clone(), variants, programs, unpinned }
    }

    /// Those variants alone.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn only(&self, positions: Range<usize>) -> Loaded {
        Loaded {
            kernel: self.kernel.clone(),
            variants: self.variants[positions.clone()].to_vec(),
            programs: self.programs[positions].to_vec(),
            unpinned: self.unpinned,
        }
    }

    /// Where the variant of that call is among [`Subject::variants`], whose block sizes are all known.
    pub fn position(&self, variant: &Variant) -> Option<usize> {
        self.variants.iter().position(|loaded| loaded.same_call(variant))
    }

    /// Variants that couldn't be loaded, each with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&Variant, &str)> {
        self.variants.iter().zip(&self.programs).filter_map(|(variant, program)| match program {
            Ok(_) => None,
            Err(reason) => Some((variant, reason.as_str())),
        })
    }

    /// [`Subject::engine`] from the module's text on, read and lowered once more: what a new kernel costs.
    pub fn engine_from_text(&self, variant: usize) -> Box<dyn Engine> {
        let again = self.programs[variant].as_ref().map_err(String::clone);
        match again.and_then(|loaded| Ok((&loaded.exported, lower(&loaded.exported)?))) {
            Ok((exported, program)) => engine(exported, &program, &self.variants[variant]),
            Err(reason) => Box::new(NoEngine(reason)),
        }
    }

    /// A variant's module, as it was exported.
    pub fn module(&self, position: usize) -> Option<Module> {
        parse(&self.programs.get(position)?.as_ref().ok()?.exported.mlir).ok()
    }

    /// A variant's module as text that doesn't depend on where the kernel is installed: files of its locations have no folders.
    pub fn portable_text(&self, position: usize) -> Option<String> {
        let mut module = self.module(position)?;
        for frame in module.locations.stacks.iter_mut().flatten() {
            frame.file = base_name(&frame.file).to_owned();
        }
        Some(print(&module))
    }

    /// The same kernel with another module in the place of a variant's.
    ///
    /// # Errors
    /// If the variant isn't loaded, or the module doesn't lower; in words.
    pub fn with_module(mut self, position: usize, module: &Module) -> Result<Loaded, String> {
        let slot = self.programs.get_mut(position).ok_or("there is no such variant")?;
        let exported = slot.as_ref().map(|loaded| loaded.exported.as_ref().clone()).map_err(String::clone)?;
        *slot = Ok(load(Ok(Exported { mlir: print(module), ..exported }))?);
        Ok(self)
    }

    /// A variant's program.
    pub fn program(&self, position: usize) -> Option<&Lowered> {
        Some(&self.programs.get(position)?.as_ref().ok()?.program)
    }

    /// How many outputs a variant's call has.
    pub fn outputs(&self, position: usize) -> usize {
        let program = self.programs.get(position).and_then(|program| program.as_ref().ok());
        program.map_or(0, |loaded| loaded.exported.manifest.outputs.len())
    }

    /// [`Subject::engine`] for another program in place of a variant's own, called the same way.
    pub fn engine_for(&self, position: usize, program: &Lowered) -> Box<dyn Engine> {
        match &self.programs[position] {
            Ok(loaded) => engine(&loaded.exported, program, &self.variants[position]),
            Err(reason) => Box::new(NoEngine(reason.clone())),
        }
    }

    /// The source that a variant was lowered from, if the file on disk is still that one.
    pub fn source(&self, position: usize) -> Option<Source> {
        let manifest = &self.programs.get(position)?.as_ref().ok()?.exported.manifest;
        Some(Source { file: base_name(&manifest.source.file).to_owned(), text: manifest.source.text()? })
    }

    /// Coverage points of all variants.
    pub fn coverage_points(&self) -> u64 {
        self.programs
            .iter()
            .flatten()
            .map(|variant| variant.program.plain().coverage_points().len() as u64)
            .sum()
    }

    /// What a report says of the kernel; `coverage` is per variant, as in `campaign::Totals`.
    pub fn report(&self, coverage: &[Vec<u64>]) -> KernelReport {
        let manifest = self.programs.iter().flatten().map(|variant| &variant.exported.manifest).next();
        KernelReport {
            id: self.kernel.id.clone(),
            packages: manifest.map(|manifest| manifest.packages.clone()).unwrap_or_default(),
            source_hash: manifest.map(|manifest| manifest.source.sha256.clone()).unwrap_or_default(),
            unpinned: self.unpinned,
            axes: options::axes(&self.variants),
            variants: self.variants.iter().zip(&self.programs).map(variant_report).collect(),
            coverage: self.coverage_report(coverage),
            source: manifest.and_then(source_text),
        }
    }

    /// Lines of the kernel's file that coverage `some` reaches and `others` doesn't, `file:line`; with what happened there where
    /// both reach the line.
    pub fn only_covered(&self, position: usize, some: &[u64], others: &[u64]) -> Vec<String> {
        let Some(Ok(VariantProgram { exported, program })) = self.programs.get(position) else {
            return Vec::new();
        };
        let source = base_name(&exported.manifest.source.file);
        let [some, others] = [some, others]
            .map(|bits| program.plain().coverage(bits, |frame| base_name(&frame.file) == source).lines);
        let none = LineHits::default();
        let mut lines = Vec::new();
        for (place, hits) in some.iter().filter(|(_, hits)| hits.reached > 0) {
            let (file, line) = (base_name(&place.0), place.1);
            let other = others.get(place).unwrap_or(&none);
            let is_hit = |hits: &LineHits, kind| hits.points.get(kind).is_some_and(|(_, hit)| *hit > 0);
            let news = hits.points.keys().filter(|kind| is_hit(hits, kind) && !is_hit(other, kind));
            let news: Vec<&str> = news.map(|kind| kind.words()).collect();
            match (other.reached, news.is_empty()) {
                (0, _) => lines.push(format!("{file}:{line}")),
                (_, false) => lines.push(format!("{file}:{line} ({})", news.join(", "))),
                (_, true) => {}
            }
        }
        lines
    }

    fn coverage_report(&self, coverage: &[Vec<u64>]) -> CoverageReport {
        let mut report = CoverageReport::default();
        let mut sum = Coverage::default();
        for ((variant, loaded), bits) in self.variants.iter().zip(&self.programs).zip(coverage) {
            let Ok(VariantProgram { exported, program }) = loaded else { continue };
            let source = base_name(&exported.manifest.source.file);
            let covered = program.plain().coverage(bits, |frame| base_name(&frame.file) == source);
            report.variants.insert(variant.name.clone(), (covered.hit, covered.points));
            sum.add(covered);
        }
        let line = |((file, line), hits): ((String, u32), LineHits)| LineCoverage {
            file: base_name(&file).to_owned(),
            line,
            ops: hits.ops,
            hit: hits.reached,
            missed: missed(&hits),
        };
        report.lines = sum.lines.into_iter().map(line).collect();
        report
    }
}

/// What no run did at a line, in any variant.
fn missed(hits: &LineHits) -> Vec<String> {
    let never = hits.points.iter().filter(|(_, (_, hit))| *hit == 0);
    never.map(|(kind, _)| kind.words().to_owned()).collect()
}

impl Subject for Loaded {
    fn kernel(&self) -> &KernelEntry {
        &self.kernel
    }

    fn variants(&self) -> &[Variant] {
        &self.variants
    }

    fn engine(&self, variant: usize) -> Box<dyn Engine> {
        match &self.programs[variant] {
            Ok(loaded) => engine(&loaded.exported, &loaded.program, &self.variants[variant]),
            Err(reason) => Box::new(NoEngine(reason.clone())),
        }
    }
}

fn memory_of(variant: &Variant, loaded: &VariantProgram) -> Memory {
    Memory::of(loaded.program.plain(), variant.generation, loaded.exported.manifest.vmem_limit_bytes)
}

fn load(export: ExportResult) -> Result<VariantProgram, String> {
    let exported = export.map_err(|refusal| format!("does not lower: {refusal}"))?;
    let program = lower(&exported)?;
    Ok(VariantProgram { exported: Arc::new(exported), program })
}

fn lower(exported: &Exported) -> Result<Lowered, String> {
    let module = parse(&exported.mlir).map_err(|error| format!("its text can't be read: {error}"))?;
    let program =
        Program::lower(&module, exported.manifest.outputs.len()).map_err(|error| error.to_string())?;
    Ok(Lowered::new(program))
}

fn engine(exported: &Exported, program: &Lowered, variant: &Variant) -> Box<dyn Engine> {
    match VmEngine::new(program, &exported.manifest, variant) {
        Ok(engine) => Box::new(engine),
        Err(error) => Box::new(NoEngine(error)),
    }
}

fn variant_report((variant, program): (&Variant, &Result<VariantProgram, String>)) -> VariantReport {
    VariantReport {
        name: variant.name.clone(),
        options: options::of(variant),
        failure: program.as_ref().err().cloned(),
        warnings: program.as_ref().map(|loaded| memory_of(variant, loaded).warnings()).unwrap_or_default(),
    }
}

/// The kernel's source, if the file on disk is still the one that was lowered.
fn source_text(manifest: &Manifest) -> Option<SourceText> {
    let text = manifest.source.text()?;
    let lines = text.lines().map(str::to_owned).collect();
    Some(SourceText { file: base_name(&manifest.source.file).to_owned(), lines })
}

/// A file's name without its folders, on any platform.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Stands for an engine that could not be made.
struct NoEngine(String);

impl Engine for NoEngine {
    fn run(&mut self, _batch: &Batch, _bound: &[Bound<'_>; 6], _policy: &Policy) -> EngineRun {
        EngineRun {
            output: None,
            undefined: Vec::new(),
            end: EngineEnd::Unsupported(self.0.clone()),
            fuel_used: 0,
        }
    }

    fn coverage(&self) -> &[u64] {
        &[]
    }
}
