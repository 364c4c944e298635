//! Runs every little program under `tests/ops/<dialect>/<op>.mlir` on the VM and compares what it returns.
//!
//! A file holds cases, `// -----` between them. A case is a function `main` in generic form (the prefix `stable_mosaic.`
//! left out) with comment lines that say what must come out, by the op's definition and never by what the VM gave:
//!
//! ```text
//! // operand: i32 2x2 = 1 2 3 undef     the next argument, in the order of the function's
//! // expect 0: f32 1.5 ~2.7182817 nan 0xFF800000 undef 0*4
//! // fault: arithmetic in arith.divsi   the run ends in this fault, with this word in it
//! // out of fuel                        the run never ends by itself
//! // refused: a word of the reason      the program isn't lowered
//! // matmul: bf16x1                     the policy for f32 matmuls, `exact` where nothing is said
//! // denormals: flushed                 they are kept where nothing is said
//! // errors: 116 up                     exp, tanh and division err by so many units of 2^-23, `up` or `down`
//! ```
//!
//! A decimal number must be one of its type; `0x` gives bits; `~` allows two units in the last place of an f32; `nan` is any
//! NaN; `undef` a lane with an undefined bit; `v*n` repeats. Every case runs under several DMA orders, which must agree.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_dtype::{
    Array, DType, bf16_bits_to_f32, f8e4m3fn_bits_to_f32, f8e5m2_bits_to_f32, f16_bits_to_f32, round_to,
};
use countersign_mosaic::{
    Arithmetic, DmaOrder, End, ErrorSign, FunctionErrors, Machine, MatmulMode, Operand, Policy, Program,
    Returned, known_ops, parse,
};

const ORDERS: [DmaOrder; 4] = [DmaOrder::Late, DmaOrder::Eager, DmaOrder::Seeded(1), DmaOrder::Seeded(2)];

/// A lane as a test states it; lanes as the VM holds them: floats as f32 bits, integers sign-extended, masks 0 or 1.
#[derive(Debug, Clone, Copy)]
enum Lane {
    Bits(u32),
    Near(f32),
    NaN,
    Undefined,
}

/// What a case says besides its program.
#[derive(Debug, Default)]
struct Case {
    operands: Vec<(Array, Vec<Range<usize>>)>,
    expected: Vec<(DType, Vec<Lane>)>,
    fault: Option<(String, String)>,
    out_of_fuel: bool,
    refused: Option<String>,
    arithmetic: Arithmetic,
}

/// The f32 bits, or the sign-extended integer, that `bits` of `dtype` mean.
fn widen(dtype: DType, bits: u32) -> u32 {
    let shift = 32 - dtype.bits() as u32;
    match dtype {
        DType::F32 | DType::I1 => bits,
        DType::Bf16 => bf16_bits_to_f32(bits as u16).to_bits(),
        DType::F16 => f16_bits_to_f32(bits as u16).to_bits(),
        DType::F8E4M3FN => f8e4m3fn_bits_to_f32(bits as u8).to_bits(),
        DType::F8E5M2 => f8e5m2_bits_to_f32(bits as u8).to_bits(),
        DType::I32 | DType::I16 | DType::I8 | DType::I4 => ((bits << shift) as i32 >> shift) as u32,
    }
}

fn lane(dtype: DType, token: &str) -> Result<Lane, String> {
    let bad = || format!("`{token}` is no {}", dtype.name());
    if token == "undef" {
        return Ok(Lane::Undefined);
    }
    if let Some(digits) = token.strip_prefix("0x") {
        let bits = u32::from_str_radix(digits, 16).ok().filter(|bits| u64::from(*bits) >> dtype.bits() == 0);
        return Ok(Lane::Bits(widen(dtype, bits.ok_or_else(bad)?)));
    }
    if !dtype.is_float() {
        let value: i64 = token.parse().map_err(|_| bad())?;
        let half = 1i64 << (dtype.bits() - 1);
        let fits = if dtype == DType::I1 { 0..2 } else { -half..half };
        return if fits.contains(&value) { Ok(Lane::Bits(value as u32)) } else { Err(bad()) };
    }
    if token == "nan" {
        return Ok(Lane::NaN);
    }
    let (near, digits) = token.strip_prefix('~').map_or((false, token), |digits| (true, digits));
    let value: f32 = digits.parse().map_err(|_| bad())?;
    let exact =
        near || token.contains("inf") || f64::from(value) == digits.parse::<f64>().map_err(|_| bad())?;
    // Decimals of up to nine digits name their nearest f32; those of a narrow type must name it exactly.
    let shortest = dtype == DType::F32 && digits.trim_start_matches('-').len() >= 9;
    if round_to(dtype, value).to_bits() != value.to_bits() || !(exact || shortest) {
        return Err(bad());
    }
    Ok(if near { Lane::Near(value) } else { Lane::Bits(value.to_bits()) })
}

fn lanes<'t>(dtype: DType, tokens: impl Iterator<Item = &'t str>) -> Result<Vec<Lane>, String> {
    let mut lanes = Vec::new();
    for token in tokens {
        let (value, times) = token.split_once('*').unwrap_or((token, "1"));
        let times: usize = times.parse().map_err(|_| format!("`{token}` repeats how often?"))?;
        lanes.extend(std::iter::repeat_n(lane(dtype, value)?, times));
    }
    Ok(lanes)
}

fn dtype(name: &str) -> Result<DType, String> {
    DType::from_name(name).ok_or_else(|| format!("`{name}` is no element type"))
}

/// `i32 2x2 = 1 2 3 undef`: an array and its undefined elements.
fn operand(text: &str) -> Result<(Array, Vec<Range<usize>>), String> {
    let (head, values) = text.split_once('=').ok_or("an operand is `type shape = values`")?;
    let (name, shape) = head.trim().split_once(' ').ok_or("an operand is `type shape = values`")?;
    let dtype = dtype(name)?;
    let shape: Result<Vec<usize>, _> = shape.split('x').map(str::parse).collect();
    let mut array = Array::zeros(dtype, &shape.map_err(|error| error.to_string())?);
    let lanes = lanes(dtype, values.split_whitespace())?;
    if lanes.len() != array.len() {
        return Err(format!("{} values for {} elements", lanes.len(), array.len()));
    }
    let mut undefined = Vec::new();
    for (index, lane) in lanes.into_iter().enumerate() {
        match lane {
            Lane::Bits(bits) if dtype.is_float() => array.set_f32(index, f32::from_bits(bits)),
            Lane::Bits(bits) => store(&mut array.bytes, dtype.bits(), index, bits),
            Lane::Undefined => undefined.push(index..index + 1),
            Lane::NaN => array.set_f32(index, f32::NAN),
            Lane::Near(_) => return Err("an operand isn't near anything".to_owned()),
        }
    }
    Ok((array, undefined))
}

/// `116 up`: the same error for every function.
fn errors(text: &str) -> Result<FunctionErrors, String> {
    let (ulp, sign) = match text.split_once(' ') {
        Some((ulp, "up")) => (ulp, ErrorSign::Up),
        Some((ulp, "down")) => (ulp, ErrorSign::Down),
        _ => return Err(format!("`{text}` is no `ulps up` or `ulps down`")),
    };
    let ulp: f64 = ulp.parse().map_err(|_| format!("`{ulp}` is no number of ulps"))?;
    Ok(FunctionErrors { exp_ulp: ulp, tanh_ulp: ulp, div_ulp: ulp, sign })
}

/// Stores an integer of up to 32 bits, two to a byte where it has four.
fn store(bytes: &mut [u8], bits: usize, index: usize, value: u32) {
    if bits == 4 {
        let shift = 4 * (index % 2);
        bytes[index / 2] = bytes[index / 2] & !(0xF << shift) | ((value as u8 & 0xF) << shift);
    } else {
        let width = bits.div_ceil(8);
        bytes[index * width..(index + 1) * width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

/// The comment lines of a case that state something.
fn directives(text: &str) -> Result<Case, String> {
    let mut case = Case::default();
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("// ")) {
        if let Some(rest) = line.strip_prefix("operand: ") {
            case.operands.push(operand(rest)?);
        } else if let Some(rest) = line.strip_prefix("expect ") {
            let (index, rest) = rest.split_once(':').ok_or("an expectation is `expect 0: type values`")?;
            if index.parse() != Ok(case.expected.len()) {
                return Err(format!("expectation {index} isn't the next one"));
            }
            let mut tokens = rest.split_whitespace();
            let dtype = dtype(tokens.next().unwrap_or_default())?;
            case.expected.push((dtype, lanes(dtype, tokens)?));
        } else if let Some(rest) = line.strip_prefix("fault: ") {
            let (class, word) = rest.split_once(" in ").ok_or("a fault is `class in op`")?;
            case.fault = Some((class.to_owned(), word.to_owned()));
        } else if let Some(rest) = line.strip_prefix("refused: ") {
            case.refused = Some(rest.to_owned());
        } else if line == "out of fuel" {
            case.out_of_fuel = true;
        } else if line == "matmul: bf16x1" {
            case.arithmetic.matmul = MatmulMode::Bf16x1;
        } else if line == "denormals: flushed" {
            case.arithmetic.flush_denormals = true;
        } else if let Some(rest) = line.strip_prefix("errors: ") {
            case.arithmetic.errors = Some(errors(rest)?);
        }
    }
    let ends = [!case.expected.is_empty(), case.fault.is_some(), case.refused.is_some(), case.out_of_fuel];
    match ends.iter().filter(|&&end| end).count() {
        1 => Ok(case),
        _ => Err("a case states results, a fault, a refusal or running out of fuel".to_owned()),
    }
}

fn matches(expected: Lane, dtype: DType, found: u32, undefined: u32) -> bool {
    let value = f32::from_bits(found);
    match expected {
        Lane::Undefined => undefined != 0,
        _ if undefined != 0 => false,
        Lane::Bits(bits) => bits == found,
        Lane::NaN => dtype.is_float() && value.is_nan(),
        Lane::Near(near) => {
            let distance = i64::from(found as i32) - i64::from(near.to_bits() as i32);
            value.is_sign_negative() == near.is_sign_negative() && distance.abs() <= 2
        }
    }
}

/// A value for a message.
fn shown(dtype: DType, bits: u32, undefined: u32) -> String {
    match (undefined, dtype.is_float()) {
        (0, true) => format!("{:?} (0x{bits:08X})", f32::from_bits(bits)),
        (0, false) => format!("{}", bits as i32),
        (mask, _) => format!("undef(0x{mask:08X})"),
    }
}

/// Every lane that differs.
fn compare(case: &Case, returned: &[Returned]) -> Result<(), String> {
    if returned.len() != case.expected.len() {
        return Err(format!("{} values come back, {} are expected", returned.len(), case.expected.len()));
    }
    let mut differences = String::new();
    for (index, ((dtype, expected), found)) in case.expected.iter().zip(returned).enumerate() {
        if expected.len() != found.lanes.len() {
            let _ = write!(
                differences,
                "\n    value {index}: {} lanes, not {}",
                found.lanes.len(),
                expected.len()
            );
            continue;
        }
        for (lane, expected) in expected.iter().enumerate() {
            let (bits, undefined) = (found.lanes[lane], found.undefined[lane]);
            if !matches(*expected, *dtype, bits, undefined) {
                let wanted = match *expected {
                    Lane::Bits(bits) => shown(*dtype, bits, 0),
                    other => format!("{other:?}"),
                };
                let found = shown(*dtype, bits, undefined);
                let _ = write!(differences, "\n    value {index} lane {lane}: {found}, not {wanted}");
            }
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

/// One run of a case.
fn execute(case: &Case, machine: &mut Machine, operands: &[Operand], dma: DmaOrder) -> Result<(), String> {
    let policy = Policy { dma, arithmetic: case.arithmetic, fuel: 100_000, ..Policy::default() };
    let run = machine.run(operands, &[], &policy).map_err(|error| error.to_string())?;
    match (&run.end, &case.fault) {
        (End::Finished, None) if !case.out_of_fuel => compare(case, &machine.returned()),
        (End::OutOfFuel, None) if case.out_of_fuel => Ok(()),
        (End::Fault(fault), Some((class, op))) if fault.class.name() == class && fault.op == *op => Ok(()),
        (End::Fault(fault), _) => Err(format!("{} in {}: {}", fault.class.name(), fault.op, fault.message)),
        (end, _) => Err(format!("{end:?}")),
    }
}

/// Runs one case, plain and optimized, under every DMA order, with the op called `corrupt` made wrong; says how many instructions that changed.
fn run(text: &str, corrupt: Option<&str>) -> Result<usize, String> {
    let case = directives(text)?;
    let module = parse(text).map_err(|error| error.to_string())?;
    let mut program = match (Program::lower(&module, 0), &case.refused) {
        (Ok(program), None) => program,
        (Ok(_), Some(_)) => return Err("it is lowered".to_owned()),
        (Err(error), Some(word)) if error.to_string().contains(word) => return Ok(0),
        (Err(error), _) => return Err(error.to_string()),
    };
    let changed = corrupt.map_or(0, |op| program.corrupt(op));
    let operands: Vec<Operand> = case
        .operands
        .iter()
        .map(|(array, undefined)| Operand { label: "operand", array, undefined })
        .collect();
    for (form, program) in [("plain", program.clone()), ("optimized", program.optimized())] {
        let mut machine = Machine::new(Arc::new(program));
        for dma in ORDERS {
            let end = execute(&case, &mut machine, &operands, dma);
            end.map_err(|error| format!("({form}, {dma:?}) {error}"))?;
        }
    }
    Ok(changed)
}

const PANICKED: &str = "it panics";

/// Runs one case on a thread of its own, so that a panic or an endless run fails this case alone.
fn guarded(text: &str, corrupt: Option<&'static str>) -> Result<usize, String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let text = text.to_owned();
    std::thread::spawn(move || sender.send(run(&text, corrupt)));
    match receiver.recv_timeout(std::time::Duration::from_secs(20)) {
        Ok(outcome) => outcome,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Err("it doesn't end".to_owned()),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(PANICKED.to_owned()),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ops")
}

/// The files of a folder or the folders of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

/// A case of a file: where it starts, and its text.
struct Stated {
    place: String,
    text: String,
}

/// The cases of each file, by the op that the file is named after.
fn programs() -> BTreeMap<String, Vec<Stated>> {
    let part = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut programs = BTreeMap::new();
    for dialect in entries(&folder()) {
        for path in entries(&dialect) {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let place = path.strip_prefix(folder()).unwrap_or(&path).display().to_string();
            let mut line = 1;
            let cases = text.split("// -----\n").map(|case| {
                let stated = Stated { place: format!("{place}:{line}"), text: case.to_owned() };
                line += case.lines().count() + 1;
                stated
            });
            programs.insert(format!("{}.{}", part(&dialect), part(&path)), cases.collect());
        }
    }
    programs
}

#[test]
fn every_op_does_what_its_definition_says() {
    let programs = programs();
    let mut failures = Vec::new();
    for Stated { place, text } in programs.values().flatten() {
        if let Err(error) = guarded(text, None) {
            failures.push(format!("{place}: {error}"));
        }
    }
    let cases = programs.values().flatten().count();
    assert!(failures.is_empty(), "{} of {cases} cases failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_op_of_the_table_has_programs_and_every_program_an_op() {
    let programs = programs();
    let mut known: Vec<&str> = known_ops();
    // The op that ends every program here.
    known.push("func.return");
    known.sort_unstable();
    assert_eq!(programs.keys().collect::<Vec<_>>(), known);
    let without: Vec<&str> = known.into_iter().filter(|&op| programs[op].is_empty()).collect();
    assert_eq!(without, Vec::<&str>::new(), "ops without a program");
}

/// Ops that can't be made wrong, since they compute nothing.
const WITHOUT_EFFECT: [(&str, &str); 2] =
    [("tpu.trace_start", "names a span for the profiler"), ("tpu.trace_stop", "ends that span")];

/// Makes each op wrong in turn: its own programs must notice, or they are too weak.
#[test]
fn corrupting_any_op_turns_one_of_its_programs_red() {
    let programs = programs();
    let mut failures = Vec::new();
    println!("{:<24} programs  red when the op is corrupted", "op");
    for op in known_ops() {
        let mut red = 0;
        for Stated { place, text } in &programs[op] {
            match guarded(text, Some(op)) {
                Err(error) if error == PANICKED => failures.push(format!("{place}: corrupted, {error}")),
                Err(_) => red += 1,
                Ok(_) => {}
            }
        }
        println!("{op:<24} {:>8} {red:>4}", programs[op].len());
        if (red == 0) != exempt(op) {
            failures.push(format!("{op}: {red} of its programs notice that it is wrong"));
        }
    }
    println!("{} ops, {} programs", known_ops().len(), programs.values().flatten().count());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn exempt(op: &str) -> bool {
    WITHOUT_EFFECT.iter().any(|(known, _)| *known == op)
}
