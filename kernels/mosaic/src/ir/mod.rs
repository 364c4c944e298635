//! The IR as parsed: a tree of ops in generic form, with types, attributes and locations. Pure data.
//!
//! Invariant: holds what the text said and nothing derived; lowering (`program`) decides what it means.
//! Every SSA value has an id unique in its module, so regions need no scopes.

mod attribute;
mod location;
mod print;
mod types;
mod walk;

pub use attribute::Attribute;
pub use location::{Frame, LocationId, Locations};
pub use print::print;
pub use types::{ElementType, MemRefType, MemorySpace, Type, VectorType};
pub(crate) use types::{from_mlir_name, mlir_name, wide_integers};

/// An SSA value: the index of its definition, unique in the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A parsed module.
#[derive(Debug, Clone, PartialEq)]
pub struct Module {
    /// Module attributes, e.g. `stable_mosaic.version`.
    pub attributes: Vec<(String, Attribute)>,
    /// Top-level ops (functions).
    pub ops: Vec<Op>,
    /// Number of SSA values; `ValueId`s are below it.
    pub values: u32,
    /// Where each op came from.
    pub locations: Locations,
}

/// One op in generic form.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    /// Name with dialect, without the `stable_mosaic.` prefix: `arith.addi`, `tpu.enqueue_dma`.
    pub name: String,
    /// Operands.
    pub operands: Vec<ValueId>,
    /// Results.
    pub results: Vec<ValueId>,
    /// Types of the operands, as long as `operands`.
    pub operand_types: Vec<Type>,
    /// Types of the results, as long as `results`.
    pub result_types: Vec<Type>,
    /// Attributes in the order of the text.
    pub attributes: Vec<(String, Attribute)>,
    /// Nested regions, each of one block.
    pub regions: Vec<Region>,
    /// The op's location.
    pub location: LocationId,
    /// Line of the op in the module's text, from 1.
    pub line: u32,
}

/// A region of a single block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region {
    /// Block arguments with their types.
    pub arguments: Vec<(ValueId, Type)>,
    /// Ops in order; the last is the terminator.
    pub ops: Vec<Op>,
}

impl Op {
    /// The attribute called `name`.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

impl Module {
    /// The function whose `sym_name` is `name`.
    pub fn function(&self, name: &str) -> Option<&Op> {
        self.ops.iter().find(|op| op.attribute("sym_name").and_then(Attribute::as_str) == Some(name))
    }
}
