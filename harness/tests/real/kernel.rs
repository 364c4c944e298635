//! The installed jax's kernel: environment, exports, modules and programs, prepared once for all tests of a binary.
//!
//! Invariant: nothing here is edited unless a test asks for it.

use std::sync::OnceLock;

use countersign::campaign::Subject;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::engine::{Engine, Lowered, VmEngine};
use countersign_kernels::env::{Environment, Silent};
use countersign_kernels::export::{Exported, export};
use countersign_kernels::rpa::facts;
use countersign_mosaic::ir::Module;
use countersign_mosaic::{Program, parse};

/// The kernel with everything that tests need of it.
pub(crate) struct Real {
    /// The pinned environment.
    pub(crate) environment: Environment,
    /// Its entry in the catalogue.
    pub(crate) kernel: KernelEntry,
    /// The small tier, with the block sizes that the tuning table chose.
    pub(crate) variants: Vec<Variant>,
    /// One export per variant.
    pub(crate) exported: Vec<Exported>,
    /// The exports, parsed.
    pub(crate) modules: Vec<Module>,
}

/// The pinned environment, opened once: two at a time would only wait for each other.
pub(crate) fn environment() -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| Environment::open(None, None, &Silent).unwrap())
}

/// The real kernel; prepared by the first test that asks.
pub(crate) fn real() -> &'static Real {
    static REAL: OnceLock<Real> = OnceLock::new();
    REAL.get_or_init(|| {
        let environment = environment().clone();
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
pub(crate) struct Kernel {
    programs: Vec<Lowered>,
}

impl Kernel {
    /// The real kernel after `edit` of each variant's module; `edit` says whether it changed something.
    pub(crate) fn edited(edit: impl Fn(&mut Module) -> bool) -> Kernel {
        Kernel::edited_by_variant(|_, module| edit(module))
    }

    /// The same, where the edit depends on the variant.
    pub(crate) fn edited_by_variant(edit: impl Fn(&Variant, &mut Module) -> bool) -> Kernel {
        let programs = real().variants.iter().zip(&real().modules).map(|(variant, module)| {
            let mut module = module.clone();
            assert!(edit(variant, &mut module), "the edit found nothing to change");
            Lowered::new(Program::lower(&module, 1).unwrap())
        });
        Kernel { programs: programs.collect() }
    }

    /// The real kernel.
    pub(crate) fn unedited() -> Kernel {
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
        Box::new(VmEngine::new(&self.programs[variant], manifest, &real().variants[variant]).unwrap())
    }
}
