//! Ops, regions and SSA names.
//!
//! Invariant: a value's name is visible from its definition to the end of its region, in nested regions too, and every
//! use states the type of its definition. Ids count upwards in the order of definition.

use super::token::{
    Failure, Input, Outcome, at, eat, eat_word, expected, list, name, peek, punct, rest, sigil_name, string,
    trivia, unsigned,
};
use super::{attribute, location, nested, types};
use crate::ir::{Attribute, LocationId, Op, Region, Type, ValueId};
use std::collections::HashMap;
use winnow::stream::Location as _;

/// A name's definition: the first of its values, how many there are, and the region's number.
#[derive(Debug, Clone, Copy)]
struct Definition {
    first: u32,
    count: u32,
    region: u32,
}

/// Names that are visible here, and the types of all values so far.
#[derive(Debug, Default)]
pub(super) struct Scopes<'a> {
    visible: HashMap<&'a str, Definition>,
    /// What each definition since the start hid, innermost last.
    hidden: Vec<(&'a str, Option<Definition>)>,
    types: Vec<Type>,
    /// Numbers of the open regions, and how many there were in all.
    open: Vec<u32>,
    regions: u32,
}

impl<'a> Scopes<'a> {
    /// How many values there are.
    pub(super) fn values(&self) -> u32 {
        self.types.len() as u32
    }

    fn enter(&mut self) -> usize {
        self.regions += 1;
        self.open.push(self.regions);
        self.hidden.len()
    }

    fn leave(&mut self, mark: usize) {
        self.open.pop();
        for (name, hidden) in self.hidden.drain(mark..).rev() {
            match hidden {
                Some(definition) => self.visible.insert(name, definition),
                None => self.visible.remove(name),
            };
        }
    }

    /// New values without a name.
    fn anonymous(&mut self, types: &[Type]) -> Vec<ValueId> {
        let first = self.values();
        self.types.extend_from_slice(types);
        (first..self.values()).map(ValueId).collect()
    }

    /// New values called `name`, one for each type; `None` where the region defines the name already.
    fn define(&mut self, name: &'a str, types: &[Type]) -> Option<Vec<ValueId>> {
        let region = self.open.last().copied().unwrap_or(0);
        let values = self.anonymous(types);
        let first = self.values() - types.len() as u32;
        let hidden = self.visible.insert(name, Definition { first, count: types.len() as u32, region });
        self.hidden.push((name, hidden));
        let twice = hidden.is_some_and(|hidden| hidden.region == region);
        (!twice).then_some(values)
    }
}

/// One op.
pub(super) fn op(input: &mut Input<'_>) -> Outcome<Op> {
    trivia(input);
    let line = line(input);
    let names = if at(input, "%") { result_names(input)? } else { Vec::new() };
    let mut op = if at(input, "\"") {
        generic(input, &names)?
    } else if eat_word(input, "module") {
        module(input)?
    } else {
        return expected(
            input,
            "an op in generic form, such as `\"arith.addi\"(%0, %1) : (i32, i32) -> i32`",
        );
    };
    op.line = line;
    op.location = location::trailing(input)?;
    Ok(op)
}

/// The line of the next token, from 1, counted onwards from the op before.
fn line(input: &mut Input<'_>) -> u32 {
    let offset = input.current_token_start();
    let (counted, line) = input.state.line;
    let between = input.state.text.as_bytes().get(counted..offset).unwrap_or_default();
    let line = line + between.iter().filter(|&&byte| byte == b'\n').count() as u32;
    input.state.line = (offset, line);
    line
}

/// `%0, %1:2 =`: names, how many values each, and where they stand.
fn result_names<'a>(input: &mut Input<'a>) -> Outcome<Vec<(&'a str, usize, usize)>> {
    let mut names = Vec::new();
    loop {
        trivia(input);
        let offset = input.current_token_start();
        let name = sigil_name(input, "%", "a value such as `%0`")?;
        let count = if eat(input, ":") { unsigned(input, "a number of results")? } else { 1 };
        names.push((name, count, offset));
        if !eat(input, ",") {
            break;
        }
    }
    punct(input, "=")?;
    Ok(names)
}

/// `"name"(operands) <{properties}> ({regions}) {attributes} : (types) -> types`, and the definition of its results.
fn generic<'a>(input: &mut Input<'a>, names: &[(&'a str, usize, usize)]) -> Outcome<Op> {
    trivia(input);
    let start = input.current_token_start();
    let full_name = string(input, "an op's name")?;
    let operands = list(input, "(", ")", operand)?;
    if at(input, "[") {
        return Err(Failure::at(input.current_token_start(), "successor blocks aren't supported"));
    }
    let mut attributes = Vec::new();
    if eat(input, "<") {
        attributes = attribute::dictionary(input)?;
        punct(input, ">")?;
    }
    let regions = if at(input, "(") { list(input, "(", ")", region)? } else { Vec::new() };
    if at(input, "{") {
        attributes.extend(attribute::dictionary(input)?);
    }
    punct(input, ":")?;
    let (operand_types, result_types) = types::signature(input)?;
    let operands = check_operands(input, operands, &operand_types, start)?;
    let results = define_results(input, names, &result_types, start)?;
    Ok(Op {
        name: full_name.trim_start_matches("stable_mosaic.").to_owned(),
        operands,
        results,
        operand_types,
        result_types,
        attributes,
        regions,
        location: LocationId::UNKNOWN,
        line: 0,
    })
}

/// `@name attributes {…} {ops}`, after `module`.
fn module(input: &mut Input<'_>) -> Outcome<Op> {
    let mut attributes = Vec::new();
    if at(input, "@") {
        punct(input, "@")?;
        attributes
            .push(("sym_name".to_owned(), Attribute::Str(name(input, "the module's name")?.to_owned())));
    }
    if eat_word(input, "attributes") {
        attributes.extend(attribute::dictionary(input)?);
    }
    let body = region(input)?;
    Ok(Op {
        name: "builtin.module".to_owned(),
        operands: Vec::new(),
        results: Vec::new(),
        operand_types: Vec::new(),
        result_types: Vec::new(),
        attributes,
        regions: vec![body],
        location: LocationId::UNKNOWN,
        line: 0,
    })
}

/// `%0` or `%0#1`, and where it stands.
fn operand(input: &mut Input<'_>) -> Outcome<(ValueId, usize)> {
    trivia(input);
    let offset = input.current_token_start();
    let name = sigil_name(input, "%", "an operand such as `%0`")?;
    let index: u32 = if rest(input).starts_with('#') {
        punct(input, "#")?;
        unsigned(input, "a result's number")?
    } else {
        0
    };
    match input.state.scopes.visible.get(name) {
        Some(definition) if index < definition.count => Ok((ValueId(definition.first + index), offset)),
        Some(_) => Err(Failure::at(offset, format!("%{name} has no result {index}"))),
        None => Err(Failure::at(offset, format!("%{name} isn't defined here"))),
    }
}

/// The operands, once each is known to have the type that the op states.
fn check_operands(
    input: &Input<'_>,
    operands: Vec<(ValueId, usize)>,
    stated: &[Type],
    start: usize,
) -> Outcome<Vec<ValueId>> {
    if operands.len() != stated.len() {
        let message = format!("this op has {} operands and {} operand types", operands.len(), stated.len());
        return Err(Failure::at(start, message));
    }
    let defined = &input.state.scopes.types;
    let checked = operands.into_iter().zip(stated).map(|((value, offset), stated)| {
        match defined.get(value.0 as usize) {
            Some(defined) if defined == stated => Ok(value),
            Some(defined) => {
                Err(Failure::at(offset, format!("this operand is a {defined}, but the op states {stated}")))
            }
            None => Err(Failure::at(offset, "this operand isn't defined")),
        }
    });
    checked.collect()
}

/// Defines the results under their names.
fn define_results<'a>(
    input: &mut Input<'a>,
    names: &[(&'a str, usize, usize)],
    types: &[Type],
    start: usize,
) -> Outcome<Vec<ValueId>> {
    let named = names.iter().try_fold(0usize, |total, (_, count, _)| total.checked_add(*count));
    if named != Some(types.len()) && !names.is_empty() {
        let message =
            format!("this op names another number of results than its {} result types", types.len());
        return Err(Failure::at(start, message));
    }
    // Results without a name exist, but nothing can use them.
    if names.is_empty() {
        return Ok(input.state.scopes.anonymous(types));
    }
    let mut results = Vec::with_capacity(types.len());
    for &(name, count, offset) in names {
        let types = types.get(results.len()..results.len() + count).unwrap_or_default();
        results.extend(define(input, name, types, offset)?);
    }
    Ok(results)
}

/// Defines `name`, which stands at `offset`.
fn define<'a>(input: &mut Input<'a>, name: &'a str, types: &[Type], offset: usize) -> Outcome<Vec<ValueId>> {
    let values = input.state.scopes.define(name, types);
    values.ok_or_else(|| Failure::at(offset, format!("%{name} is defined twice in this region")))
}

/// `{ ^bb0(arguments): ops }`.
fn region(input: &mut Input<'_>) -> Outcome<Region> {
    punct(input, "{")?;
    let mark = input.state.scopes.enter();
    let region = nested(input, |input| {
        let arguments = if at(input, "^") { block_label(input)? } else { Vec::new() };
        let mut ops = Vec::new();
        loop {
            trivia(input);
            match peek(input) {
                Some('}') => break,
                Some('^') => {
                    let offset = input.current_token_start();
                    return Err(Failure::at(offset, "a region of several blocks isn't supported"));
                }
                _ => ops.push(op(input)?),
            }
        }
        Ok(Region { arguments, ops })
    })?;
    punct(input, "}")?;
    input.state.scopes.leave(mark);
    Ok(region)
}

/// `^bb0(%a: type loc(…), …):`.
fn block_label(input: &mut Input<'_>) -> Outcome<Vec<(ValueId, Type)>> {
    sigil_name(input, "^", "a block")?;
    let arguments = if at(input, "(") { list(input, "(", ")", block_argument)? } else { Vec::new() };
    punct(input, ":")?;
    Ok(arguments)
}

/// `%a: type loc(…)`; the location is dropped.
fn block_argument(input: &mut Input<'_>) -> Outcome<(ValueId, Type)> {
    trivia(input);
    let offset = input.current_token_start();
    let name = sigil_name(input, "%", "an argument such as `%arg0`")?;
    punct(input, ":")?;
    let written = rest(input);
    let ty = types::parse(input)?;
    let has_layout = written[..written.len() - rest(input).len()].contains("strided<");
    if has_layout && matches!(ty, Type::MemRef(_)) {
        return Err(Failure::at(offset, "an argument with a layout of its own isn't supported"));
    }
    location::trailing(input)?;
    match define(input, name, std::slice::from_ref(&ty), offset)?.as_slice() {
        [value] => Ok((*value, ty)),
        _ => Err(Failure::at(offset, "an argument is one value")),
    }
}
