//! The mutation score: how many small faults in the kernel's own IR the harness sees.
//!
//! Mutants are drawn from all variants, every operator in turn while it has any left, so that a common operator (constants are
//! everywhere) doesn't drown the others. Each runs on kept cases until something new is found, that is until it is killed; the
//! last of them under other orders of their copies, too. A mutant is equivalent if the optimiser makes the same program of it, or does so once
//! what no kept batch can depend on is taken out of both, or by a written argument (`equivalent.toml`).
//!
//! Invariant: a function of subject, plan and known files; threads never show. Nothing is left out: a mutant is killed, survives,
//! is equivalent, or couldn't be run, and the last says why. The score counts every survivor against us.

mod argued;
mod draw;
pub mod related;
mod score;
pub mod upstream;

use std::panic::{AssertUnwindSafe, catch_unwind};

use countersign_kernels::Variant;
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::{Engine, Lowered, Policy};
use countersign_mosaic::Program;
use countersign_mosaic::ir::{Module, Type};
use countersign_mosaic::mutation::{Mutation, simplified};

use argued::{Arguments, Condition};
pub use score::{Counts, Score};

use crate::campaign::{Subject as _, panic_message};
use crate::generate::generate;
use crate::judge::{Finding, judge};
use crate::known::{Facts, KnownFile};
use crate::loaded::{Loaded, base_name};
use crate::ordered::in_parallel;
use crate::trial::{Conduct, run_trial};

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// Mutants and cases are functions of it.
    pub seed: u64,
    /// Mutants; fewer if there are fewer.
    pub mutants: usize,
    /// Kept cases that a mutant runs on.
    pub cases: u64,
    /// Of these, how many are run under other orders of their copies, too.
    pub orders: u64,
    /// Kept cases that the kernel itself runs on, to see whether there are false alarms.
    pub controls: u64,
    /// Threads; at least one is used.
    pub jobs: usize,
    /// Explains findings.
    pub known: &'a KnownFile,
}

/// A mutant of one variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The variant's position.
    pub position: usize,
    /// Its name.
    pub variant: String,
    /// What is changed.
    pub mutation: Mutation,
    /// Name of the op that is changed.
    pub op: String,
    /// The number that it has in the kernel, if it is a constant.
    pub constant: Option<String>,
    /// How many dimensions its first result has, if that is a vector.
    pub rank: Option<usize>,
    /// Where it comes from in the kernel's source, innermost first: file and line.
    pub stack: Vec<(String, u32)>,
}

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Something new was found.
    Killed {
        /// In which case.
        case: u64,
        /// What.
        signature: String,
    },
    /// Nothing new was found in all of the plan's cases.
    Survived,
    /// It means the same; why.
    Equivalent(String),
    /// It couldn't be run, or only in part; in words.
    NotRun(String),
}

/// A module's mutants are drawn from, and told from, these.
struct Original {
    module: Module,
    program: Lowered,
}

/// Draws the plan's mutants and runs them. `done` hears of each as it ends, in any order.
///
/// # Errors
/// If no variant could be loaded; in words.
pub fn run(
    loaded: &Loaded,
    plan: &Plan<'_>,
    done: &(dyn Fn(&Mutant, &Fate) + Sync),
) -> Result<Score, String> {
    let originals: Vec<Option<Original>> =
        (0..loaded.variants().len()).map(|position| original(loaded, position)).collect();
    if originals.iter().all(Option::is_none) {
        return Err("no variant of the kernel could be loaded".to_owned());
    }
    let modules: Vec<Option<&Module>> =
        originals.iter().map(|original| original.as_ref().map(|original| &original.module)).collect();
    let (drawn, sites) = draw::draw(&modules, plan.seed, plan.mutants);
    let mutants: Vec<Mutant> = drawn
        .into_iter()
        .filter_map(|(position, mutation)| Some(described(loaded, position, mutation, modules[position]?)))
        .collect();
    let arguments = Arguments::builtin()?;
    let fates = in_parallel(plan.jobs, &mutants, |mutant| {
        let fate = match &originals[mutant.position] {
            Some(original) => match fate_of(loaded, plan, mutant, original) {
                Fate::Survived if is_simply_the_same(loaded, mutant, original) => {
                    Fate::Equivalent(SIMPLY_THE_SAME.to_owned())
                }
                Fate::Survived => argued(loaded, mutant, &arguments),
                fate => fate,
            },
            None => Fate::NotRun("its variant couldn't be loaded".to_owned()),
        };
        done(mutant, &fate);
        fate
    });
    let alarms = controls(loaded, plan);
    Ok(Score { sites, alarms, controls: plan.controls, mutants: mutants.into_iter().zip(fates).collect() })
}

fn original(loaded: &Loaded, position: usize) -> Option<Original> {
    Some(Original { module: loaded.module(position)?, program: loaded.program(position)?.clone() })
}

fn described(loaded: &Loaded, position: usize, mutation: Mutation, module: &Module) -> Mutant {
    let target = mutation.target(module);
    let op = target.map(|op| op.name.clone()).unwrap_or_default();
    let rank = match target.and_then(|op| op.result_types.first()) {
        Some(Type::Vector(vector)) => Some(vector.shape.len()),
        _ => None,
    };
    let constant = mutation.constant(module);
    let frames = mutation.stack(module).iter();
    let stack = frames.map(|frame| (base_name(&frame.file).to_owned(), frame.line)).collect();
    let variant = loaded.variants()[position].name.clone();
    Mutant { position, variant, mutation, op, constant, rank, stack }
}

/// Why those are equivalent that [`is_simply_the_same`] finds.
const SIMPLY_THE_SAME: &str = "the optimised programs are equal once waits count bytes alone, grid dimensions of extent 1 have \
     index 0, a loop over KV blocks of which a table row has one runs once, and loops that end where they begin and what nobody reads \
     are left out";

/// Whether mutant and kernel are one program in their simpler form.
fn is_simply_the_same(loaded: &Loaded, mutant: &Mutant, original: &Original) -> bool {
    let one_block = || Condition::OneKvBlock.holds(&loaded.variants()[mutant.position]);
    let once = loaded.kernel().family.model().is_attention() && one_block();
    let simpler = |module: &Module| {
        let program = Program::lower(&simplified(module, once), loaded.outputs(mutant.position));
        program.ok().map(|program| program.optimized())
    };
    let changed = mutant.mutation.of(&original.module).and_then(|module| simpler(&module));
    let unchanged = simpler(&original.module);
    matches!((changed, unchanged), (Some(changed), Some(unchanged)) if changed.does_the_same(&unchanged))
}

/// The fate of a mutant in which nothing was found.
fn argued(loaded: &Loaded, mutant: &Mutant, arguments: &Arguments) -> Fate {
    let Some(source) = loaded.source(mutant.position) else { return Fate::Survived };
    let text: Vec<&str> = source.text.lines().collect();
    let at = |number: u32| text.get((number as usize).checked_sub(1)?).copied();
    let own = mutant.stack.iter().filter(|(file, _)| *file == source.file);
    let lines = own.filter_map(|(_, number)| Some((at(*number)?, at(number + 1).unwrap_or_default())));
    let lines: Vec<(&str, &str)> = lines.collect();
    let argument = arguments.of(mutant, &loaded.variants()[mutant.position], &lines);
    argument.map_or(Fate::Survived, |argument| Fate::Equivalent(argument.to_owned()))
}

/// Runs one mutant, with a panic of ours turned into a fate.
fn fate_of(loaded: &Loaded, plan: &Plan<'_>, mutant: &Mutant, original: &Original) -> Fate {
    let fate = catch_unwind(AssertUnwindSafe(|| {
        let Some(module) = mutant.mutation.of(&original.module) else {
            return Fate::NotRun("there is no such place".to_owned());
        };
        let program = match Program::lower(&module, loaded.outputs(mutant.position)) {
            Ok(program) => Lowered::new(program),
            Err(error) => return Fate::NotRun(format!("doesn't lower: {error}")),
        };
        if program.optimized().does_the_same(original.program.optimized()) {
            return Fate::Equivalent("the optimised programs are equal".to_owned());
        }
        let mut engine = loaded.engine_for(mutant.position, &program);
        let variant = &loaded.variants()[mutant.position];
        hunt(loaded, plan, variant, engine.as_mut())
    }));
    fate.unwrap_or_else(|panic| Fate::NotRun(format!("panic: {}", panic_message(&*panic))))
}

/// A mutant's fate in one case alone, also under other orders of its copies where the plan asks for these.
pub fn again(loaded: &Loaded, plan: &Plan<'_>, variant: &str, mutation: Mutation, case: u64) -> Fate {
    let position = loaded.variants().iter().position(|loaded| loaded.name == variant);
    let found = position.and_then(|position| Some((position, mutation.of(&loaded.module(position)?)?)));
    let Some((position, module)) = found else {
        return Fate::NotRun("there is no such place".to_owned());
    };
    let program = match Program::lower(&module, loaded.outputs(position)) {
        Ok(program) => Lowered::new(program),
        Err(error) => return Fate::NotRun(format!("doesn't lower: {error}")),
    };
    let variant = &loaded.variants()[position];
    for orders in [false, case >= plan.cases.saturating_sub(plan.orders)] {
        let mut engine = loaded.engine_for(position, &program);
        match new_finding(loaded, plan, variant, engine.as_mut(), case, orders) {
            Ok(None) => {}
            Ok(Some(signature)) => return Fate::Killed { case, signature },
            Err(why) => return Fate::NotRun(why),
        }
    }
    Fate::Survived
}

fn hunt(loaded: &Loaded, plan: &Plan<'_>, variant: &Variant, engine: &mut dyn Engine) -> Fate {
    let ordered = (plan.cases.saturating_sub(plan.orders)..plan.cases).map(|case| (case, true));
    for (case, orders) in (0..plan.cases).map(|case| (case, false)).chain(ordered) {
        match new_finding(loaded, plan, variant, engine, case, orders) {
            Ok(None) => {}
            Ok(Some(signature)) => return Fate::Killed { case, signature },
            Err(why) => return Fate::NotRun(why),
        }
    }
    Fate::Survived
}

/// The first finding of a case that nothing known explains.
///
/// # Errors
/// If the case couldn't be run; in words.
fn new_finding(
    loaded: &Loaded,
    plan: &Plan<'_>,
    variant: &Variant,
    engine: &mut dyn Engine,
    case: u64,
    orders: bool,
) -> Result<Option<String>, String> {
    let kept = Some(Keeping::Kept);
    let drawn = generate(plan.seed, case, &loaded.kernel().id, std::slice::from_ref(variant), kept).case;
    let policy = Policy { orders, ..Policy::default() };
    let trial = run_trial(Some(engine), loaded.kernel(), variant, &drawn, &policy)
        .map_err(|error| error.to_string())?;
    if let Conduct::Unsupported(what) = &trial.conduct {
        return Err(format!("unsupported: {what}"));
    }
    let facts = Facts::of(variant, &drawn.metadata);
    let is_new = |finding: &Finding| plan.known.explain(&finding.signature, &facts).is_none();
    Ok(judge(&trial).findings.into_iter().find(is_new).map(|finding| finding.signature.to_string()))
}

/// What the kernel itself shows on kept cases, as if it were a mutant: false alarms, in words.
fn controls(loaded: &Loaded, plan: &Plan<'_>) -> Vec<String> {
    let variants = loaded.variants().len() as u64;
    let each: Vec<u64> = (0..variants).collect();
    let alarms = in_parallel(plan.jobs, &each, |&position| {
        let (index, variant) = (position as usize, &loaded.variants()[position as usize]);
        let mut engine = loaded.engine(index);
        let mine = (0..plan.controls).filter(|control| control % variants == position);
        let alarm = |control: u64| {
            let case = control / variants;
            let found = new_finding(loaded, plan, variant, engine.as_mut(), case, case < plan.orders);
            let found = found.unwrap_or_else(Some);
            found.map(|what| format!("{} case {case}: {what}", variant.name))
        };
        mine.filter_map(alarm).collect::<Vec<String>>()
    });
    alarms.into_iter().flatten().collect()
}
