//! Coverage of copies and of lines: a loop that copies the rows of a table, of which one test chooses which.
//!
//! Invariant: expectations come from where the copies go.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

use std::collections::BTreeSet;
use std::sync::Arc;

use countersign_dtype::{Array, DType};
use countersign_mosaic::{
    Arithmetic, CopyPlace, CopyStep, Coverage, CoverageKind, DmaOrder, End, Machine, Operand, OutputSpec,
    Policy, Program, parse,
};

/// Copies rows `rows[0]`, `rows[1]`, … of `pages`, as many as `rows` has before a negative number.
const LOOP: &str = r#"
"func.func"() ({
^bb0(%rows: memref<8xi32, #tpu.memory_space<smem>>, %pages: memref<4x8xf32, #tpu.memory_space<any>>, %out: memref<1x8xf32, #tpu.memory_space<any>>, %buf: memref<1x8xf32, #tpu.memory_space<vmem>>, %sem: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
%zero = "arith.constant"() {value = 0 : i32} : () -> i32
%last:2 = "scf.while"(%zero) ({
^bb0(%i: i32):
  %at = "arith.index_cast"(%i) : (i32) -> index
  %row = "memref.load"(%rows, %at) : (memref<8xi32, #tpu.memory_space<smem>>, index) -> i32 loc("kernel"("kernel.py":3:0))
  %more = "arith.cmpi"(%row, %zero) {predicate = 5 : i64} : (i32, i32) -> i1 loc("kernel"("kernel.py":3:0))
  "scf.condition"(%more, %i, %row) : (i1, i32, i32) -> ()
}, {
^bb0(%i: i32, %row: i32):
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  %page = "tpu.memref_slice"(%pages, %row, %zero) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<4x8xf32, #tpu.memory_space<any>>, i32, i32) -> memref<1x8xf32, #tpu.memory_space<any>> loc("kernel"("kernel.py":5:0))
  "tpu.enqueue_dma"(%page, %buf, %sem) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<1x8xf32, #tpu.memory_space<any>>, memref<1x8xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> () loc("kernel"("kernel.py":5:0))
  "tpu.wait_dma2"(%sem, %page, %buf) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<1x8xf32, #tpu.memory_space<any>>, memref<1x8xf32, #tpu.memory_space<vmem>>) -> () loc("kernel"("kernel.py":6:0))
  %next = "arith.addi"(%i, %one) : (i32, i32) -> i32 loc("kernel"("kernel.py":7:0))
  "scf.yield"(%next) : (i32) -> ()
}) : (i32) -> (i32, i32) loc("kernel"("kernel.py":2:0))
"func.return"() : () -> ()
}) {iteration_bounds = array<i64>, scalar_prefetch = 1 : i64, scratch_operands = 2 : i64, sym_name = "kernel", window_params = [{}, {}]} : () -> ()
"#;

fn covered(rows: &[i32]) -> Coverage {
    let program =
        Arc::new(Program::lower(&parse(LOOP).unwrap(), 1).unwrap_or_else(|error| panic!("{error}")));
    let mut padded = [-1; 8];
    padded[..rows.len()].copy_from_slice(rows);
    let (rows, pages) = (Array::from_i32(&[8], &padded), Array::from_f32(DType::F32, &[4, 8], &[0.5; 32]));
    let operands = [
        Operand { label: "rows", array: &rows, undefined: &[] },
        Operand { label: "pages", array: &pages, undefined: &[] },
    ];
    let policy =
        Policy { dma: DmaOrder::Late, arithmetic: Arithmetic::default(), fuel: 1000, ..Policy::default() };
    let mut machine = Machine::new(Arc::clone(&program));
    let output = OutputSpec { dtype: DType::F32, shape: vec![1, 8] };
    assert_eq!(machine.run(&operands, &[output], &policy).unwrap().end, End::Finished);
    program.coverage(machine.coverage(), |frame| frame.file == "kernel.py")
}

/// The kinds of copies that were hit at line 5.
fn copies(rows: &[i32]) -> BTreeSet<CoverageKind> {
    let coverage = covered(rows);
    let hits = &coverage.lines[&("kernel.py".to_owned(), 5)];
    assert_eq!(hits.points.len(), 7, "one op copies there");
    hits.points.iter().filter(|(_, (_, hit))| *hit > 0).map(|(kind, _)| *kind).collect()
}

#[test]
fn copies_are_told_apart_by_place_and_step() {
    use CopyPlace::{First, Inner, Last};
    use CopyStep::{Apart, Next, Same};
    let cases: [(&[i32], &[CopyPlace], &[CopyStep]); 5] = [
        (&[], &[], &[]),
        (&[0], &[First], &[]),
        (&[0, 1, 2, 3], &[First, Inner, Last], &[Next]),
        (&[2, 2, 1], &[Inner], &[Same, Apart]),
        (&[3, 0], &[First, Last], &[Apart]),
    ];
    for (rows, places, steps) in cases {
        let places = places.iter().map(|&place| CoverageKind::Copy(place));
        let steps = steps.iter().map(|&step| CoverageKind::Step(step));
        assert_eq!(copies(rows), places.chain(steps).collect(), "{rows:?}");
    }
}

#[test]
fn lines_have_their_ops_and_points() {
    let line = |coverage: &Coverage, line: u32| coverage.lines[&("kernel.py".to_owned(), line)].clone();
    let none = covered(&[]);
    assert_eq!((line(&none, 3).ops, line(&none, 3).reached), (2, 2), "the condition is always asked");
    assert_eq!((line(&none, 6).ops, line(&none, 6).reached), (1, 0), "the loop has no turn");
    assert_eq!(line(&none, 2).points[&CoverageKind::Trips(0)], (1, 1));
    let two = covered(&[0, 1]);
    assert_eq!((line(&two, 6).reached, line(&two, 2).points[&CoverageKind::Trips(2)]), (1, (1, 1)));

    let mut sum = none.clone();
    sum.add(two.clone());
    assert_eq!((sum.points, sum.hit), (none.points + two.points, none.hit + two.hit));
    assert_eq!((line(&sum, 6).ops, line(&sum, 6).reached), (2, 1));
    assert_eq!(line(&sum, 2).points[&CoverageKind::Trips(2)], (2, 1));
}
