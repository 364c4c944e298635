//! The parser over a fixture with every form of the grammar: what it reads, how it fails, and that it never panics.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

use countersign_dtype::DType;
use countersign_mosaic::ir::{
    Attribute, ElementType, Frame, MemRefType, MemorySpace, Module, Op, Type, VectorType, print,
};
use countersign_mosaic::{ParseError, parse};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const SYNTAX: &str = include_str!("data/syntax.mlir");
const SHORT: &str = include_str!("data/short.mlir");

fn syntax() -> Module {
    parse(SYNTAX).expect("the fixture parses")
}

/// The only op called `name`.
fn op<'m>(module: &'m Module, name: &str) -> &'m Op {
    let mut found = Vec::new();
    module.walk(|op, _| {
        if op.name == name {
            found.push(op);
        }
    });
    assert_eq!(found.len(), 1, "{name}");
    found[0]
}

fn attribute<'m>(module: &'m Module, key: &str) -> &'m Attribute {
    op(module, "test.attributes").attribute(key).unwrap_or_else(|| panic!("attribute {key}"))
}

fn int(value: i64, dtype: DType) -> Attribute {
    Attribute::Int(value, Type::Scalar(dtype))
}

fn float(bits: u64, dtype: DType) -> Attribute {
    Attribute::Float { bits, ty: Type::Scalar(dtype) }
}

fn tensor(shape: &[usize], dtype: DType) -> Type {
    Type::Tensor(VectorType { shape: shape.to_vec(), element: ElementType::Data(dtype) })
}

fn vector(shape: &[usize], dtype: DType) -> Type {
    Type::Vector(VectorType { shape: shape.to_vec(), element: ElementType::Data(dtype) })
}

/// `function:line`, innermost first.
fn stack(module: &Module, op: &Op) -> Vec<String> {
    module
        .locations
        .stack(op.location)
        .iter()
        .map(|frame| format!("{}:{}", frame.function, frame.line))
        .collect()
}

#[test]
fn reads_ops_with_prefix_dropped_and_lines_counted() {
    let module = parse(SHORT).expect("the fixture parses");
    let mut ops = Vec::new();
    module.walk(|op, depth| ops.push((op.name.as_str(), op.line, depth)));
    let expected = [
        ("func.func", 2, 0),
        ("arith.addi", 4, 1),
        ("arith.cmpi", 5, 1),
        ("scf.if", 6, 1),
        ("arith.sitofp", 7, 2),
        ("scf.yield", 8, 2),
        ("arith.index_cast", 10, 2),
        ("scf.yield", 11, 2),
        ("func.return", 13, 1),
    ];
    assert_eq!(ops, expected);
    let i64 = |value| Attribute::Int(value, Type::I64);
    assert_eq!(module.attributes, [("stable_mosaic.version".to_owned(), i64(11))]);
    assert_eq!(module.values, 5, "one argument, two values, and one in each branch");
    assert!(module.function("main").is_some());
    assert_eq!(module.locations.stacks, [Vec::<Frame>::new()], "no locations: the unknown one alone");
}

#[test]
fn sibling_regions_reuse_names_for_different_values() {
    let module = parse(SHORT).expect("the fixture parses");
    let (sum, one, other) =
        (op(&module, "arith.addi"), op(&module, "arith.sitofp"), op(&module, "arith.index_cast"));
    assert_ne!(one.results, other.results);
    assert_eq!((&one.operands, &other.operands), (&sum.results, &sum.results), "both see the value outside");
}

#[test]
fn results_are_named_one_by_one_and_by_number() {
    let module = syntax();
    let (while_op, two, opaque) =
        (op(&module, "scf.while"), op(&module, "test.two"), op(&module, "test.opaque"));
    assert_eq!(two.operands, [while_op.results[2], while_op.results[0]]);
    assert_eq!(opaque.operands, [two.results[1]]);
    assert_eq!(opaque.result_types, [Type::Opaque("!llvm.ptr<1>".to_owned())]);
    assert_eq!((two.regions.len(), two.regions[0].ops.len()), (2, 0));
    assert_eq!(
        two.attributes,
        [("kept".to_owned(), int(1, DType::I32)), ("other".to_owned(), Attribute::Unit)]
    );
}

#[test]
fn reads_types() {
    let module = syntax();
    let memref = |shape: &[Option<usize>], element, space| {
        Type::MemRef(MemRefType { shape: shape.to_vec(), element, space })
    };
    let data = ElementType::Data;
    let expected = [
        Type::Scalar(DType::I32),
        memref(&[Some(8), None], data(DType::F32), Some(MemorySpace::Vmem)),
        memref(&[Some(2)], ElementType::DmaSemaphore, Some(MemorySpace::Semaphore)),
        memref(&[Some(32), Some(16), Some(8), Some(128)], data(DType::Bf16), Some(MemorySpace::Any)),
        memref(&[Some(4)], data(DType::I32), Some(MemorySpace::Smem)),
        memref(&[], ElementType::Semaphore, Some(MemorySpace::Semaphore)),
        memref(&[], data(DType::F32), None),
        Type::Opaque("memref<4xf64, #tpu.memory_space<hbm>>".to_owned()),
    ];
    let arguments = &op(&module, "func.func").regions[0].arguments;
    assert_eq!(arguments.iter().map(|(_, ty)| ty.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(op(&module, "test.two").result_types, [Type::Index, vector(&[4, 128], DType::F32)]);
    let function = Type::Function(
        vec![Type::Scalar(DType::I32), vector(&[4], DType::I4)],
        vec![tensor(&[2, 3], DType::F8E5M2), Type::Opaque("f64".to_owned())],
    );
    assert_eq!(*attribute(&module, "type"), Attribute::Type(function));
    let single = Type::Function(Vec::new(), vec![Type::Scalar(DType::I16)]);
    assert_eq!(*attribute(&module, "single"), Attribute::Type(single));
    assert_eq!(*attribute(&module, "none"), Attribute::Type(Type::Function(Vec::new(), Vec::new())));
}

#[test]
fn reads_attributes() {
    let module = syntax();
    let i64 = |value| Attribute::Int(value, Type::I64);
    let f64 = |value: f64| Attribute::Float { bits: value.to_bits(), ty: Type::Opaque("f64".to_owned()) };
    let text = |text: &str| Attribute::Str(text.to_owned());
    let symbol = |text: &str| Attribute::Symbol(text.to_owned());
    let opaque = |text: &str| Attribute::Opaque(text.to_owned());
    let i32s = |values: &[i64]| values.iter().map(|&value| int(value, DType::I32)).collect();
    let i64s = |values: &[i64]| values.iter().map(|&value| i64(value)).collect();
    let bools = [true, false, true].map(Attribute::Bool).to_vec();
    let cases = [
        ("unit", Attribute::Unit),
        ("also", Attribute::Unit),
        ("yes", Attribute::Bool(true)),
        ("no", Attribute::Bool(false)),
        ("mask", Attribute::Dense(bools, vector(&[3], DType::I1))),
        ("a key", text("quote \" slash \\ line\n\t ü")),
        (
            "ints",
            Attribute::Array(vec![
                i64(1),
                int(-2, DType::I8),
                int(127, DType::I8),
                int(-1, DType::I8),
                Attribute::Int(3, Type::Index),
                i64(i64::MIN),
            ]),
        ),
        ("nothing", Attribute::IntArray(vec![])),
        ("array", Attribute::IntArray(vec![-1, 2])),
        (
            "floats",
            Attribute::Array(vec![
                float(0x3FC0, DType::Bf16),
                float(0x7F, DType::F8E4M3FN),
                float(0x8000, DType::F16),
                float(u64::from(1e-5f32.to_bits()), DType::F32),
                f64(2.0),
                float(0x3F80_0000, DType::F32),
                float(0x7FC0_0001, DType::F32),
            ]),
        ),
        ("symbol", symbol("transform_0")),
        ("quoted", symbol("with space")),
        ("inner", symbol("outer::inner")),
        (
            "dict",
            Attribute::Dict(vec![
                ("transform_indices".to_owned(), symbol("t")),
                ("empty".to_owned(), Attribute::Dict(vec![])),
            ]),
        ),
        ("splat", Attribute::Splat(Box::new(float(0, DType::F32)), vector(&[4, 1, 128], DType::F32))),
        ("bits", Attribute::Splat(Box::new(float(0xFF80_0000, DType::F32)), vector(&[2], DType::F32))),
        ("dense", Attribute::Dense(i32s(&[1, -2, 3, 4, 5, 6]), tensor(&[2, 3], DType::I32))),
        ("wide", Attribute::Dense(i64s(&[0, 1, 2, 3]), Type::Opaque("tensor<2x2xi64>".to_owned()))),
        (
            "bytes",
            Attribute::Dense(
                vec![float(0xBF80_0000, DType::F32), float(0x7FC0_0000, DType::F32)],
                tensor(&[2], DType::F32),
            ),
        ),
        ("hollow", Attribute::Dense(vec![], tensor(&[0, 2], DType::I32))),
        ("scalar", Attribute::Splat(Box::new(int(7, DType::I8)), tensor(&[], DType::I8))),
        ("numbers", opaque("tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>")),
        ("kind", opaque("vector.kind<maximumf>")),
        ("map", opaque("affine_map<(d0, d1) -> (d1, d0)>")),
        ("arrow", opaque("test.fn<\"a > b\" -> (c)>")),
        ("bare", opaque("tpu.core")),
    ];
    for (key, expected) in cases {
        assert_eq!(*attribute(&module, key), expected, "{key}");
    }
}

#[test]
fn resolves_locations_to_call_stacks() {
    let module = syntax();
    let constants: Vec<Vec<String>> = {
        let mut stacks = Vec::new();
        module.walk(|op, _| {
            if op.name == "arith.constant" {
                stacks.push(stack(&module, op));
            }
        });
        stacks
    };
    let cases = [
        (
            "a primitive's names are no frames",
            constants[0].clone(),
            &["helper:7", "kernel.<locals>.body:30"][..],
        ),
        ("a named file is a frame", constants[1].clone(), &["outer:321"]),
        ("a primitive around a bare file", stack(&module, op(&module, "arith.cmpi")), &[":9"]),
        ("a loop's own name", stack(&module, op(&module, "scf.while")), &["kernel.<locals>.body:30"]),
        ("fused: the first that is known", stack(&module, op(&module, "test.two")), &["outer:321"]),
        (
            "nested call sites",
            stack(&module, op(&module, "test.opaque")),
            &["kernel.<locals>.body:30", "outer:321", "top:1"],
        ),
        (
            "a reused trace: its own frames, then this call's",
            stack(&module, op(&module, "arith.addi")),
            &["helper:7", "outer:321"],
        ),
        (
            "a reused trace from elsewhere: this call's alone",
            stack(&module, op(&module, "test.attributes")),
            &["outer:321"],
        ),
        ("unknown", stack(&module, op(&module, "func.return")), &[]),
    ];
    for (what, found, expected) in cases {
        assert_eq!(found, expected, "{what}");
    }
    let file = &module.locations.stack(op(&module, "scf.while").location)[0].file;
    assert_eq!(file, "/kernel.py");
    assert_eq!(op(&module, "arith.addi").location, module_location_of(&module, "helper:7", "outer:321"));
}

/// The id of the stack of two frames, which must be there exactly once.
fn module_location_of(module: &Module, inner: &str, outer: &str) -> countersign_mosaic::ir::LocationId {
    let name = |frame: &Frame| format!("{}:{}", frame.function, frame.line);
    let stacks = module.locations.stacks.iter().enumerate();
    let found: Vec<usize> =
        stacks.filter(|(_, stack)| stack.iter().map(name).eq([inner, outer])).map(|(id, _)| id).collect();
    assert_eq!(found.len(), 1);
    countersign_mosaic::ir::LocationId(found[0] as u32)
}

/// Without lines, which printing changes.
fn without_lines(mut module: Module) -> Module {
    module.walk_mut(|op, _| op.line = 0);
    module
}

#[test]
fn prints_what_parses_back_to_the_same_module() {
    for text in [SYNTAX, SHORT] {
        let module = without_lines(parse(text).expect("the fixture parses"));
        let printed = print(&module);
        let again = without_lines(parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}")));
        assert_eq!(again, module, "{printed}");
        assert_eq!(print(&again), printed);
    }
}

#[test]
fn an_edit_survives_printing() {
    let mut module = parse(SHORT).expect("the fixture parses");
    let fresh = module.next_value();
    module.walk_mut(|op, _| {
        if op.name == "arith.cmpi" {
            op.attributes[0].1 = Attribute::Int(3, Type::I64);
        }
        if op.name == "arith.sitofp" {
            op.results = vec![fresh];
        }
    });
    let again = parse(&print(&module)).expect("the edited module parses");
    assert_eq!(op(&again, "arith.cmpi").attribute("predicate"), Some(&Attribute::Int(3, Type::I64)));
}

/// A module around the ops in `body`.
fn around(body: &str) -> String {
    format!("module {{\n{body}\n}}")
}

#[test]
fn failures_name_the_place_and_the_reason() {
    let deep_type = format!("\"a.b\"() : () -> ({}", "(".repeat(10_000));
    let deep_regions = format!("{}{}", "\"a.b\"() ({".repeat(10_000), "}) : () -> ()".repeat(10_000));
    let deep_array = format!("\"a.b\"() {{a = {}", "[".repeat(10_000));
    let deep_dense = format!("\"a.b\"() {{a = dense<{}", "[".repeat(10_000));
    let deep_loc = format!("\"a.b\"() : () -> () loc({}", "\"a\"(".repeat(10_000));
    let chain: String = (0..5_000).map(|i| format!("#loc{i} = loc(\"a\"(#loc{}))\n", i + 1)).collect();
    let chain = format!("\"a.b\"() : () -> () loc(#loc0)\n{chain}#loc5000 = loc(unknown)");
    let cases: &[(&str, &str)] = &[
        ("\"a.b\"(%0) : (i32) -> ()", "2:7: %0 isn't defined here"),
        ("%0 = \"a.b\"() : () -> i32\n\"a.b\"(%0#1) : (i32) -> ()", "3:7: %0 has no result 1"),
        (
            "%0 = \"a.b\"() : () -> i32\n\"a.b\"(%0) : (f32) -> ()",
            "3:7: this operand is a i32, but the op states f32",
        ),
        ("%0 = \"a.b\"() : () -> i32\n%0 = \"a.b\"() : () -> i32", "3:1: %0 is defined twice in this region"),
        (
            "%0:2 = \"a.b\"() : () -> i32",
            "2:8: this op names another number of results than its 1 result types",
        ),
        ("\"a.b\"() : (i32) -> ()", "2:1: this op has 0 operands and 1 operand types"),
        ("\"a.b\"() [^bb1] : () -> ()", "2:9: successor blocks aren't supported"),
        ("\"a.b\"() ({^bb0: ^bb1:}) : () -> ()", "2:17: a region of several blocks isn't supported"),
        (
            "\"a.b\"() ({%0 = \"c.d\"() : () -> i32}) : () -> ()\n\"a.b\"(%0) : (i32) -> ()",
            "3:7: %0 isn't defined here",
        ),
        ("func.func @main() {}", "2:1: expected an op in generic form"),
        ("\"a.b\"() {a = #undefined} : () -> ()", "2:14: the alias #undefined isn't defined before its use"),
        ("\"a.b\"() : () -> !undefined", "2:17: the type alias !undefined isn't defined"),
        ("\"a.b\"() : () -> () loc(#loc9)", "2:24: the location #loc9 isn't defined"),
        ("\"a.b\"() {a = 256 : i8} : () -> ()", "2:14: this number doesn't fit its type"),
        ("\"a.b\"() {a = 9223372036854775808999 : i64} : () -> ()", "2:14: this number doesn't fit its type"),
        ("\"a.b\"() {a = 0x1FFFF : bf16} : () -> ()", "2:14: this is no value of type bf16"),
        (
            "\"a.b\"() {a = dense<[[1, 2], [3]]> : vector<2x2xi32>}",
            "2:29: this list isn't as long as those beside it",
        ),
        (
            "\"a.b\"() {a = dense<[1, 2]> : vector<3xi32>}",
            "2:20: the shape of these dense values isn't that of their type",
        ),
        ("\"a.b\"() {a = \"open", "2:15: this string isn't closed on its line"),
        ("\"a.b\"() {a = \"\\q\"}", "2:16: this escape is unknown"),
        ("\"a.b\"() {a = #t.x<[1)>}", "2:21: `)` closes nothing"),
        ("\"a.b\"() {a = #t.x<[1", "3:1: `}` closes nothing"),
        (
            "\"a.b\"() : () -> memref<8x128xf32, #tpu.tiled<(8,128)>>",
            "2:35: this memref has a layout or a memory space that isn't supported",
        ),
        (
            "\"a.b\"() ({^bb0(%a: memref<8xf32, strided<[2], offset: ?>>):}) : () -> ()",
            "2:16: an argument with a layout of its own isn't supported",
        ),
        ("\"a.b\"() : () -> memref<*xf32>", "2:24: expected a memref with a rank"),
        (
            "\"a.b\"() : () -> vector<99999999999999999999xf32>",
            "2:24: 99999999999999999999 is too large for an extent",
        ),
        (&deep_type, "this is nested more than"),
        (&deep_regions, "this is nested more than"),
        (&deep_array, "this is nested more than"),
        (&deep_dense, "this is nested more than"),
        (&deep_loc, "this is nested more than"),
    ];
    let mut failed = Vec::new();
    for (body, expected) in cases {
        let found = match parse(&around(body)) {
            Ok(_) => "a module".to_owned(),
            Err(ParseError { line, column, message }) => format!("{line}:{column}: {message}"),
        };
        if !found.contains(expected) {
            failed.push(format!("{expected}\n  found {found}"));
        }
    }
    let whole = [
        ("", "line 1, column 1: no module found"),
        ("// nothing\n", "line 2, column 1: no module found"),
        ("\"a.b\"() {a = #t.x<[1", "line 1, column 18: this bracket isn't closed"),
        ("module {", "line 1, column 9: expected an op in generic form"),
        ("#loc1 = loc(#loc2)\n#loc2 = loc(#loc1)\n\"a.b\"() : () -> () loc(#loc1)", "refers to itself"),
        (
            "#loc1 = loc(unknown)\n#loc1 = loc(unknown)\nmodule {}",
            "line 2, column 1: the location #loc1 is defined twice",
        ),
        (&chain, "too long"),
    ];
    for (text, expected) in whole {
        let found = parse(text).map_or_else(|error| error.to_string(), |_| "a module".to_owned());
        if !found.contains(expected) {
            failed.push(format!("{expected}\n  found {found}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn stacks_that_double_with_every_alias_stay_bounded() {
    // Frames alternate between two functions, so that no joint is taken for a reused trace.
    let mut text = "#loc0 = loc(\"f\"(\"a.py\":1:1))\n#other = loc(\"g\"(\"a.py\":2:1))\n".to_owned();
    for i in 1..200 {
        text += &format!("#loc{i} = loc(callsite(#other at callsite(#loc{} at #loc{})))\n", i - 1, i - 1);
    }
    let module = parse(&format!("{text}\"a.b\"() : () -> () loc(#loc199)")).expect("parses");
    assert!(module.locations.stacks[1].len() <= 256);
}

#[test]
fn a_long_inline_stack_is_no_deep_nesting() {
    let frames = 200;
    let sites: String = (0..frames).map(|i| format!("callsite(\"f{i}\"(\"a.py\":{}:1) at ", i + 1)).collect();
    let text = format!("\"a.b\"() : () -> () loc({sites}unknown{}", ")".repeat(frames + 1));
    let module = parse(&text).expect("parses");
    assert_eq!(module.locations.stacks[1].len(), frames);
    assert_eq!(without_lines(parse(&print(&module)).expect("parses")), without_lines(module));
}

/// Pieces that turn one form into another where they are put into a text.
const PIECES: [&str; 24] = [
    "\"", "(", ")", "{", "}", "<", ">", "[", "]", "->", ":", ",", "=", "%", "%0", "#", "#loc1", "!", "^bb0",
    "loc(", "-", "0x", "dense<", "\\",
];

/// One change of a text.
#[derive(Debug, Clone)]
enum Change {
    Truncate(prop::sample::Index),
    Delete(prop::sample::Index, usize),
    Insert(prop::sample::Index, usize),
    Replace(prop::sample::Index, char),
    Repeat(prop::sample::Index, usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        at().prop_map(Change::Truncate),
        (at(), 1..40usize).prop_map(|(place, length)| Change::Delete(place, length)),
        (at(), 0..PIECES.len()).prop_map(|(place, piece)| Change::Insert(place, piece)),
        (at(), any::<char>()).prop_map(|(place, c)| Change::Replace(place, c)),
        (at(), 1..60usize, 2..300usize)
            .prop_map(|(place, length, times)| Change::Repeat(place, length, times)),
    ]
}

fn apply(text: &str, change: &Change) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    if chars.is_empty() {
        return String::new();
    }
    let from = |place: &prop::sample::Index| place.index(chars.len());
    match change {
        Change::Truncate(place) => {
            let end = from(place);
            chars.truncate(end);
        }
        Change::Delete(place, length) => {
            let start = from(place);
            let end = (start + length).min(chars.len());
            chars.drain(start..end);
        }
        Change::Insert(place, piece) => {
            let start = from(place);
            chars.splice(start..start, PIECES[*piece].chars());
        }
        Change::Replace(place, c) => {
            let start = from(place);
            chars[start] = *c;
        }
        Change::Repeat(place, length, times) => {
            let start = from(place);
            let end = (start + length).min(chars.len());
            let part = chars[start..end].repeat(*times);
            chars.splice(start..end, part);
        }
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn garbage_gives_a_module_or_a_place_in_the_text(short in any::<bool>(), changes in prop::collection::vec(change(), 1..4)) {
        let original = if short { SHORT } else { SYNTAX };
        let text = changes.iter().fold(original.to_owned(), |text, change| apply(&text, change));
        match parse(&text) {
            Ok(module) => {
                let printed = print(&module);
                let again = parse(&printed);
                prop_assert!(again.is_ok(), "{}\n{printed}", again.unwrap_err());
                prop_assert_eq!(without_lines(again.unwrap()), without_lines(module));
            }
            Err(error) => {
                let line = text.split('\n').nth(error.line - 1);
                prop_assert!(line.is_some_and(|line| error.column <= line.chars().count() + 1), "{error}");
                prop_assert!(!error.message.is_empty() && !error.message.contains('\n'));
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = parse(&text);
        prop_assert!(parse(&around(&text)).map_or_else(|error| error.line >= 1, |_| true));
    }
}
