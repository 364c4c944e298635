//! The real kernel of the installed jax, exported and executed: what the harness claims of it, shown.
//!
//! Invariant: no made-up kernel here. One environment and one export serve all tests of this binary.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

mod command;
mod controls;
mod edits;
mod interpreter;
mod killed;
mod sentinels;
mod shapes;
mod teeth;
mod threads;
mod unpinned;

use std::sync::{Arc, OnceLock};

use countersign::campaign::{Observer, Subject, Totals};
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::engine::{Engine, VmEngine};
use countersign_kernels::env::{Environment, Silent};
use countersign_kernels::export::{Exported, export};
use countersign_kernels::rpa::facts;
use countersign_mosaic::ir::Module;
use countersign_mosaic::{Program, parse};

/// The kernel with everything that tests need of it.
pub struct Real {
    /// The pinned environment.
    pub environment: Environment,
    /// Its entry in the catalogue.
    pub kernel: KernelEntry,
    /// The small tier, with the block sizes that the tuning table chose.
    pub variants: Vec<Variant>,
    /// One export per variant.
    pub exported: Vec<Exported>,
    /// The exports, parsed.
    pub modules: Vec<Module>,
}

/// The real kernel; prepared by the first test that asks.
pub fn real() -> &'static Real {
    static REAL: OnceLock<Real> = OnceLock::new();
    REAL.get_or_init(|| {
        let environment = Environment::open(None, None, &Silent).unwrap();
        let kernel = Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone();
        let variants: Vec<Variant> = kernel.variants(Tier::Small).cloned().collect();
        let entry_point = format!("{}:{}", kernel.python.module, kernel.python.entry_point);
        let exported = export(&environment, &entry_point, &variants, &Silent).unwrap();
        let exported: Vec<Exported> = exported.into_iter().map(Result::unwrap).collect();
        let modules: Vec<Module> = exported.iter().map(|exported| parse(&exported.mlir).unwrap()).collect();
        let tuned = |(variant, module): (&Variant, &Module)| {
            facts::tuned(variant, &Program::lower(module, 1).unwrap())
        };
        let variants = variants.iter().zip(&modules).map(tuned).collect();
        Real { environment, kernel, variants, exported, modules }
    })
}

/// The kernel, possibly edited, as the subject of a campaign.
pub struct Kernel {
    programs: Vec<Arc<Program>>,
}

impl Kernel {
    /// The real kernel after `edit` of each variant's module; `edit` says whether it changed something.
    pub fn edited(edit: impl Fn(&mut Module) -> bool) -> Kernel {
        let programs = real().modules.iter().map(|module| {
            let mut module = module.clone();
            assert!(edit(&mut module), "the edit found nothing to change");
            Arc::new(Program::lower(&module, 1).unwrap())
        });
        Kernel { programs: programs.collect() }
    }

    /// The real kernel.
    pub fn unedited() -> Kernel {
        Kernel::edited(|_| true)
    }
}

impl Subject for Kernel {
    fn kernel(&self) -> &KernelEntry {
        &real().kernel
    }

    fn variants(&self) -> &[Variant] {
        &real().variants
    }

    fn engine(&self, variant: usize) -> Box<dyn Engine> {
        let manifest = &real().exported[variant].manifest;
        Box::new(
            VmEngine::new(Arc::clone(&self.programs[variant]), manifest, &real().variants[variant]).unwrap(),
        )
    }
}

/// Hears nothing.
pub struct Deaf;

impl Observer for Deaf {
    fn case(&mut self, _totals: &Totals, _fresh: &[usize]) {}

    fn panicked(&mut self, totals: &Totals) {
        panic!("{:?}", totals.internal_errors);
    }
}
