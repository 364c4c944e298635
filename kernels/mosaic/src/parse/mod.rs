//! Text of generic-form MLIR to [`Module`].
//!
//! Invariant: any text gives a module or one error with a place; nothing panics, and recursion is bounded by
//! [`MAX_NESTING`]. Grammar only: what an op or an attribute means is for lowering to say. Not here: custom assembly
//! forms (apart from `module`), several blocks in a region, and properties of ops beyond treating them as attributes.

mod attribute;
mod float;
mod location;
mod op;
mod token;
mod types;

use crate::ir::{Attribute, Module, Op, Type};
use location::LocationTable;
use op::Scopes;
use std::collections::HashMap;
use token::{Failure, Input, Outcome};
use winnow::stream::{LocatingSlice, Location as _, Stateful};

/// Deepest nesting of regions, types, attributes and inline locations that is accepted.
const MAX_NESTING: usize = 96;

/// Most parts that aliases may stand for in all: an alias of aliases of aliases grows beyond any memory.
const MAX_EXPANSION: usize = 1 << 22;

/// Why a text is no module: where, and one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// One sentence.
    pub message: String,
}

/// What the parser carries along beside the text.
#[derive(Debug, Default)]
struct State<'a> {
    text: &'a str,
    scopes: Scopes<'a>,
    locations: LocationTable<'a>,
    attribute_aliases: HashMap<&'a str, Attribute>,
    type_aliases: HashMap<&'a str, Type>,
    /// Parts that aliases were replaced by so far.
    expanded: usize,
    nesting: usize,
    /// The op line found last and its offset: lines are counted onwards from there.
    line: (usize, u32),
}

/// Parses a module in generic form, with or without locations.
///
/// The text is a `module attributes {…} {…}` or a `"builtin.module"() ({…}) {…}`, between and around alias definitions;
/// several top-level ops without a module are taken as the ops of one. Op names lose the prefix `stable_mosaic.`.
///
/// # Errors
/// The first place where the text breaks the grammar, uses a value, an alias or an operand type that it doesn't define,
/// or uses a memref layout, several blocks in a region, or another form that kernels don't have.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut input =
        Stateful { input: LocatingSlice::new(text), state: State { text, line: (0, 1), ..State::default() } };
    file(&mut input).map_err(|failure| failure.locate(text))
}

/// Everything in the text: alias definitions and ops in any order.
fn file(input: &mut Input<'_>) -> Outcome<Module> {
    let mut ops = Vec::new();
    loop {
        token::trivia(input);
        match token::peek(input) {
            None => break,
            Some('#') => attribute::definition(input)?,
            Some('!') => types::definition(input)?,
            Some(_) => ops.push(op::op(input)?),
        }
    }
    if ops.is_empty() {
        return Err(Failure::at(input.current_token_start(), "no module found"));
    }
    let (attributes, mut ops) = unwrap_module(ops);
    let locations = location::resolve(&input.state.locations, &mut ops)?;
    Ok(Module { attributes, ops, values: input.state.scopes.values(), locations })
}

/// The attributes and ops of a sole `builtin.module`, or else the ops themselves.
fn unwrap_module(mut ops: Vec<Op>) -> (Vec<(String, Attribute)>, Vec<Op>) {
    match ops.as_mut_slice() {
        [module] if module.name == "builtin.module" => {
            let inner = module.regions.drain(..).flat_map(|region| region.ops).collect();
            (std::mem::take(&mut module.attributes), inner)
        }
        _ => (Vec::new(), ops),
    }
}

/// Counts `parts` that an alias at `offset` stands for, or fails where they are too many.
fn expand(input: &mut Input<'_>, offset: usize, parts: usize) -> Outcome<()> {
    input.state.expanded = input.state.expanded.saturating_add(parts);
    match input.state.expanded <= MAX_EXPANSION {
        true => Ok(()),
        false => {
            Err(Failure::at(offset, format!("aliases stand for more than {MAX_EXPANSION} parts by here")))
        }
    }
}

/// Runs `inner` one level deeper, or fails where the text nests too deeply.
fn nested<'a, T>(input: &mut Input<'a>, inner: impl FnOnce(&mut Input<'a>) -> Outcome<T>) -> Outcome<T> {
    if input.state.nesting == MAX_NESTING {
        return Err(Failure::at(
            input.current_token_start(),
            format!("this is nested more than {MAX_NESTING} levels deep"),
        ));
    }
    input.state.nesting += 1;
    let outcome = inner(input);
    input.state.nesting -= 1;
    outcome
}
