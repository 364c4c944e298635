//! Every fault class, met by a small program of our own, and beside each a program that must not fault.
//!
//! Invariant: expectations come from what the ops mean; each class has both sides.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]
#![allow(clippy::single_range_in_vec_init, reason = "lists of ranges, some with one")]

use std::sync::Arc;

use countersign_dtype::{Array, DType};
use countersign_mosaic::ir::MemorySpace;
use countersign_mosaic::{
    Arithmetic, DmaOrder, End, Fault, FaultClass, Machine, Operand, OutputSpec, Policy,
};
use countersign_mosaic::{Program, parse};

const HBM: &str = "memref<4x8xf32, #tpu.memory_space<any>>";
const ROW_HBM: &str = "memref<1x8xf32, #tpu.memory_space<any>>";
const VMEM: &str = "memref<1x8xf32, #tpu.memory_space<vmem>>";
const SEM: &str = "memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>";
const SEM0: &str = "memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>";

/// A kernel over grid (steps): `%scalar` i32[2] in scalar memory, `%hbm` 4x8 left in HBM, `%out` pipelined by rows with
/// `index` as block index, `%buf` 1x8 scratch, `%sem` a semaphore.
fn module(steps: usize, index: &str, body: &str) -> String {
    let smem = "memref<2xi32, #tpu.memory_space<smem>>";
    let transform = |name: &str| {
        format!(
            r#""stable_mosaic.func.func"() ({{
  ^bb0(%i: i32, %scalar: {smem}):
    %zero = "stable_mosaic.arith.constant"() {{value = 0 : i32}} : () -> i32
    {index}
    "stable_mosaic.func.return"(%block, %zero) : (i32, i32) -> ()
  }}) {{sym_name = "{name}"}} : () -> ()"#
        )
    };
    format!(
        r#"module attributes {{stable_mosaic.version = 11 : i64}} {{
"stable_mosaic.func.func"() ({{
^bb0(%i: i32, %scalar: {smem}, %hbm: {HBM}, %out: {VMEM}, %buf: {VMEM}, %sem: {SEM}):
%c0 = "stable_mosaic.arith.constant"() {{value = 0 : index}} : () -> index
%c1 = "stable_mosaic.arith.constant"() {{value = 1 : index}} : () -> index
%s0 = "stable_mosaic.memref.load"(%scalar, %c0) : ({smem}, index) -> i32
%s1 = "stable_mosaic.memref.load"(%scalar, %c1) : ({smem}, index) -> i32
%z = "stable_mosaic.arith.constant"() {{value = 0 : i32}} : () -> i32
%row = "stable_mosaic.tpu.memref_slice"(%hbm, %s0, %z) {{operandSegmentSizes = array<i32: 1, 2, 0>}} : ({HBM}, i32, i32) -> {ROW_HBM}
%sems = "stable_mosaic.tpu.memref_squeeze"(%sem) : ({SEM}) -> {SEM0}
{body}
"stable_mosaic.func.return"() : () -> ()
}}) {{iteration_bounds = array<i64: {steps}>, scalar_prefetch = 1 : i64, scratch_operands = 2 : i64, sym_name = "kernel", window_params = [{{}}, {{transform_indices = @transform_1, window_bounds = array<i64: 1, 8>}}]}} : () -> ()
{}
}}
"#,
        transform("transform_1")
    )
}

fn start() -> String {
    format!(
        r#""stable_mosaic.tpu.enqueue_dma"(%row, %buf, %sems) {{operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false}} : ({ROW_HBM}, {VMEM}, {SEM0}) -> ()"#
    )
}

fn wait() -> String {
    format!(
        r#""stable_mosaic.tpu.wait_dma2"(%sems, %row, %buf) {{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false}} : ({SEM0}, {ROW_HBM}, {VMEM}) -> ()"#
    )
}

fn load_and_store() -> String {
    format!(
        r#"%v = "stable_mosaic.vector.load"(%buf, %c0, %c0) : ({VMEM}, index, index) -> vector<1x8xf32>
"stable_mosaic.tpu.vector_store"(%v, %out, %c0, %c0) {{add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}} : (vector<1x8xf32>, {VMEM}, index, index) -> ()"#
    )
}

const SAME_STEP: &str = r#"%block = "stable_mosaic.arith.addi"(%i, %zero) : (i32, i32) -> i32"#;

struct Outcome {
    end: End,
    first: f32,
    undefined: Vec<std::ops::Range<usize>>,
}

fn run(
    text: &str,
    scalars: [i32; 2],
    undefined: &[std::ops::Range<usize>],
    dma: DmaOrder,
    fuel: u64,
) -> Outcome {
    let module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let program = Program::lower(&module, 1).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::new(Arc::new(program));
    let scalar = Array::from_i32(&[2], &scalars);
    let values: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let hbm = Array::from_f32(DType::F32, &[4, 8], &values);
    let operands = [
        Operand { label: "scalar", array: &scalar, undefined },
        Operand { label: "pages", array: &hbm, undefined: &[] },
    ];
    let spec = OutputSpec { dtype: DType::F32, shape: vec![2, 8] };
    let policy = Policy { dma, arithmetic: Arithmetic::default(), fuel };
    let run = machine.run(&operands, &[spec], &policy).unwrap();
    let output = &run.outputs[0];
    Outcome { end: run.end, first: output.array.get_f32(0), undefined: output.undefined.clone() }
}

fn clean(text: &str, scalars: [i32; 2]) -> Outcome {
    let outcome = run(text, scalars, &[], DmaOrder::Late, 1000);
    assert_eq!(outcome.end, End::Finished, "{text}");
    outcome
}

fn fault(text: &str, scalars: [i32; 2], undefined: &[std::ops::Range<usize>]) -> Fault {
    match run(text, scalars, undefined, DmaOrder::Late, 1000).end {
        End::Fault(fault) => *fault,
        other => panic!("no fault but {other:?}"),
    }
}

#[test]
fn a_copy_waited_for_is_clean_under_every_order() {
    let text = module(1, SAME_STEP, &[start(), wait(), load_and_store()].join("\n"));
    for dma in [DmaOrder::Late, DmaOrder::Eager, DmaOrder::Seeded(1), DmaOrder::Seeded(2)] {
        let outcome = run(&text, [3, 0], &[], dma, 1000);
        assert_eq!((outcome.end, outcome.first), (End::Finished, 24.0));
        assert_eq!(outcome.undefined, [8..16], "the second row was never written");
    }
}

#[test]
fn out_of_bounds_names_allocation_index_and_extent() {
    let text = module(1, SAME_STEP, &[start(), wait()].join("\n"));
    clean(&text, [0, 0]);
    for index in [4, -1, i32::MAX] {
        let fault = fault(&text, [index, 0], &[]);
        assert_eq!((fault.class, fault.op.as_str()), (FaultClass::OutOfBounds, "tpu.enqueue_dma"));
        assert_eq!((fault.indices, fault.space), (vec![i64::from(index)], Some(MemorySpace::Any)));
        assert_eq!(fault.message, format!("index {index} in dimension 0 of pages [4, 8] lies outside 0..4"));
    }
}

#[test]
fn undefined_use_in_index_and_branch_but_not_in_a_load() {
    let copy = module(1, SAME_STEP, &[start(), wait()].join("\n"));
    let undefined = fault(&copy, [0, 0], &[0..1]);
    assert_eq!((undefined.class, undefined.op.as_str()), (FaultClass::UndefinedUse, "tpu.enqueue_dma"));
    let branch = module(
        1,
        SAME_STEP,
        r#"%flag = "stable_mosaic.arith.cmpi"(%s1, %z) {predicate = 0 : i64} : (i32, i32) -> i1
"stable_mosaic.scf.if"(%flag) ({
"stable_mosaic.scf.yield"() : () -> ()
}, {
"stable_mosaic.scf.yield"() : () -> ()
}) : (i1) -> ()"#,
    );
    clean(&branch, [0, 0]);
    let undefined = fault(&branch, [0, 0], &[1..2]);
    assert_eq!((undefined.class, undefined.op.as_str()), (FaultClass::UndefinedUse, "scf.if"));
    // Scratch that nobody wrote may be loaded and stored: the output is undefined there, which is for a judge to weigh.
    let outcome = clean(&module(1, SAME_STEP, &load_and_store()), [0, 0]);
    assert_eq!(outcome.undefined, [0..16]);
}

#[test]
fn race_on_reading_a_target_in_flight() {
    let early = module(1, SAME_STEP, &[start(), load_and_store(), wait()].join("\n"));
    for dma in [DmaOrder::Late, DmaOrder::Eager, DmaOrder::Seeded(7)] {
        let End::Fault(fault) = run(&early, [0, 0], &[], dma, 1000).end else {
            panic!("no fault under {dma:?}")
        };
        assert_eq!((fault.class, fault.op.as_str()), (FaultClass::Race, "vector.load"));
        assert_eq!(fault.message, "reads scratch 0, which a copy in flight writes");
    }
    let twice = module(1, SAME_STEP, &[start(), start(), wait(), wait()].join("\n"));
    assert_eq!(fault(&twice, [0, 0], &[]).class, FaultClass::Race);
    clean(&module(1, SAME_STEP, &[start(), wait(), start(), wait()].join("\n")), [0, 0]);
}

#[test]
fn deadlock_and_residue() {
    let deadlock = fault(&module(1, SAME_STEP, &wait()), [0, 0], &[]);
    assert_eq!((deadlock.class, deadlock.op.as_str()), (FaultClass::Deadlock, "tpu.wait_dma2"));
    let residue = fault(&module(1, SAME_STEP, &start()), [0, 0], &[]);
    assert_eq!((residue.class, residue.op.as_str()), (FaultClass::Residue, "tpu.enqueue_dma"));
    assert_eq!(
        residue.message,
        "1 copy is still in flight at the kernel's end, the first from pages to scratch 0"
    );
}

#[test]
fn output_revisited() {
    let text = module(3, SAME_STEP, "");
    let beyond = fault(&text, [0, 0], &[]);
    assert_eq!(beyond.class, FaultClass::OutOfBounds, "the output has two rows, the grid three steps");
    clean(&module(2, SAME_STEP, ""), [0, 0]);
    let parity = r#"%two = "stable_mosaic.arith.constant"() {value = 2 : i32} : () -> i32
    %block = "stable_mosaic.arith.remsi"(%i, %two) : (i32, i32) -> i32"#;
    let revisited = fault(&module(3, parity, ""), [0, 0], &[]);
    assert_eq!((revisited.class, revisited.indices), (FaultClass::OutputRevisited, vec![0, 0]));
    assert_eq!(revisited.grid, [2]);
}

#[test]
fn division_by_zero() {
    let text = module(1, SAME_STEP, r#"%d = "stable_mosaic.arith.divsi"(%s0, %s1) : (i32, i32) -> i32"#);
    clean(&text, [7, -1]);
    assert_eq!(fault(&text, [7, 0], &[]).class, FaultClass::Arithmetic);
    assert_eq!(fault(&text, [i32::MIN, -1], &[]).class, FaultClass::Arithmetic);
}

#[test]
fn a_loop_without_end_runs_out_of_fuel() {
    let text = module(
        1,
        SAME_STEP,
        r#"%n = "stable_mosaic.scf.while"(%s0) ({
^bb0(%a: i32):
  %more = "stable_mosaic.arith.cmpi"(%a, %s1) {predicate = 2 : i64} : (i32, i32) -> i1
  "stable_mosaic.scf.condition"(%more, %a) : (i1, i32) -> ()
}, {
^bb0(%a: i32):
  %one = "stable_mosaic.arith.constant"() {value = 1 : i32} : () -> i32
  %next = "stable_mosaic.arith.muli"(%a, %one) : (i32, i32) -> i32
  "stable_mosaic.scf.yield"(%next) : (i32) -> ()
}) : (i32) -> i32"#,
    );
    clean(&text, [3, 3]);
    assert_eq!(run(&text, [2, 3], &[], DmaOrder::Late, 1000).end, End::OutOfFuel);
}

#[test]
fn what_is_not_known_is_named() {
    let text =
        module(1, SAME_STEP, r#"%d = "stable_mosaic.arith.frobnicate"(%s0) {mode = 1 : i32} : (i32) -> i32"#)
            .replace("priority = 0", "prio = 0");
    let error = Program::lower(&parse(&text).unwrap(), 1).unwrap_err();
    assert_eq!(error.unsupported[0].op, "arith.frobnicate");
    let text = module(1, SAME_STEP, &start()).replace("priority = 0", "turbo = 0");
    let error = Program::lower(&parse(&text).unwrap(), 1).unwrap_err();
    assert_eq!(error.unsupported[0].what, "attribute turbo");
}
