//! Locations: their grammar, and their resolution to Python call stacks.
//!
//! JAX writes a frame as a name location around a file location, and a stack as `callsite(frame at callers)`. An op that
//! comes out of a function which JAX traced once and reused carries `callsite(stack of the first trace at stack of this
//! call)`: of the first stack only what lies inside the reused function is true here. Around all of it stand names of
//! primitives (`"add:"("mask/add"(…))`), which are no frames.
//!
//! Invariant: resolution ends for any table: cycles are failures, and stacks keep their innermost [`MAX_FRAMES`] frames.

use super::nested;
use super::token::{
    Failure, Input, Outcome, at, balanced, eat, eat_word, expected, list, punct, rest, sigil_name, string,
    unsigned,
};
use crate::ir::{Frame, LocationId, Locations, Op};
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;
use winnow::stream::Location as _;

/// Most frames of a stack that are kept, from the innermost.
const MAX_FRAMES: usize = 256;

/// Longest chain of aliases that is followed.
const MAX_CHAIN: usize = 1000;

/// Index into [`LocationTable::nodes`].
type NodeId = u32;

/// The unknown location.
const UNKNOWN: NodeId = 0;

/// One location as written.
#[derive(Debug)]
enum Node<'a> {
    Unknown,
    /// An alias that is used but not defined so far, and where it was used first.
    Undefined {
        name: &'a str,
        offset: usize,
    },
    File {
        file: Rc<str>,
        line: u32,
    },
    Named {
        name: Cow<'a, str>,
        child: NodeId,
    },
    CallSite {
        callee: NodeId,
        caller: NodeId,
    },
    Fused(Vec<NodeId>),
    Alias(NodeId),
}

/// All locations of the text.
#[derive(Debug)]
pub(super) struct LocationTable<'a> {
    nodes: Vec<Node<'a>>,
    aliases: HashMap<&'a str, NodeId>,
    files: HashMap<Cow<'a, str>, Rc<str>>,
}

impl Default for LocationTable<'_> {
    fn default() -> Self {
        LocationTable { nodes: vec![Node::Unknown], aliases: HashMap::new(), files: HashMap::new() }
    }
}

impl<'a> LocationTable<'a> {
    fn add(&mut self, node: Node<'a>) -> NodeId {
        self.nodes.push(node);
        (self.nodes.len() - 1) as NodeId
    }

    /// The node that stands for an alias, whether or not it is defined so far.
    fn alias(&mut self, name: &'a str, offset: usize) -> NodeId {
        if let Some(&node) = self.aliases.get(name) {
            return node;
        }
        let node = self.add(Node::Undefined { name, offset });
        self.aliases.insert(name, node);
        node
    }

    fn file(&mut self, name: Cow<'a, str>) -> Rc<str> {
        self.files.entry(name).or_insert_with_key(|name| Rc::from(name.as_ref())).clone()
    }
}

/// `#name = loc(…)`, from `loc` on.
pub(super) fn definition<'a>(input: &mut Input<'a>, alias: &'a str, start: usize) -> Outcome<()> {
    let node = input.state.locations.alias(alias, start);
    let value = wrapped(input)?;
    match &mut input.state.locations.nodes[node as usize] {
        slot @ Node::Undefined { .. } => *slot = Node::Alias(value),
        _ => return Err(Failure::at(start, format!("the location #{alias} is defined twice"))),
    }
    Ok(())
}

/// ` loc(…)` where there is one; the location's place in the table for now.
pub(super) fn trailing(input: &mut Input<'_>) -> Outcome<LocationId> {
    let node = if at(input, "loc(") { wrapped(input)? } else { UNKNOWN };
    Ok(LocationId(node))
}

/// `loc(…)`.
fn wrapped(input: &mut Input<'_>) -> Outcome<NodeId> {
    punct(input, "loc")?;
    punct(input, "(")?;
    let node = location(input)?;
    punct(input, ")")?;
    Ok(node)
}

/// What stands inside `loc(…)`.
fn location(input: &mut Input<'_>) -> Outcome<NodeId> {
    nested(input, |input| {
        if at(input, "#") {
            let offset = input.current_token_start();
            let name = sigil_name(input, "#", "a location")?;
            Ok(input.state.locations.alias(name, offset))
        } else if at(input, "\"") {
            file_or_name(input)
        } else if eat_word(input, "unknown") {
            Ok(UNKNOWN)
        } else if eat_word(input, "callsite") {
            call_site(input)
        } else if eat_word(input, "fused") {
            if at(input, "<") {
                balanced(input)?;
            }
            let parts = list(input, "[", "]", location)?;
            Ok(input.state.locations.add(Node::Fused(parts)))
        } else {
            expected(input, "a location")
        }
    })
}

/// `"file":line:column to …` or `"name"(child)`.
fn file_or_name(input: &mut Input<'_>) -> Outcome<NodeId> {
    let text = string(input, "a file or a name")?;
    if rest(input).starts_with(':') {
        punct(input, ":")?;
        let line = unsigned(input, "a line")?;
        column(input)?;
        if eat_word(input, "to") {
            if !at(input, ":") {
                unsigned::<u32>(input, "a line")?;
            }
            column(input)?;
        }
        let file = input.state.locations.file(text);
        return Ok(input.state.locations.add(Node::File { file, line }));
    }
    let child = if eat(input, "(") {
        let child = location(input)?;
        punct(input, ")")?;
        child
    } else {
        UNKNOWN
    };
    Ok(input.state.locations.add(Node::Named { name: text, child }))
}

/// `:column`, where there is one.
fn column(input: &mut Input<'_>) -> Outcome<()> {
    if eat(input, ":") {
        unsigned::<u32>(input, "a column")?;
    }
    Ok(())
}

/// `(callee at caller)`, after `callsite`. Callers nest as deep as the stack is long, so they are read in a loop.
fn call_site(input: &mut Input<'_>) -> Outcome<NodeId> {
    let mut callees = Vec::new();
    let mut node = loop {
        punct(input, "(")?;
        callees.push(location(input)?);
        if !eat_word(input, "at") {
            return expected(input, "`at`");
        }
        if !eat_word(input, "callsite") {
            break location(input)?;
        }
    };
    for callee in callees.into_iter().rev() {
        punct(input, ")")?;
        node = input.state.locations.add(Node::CallSite { callee, caller: node });
    }
    Ok(node)
}

/// A frame while stacks are put together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RawFrame<'a> {
    file: Rc<str>,
    line: u32,
    function: &'a str,
}

/// A stack, innermost frame first.
type Stack<'a> = Rc<[RawFrame<'a>]>;

/// Replaces each op's place in the table by the id of its stack, and returns the stacks.
///
/// Ids are given in the order in which the ops stand in the text, equal stacks share one.
pub(super) fn resolve(table: &LocationTable<'_>, ops: &mut [Op]) -> Outcome<Locations> {
    let mut resolver = Resolver { table, stacks: vec![Progress::Open; table.nodes.len()] };
    let mut ids: HashMap<Stack<'_>, LocationId> = HashMap::from([(Rc::from([]), LocationId::UNKNOWN)]);
    let mut locations = Locations { stacks: vec![Vec::new()] };
    assign(ops, &mut |node| {
        let stack = resolver.stack(node.0, 0)?;
        let next = LocationId(locations.stacks.len() as u32);
        let id = *ids.entry(stack.clone()).or_insert(next);
        if id == next {
            locations.stacks.push(stack.iter().map(RawFrame::to_frame).collect());
        }
        Ok(id)
    })?;
    Ok(locations)
}

/// Maps the location of every op, outer ops first.
fn assign(ops: &mut [Op], map: &mut impl FnMut(LocationId) -> Outcome<LocationId>) -> Outcome<()> {
    for op in ops {
        op.location = map(op.location)?;
        for region in &mut op.regions {
            assign(&mut region.ops, map)?;
        }
    }
    Ok(())
}

impl RawFrame<'_> {
    fn to_frame(&self) -> Frame {
        Frame { file: self.file.to_string(), line: self.line, function: self.function.to_owned() }
    }

    /// Whether both frames are of the same function, as far as its name tells.
    fn same_function(&self, other: &RawFrame<'_>) -> bool {
        self == other
            || (!self.function.is_empty() && self.function == other.function && self.file == other.file)
    }
}

/// How far a node's stack is known.
#[derive(Debug, Clone)]
enum Progress<'a> {
    Open,
    Visiting,
    Done(Stack<'a>),
}

struct Resolver<'t, 'a> {
    table: &'t LocationTable<'a>,
    stacks: Vec<Progress<'t>>,
}

impl<'t> Resolver<'t, '_> {
    /// The node behind aliases.
    fn target(&self, mut node: NodeId) -> NodeId {
        for _ in 0..MAX_CHAIN {
            match self.table.nodes[node as usize] {
                Node::Alias(next) => node = next,
                _ => break,
            }
        }
        node
    }

    /// The stack of a node, remembered.
    fn stack(&mut self, node: NodeId, depth: usize) -> Outcome<Stack<'t>> {
        match &self.stacks[node as usize] {
            Progress::Done(stack) => return Ok(stack.clone()),
            Progress::Open if depth < MAX_CHAIN => {}
            Progress::Visiting => return Err(self.endless("a location that refers to itself")),
            Progress::Open => return Err(self.endless("a chain of locations that is too long")),
        }
        self.stacks[node as usize] = Progress::Visiting;
        let stack = self.build(node, depth + 1)?;
        self.stacks[node as usize] = Progress::Done(stack.clone());
        Ok(stack)
    }

    fn endless(&self, what: &str) -> Failure {
        Failure::at(0, format!("this text has {what}"))
    }

    fn build(&mut self, node: NodeId, depth: usize) -> Outcome<Stack<'t>> {
        let table = self.table;
        match &table.nodes[node as usize] {
            Node::Unknown => Ok(Rc::from([])),
            Node::Undefined { name, offset } => {
                Err(Failure::at(*offset, format!("the location #{name} isn't defined")))
            }
            Node::File { file, line } => {
                Ok(Rc::from([RawFrame { file: file.clone(), line: *line, function: "" }]))
            }
            Node::Alias(next) => self.stack(*next, depth),
            Node::Fused(parts) => {
                for &part in parts {
                    let stack = self.stack(part, depth)?;
                    if !stack.is_empty() {
                        return Ok(stack);
                    }
                }
                Ok(Rc::from([]))
            }
            Node::Named { name, child } => self.named(name, *child, depth),
            Node::CallSite { callee, caller } => {
                let callee = self.stack(*callee, depth)?;
                let caller = self.stack(*caller, depth)?;
                Ok(joined(&callee, &caller))
            }
        }
    }

    /// A name around a file is a function, unless it is the primitive that the name around *it* repeats with a colon.
    fn named(&mut self, name: &'t str, child: NodeId, depth: usize) -> Outcome<Stack<'t>> {
        let child = self.target(child);
        let table = self.table;
        match &table.nodes[child as usize] {
            Node::File { file, line } => {
                Ok(Rc::from([RawFrame { file: file.clone(), line: *line, function: name }]))
            }
            Node::Named { name: inner, child: grandchild }
                if name
                    .strip_suffix(':')
                    .is_some_and(|primitive| inner.rsplit('/').next() == Some(primitive)) =>
            {
                self.stack(*grandchild, depth)
            }
            _ => self.stack(child, depth),
        }
    }
}

/// The stack of `callsite(callee at caller)`.
///
/// One frame is put before its callers. Of a longer stack (a reused trace) only the frames inside the function that the
/// caller's innermost frame is in are kept; where that function isn't on it, none is: they belong to another call.
fn joined<'a>(callee: &[RawFrame<'a>], caller: &[RawFrame<'a>]) -> Stack<'a> {
    let Some(site) = caller.first() else { return Rc::from(callee) };
    let inner = match callee.iter().position(|frame| frame.same_function(site)) {
        Some(shared) => &callee[..shared],
        None if callee.len() == 1 => callee,
        None => &[],
    };
    inner.iter().chain(caller).take(MAX_FRAMES).cloned().collect()
}
