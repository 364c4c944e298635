//! The port of upstream's checks against the real ones on generated inputs: equal verdict, equal failing check, equal words,
//! numbers included.
//!
//! `COUNTERSIGN_VALIDATOR_INPUTS=100000 cargo test --release -p countersign --test validators -- --nocapture` asks about so
//! many (a question takes the real checks 3 to 8 ms) and prints the counts; without it, a sample is asked about.
//!
//! Invariant: input i is a function of i alone, so that a run repeats, and a larger one begins with a smaller one's inputs.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

use std::collections::BTreeMap;
use std::time::Duration;

use countersign::generate::{BoundaryClass, generate};
use countersign_dtype::DType;
use countersign_kernels::Variant;
use countersign_kernels::call::Call;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::checks::{
    CHECKS, StaticCall, Verdict, check_of_message, dynamic_check_call, static_check,
};
use countersign_kernels::contract::probe::{Edge, Input, Probe, probe};
use countersign_kernels::contract::{Rule, Scope, rules};
use countersign_kernels::env::{Environment, Silent};
use countersign_kernels::operand_type::OperandType;
use countersign_kernels::rpa::sweep;
use countersign_kernels::worker::{Asked, Timeouts, Worker, metadata_values};
use countersign_reference::Metadata;

/// Asked about without a number.
const SAMPLE: u64 = 600;
/// A call with the values of its metadata, and what it was made for.
struct Question<'v> {
    variant: &'v Variant,
    call: StaticCall,
    metadata: Metadata,
    classes: Vec<String>,
}

/// Numbers from a linear congruential generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

/// Input `index`: in turn a batch of the generator, a probe of a rule, a probe with an entry at a limit, one or two edits of the
/// static side with a probe's metadata, and a num_seqs of another type.
fn question(index: u64, variants: &[Variant]) -> Question<'_> {
    let mut numbers = Numbers(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    numbers.below(2);
    let variant = &variants[numbers.below(variants.len())];
    let mut classes = Vec::new();
    let (mut call, mut metadata);
    match index % 6 {
        0 | 1 => {
            let generated = generate(6, index, "jax-rpa", variants, None);
            let named = generated.case.variant.name();
            let variant = variants.iter().find(|variant| variant.name == named).unwrap();
            let slip = generated.tags.slip.map_or("none", |slip| slip.name());
            classes.push(format!("slip: {slip}"));
            metadata = generated.case.metadata;
            call = StaticCall::with_metadata(variant, &metadata);
            return Question { variant, call, metadata, classes }.observed();
        }
        2 | 3 => {
            let edge = edge_of(&mut numbers, variant, |rule| rule.scope != Scope::Static, &mut classes);
            metadata = edge.metadata(variant);
            call = StaticCall::of(variant);
            if index % 6 == 3 {
                limit(&mut numbers, variant, &mut metadata);
                classes.push("with an entry at a limit".to_owned());
            }
        }
        4 => {
            let edge = edge_of(&mut numbers, variant, |rule| rule.scope != Scope::Static, &mut classes);
            metadata = edge.metadata(variant);
            if numbers.below(2) == 0 {
                let edge = edge_of(&mut numbers, variant, |rule| rule.scope == Scope::Static, &mut classes);
                let Input::Call(probed) = edge.input else { unreachable!("a static rule has calls") };
                call = *probed;
            } else {
                let edits = sweep::edits(variant);
                let (first, second) = (numbers.pick(&edits), numbers.pick(&edits));
                classes.push(format!("edit of {} {}", first.axis.name(), first.of));
                call = sweep::both(variant, &first, &second).unwrap_or(first.call);
            }
        }
        _ => {
            let edge = edge_of(&mut numbers, variant, |rule| rule.scope != Scope::Static, &mut classes);
            metadata = edge.metadata(variant);
            call = StaticCall::of(variant);
            // The static check lets any type of num_seqs pass.
            let others: Vec<OperandType> =
                OperandType::all().filter(|dtype| *dtype != OperandType::Of(DType::I32)).collect();
            let dtype = numbers.pick(&others).numpy_name();
            dtype.clone_into(&mut call.num_seqs.dtype);
            // What every one of these types holds exactly.
            metadata.num_seqs = metadata.num_seqs.clamp(-2, 7);
            classes.push(format!("num_seqs {dtype}"));
        }
    }
    if call.num_seqs.dtype != "int32" {
        metadata.num_seqs = metadata.num_seqs.clamp(-2, 7);
    }
    Question { variant, call, metadata, classes }.observed()
}

/// An edge of a rule that `suits`, on either side.
fn edge_of(
    numbers: &mut Numbers,
    variant: &Variant,
    suits: impl Fn(&Rule) -> bool,
    classes: &mut Vec<String>,
) -> Edge {
    let rules: Vec<&Rule> =
        rules(countersign_kernels::family::Family::Rpa).iter().filter(|rule| suits(rule)).collect();
    loop {
        let rule = numbers.pick(&rules);
        let Probe { kept, broken } = probe(rule, variant);
        let (side, edges) = if numbers.below(4) == 0 { ("kept", kept) } else { ("broken", broken) };
        if !edges.is_empty() {
            classes.push(format!("rule: {} {side}", rule.id));
            return numbers.pick(&edges);
        }
    }
}

/// Puts one entry at a limit, its own or int32's.
fn limit(numbers: &mut Numbers, variant: &Variant, metadata: &mut Metadata) {
    let reach = (variant.page_size * variant.pages_per_seq) as i32;
    let (rows, tokens) = (variant.max_seqs as i32, variant.tokens as i32);
    let limits = [i32::MAX, i32::MAX - 6, i32::MIN, i32::MIN + 3, -1, 0];
    let row = numbers.below(variant.max_seqs);
    match numbers.below(4) {
        0 => metadata.num_seqs = numbers.pick(&[limits[0], limits[2], -1, -2, rows, rows + 1, -rows - 2, 0]),
        1 => {
            metadata.kv_lens[row] = numbers.pick(&[limits[0], limits[1], limits[2], -1, 0, reach, reach + 1])
        }
        2 => {
            let entry = numbers.below(variant.max_seqs + 1);
            metadata.cu_q_lens[entry] =
                numbers.pick(&[limits[0], limits[1], limits[2], limits[3], -1, 0, tokens, tokens + 1]);
        }
        _ => {
            let entry = numbers.below(variant.max_seqs + 1);
            metadata.cu_q_lens[entry] = metadata.cu_q_lens[entry].saturating_add(numbers.pick(&[-1, 1]));
        }
    }
}

impl<'v> Question<'v> {
    fn observed(mut self) -> Question<'v> {
        let observed = BoundaryClass::observe(self.variant, &self.metadata);
        self.classes.extend(observed.into_iter().map(|class| format!("class: {}", class.name())));
        self
    }

    fn port(&self) -> (Verdict, Option<Verdict>) {
        let first = static_check(&self.call);
        let second = (first == Verdict::Accepts).then(|| dynamic_check_call(&self.call, &self.metadata));
        (first, second)
    }
}

fn verdict(asked: Asked) -> Verdict {
    match asked {
        Asked::Accepts => Verdict::Accepts,
        Asked::Refuses(refusal) => Verdict::Refuses {
            check: check_of_message(&refusal.message).unwrap_or("unknown"),
            message: refusal.message,
        },
        Asked::Crashes(refusal) if refusal.message.is_empty() => Verdict::Crashes { message: refusal.kind },
        Asked::Crashes(refusal) => {
            Verdict::Crashes { message: format!("{}: {}", refusal.kind, refusal.message) }
        }
    }
}

/// What failed: a check's id, or what was raised by accident.
fn failing(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepts => "accepts".to_owned(),
        Verdict::Refuses { check, .. } => (*check).to_owned(),
        Verdict::Crashes { message } => {
            let text: String = message.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
            format!("crashes: {}", text.split(", got").next().unwrap_or(&text))
        }
    }
}

#[test]
fn port_and_real_validators_say_the_same() {
    let inputs = match std::env::var("COUNTERSIGN_VALIDATOR_INPUTS") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => SAMPLE,
    };
    let environment = Environment::open(None, None, &Silent).unwrap_or_else(|error| panic!("{error}"));
    // A machine that is busy with something else is no disagreement.
    let patient = Timeouts { ask: Duration::from_secs(900), ..Timeouts::default() };
    let mut worker = Worker::start_with(&environment, patient).unwrap();
    let catalogue = Catalogue::builtin().unwrap();
    let kernel = catalogue.kernel("jax-rpa").unwrap();
    let entry_point = format!("{}:{}", kernel.python.module, kernel.python.entry_point);
    let variants: Vec<Variant> = kernel.variants(Tier::Small).cloned().collect();

    let mut differences = Vec::new();
    let (mut statics, mut dynamics) = (BTreeMap::new(), BTreeMap::new());
    let mut classes: BTreeMap<String, u64> = BTreeMap::new();
    for index in 0..inputs {
        let question = question(index, &variants);
        let (port_static, port_dynamic) = question.port();
        let call = Call::of_static(&entry_point, question.variant.generation, &question.call).unwrap();
        // Where the static check refuses, values needn't fit the call's shapes.
        let values = match port_static {
            Verdict::Accepts => metadata_values(&question.call, &question.metadata),
            Verdict::Refuses { .. } | Verdict::Crashes { .. } => Vec::new(),
        };
        let answer = worker
            .validate_values(&call, &values)
            .unwrap_or_else(|error| panic!("input {index}: {error}: {:?}", question.call));
        let real_static = verdict(answer.static_check);
        let real_dynamic = answer.dynamic_check.map(verdict);
        *statics.entry(failing(&real_static)).or_insert(0u64) += 1;
        if let Some(verdict) = &real_dynamic {
            *dynamics.entry(failing(verdict)).or_insert(0u64) += 1;
        }
        for class in &question.classes {
            *classes.entry(class.clone()).or_default() += 1;
        }
        if (&port_static, &port_dynamic) != (&real_static, &real_dynamic) {
            differences.push(format!(
                "input {index}: port {port_static:?} {port_dynamic:?}\n  real {real_static:?} {real_dynamic:?}\n  {:?}\n  {:?}",
                question.call, question.metadata
            ));
        }
        if index % 5000 == 4999 {
            eprintln!("{} inputs, {} disagreements", index + 1, differences.len());
        }
    }
    let table = |title: &str, counts: &BTreeMap<String, u64>| {
        println!("\n{title}");
        counts.iter().for_each(|(name, count)| println!("{count:8}  {name}"));
    };
    println!("{inputs} inputs, {} disagreements", differences.len());
    table("static check, by what fails", &statics);
    table("dynamic check, by what fails", &dynamics);
    table("inputs of each class", &classes);
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    for check in CHECKS {
        let counts = if check.is_static { &statics } else { &dynamics };
        assert!(counts.contains_key(check.id), "no input fails {}", check.id);
    }
    for class in BoundaryClass::ALL.iter().map(|class| format!("class: {}", class.name())) {
        assert!(classes.contains_key(&class) || inputs < 10_000, "no input is of {class}");
    }
}
