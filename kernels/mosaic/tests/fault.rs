//! Runs every program under `tests/fault/<class>` on the VM and compares how it ends with the message beside it.
//!
//! `NAME.mlir` must end in the fault that `NAME.fault` gives word for word, with the path of values that led there;
//! `right-NAME.mlir` stands close to it and must not fault. A program is a module in generic form (the prefix
//! `stable_mosaic.` left out); comment lines say why, and what it is run on:
//!
//! ```text
//! // operand lens: i32 2 = 3 undef       name, type, shape, values; `count` is 0 1 2 …, `v*n` repeats
//! // output: f32 2x8
//! ```
//!
//! Every program runs under several DMA orders, which must agree. `COUNTERSIGN_BLESS=1` writes the messages anew: read them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_dtype::{Array, DType};
use countersign_mosaic::{
    Arithmetic, DmaOrder, End, FaultClass, Machine, Operand, OutputSpec, Policy, Program, Trace, known_ops,
    parse, trace,
};

const ORDERS: [DmaOrder; 4] = [DmaOrder::Late, DmaOrder::Eager, DmaOrder::Seeded(1), DmaOrder::Seeded(2)];

/// What a program is run on.
#[derive(Default)]
struct Setting {
    operands: Vec<(String, Array, Vec<Range<usize>>)>,
    outputs: Vec<OutputSpec>,
}

/// `i32 2x3`.
fn array_type(text: &str) -> Result<(DType, Vec<usize>), String> {
    let (dtype, shape) = text.trim().split_once(' ').ok_or(format!("`{text}` is no type and shape"))?;
    let shape: Result<Vec<usize>, _> = shape.split('x').map(str::parse).collect();
    let dtype = DType::from_name(dtype).ok_or(format!("`{dtype}` is no element type"))?;
    Ok((dtype, shape.map_err(|error| error.to_string())?))
}

/// `lens: i32 2 = 3 undef`.
fn operand(text: &str) -> Result<(String, Array, Vec<Range<usize>>), String> {
    let (head, values) = text.split_once('=').ok_or("an operand is `name: type shape = values`")?;
    let (name, head) = head.split_once(':').ok_or("an operand is `name: type shape = values`")?;
    let (dtype, shape) = array_type(head)?;
    let mut array = Array::zeros(dtype, &shape);
    let mut tokens = Vec::new();
    for token in values.split_whitespace() {
        let (value, times) = token.split_once('*').unwrap_or((token, "1"));
        let times = times.parse().map_err(|_| format!("`{token}` repeats how often?"))?;
        tokens.extend(std::iter::repeat_n(value.to_owned(), times));
    }
    if tokens == ["count"] {
        tokens = (0..array.len()).map(|value| value.to_string()).collect();
    }
    if tokens.len() != array.len() {
        return Err(format!("{} values for {} elements of {name}", tokens.len(), array.len()));
    }
    let mut undefined = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let wrong = || format!("`{token}` is no {}", dtype.name());
        match dtype {
            _ if token == "undef" => undefined.push(index..index + 1),
            DType::F32 => array.set_f32(index, token.parse().map_err(|_| wrong())?),
            DType::I32 => {
                let value: i32 = token.parse().map_err(|_| wrong())?;
                array.bytes[index * 4..][..4].copy_from_slice(&value.to_le_bytes());
            }
            _ => return Err(wrong()),
        }
    }
    Ok((name.to_owned(), array, undefined))
}

fn setting(text: &str) -> Result<Setting, String> {
    let mut setting = Setting::default();
    for line in text.lines().filter_map(|line| line.strip_prefix("// ")) {
        if let Some(rest) = line.strip_prefix("operand ") {
            setting.operands.push(operand(rest)?);
        } else if let Some(rest) = line.strip_prefix("output: ") {
            let (dtype, shape) = array_type(rest)?;
            setting.outputs.push(OutputSpec { dtype, shape });
        }
    }
    Ok(setting)
}

/// The fault with its path of values, as a person reads it.
fn message(trace: &Trace) -> String {
    let mut text = format!("{}\n", trace.fault);
    for (index, step) in trace.path.iter().enumerate() {
        let line =
            step.stack.first().map_or_else(String::new, |frame| format!("   {}:{}", frame.file, frame.line));
        let _ = writeln!(text, "{}  {step}{line}", if index == 0 { "path of values:\n" } else { "" });
    }
    text
}

/// How the program ends: the fault's message, nothing for a run without, or what else it did.
fn outcome(text: &str) -> Result<Option<(FaultClass, String)>, String> {
    let Setting { operands, outputs } = setting(text)?;
    let module = parse(text).map_err(|error| error.to_string())?;
    let program = Program::lower(&module, outputs.len()).map_err(|error| error.to_string())?;
    let operands: Vec<Operand> =
        operands.iter().map(|(label, array, undefined)| Operand { label, array, undefined }).collect();
    let mut machine = Machine::new(Arc::new(program.clone()));
    let mut optimized = Machine::new(Arc::new(program.clone().optimized()));
    let mut ends = Vec::new();
    for dma in ORDERS {
        let policy = Policy { dma, arithmetic: Arithmetic::default(), fuel: 10_000, ..Policy::default() };
        let run = machine.run(&operands, &outputs, &policy).map_err(|error| error.to_string())?;
        let same = optimized.run(&operands, &outputs, &policy).map_err(|error| error.to_string())?;
        if (&same.end, &same.outputs) != (&run.end, &run.outputs) {
            return Err(format!("{:?}, but optimized {:?}", run.end, same.end));
        }
        if optimized.coverage() != machine.coverage() {
            return Err("the optimized program covers something else".to_owned());
        }
        let traced = trace(&program, &operands, &outputs, &policy).map_err(|error| error.to_string())?;
        let end = match (run.end, traced) {
            (End::Finished, None) => None,
            (End::Fault(fault), Some(traced)) if *fault == traced.fault => {
                Some((fault.class, message(&traced)))
            }
            (end, traced) => return Err(format!("{end:?}, but the second run gives {traced:?}")),
        };
        ends.push(end);
    }
    match ends.iter().all(|end| *end == ends[0]) {
        true => Ok(ends.swap_remove(0)),
        false => Err(format!("the order of copies decides: {ends:?}")),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fault")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Nothing, or what is wrong with the program at `path`.
fn check(path: &Path, class: FaultClass, right: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(path).unwrap();
    let golden = path.with_extension("fault");
    match (outcome(&text)?, right) {
        (None, true) => Ok(()),
        (None, false) => Err("it doesn't fault".to_owned()),
        (Some((_, message)), true) => Err(format!("a false alarm: {message}")),
        (Some((found, message)), false) if found != class => Err(format!("another class: {message}")),
        (Some((_, message)), false) => {
            if std::env::var_os("COUNTERSIGN_BLESS").is_some() {
                std::fs::write(&golden, &message).unwrap();
            }
            match std::fs::read_to_string(&golden) {
                Ok(expected) if expected == message => Ok(()),
                Ok(expected) => Err(format!("it says\n{message}and should say\n{expected}")),
                Err(error) => Err(format!("{}: {error}; it says\n{message}", golden.display())),
            }
        }
    }
}

#[test]
fn every_class_faults_with_its_message_and_spares_what_is_right() {
    let mut failures = Vec::new();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let folders = entries(&folder());
    for folder in &folders {
        let name = folder.file_name().unwrap().to_string_lossy();
        let Some(class) = FaultClass::ALL.into_iter().find(|class| class.name() == name) else {
            failures.push(format!("{name} is no class of faults"));
            continue;
        };
        for path in entries(folder) {
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            let right = file.starts_with("right-");
            if path.extension().is_some_and(|extension| extension == "fault") {
                if !path.with_extension("mlir").exists() || right {
                    failures.push(format!("{name}/{file} belongs to no program that faults"));
                }
                continue;
            }
            let (faulty, clean) = counts.entry(class.name()).or_default();
            *if right { clean } else { faulty } += 1;
            if let Err(error) = check(&path, class, right) {
                failures.push(format!("{name}/{file}: {error}"));
            }
        }
    }
    println!("{} ops are known", known_ops().len());
    println!("{:<20}{:>8}{:>8}", "fault programs", "faulty", "right");
    for (class, (faulty, right)) in &counts {
        println!("{class:<20}{faulty:>8}{right:>8}");
    }
    for class in FaultClass::ALL {
        let (faulty, right) = counts.get(class.name()).copied().unwrap_or_default();
        if faulty == 0 || right == 0 {
            failures.push(format!("{}: {faulty} programs that fault, {right} that don't", class.name()));
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The smallest kernel with `body`.
fn module(body: &str) -> String {
    format!(
        r#""func.func"() ({{
^bb0(%n: memref<2xi32, #tpu.memory_space<smem>>):
%c0 = "arith.constant"() {{value = 0 : index}} : () -> index
%s = "memref.load"(%n, %c0) : (memref<2xi32, #tpu.memory_space<smem>>, index) -> i32
{body}
"func.return"() : () -> ()
}}) {{iteration_bounds = array<i64>, scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, sym_name = "kernel", window_params = []}} : () -> ()"#
    )
}

#[test]
fn a_loop_without_end_runs_out_of_fuel() {
    let text = module(
        r#"%last = "scf.while"(%s) ({
^bb0(%a: i32):
  %more = "arith.cmpi"(%a, %s) {predicate = 3 : i64} : (i32, i32) -> i1
  "scf.condition"(%more, %a) : (i1, i32) -> ()
}, {
^bb0(%a: i32):
  "scf.yield"(%a) : (i32) -> ()
}) : (i32) -> i32"#,
    );
    let program = Program::lower(&parse(&text).unwrap(), 0).unwrap();
    let array = Array::from_i32(&[2], &[1, 1]);
    let operand = Operand { label: "n", array: &array, undefined: &[] };
    let policy =
        Policy { dma: DmaOrder::Late, arithmetic: Arithmetic::default(), fuel: 1000, ..Policy::default() };
    let run = Machine::new(Arc::new(program)).run(&[operand], &[], &policy).unwrap();
    assert_eq!(run.end, End::OutOfFuel);
}

#[test]
fn what_is_not_known_is_named() {
    let refusal = |body: &str| {
        let error = Program::lower(&parse(&module(body)).unwrap(), 0).unwrap_err();
        (error.unsupported[0].op.clone(), error.unsupported[0].what.clone())
    };
    let (op, _) = refusal(r#"%d = "arith.frobnicate"(%s) : (i32) -> i32"#);
    assert_eq!(op, "arith.frobnicate");
    let (op, what) = refusal(r#"%d = "arith.addi"(%s, %s) {turbo = 0 : i32} : (i32, i32) -> i32"#);
    assert_eq!((op.as_str(), what.as_str()), ("arith.addi", "attribute turbo"));
}
