//! Ill-typed modules: mutations of all test programs, and what the fuzz target `parse_module` once found.
//!
//! Invariant: nothing panics, and the optimised program does what the plain one does; what is wrong is named with its line.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not recognised as tests")]

use std::path::{Path, PathBuf};

use countersign_mosaic::fuzzing::{Reached, mutated, one_text};
use countersign_mosaic::{Program, parse};

fn texts(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            texts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "mlir") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

#[test]
fn mutations_of_all_programs_neither_panic_nor_differ_when_optimised() {
    const SEEDS: u64 = 150;
    let mut programs = Vec::new();
    texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut programs);
    let mut counts = [0usize; 4];
    for (path, text) in &programs {
        let functions = functions(text);
        for seed in 0..SEEDS {
            for function in &functions {
                let text = mutated(function, seed);
                let reached = std::panic::catch_unwind(|| one_text(&text));
                match reached {
                    Ok(reached) => counts[reached as usize] += 1,
                    Err(_) => panic!("{} with seed {seed}:\n{text}", path.display()),
                }
            }
        }
    }
    println!("nothing, module, program, run: {counts:?}");
    assert!(counts[Reached::Run as usize] > 2_000 && counts[Reached::Module as usize] > 500, "{counts:?}");
}

/// A file's functions one by one, since only the first is the kernel.
fn functions(text: &str) -> Vec<String> {
    let mut functions = vec![text.to_owned()];
    let starts: Vec<usize> = text.match_indices("\"func.func\"").map(|(at, _)| at).collect();
    for (index, &start) in starts.iter().enumerate().skip(1) {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        functions.push(text[start..end].to_owned());
    }
    functions
}

/// The reason for which `body`, in a function of `arguments`, doesn't lower; `%u` and `%v` are of type `vector<4xf32>`.
fn refusal(arguments: &str, body: &str) -> String {
    let text = format!(
        "\"func.func\"() ({{\n^bb0({arguments}):\n{body}\n\"func.return\"() : () -> ()\n}}) \
         {{function_type = () -> (), scratch_operands = {}, window_params = []}} : () -> ()",
        arguments.matches(':').count()
    );
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    match Program::lower(&module, 0) {
        Ok(_) => panic!("it lowers:\n{text}"),
        Err(error) => error.to_string(),
    }
}

const V: &str = "%v = \"arith.constant\"() {value = dense<1.0> : vector<4xf32>} : () -> vector<4xf32>\n";
const M: &str = "%m: memref<4x8xf32, #tpu.memory_space<vmem>>";

#[track_caller]
fn refused(arguments: &str, body: &str, words: &str) {
    let refusal = refusal(arguments, body);
    assert!(refusal.contains(words), "{refusal}");
    assert!(refusal.contains("at line"), "{refusal}");
}

#[test]
fn what_mlirs_verifier_would_refuse_is_named_with_op_and_line() {
    let v = |body: &str| format!("{V}{body}");
    refused(
        "",
        &v("%0 = \"arith.addf\"(%v) : (vector<4xf32>) -> vector<4xf32>"),
        "1 operand(s) instead of 2",
    );
    refused(
        "",
        &v("%0 = \"arith.addf\"(%v, %v) : (vector<4xf32>, vector<4xf32>) -> vector<5xf32>"),
        "operands and result differ: vector<4xf32> and vector<5xf32>",
    );
    refused(
        "",
        &v("%0 = \"arith.addi\"(%v, %v) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>"),
        "vector<4xf32> where integers belong",
    );
    refused(
        "",
        &v(
            "%0 = \"arith.cmpf\"(%v, %v) {predicate = 1 : i64} : (vector<4xf32>, vector<4xf32>) -> vector<8xi1>",
        ),
        "the result is vector<8xi1>, beside vector<4xf32>",
    );
    refused(
        "",
        "%0 = \"arith.constant\"() {value = dense<1.0> : vector<0xf32>} : () -> vector<0xf32>",
        "vector<0xf32> has an extent of 0",
    );
    refused(
        "",
        "%0 = \"tpu.iota\"() {dimensions = array<i32: 0>} : () -> vector<4294967295x4294967295xi32>",
        "lanes",
    );
    let huge = "%m: memref<65536x65536xf32, #tpu.memory_space<vmem>>";
    refused(huge, "\"tpu.trace_stop\"() : () -> ()", "bytes");
    let load = "%0 = \"memref.load\"(%m) : (memref<4x8xf32, #tpu.memory_space<vmem>>) -> f32";
    refused(M, load, "0 index(s) instead of 2");
    let body = "%i = \"arith.constant\"() {value = 0 : index} : () -> index\n\
                %0 = \"memref.load\"(%m, %i, %i) : (memref<4x8xf32, #tpu.memory_space<vmem>>, index, index) -> i32";
    refused(M, body, "the result is i32, the memref holds f32");
}

#[test]
fn regions_have_the_arguments_and_terminators_that_their_op_needs() {
    let flag = "%c = \"arith.constant\"() {value = true} : () -> i1\n";
    let one = "%n = \"arith.constant\"() {value = 1 : i32} : () -> i32\n";
    let missing = format!("{flag}%0 = \"scf.if\"(%c) ({{\n}}, {{\n}}) : (i1) -> i32");
    refused("", &missing, "a region without scf.yield");
    let wrong = format!(
        "{flag}%0 = \"scf.if\"(%c) ({{\n\"scf.yield\"(%c) : (i1) -> ()\n}}, {{\n\"scf.yield\"(%c) : (i1) -> ()\n}}) : (i1) -> i32"
    );
    refused("", &wrong, "scf.yield differ: i1 and i32");
    let early = format!("{flag}\"scf.if\"(%c) ({{\n\"scf.yield\"() : () -> ()\n{one}\n}}) : (i1) -> ()");
    refused("", &early, "ops after the end of a block");
    let endless = format!(
        "{one}%0 = \"scf.while\"(%n) ({{\n^bb0(%a: i32):\n\"scf.yield\"(%a) : (i32) -> ()\n}}, \
         {{\n^bb0(%b: i32):\n\"scf.yield\"(%b) : (i32) -> ()\n}}) : (i32) -> i32"
    );
    refused("", &endless, "a region that ends with scf.yield");
}

#[test]
fn aliases_of_aliases_do_not_fill_memory() {
    let mut text = String::from("#a0 = [1, 2, 3, 4]\n!t0 = (i32, i32) -> (i32)\n");
    for i in 1..60 {
        text += &format!("#a{i} = [#a{0}, #a{0}]\n!t{i} = (!t{0}, !t{0}) -> ()\n", i - 1);
    }
    text += "\"func.func\"() ({\n}) {x = #a59, y = !t59} : () -> ()";
    assert!(parse(&text).unwrap_err().to_string().contains("aliases stand for"));
}

#[test]
fn kept_as_text_is_only_what_a_bracket_opens() {
    for text in ["#a = distinct\u{3cb2}", "#a = strided->", "#a = sparse \"(\"", "#a = distinct["] {
        assert!(parse(text).unwrap_err().to_string().contains("bracket"), "{text}");
    }
    for text in ["#a = distinct[\u{3cb2}]", "#a = distinct<\"\\\u{3cb2}\">\u{3cb2}"] {
        assert!(parse(text).is_err(), "{text}: there is no module");
    }
}

#[test]
fn a_grid_over_nothing_ends() {
    let text = "\"func.func\"() ({\n^bb0(%a: i32, %b: i32):\n\"func.return\"() : () -> ()\n}) \
                {iteration_bounds = array<i64: 2147483647, 2147483647>, window_params = []} : () -> ()";
    let error = Program::lower(&parse(text).unwrap(), 0).unwrap_err();
    assert!(error.to_string().contains("a grid of more than"), "{error}");
}
