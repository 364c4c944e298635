//! A small Pallas kernel of our own and, for each class of fault, a copy of it with one mistake: lowered by the installed
//! JAX and executed, the mistake is named at the line marked `# FAULT`, and the right kernel runs clean on the same operands.
//!
//! Invariant: lines are found by their marker, never by number.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]
#![allow(clippy::single_range_in_vec_init, reason = "lists of ranges, some with one")]

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use countersign_dtype::{Array, DType};
use countersign_kernels::call::{Call, CallOperand};
use countersign_kernels::env::{Environment, Silent};
use countersign_mosaic::ir::Frame;
use countersign_mosaic::{
    Arithmetic, DmaOrder, End, Fault, FaultClass, Machine, Operand, OutputSpec, Policy, Program, Run, parse,
};

const ROWS: usize = 3;
const WIDTH: usize = 32;
const PAGES: usize = 6;
const TOKENS: usize = 8;
const LANES: usize = 128;
const MARKER: &str = "# FAULT";

/// A mistake: the fault that it must give, and operands on which it does.
struct Mistake {
    class: FaultClass,
    lengths: [i32; ROWS],
    undefined_lengths: &'static [Range<usize>],
}

fn mistakes() -> Vec<Mistake> {
    let mistake = |class, lengths| Mistake { class, lengths, undefined_lengths: &[] };
    vec![
        mistake(FaultClass::OutOfBounds, [20, 9, 8]),
        Mistake { undefined_lengths: &[2..3], ..mistake(FaultClass::UndefinedUse, [20, 9, 0]) },
        mistake(FaultClass::Race, [20, 9, 8]),
        mistake(FaultClass::Deadlock, [20, 9, 8]),
        mistake(FaultClass::Residue, [0, 0, 8]),
        mistake(FaultClass::OutputRevisited, [20, 9, 8]),
        mistake(FaultClass::Arithmetic, [20, 0, 8]),
        mistake(FaultClass::Narrowing, [20, 200, 8]),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("python/tests/faulty")
}

fn module_name(class: FaultClass) -> String {
    class.name().replace('-', "_")
}

/// Lowers `NAME:sums` of each name; the modules' texts.
fn lowered(names: &[String]) -> Vec<String> {
    let operand = |name: &str, dtype: DType, shape: &[usize]| CallOperand {
        name: name.into(),
        dtype: dtype.into(),
        shape: shape.to_vec(),
    };
    let calls = names.iter().map(|name| Call {
        entry_point: format!("{name}:sums"),
        generation: "v5e".into(),
        operands: vec![
            operand("table", DType::I32, &[ROWS, WIDTH]),
            operand("lengths", DType::I32, &[ROWS]),
            operand("pages", DType::F32, &[PAGES, TOKENS, LANES]),
        ],
        options: Default::default(),
        skip_static_validation: false,
    });
    let scratch = tempfile::tempdir().unwrap();
    let pinned = Environment::open(None, None, &Silent).unwrap_or_else(|error| panic!("{error}"));
    // As a user's own, so that Python finds the files beside this test.
    let environment =
        Environment::open(Some(scratch.path().join("home")), Some(pinned.python().to_path_buf()), &Silent)
            .unwrap();
    let asked = scratch.path().join("calls.json");
    fs::write(&asked, serde_json::to_vec(&calls.collect::<Vec<_>>()).unwrap()).unwrap();
    let out = scratch.path().join("out");
    let mut command = environment.command(&["export"]);
    command
        .arg("--out")
        .arg(&out)
        .arg(&asked)
        .env("PYTHONPATH", folder())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let answers = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{answers}{}", String::from_utf8_lossy(&output.stderr));
    let text = |index: usize| fs::read_to_string(out.join(format!("{index}/kernel.mlir")));
    (0..names.len()).map(|index| text(index).unwrap_or_else(|error| panic!("{error}: {answers}"))).collect()
}

/// Row b uses pages 5, 0, 1, 2, … in turn.
fn table() -> Array {
    let pages: Vec<i32> = (0..ROWS * WIDTH).map(|at| ((at % WIDTH + PAGES - 1) % PAGES) as i32).collect();
    Array::from_i32(&[ROWS, WIDTH], &pages)
}

fn run(text: &str, lengths: [i32; ROWS], undefined: &[Range<usize>], dma: DmaOrder) -> Run {
    let program = Program::lower(&parse(text).unwrap(), 1).unwrap_or_else(|error| panic!("{error}"));
    let (table, lengths) = (table(), Array::from_i32(&[ROWS], &lengths));
    let values: Vec<f32> = (0..PAGES * TOKENS * LANES).map(|at| (at / LANES) as f32).collect();
    let pages = Array::from_f32(DType::F32, &[PAGES, TOKENS, LANES], &values);
    let operands = [
        Operand { label: "table", array: &table, undefined: &[] },
        Operand { label: "lengths", array: &lengths, undefined },
        Operand { label: "pages", array: &pages, undefined: &[] },
    ];
    let output = OutputSpec { dtype: DType::F32, shape: vec![ROWS, TOKENS, LANES] };
    let policy = Policy { dma, arithmetic: Arithmetic::default(), fuel: 1_000_000, ..Policy::default() };
    Machine::new(Arc::new(program)).run(&operands, &[output], &policy).unwrap()
}

/// The line, from 1, that the marker stands on.
fn marked_line(source: &str) -> u32 {
    let lines: Vec<usize> =
        source.lines().enumerate().filter(|(_, line)| line.contains(MARKER)).map(|(at, _)| at + 1).collect();
    assert_eq!(lines.len(), 1, "one marker a file");
    lines[0] as u32
}

fn is_there(stack: &[Frame], file: &str, line: u32) -> bool {
    stack.first().is_some_and(|frame| frame.file.ends_with(file) && frame.line == line)
}

#[test]
fn each_mistake_is_named_at_its_line_and_the_right_kernel_is_clean() {
    let mistakes = mistakes();
    let names: Vec<String> =
        mistakes.iter().map(|mistake| module_name(mistake.class)).chain(["right".to_owned()]).collect();
    let texts = lowered(&names);
    let right = &texts[mistakes.len()];
    let mut failures = Vec::new();
    for (mistake, text) in mistakes.iter().zip(&texts) {
        let file = format!("{}.py", module_name(mistake.class));
        let line = marked_line(&fs::read_to_string(folder().join(&file)).unwrap());
        for dma in [DmaOrder::Late, DmaOrder::Eager, DmaOrder::Seeded(5)] {
            let clean = run(right, mistake.lengths, &[], dma);
            if clean.end != End::Finished {
                failures.push(format!("right.py as {file}, {dma:?}: {:?}", clean.end));
            }
            match run(text, mistake.lengths, mistake.undefined_lengths, dma).end {
                End::Fault(fault) => {
                    let Fault { class, stack, .. } = &*fault;
                    if *class != mistake.class || !is_there(stack, &file, line) {
                        failures.push(format!("{file}:{line}, {dma:?}: {fault}"));
                    } else if dma == DmaOrder::Late {
                        println!("{fault}\n");
                    }
                }
                end => failures.push(format!("{file}, {dma:?}: {end:?}")),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn the_right_kernel_is_right() {
    let texts = lowered(&["right".to_owned()]);
    let lengths = [20, 0, 8];
    let run = run(&texts[0], lengths, &[], DmaOrder::Late);
    assert_eq!((run.end, run.outputs[0].undefined.len()), (End::Finished, 0));
    for (row, length) in lengths.into_iter().enumerate() {
        for token in 0..TOKENS {
            let positions = (token..length as usize).step_by(TOKENS);
            let sum: usize =
                positions.map(|position| (position / TOKENS + PAGES - 1) % PAGES * TOKENS + token).sum();
            let share = 1024 / length.max(1) as usize;
            let found = run.outputs[0].array.get_f32((row * TOKENS + token) * LANES);
            assert_eq!(found, (sum * share) as f32, "row {row}, token {token}");
        }
    }
}

/// A copy that drifted away from the right kernel would show something else than its one mistake.
#[test]
fn each_copy_differs_by_its_mistake_alone() {
    let read = |name: &str| fs::read_to_string(folder().join(format!("{name}.py"))).unwrap();
    let right = read("right");
    for class in FaultClass::ALL {
        let copy = read(&module_name(class));
        let missing = |from: &str, of: &str| {
            from.lines().filter(|line| !of.lines().any(|other| other == *line)).count()
        };
        // The title is one.
        assert!(missing(&copy, &right) <= 3 && missing(&right, &copy) <= 3, "{}", class.name());
    }
}
