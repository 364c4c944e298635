//! Seven edits of the kernel's own IR, each of which the harness must report as new, with the known findings loaded.
//!
//! Invariant: an edit is placed by the kernel's source line, so it is the same fault in every variant. The unedited kernel
//! shows nothing new on the same cases.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign::campaign::{Observer, Plan, Totals, run};
use countersign::known::KnownFile;
use countersign_dtype::DType;
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::Policy;
use countersign_mosaic::ir::{Attribute, ElementType, Module, Op, Region, Type, ValueId};

use crate::{Deaf, Kernel, real};

const CASES: u64 = 2000;

/// Stops at the first finding that no entry explains.
struct UntilNew<'a> {
    found: &'a AtomicBool,
    report: String,
}

impl Observer for UntilNew<'_> {
    fn case(&mut self, totals: &Totals, fresh: &[usize]) {
        for found in
            fresh.iter().map(|&position| &totals.findings[position]).filter(|found| found.known.is_none())
        {
            if !self.found.swap(true, Ordering::Relaxed) {
                self.report = format!("{} in case {}", found.finding.signature, found.index);
            }
        }
    }

    fn panicked(&mut self, totals: &Totals) {
        panic!("{:?}", totals.internal_errors);
    }
}

fn must_be_found(name: &str, edit: impl Fn(&mut Module) -> bool) {
    let (kernel, known) = (Kernel::edited(edit), KnownFile::builtin().unwrap());
    let plan =
        Plan { seed: 1, cases: Some(CASES), jobs: 2, only: None, policy: Policy::default(), known: &known };
    let found = AtomicBool::new(false);
    let mut until = UntilNew { found: &found, report: String::new() };
    run(&kernel, &plan, &|| !found.load(Ordering::Relaxed), &mut until);
    assert!(found.load(Ordering::Relaxed), "{name}: not found within {CASES} cases");
    println!("{name}: {}", until.report);
}

/// Lines of the kernel's source that contain `text`, from 1.
fn lines(text: &str) -> Vec<u32> {
    let source = std::fs::read_to_string(&real().exported[0].manifest.source.file).unwrap();
    let lines: Vec<u32> =
        (1u32..).zip(source.lines()).filter(|(_, line)| line.contains(text)).map(|(n, _)| n).collect();
    assert!(!lines.is_empty(), "the kernel's source has no line with {text}");
    lines
}

/// Calls `change` with each op called `name` whose innermost frame is on one of `lines`; how often it said yes.
fn at(module: &mut Module, name: &str, lines: &[u32], change: impl Fn(&mut Op) -> bool) -> usize {
    let locations = module.locations.clone();
    let mut changed = 0;
    module.walk_mut(|op, _| {
        let here = locations.stack(op.location).first().is_some_and(|frame| lines.contains(&frame.line));
        changed += usize::from(op.name == name && here && change(op));
    });
    changed
}

fn on_vectors(op: &Op) -> bool {
    matches!(op.operand_types.first(), Some(Type::Vector(_)))
}

/// Removes the first op that `is` picks, wherever it stands.
fn remove_first(region: &mut Region, is: &dyn Fn(&Op) -> bool) -> bool {
    if let Some(index) = region.ops.iter().position(is) {
        region.ops.remove(index);
        return true;
    }
    region.ops.iter_mut().flat_map(|op| &mut op.regions).any(|region| remove_first(region, is))
}

fn remove(module: &mut Module, name: &str, skip_first_block: bool) -> bool {
    let is = |op: &Op| op.name == name;
    let body = &mut module.ops[0].regions[0];
    if !skip_first_block {
        return remove_first(body, &is);
    }
    // The copies of `prefetch_first_kv_blk` stand in the body's own `if`; the others in its loop.
    let mut nested = body.ops.iter_mut().filter(|op| op.name == "scf.while").flat_map(|op| &mut op.regions);
    nested.any(|region| remove_first(region, &is))
}

/// What defines each value: the op's name, its first operand, and its constant as f32 bits.
type Definitions = BTreeMap<ValueId, (String, Option<ValueId>, Option<u64>)>;

fn definitions(module: &Module) -> Definitions {
    let mut definitions = Definitions::new();
    module.walk(|op, _| {
        let constant = match op.attribute("value") {
            Some(Attribute::Float { bits, .. }) => Some(*bits),
            _ => None,
        };
        for result in &op.results {
            definitions.insert(*result, (op.name.clone(), op.operands.first().copied(), constant));
        }
    });
    definitions
}

/// The selects of `jnp.where` on f32 vectors by a vector mask, whose locations JAX loses. `arm` looks at the definition
/// of the scalar that operand `index` broadcasts; `nth` at the position among those that fit.
fn wheres(
    module: &mut Module,
    index: usize,
    arm: impl Fn(&str, Option<u64>) -> bool,
    nth: impl Fn(usize) -> bool,
    change: impl Fn(&mut Op),
) -> bool {
    let definitions = definitions(module);
    let (mut position, mut changed) = (0, false);
    module.walk_mut(|op, _| {
        if op.name != "arith.select" || !on_vectors(op) {
            return;
        }
        let Some((outer, Some(scalar), _)) = definitions.get(&op.operands[index]) else { return };
        let Some((inner, _, constant)) = definitions.get(scalar) else { return };
        if outer == "vector.broadcast" && arm(inner, *constant) {
            if nth(position) {
                change(op);
                changed = true;
            }
            position += 1;
        }
    });
    changed
}

/// K and V are masked with an integer 0 turned into a float, K first.
fn drop_mask(module: &mut Module, of_k: bool) -> bool {
    let zero = |name: &str, _| name == "arith.sitofp";
    wheres(module, 2, zero, |nth| (nth % 2 == 0) == of_k, |op| op.operands[2] = op.operands[1])
}

#[test]
fn k_mask_dropped() {
    must_be_found("K mask dropped", |module| drop_mask(module, true));
}

#[test]
fn v_mask_dropped() {
    must_be_found("V mask dropped", |module| drop_mask(module, false));
}

#[test]
fn wait_dropped() {
    must_be_found("a wait dropped", |module| remove(module, "tpu.wait_dma2", true));
}

#[test]
fn enqueue_dropped() {
    must_be_found("an enqueue dropped", |module| remove(module, "tpu.enqueue_dma", true));
}

#[test]
fn less_made_less_or_equal() {
    must_be_found("< made <= in the causal mask", |module| {
        let changed = at(module, "arith.cmpi", &lines("causal_mask = row_ids < col_ids"), |op| {
            for (name, value) in &mut op.attributes {
                if name == "predicate" && value.as_int() == Some(2) {
                    *value = Attribute::Int(3, Type::I64);
                }
            }
            on_vectors(op)
        });
        changed > 0
    });
}

#[test]
fn select_arms_swapped() {
    let mask_value = |name: &str, constant: Option<u64>| {
        let value = constant.map(|bits| f32::from_bits(bits as u32));
        name == "arith.constant" && value.is_some_and(|value| value.is_finite() && value < -1e30)
    };
    must_be_found("the mask's select arms swapped", |module| {
        wheres(module, 1, mask_value, |_| true, |op| op.operands.swap(1, 2))
    });
}

#[test]
fn page_index_plus_one() {
    must_be_found("page index + 1", |module| {
        let lines = lines("pages_hbm_ref.at[page_indices_ref[seq_id, page_idx]]");
        let locations = module.locations.clone();
        let is = |op: &Op| {
            let line = locations.stack(op.location).first().map(|frame| frame.line);
            op.name == "memref.load" && line.is_some_and(|line| lines.contains(&line))
        };
        let mut next = module.values;
        let changed = increment(&mut module.ops[0].regions[0], &is, &mut next);
        module.values = next;
        changed > 0
    });
}

/// After each op that `is` picks, adds 1 to its result for all later ops of its block.
fn increment(region: &mut Region, is: &dyn Fn(&Op) -> bool, next: &mut u32) -> usize {
    let mut changed = 0;
    let mut index = 0;
    while index < region.ops.len() {
        for nested in &mut region.ops[index].regions {
            changed += increment(nested, is, next);
        }
        index += 1;
        let op = region.ops[index - 1].clone();
        if !is(&op) {
            continue;
        }
        let (one, sum) = (ValueId(*next), ValueId(*next + 1));
        *next += 2;
        for later in &mut region.ops[index..] {
            replace(later, op.results[0], sum);
        }
        let scalar = Type::Scalar(DType::I32);
        let plain = |name: &str, operands: Vec<ValueId>, result, attributes| Op {
            name: name.to_owned(),
            operand_types: vec![scalar.clone(); operands.len()],
            operands,
            results: vec![result],
            result_types: vec![scalar.clone()],
            attributes,
            regions: Vec::new(),
            location: op.location,
            line: op.line,
        };
        let value = ("value".to_owned(), Attribute::Int(1, scalar.clone()));
        region.ops.insert(index, plain("arith.constant", Vec::new(), one, vec![value]));
        region.ops.insert(index + 1, plain("arith.addi", vec![op.results[0], one], sum, Vec::new()));
        index += 2;
        changed += 1;
    }
    changed
}

fn replace(op: &mut Op, old: ValueId, new: ValueId) {
    op.operands.iter_mut().filter(|operand| **operand == old).for_each(|operand| *operand = new);
    op.regions.iter_mut().flat_map(|region| &mut region.ops).for_each(|op| replace(op, old, new));
}

/// All copies signal semaphore 0, whichever buffer they fill.
fn share_a_semaphore(module: &mut Module) -> bool {
    let zero = ValueId(module.values);
    module.values += 1;
    let mut changed = false;
    module.walk_mut(|op, _| {
        let of_semaphores = matches!(
            op.operand_types.first(),
            Some(Type::MemRef(memref)) if memref.element == ElementType::DmaSemaphore
        );
        if op.name == "tpu.memref_slice" && of_semaphores {
            op.operands[1] = zero;
            changed = true;
        }
    });
    let body = &mut module.ops[0].regions[0].ops;
    let constant = Op {
        name: "arith.constant".to_owned(),
        operands: Vec::new(),
        results: vec![zero],
        operand_types: Vec::new(),
        result_types: vec![Type::Scalar(DType::I32)],
        attributes: vec![("value".to_owned(), Attribute::Int(0, Type::Scalar(DType::I32)))],
        regions: Vec::new(),
        ..body[0].clone()
    };
    body.insert(0, constant);
    changed
}

/// While the copies of one block are waited for, those of the next are in flight: a wait may then be satisfied by either. Late
/// copies complete in the order of their starts, which hides it.
#[test]
fn a_shared_semaphore_shows_under_another_order_of_copies_alone() {
    let (kernel, known) = (Kernel::edited(share_a_semaphore), KnownFile::builtin().unwrap());
    let (cases, only) = (Some(300), Some(Keeping::Kept));
    let signatures = |orders| {
        let policy = Policy { orders, ..Policy::default() };
        let totals =
            run(&kernel, &Plan { seed: 1, cases, jobs: 2, only, policy, known: &known }, &|| true, &mut Deaf);
        let new = totals.findings.iter().filter(|found| found.known.is_none());
        new.map(|found| found.finding.signature.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(signatures(false), Vec::<String>::new());
    let found = signatures(true);
    println!("{found:?}");
    assert!(
        !found.is_empty() && found.iter().all(|signature| signature.starts_with("dma-order|jax-rpa|-|race|"))
    );
}

#[test]
fn the_unedited_kernel_shows_nothing_new() {
    let known = KnownFile::builtin().unwrap();
    let plan =
        Plan { seed: 1, cases: Some(CASES), jobs: 2, only: None, policy: Policy::default(), known: &known };
    let totals = run(&Kernel::unedited(), &plan, &|| true, &mut Deaf);
    let new: Vec<String> = totals
        .findings
        .iter()
        .filter(|found| found.known.is_none())
        .map(|found| format!("{} in case {}: {}", found.finding.signature, found.index, found.finding.detail))
        .collect();
    assert_eq!(new, Vec::<String>::new());
    assert_eq!((totals.cases, totals.unsupported), (CASES, 0));
}
