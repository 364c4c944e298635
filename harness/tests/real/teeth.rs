//! Eight numeric faults in the kernel's own IR, each of which must leave the error bound of the profile `exact` on a kept
//! batch; and where the wider bound of `v5e` still sees them, printed for information.
//!
//! The unedited kernel runs on the same cases and must stay inside.
//!
//! Invariant: an edit is placed by what the ops compute (a matmul's operand is an exp's result, …), so it is the same fault
//! in every variant that has those ops; where a variant has none, it isn't drawn from.

use std::collections::BTreeMap;

use countersign::generate::generate;
use countersign::judge::judge;
use countersign::signature::Kind;
use countersign::trial::{Conduct, Trial, run_trial};
use countersign_dtype::DType;
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::{Engine, Lowered, Policy, VmEngine};
use countersign_kernels::{DeviceProfile, Variant};
use countersign_mosaic::Program;
use countersign_mosaic::ir::{Attribute, ElementType, Module, Op, Region, Type, ValueId, VectorType};

use crate::real;

/// Kept cases within which a fault must be caught under `exact`.
const CASES: u64 = 2000;
/// How long it is looked for under `v5e`.
const CASES_V5E: u64 = 400;

/// Where a fault was caught.
struct Caught {
    index: u64,
    r: f64,
    variant: String,
}

/// The variants in which `edit` finds something to change, as an engine of the edited and one of the unedited kernel.
struct Subject {
    variants: Vec<Variant>,
    edited: Vec<VmEngine>,
    unedited: Vec<VmEngine>,
}

impl Subject {
    fn new(suits: impl Fn(&Variant) -> bool, edit: impl Fn(&mut Module) -> bool) -> Subject {
        let real = real();
        let mut subject = Subject { variants: Vec::new(), edited: Vec::new(), unedited: Vec::new() };
        for ((variant, exported), module) in real.variants.iter().zip(&real.exported).zip(&real.modules) {
            let mut changed = module.clone();
            if !suits(variant) || !edit(&mut changed) {
                continue;
            }
            let engine = |module: &Module| {
                let program = Lowered::new(Program::lower(module, 1).unwrap());
                VmEngine::new(&program, &exported.manifest, variant).unwrap()
            };
            subject.variants.push(variant.clone());
            subject.edited.push(engine(&changed));
            subject.unedited.push(engine(module));
        }
        assert!(!subject.variants.is_empty(), "no variant has what the edit changes");
        subject
    }

    /// The first of `cases` kept cases in which the edited kernel diverges.
    fn hunt(&mut self, policy: &Policy, cases: u64) -> Option<Caught> {
        let kernel = &real().kernel;
        for index in 0..cases {
            let case = generate(1, index, &kernel.id, &self.variants, Some(Keeping::Kept)).case;
            let name = case.variant.name();
            let position = self.variants.iter().position(|variant| variant.name == name).unwrap();
            let variant = &self.variants[position];
            let try_on =
                |engine: &mut dyn Engine| run_trial(Some(engine), kernel, variant, &case, policy).unwrap();
            assert_eq!(divergence(&try_on(&mut self.unedited[position])), None, "unedited, case {index}");
            if let Some(r) = divergence(&try_on(&mut self.edited[position])) {
                return Some(Caught { index, r, variant: variant.name.clone() });
            }
        }
        None
    }
}

/// The largest r of a trial that is judged a divergence.
fn divergence(trial: &Trial) -> Option<f64> {
    let diverges = judge(trial).findings.iter().any(|finding| finding.signature.kind == Kind::Divergence);
    match &trial.conduct {
        Conduct::Finished(comparison) if diverges => comparison.worst.map(|worst| worst.r),
        Conduct::Finished(_) => None,
        other => panic!("an edit of numbers must not end in: {other}"),
    }
}

fn must_leave_the_bound(name: &str, suits: impl Fn(&Variant) -> bool, edit: impl Fn(&mut Module) -> bool) {
    let mut subject = Subject::new(suits, edit);
    let exact = subject.hunt(&Policy::default(), CASES);
    let v5e = subject.hunt(&Policy::of(DeviceProfile::named("v5e").unwrap()), CASES_V5E);
    let said = |caught: &Option<Caught>, cases| {
        caught.as_ref().map_or_else(
            || format!("not within {cases} cases"),
            |Caught { index, r, variant }| format!("case {index} ({variant}), r = {r:.3e}"),
        )
    };
    println!("{name}: exact: {}; v5e: {}", said(&exact, CASES), said(&v5e, CASES_V5E));
    assert!(exact.is_some_and(|caught| caught.r > 1.0), "{name}: not caught within {CASES} cases");
}

fn any(_: &Variant) -> bool {
    true
}

/// What defines each value.
type Definitions = BTreeMap<ValueId, Op>;

fn definitions(module: &Module) -> Definitions {
    let mut definitions = Definitions::new();
    module.walk(|op, _| {
        for result in &op.results {
            definitions.insert(*result, Op { regions: Vec::new(), ..op.clone() });
        }
    });
    definitions
}

/// Whether operand `index` of `op` is the result of an op called `name`; gives that op.
fn from<'d>(definitions: &'d Definitions, op: &Op, index: usize, name: &str) -> Option<&'d Op> {
    definitions.get(op.operands.get(index)?).filter(|definition| definition.name == name)
}

/// Ops to be put before and after one.
struct Splice<'m> {
    at: &'m Op,
    next: &'m mut u32,
    ops: Vec<Op>,
}

impl Splice<'_> {
    /// An op of one result without regions; gives the result.
    fn op(
        &mut self,
        name: &str,
        operands: &[(ValueId, Type)],
        result: &Type,
        attributes: &[(&str, Attribute)],
    ) -> ValueId {
        let value = ValueId(*self.next);
        *self.next += 1;
        self.ops.push(Op {
            name: name.to_owned(),
            operands: operands.iter().map(|(value, _)| *value).collect(),
            operand_types: operands.iter().map(|(_, ty)| ty.clone()).collect(),
            results: vec![value],
            result_types: vec![result.clone()],
            attributes: attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            regions: Vec::new(),
            location: self.at.location,
            line: self.at.line,
        });
        value
    }

    /// A vector of type `ty` with the same number everywhere.
    fn splat(&mut self, element: Attribute, ty: &Type) -> ValueId {
        let value = Attribute::Splat(Box::new(element), ty.clone());
        self.op("arith.constant", &[], ty, &[("value", value)])
    }
}

/// The same vector of other elements.
fn with_element(ty: &Type, element: DType) -> Type {
    match ty {
        Type::Vector(vector) => {
            Type::Vector(VectorType { element: ElementType::Data(element), ..vector.clone() })
        }
        other => other.clone(),
    }
}

/// For each op that `is` picks, `build` makes ops before it; the value that it gives replaces operand `index`.
fn replace_operand(
    module: &mut Module,
    is: impl Fn(&Op) -> bool,
    index: usize,
    build: impl Fn(&mut Splice<'_>) -> ValueId,
) -> bool {
    fn within(
        region: &mut Region,
        next: &mut u32,
        index: usize,
        is: &dyn Fn(&Op) -> bool,
        build: &dyn Fn(&mut Splice<'_>) -> ValueId,
    ) -> bool {
        let mut changed = false;
        let mut ops = Vec::with_capacity(region.ops.len());
        for mut op in std::mem::take(&mut region.ops) {
            for nested in &mut op.regions {
                changed |= within(nested, next, index, is, build);
            }
            if is(&op) {
                let mut splice = Splice { at: &op, next: &mut *next, ops: Vec::new() };
                let operand = build(&mut splice);
                ops.append(&mut splice.ops);
                op.operands[index] = operand;
                changed = true;
            }
            ops.push(op);
        }
        region.ops = ops;
        changed
    }
    let mut next = module.values;
    let changed = within(&mut module.ops[0].regions[0], &mut next, index, &is, &build);
    module.values = next;
    changed
}

/// Sets every f32 constant that `is` picks, scalar or splat, to `value`.
fn set_constants(module: &mut Module, is: impl Fn(f32) -> bool, value: f32) -> bool {
    let mut changed = false;
    module.walk_mut(|op, _| {
        for (_, attribute) in op.attributes.iter_mut().filter(|(name, _)| name == "value") {
            if let Attribute::Float { bits, ty: Type::Scalar(DType::F32) } = attribute
                && is(f32::from_bits(*bits as u32))
            {
                *bits = u64::from(value.to_bits());
                changed = true;
            }
        }
    });
    changed
}

#[test]
fn weights_rounded_to_bf16() {
    let f32_outputs = |variant: &Variant| variant.q_dtype == DType::F32;
    must_leave_the_bound("weights rounded to bf16", f32_outputs, |module| {
        let known = definitions(module);
        let is = |op: &Op| op.name == "tpu.matmul" && from(&known, op, 0, "math.exp").is_some();
        replace_operand(module, is, 0, |splice| {
            let (weights, wide) = (splice.at.operands[0], splice.at.operand_types[0].clone());
            let narrow = with_element(&wide, DType::Bf16);
            let rounded = splice.op("arith.truncf", &[(weights, wide.clone())], &narrow, &[]);
            splice.op("arith.extf", &[(rounded, narrow)], &wide, &[])
        })
    });
}

#[test]
fn scale_squared() {
    let scaled = |variant: &Variant| variant.options.sm_scale != 1.0;
    must_leave_the_bound("scale squared", scaled, |module| {
        let known = definitions(module);
        let is = |op: &Op| {
            op.name == "arith.mulf" && from(&known, op, 0, "tpu.matmul").is_some_and(is_first_product(&known))
        };
        replace_operand(module, is, 0, |splice| {
            let ty = splice.at.operand_types[0].clone();
            let operands = [splice.at.operands[0], splice.at.operands[1]].map(|value| (value, ty.clone()));
            splice.op("arith.mulf", &operands, &ty, &[])
        })
    });
}

/// Whether a matmul is q times K: its operand isn't a weight.
fn is_first_product(known: &Definitions) -> impl Fn(&Op) -> bool {
    |matmul| from(known, matmul, 0, "math.exp").is_none()
}

#[test]
fn running_maximum_started_at_zero() {
    must_leave_the_bound("running maximum started at 0", any, |module| {
        set_constants(module, |value| value == f32::NEG_INFINITY, 0.0)
    });
}

#[test]
fn mask_value_of_minus_thirty() {
    must_leave_the_bound("mask value -30", any, |module| {
        set_constants(module, |value| value.is_finite() && value < -1e30, -30.0)
    });
}

#[test]
fn l_not_rescaled() {
    must_leave_the_bound("l not rescaled", any, |module| {
        let known = definitions(module);
        // l_next = alpha * l_prev + beta * l_curr
        let factor = |op: &Op, index| {
            from(&known, op, index, "arith.mulf")
                .filter(|product| from(&known, product, 0, "math.exp").is_some())
        };
        let is = |op: &Op| op.name == "arith.addf" && factor(op, 0).is_some() && factor(op, 1).is_some();
        replace_operand(module, is, 0, |splice| known[&splice.at.operands[0]].operands[1])
    });
}

#[test]
fn last_lane_left_out_of_a_sum() {
    must_leave_the_bound("last lane left out of a sum", any, |module| {
        let is = |op: &Op| {
            let kind = op.attribute("kind");
            op.name == "vector.multi_reduction"
                && kind == Some(&Attribute::Opaque("vector.kind<add>".to_owned()))
        };
        replace_operand(module, is, 0, |splice| {
            let (row, floats) = (splice.at.operands[0], splice.at.operand_types[0].clone());
            let Type::Vector(VectorType { shape, .. }) = &floats else { panic!("a reduction of {floats:?}") };
            let last = shape[1] as i64 - 1;
            let (words, masks) = (with_element(&floats, DType::I32), with_element(&floats, DType::I1));
            let dimensions = ("dimensions", Attribute::IntArray(vec![1]));
            let lanes = splice.op("tpu.iota", &[], &words, &[dimensions]);
            let last = splice.splat(Attribute::Int(last, Type::Scalar(DType::I32)), &words);
            let below = ("predicate", Attribute::Int(2, Type::I64));
            let kept = splice.op("arith.cmpi", &[(lanes, words.clone()), (last, words)], &masks, &[below]);
            let zero = splice.splat(Attribute::Float { bits: 0, ty: Type::Scalar(DType::F32) }, &floats);
            let arms = [(kept, masks), (row, floats.clone()), (zero, floats.clone())];
            splice.op("arith.select", &arms, &floats, &[])
        })
    });
}

#[test]
fn tanh_of_the_wrong_sign() {
    must_leave_the_bound("tanh of the wrong sign", any, |module| {
        replace_operand(
            module,
            |op| op.name == "math.tanh",
            0,
            |splice| {
                let ty = splice.at.operand_types[0].clone();
                let zero = splice.splat(Attribute::Float { bits: 0, ty: Type::Scalar(DType::F32) }, &ty);
                splice.op("arith.subf", &[(zero, ty.clone()), (splice.at.operands[0], ty.clone())], &ty, &[])
            },
        )
    });
}

#[test]
fn e4m3_read_as_e5m2() {
    must_leave_the_bound("e4m3 read as e5m2", any, |module| {
        let mut changed = false;
        module.walk_mut(|op, _| {
            for ty in op.operand_types.iter_mut().chain(&mut op.result_types) {
                if matches!(ty, Type::Vector(vector) if vector.element == ElementType::Data(DType::F8E4M3FN))
                {
                    *ty = with_element(ty, DType::F8E5M2);
                    changed = true;
                }
            }
        });
        changed
    });
}
