//! Bugs put into the kernel on purpose, to measure how soon a search finds them: each loses a sequence's last key, where some
//! conditions on the batch hold together.
//!
//! The conditions are branches within branches, as `pl.when` within `pl.when` lowers to, so that coverage shows how far a case came.
//!
//! Invariant: a bug is placed by the kernel's structure (the loop over sequences, in it the loop over KV blocks, in it the mask of
//! keys), never by line numbers; a module without that structure is left as it is.

use std::collections::{BTreeMap, BTreeSet};

use countersign_dtype::DType;
use countersign_mosaic::ir::{Attribute, LocationId, Module, Op, Region, Type, ValueId};

use super::facts;
use crate::variant::Variant;

/// `cmpi`'s numbers.
const EQUAL: i64 = 0;
const LESS: i64 = 2;
const GREATER: i64 = 4;
const AT_LEAST: i64 = 5;

/// A bug that can be put into the kernel.
#[derive(Debug)]
pub struct Bug {
    /// What it is called.
    pub name: &'static str,
    /// When the last key of a sequence is lost.
    pub when: &'static str,
    /// Whether a variant can show it.
    suits: fn(&Variant) -> bool,
    conditions: &'static [Condition],
}

/// Makes code that computes a condition, an `i1`.
type Condition = fn(&mut Code<'_>) -> ValueId;

impl Bug {
    /// All of them.
    pub const ALL: [Bug; 5] = [
        Bug {
            name: "kv-one-over-a-block",
            when: "its kv_len is one over a multiple of the KV block, there are more than two blocks, it has more than one query, and it is the third or a later one",
            suits: |_| true,
            conditions: &[
                |code| {
                    let (left, one) = (code.left(), code.number(1));
                    code.compare(EQUAL, left, one)
                },
                |code| {
                    let (block, two) = (code.at.kv_block, code.number(2));
                    code.compare(AT_LEAST, block, two)
                },
                |code| code.several_queries(),
                |code| code.sequence_at_least(2),
            ],
        },
        Bug {
            name: "second-head-block",
            when: "in the second head block, in its second KV block, if it has more than one query and is the third or a later one",
            suits: |variant| facts::grid(variant).is_some_and(|[heads, _]| heads > 1),
            conditions: &[
                |code| {
                    let (heads, one) = (code.at.head_block, code.number(1));
                    code.compare(EQUAL, heads, one)
                },
                |code| {
                    let (block, one) = (code.at.kv_block, code.number(1));
                    code.compare(EQUAL, block, one)
                },
                |code| code.several_queries(),
                |code| code.sequence_at_least(2),
            ],
        },
        Bug {
            name: "odd-page-count",
            when: "it has an odd number of pages, at least five, the last of them full, and one query, and is the last of at least five",
            suits: |variant| variant.pages_per_seq >= 5,
            conditions: &[
                |code| {
                    let (pages, two, one) = (code.pages(), code.number(2), code.number(1));
                    let odd = code.binary("arith.remsi", pages, two);
                    code.compare(EQUAL, odd, one)
                },
                |code| {
                    let (pages, five) = (code.pages(), code.number(5));
                    code.compare(AT_LEAST, pages, five)
                },
                |code| {
                    let (keys, size, zero) =
                        (code.kv_len(), code.number(code.variant.page_size), code.number(0));
                    let rest = code.binary("arith.remsi", keys, size);
                    code.compare(EQUAL, rest, zero)
                },
                |code| {
                    let (queries, one) = (code.queries(), code.number(1));
                    code.compare(EQUAL, queries, one)
                },
                |code| code.is_last_sequence(),
                |code| code.sequence_at_least(4),
            ],
        },
        Bug {
            name: "ends-at-a-query-block",
            when: "its queries end where a query block does, it has cached keys besides them, a full last KV block, and it is the last of at least four",
            suits: |variant| variant.blocks().is_some_and(|blocks| blocks.queries > 1),
            conditions: &[
                |code| {
                    let block = code.variant.blocks().map_or(1, |blocks| blocks.queries);
                    let (at, size, one) = (code.at.query_block, code.number(block), code.number(1));
                    let next = code.binary("arith.addi", at, one);
                    let (ends, block_ends) = (code.end(), code.binary("arith.muli", next, size));
                    code.compare(EQUAL, ends, block_ends)
                },
                |code| {
                    let (keys, queries) = (code.kv_len(), code.queries());
                    code.compare(GREATER, keys, queries)
                },
                |code| {
                    let block = facts::kv_block(code.variant).unwrap_or(1);
                    let (left, size) = (code.left(), code.number(block));
                    code.compare(EQUAL, left, size)
                },
                |code| code.is_last_sequence(),
                |code| code.sequence_at_least(3),
            ],
        },
        Bug {
            name: "window-edge",
            when: "its kv_len is one more than the window, it has more than one query, and it isn't the first",
            suits: |variant| variant.options.sliding_window.is_some(),
            conditions: &[
                |code| {
                    let window = code.variant.options.sliding_window.unwrap_or(0);
                    let (keys, edge) = (code.kv_len(), code.constant(window.saturating_add(1)));
                    code.compare(EQUAL, keys, edge)
                },
                |code| code.several_queries(),
                |code| code.sequence_at_least(1),
            ],
        },
    ];

    /// The one of that name.
    pub fn named(name: &str) -> Option<&'static Bug> {
        static ALL: [Bug; 5] = Bug::ALL;
        ALL.iter().find(|bug| bug.name == name)
    }

    /// Puts the bug into the variant's module; whether that could be done.
    pub fn put_into(&self, variant: &Variant, module: &mut Module) -> bool {
        (self.suits)(variant) && insert(self.conditions, variant, module).is_some()
    }
}

/// The kernel's own scalars, at the beginning of its loop over KV blocks.
#[derive(Clone)]
struct Place {
    head_block: ValueId,
    query_block: ValueId,
    kv_lens: (ValueId, Type),
    cu_q_lens: (ValueId, Type),
    num_seqs: (ValueId, Type),
    sequence: ValueId,
    kv_block: ValueId,
}

/// `None`, and nothing changed, where the structure isn't there.
fn insert(conditions: &[Condition], variant: &Variant, module: &mut Module) -> Option<()> {
    let values = module.values;
    let body = module.ops.first_mut()?.regions.first_mut()?;
    let argument = |at: usize| body.arguments.get(at).cloned();
    let (head_block, query_block) = (argument(0)?.0, argument(1)?.0);
    let (kv_lens, cu_q_lens, num_seqs) = (argument(2)?, argument(4)?, argument(6)?);
    let sequences = loop_body(body)?;
    let sequence = sequences.arguments.get(1)?.0;
    let blocks = loop_body(sequences)?;
    let kv_block = blocks.arguments.first()?.0;
    let (limits, first) = (mask_limits(blocks), blocks.ops.first()?);
    if limits.is_empty() {
        return None;
    }
    let (location, line) = (first.location, first.line);
    let at = Place { head_block, query_block, kv_lens, cu_q_lens, num_seqs, sequence, kv_block };
    let mut code = Code { variant, at, next: values, ops: Vec::new(), location, line };
    let lost = code.lost(conditions);
    for mut op in std::mem::take(&mut blocks.ops) {
        if op.name == "vector.broadcast" && limits.contains(&op.operands[0]) {
            op.operands[0] = code.binary("arith.subi", op.operands[0], lost);
        }
        code.ops.push(op);
    }
    blocks.ops = code.ops;
    module.values = code.next;
    Some(())
}

/// What the first loop of a region does each turn.
fn loop_body(region: &mut Region) -> Option<&mut Region> {
    region.ops.iter_mut().find(|op| op.name == "scf.while")?.regions.get_mut(1)
}

/// How many keys are left, where the mask of keys compares with it: lanes below a scalar difference.
fn mask_limits(region: &Region) -> BTreeSet<ValueId> {
    let results = region.ops.iter().flat_map(|op| op.results.iter().map(move |result| (*result, op)));
    let definitions: BTreeMap<ValueId, &Op> = results.collect();
    let made_by = |value: &ValueId, name: &str| definitions.get(value).filter(|op| op.name == name);
    let compares = region.ops.iter().filter(|op| {
        op.name == "arith.cmpi" && op.attribute("predicate").and_then(Attribute::as_int) == Some(LESS)
    });
    compares
        .filter_map(|op| {
            let limit = *made_by(op.operands.get(1)?, "vector.broadcast")?.operands.first()?;
            made_by(&limit, "arith.subi").map(|_| limit)
        })
        .collect()
}

/// Code under construction.
struct Code<'v> {
    variant: &'v Variant,
    at: Place,
    next: u32,
    ops: Vec<Op>,
    location: LocationId,
    line: u32,
}

impl Code<'_> {
    /// 1 where all conditions hold, else 0.
    fn lost(&mut self, conditions: &[Condition]) -> ValueId {
        let [first, rest @ ..] = conditions else { return self.number(1) };
        let holds = first(self);
        let then = self.region(|code| code.lost(rest));
        let otherwise = self.region(|code| code.number(0));
        let operand = (holds, Type::Scalar(DType::I1));
        self.op("scf.if", vec![operand], Some(Type::Scalar(DType::I32)), Vec::new(), vec![then, otherwise])
    }

    /// A region that yields an `i32`.
    fn region(&mut self, build: impl FnOnce(&mut Self) -> ValueId) -> Region {
        let around = std::mem::take(&mut self.ops);
        let value = build(self);
        self.op("scf.yield", vec![(value, Type::Scalar(DType::I32))], None, Vec::new(), Vec::new());
        Region { arguments: Vec::new(), ops: std::mem::replace(&mut self.ops, around) }
    }

    /// Its result; of an op without one, a value that nothing defines.
    fn op(
        &mut self,
        name: &str,
        operands: Vec<(ValueId, Type)>,
        result: Option<Type>,
        attributes: Vec<(String, Attribute)>,
        regions: Vec<Region>,
    ) -> ValueId {
        let value = ValueId(self.next);
        self.next += 1;
        let (operands, operand_types) = operands.into_iter().unzip();
        let results = result.iter().map(|_| value).collect();
        self.ops.push(Op {
            name: name.to_owned(),
            operands,
            results,
            operand_types,
            result_types: result.into_iter().collect(),
            attributes,
            regions,
            location: self.location,
            line: self.line,
        });
        value
    }

    fn constant(&mut self, value: i32) -> ValueId {
        let ty = Type::Scalar(DType::I32);
        let value = ("value".to_owned(), Attribute::Int(i64::from(value), ty.clone()));
        self.op("arith.constant", Vec::new(), Some(ty), vec![value], Vec::new())
    }

    fn number(&mut self, value: usize) -> ValueId {
        self.constant(i32::try_from(value).unwrap_or(i32::MAX))
    }

    fn binary(&mut self, name: &str, one: ValueId, other: ValueId) -> ValueId {
        let operands = [one, other].map(|value| (value, Type::Scalar(DType::I32)));
        self.op(name, operands.into(), Some(Type::Scalar(DType::I32)), Vec::new(), Vec::new())
    }

    fn compare(&mut self, predicate: i64, one: ValueId, other: ValueId) -> ValueId {
        let operands = [one, other].map(|value| (value, Type::Scalar(DType::I32)));
        let predicate = ("predicate".to_owned(), Attribute::Int(predicate, Type::I64));
        self.op("arith.cmpi", operands.into(), Some(Type::Scalar(DType::I1)), vec![predicate], Vec::new())
    }

    fn load(&mut self, array: (ValueId, Type), index: ValueId) -> ValueId {
        let scalar = Type::Scalar(DType::I32);
        let operands = vec![(index, scalar.clone())];
        let index = self.op("arith.index_cast", operands, Some(Type::Index), Vec::new(), Vec::new());
        self.op("memref.load", vec![array, (index, Type::Index)], Some(scalar), Vec::new(), Vec::new())
    }

    fn kv_len(&mut self) -> ValueId {
        self.load(self.at.kv_lens.clone(), self.at.sequence)
    }

    /// Keys from this KV block on.
    fn left(&mut self) -> ValueId {
        let size = facts::kv_block(self.variant).unwrap_or(1);
        let (keys, size) = (self.kv_len(), self.number(size));
        let before = self.binary("arith.muli", self.at.kv_block, size);
        self.binary("arith.subi", keys, before)
    }

    fn pages(&mut self) -> ValueId {
        let size = self.variant.page_size;
        let (keys, up, size) = (self.kv_len(), self.number(size.saturating_sub(1)), self.number(size));
        let rounded = self.binary("arith.addi", keys, up);
        self.binary("arith.divsi", rounded, size)
    }

    /// Where the sequence's queries end.
    fn end(&mut self) -> ValueId {
        let one = self.number(1);
        let next = self.binary("arith.addi", self.at.sequence, one);
        self.load(self.at.cu_q_lens.clone(), next)
    }

    fn queries(&mut self) -> ValueId {
        let (start, end) = (self.load(self.at.cu_q_lens.clone(), self.at.sequence), self.end());
        self.binary("arith.subi", end, start)
    }

    fn several_queries(&mut self) -> ValueId {
        let (queries, one) = (self.queries(), self.number(1));
        self.compare(GREATER, queries, one)
    }

    fn sequence_at_least(&mut self, least: usize) -> ValueId {
        let least = self.number(least);
        self.compare(AT_LEAST, self.at.sequence, least)
    }

    fn is_last_sequence(&mut self) -> ValueId {
        let (zero, one) = (self.number(0), self.number(1));
        let (next, count) =
            (self.binary("arith.addi", self.at.sequence, one), self.load(self.at.num_seqs.clone(), zero));
        self.compare(EQUAL, next, count)
    }
}
