//! A module as text in generic form, which [`crate::parse()`] reads back.
//!
//! Invariant: `parse(&print(&module))` equals a module that was parsed, but for the lines of its ops. A module with ops
//! put in or taken out comes back with its values and locations numbered anew.

use super::{
    Attribute, ElementType, Frame, LocationId, MemRefType, MemorySpace, Module, Op, Region, Type, ValueId,
    VectorType, mlir_name, wide_integers,
};
use countersign_dtype::DType;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter, Write};

/// The text of a module in generic form, locations included, one op a line.
pub fn print(module: &Module) -> String {
    let body = Body { module };
    let attributes = Dictionary(&module.attributes);
    format!("\"builtin.module\"() ({{\n{body}}}) {attributes} : () -> ()\n{}", Stacks { module })
}

/// Items with `, ` between them.
struct Commas<T>(T);

impl<I: Display, T: Clone + IntoIterator<Item = I>> Display for Commas<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.clone().into_iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{item}")?;
        }
        Ok(())
    }
}

/// The ops of a module.
struct Body<'m> {
    module: &'m Module,
}

impl Display for Body<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.module.ops.iter().try_for_each(|op| write_op(f, op, 1))
    }
}

/// An op with its regions, indented.
fn write_op(f: &mut Formatter<'_>, op: &Op, depth: usize) -> fmt::Result {
    write!(f, "{:indent$}", "", indent = 2 * depth)?;
    if !op.results.is_empty() {
        write!(f, "{} = ", Commas(&op.results))?;
    }
    write!(f, "{}({})", Quoted(&op.name), Commas(&op.operands))?;
    for (index, region) in op.regions.iter().enumerate() {
        f.write_str(if index == 0 { " ({\n" } else { ", {\n" })?;
        write_region(f, region, depth)?;
        write!(f, "{:indent$}}}", "", indent = 2 * depth)?;
    }
    if !op.regions.is_empty() {
        f.write_char(')')?;
    }
    if !op.attributes.is_empty() {
        write!(f, " {}", Dictionary(&op.attributes))?;
    }
    write!(f, " : ({}) -> ({})", Commas(&op.operand_types), Commas(&op.result_types))?;
    match op.location {
        LocationId::UNKNOWN => writeln!(f),
        LocationId(id) => writeln!(f, " loc(#loc{id})"),
    }
}

/// What stands between a region's braces.
fn write_region(f: &mut Formatter<'_>, region: &Region, depth: usize) -> fmt::Result {
    if !region.arguments.is_empty() {
        let arguments = region.arguments.iter().map(|(value, ty)| format!("{value}: {ty}"));
        writeln!(f, "{:indent$}^bb0({}):", "", Commas(arguments), indent = 2 * depth)?;
    }
    region.ops.iter().try_for_each(|op| write_op(f, op, depth + 1))
}

/// The definitions of the locations that ops have.
struct Stacks<'m> {
    module: &'m Module,
}

impl Display for Stacks<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut used = BTreeSet::new();
        self.module.walk(|op, _| {
            used.insert(op.location);
        });
        used.remove(&LocationId::UNKNOWN);
        for id in used {
            write!(f, "#loc{} = loc(", id.0)?;
            write_stack(f, self.module.locations.stack(id))?;
            writeln!(f, ")")?;
        }
        Ok(())
    }
}

/// A stack as nested call sites.
fn write_stack(f: &mut Formatter<'_>, stack: &[Frame]) -> fmt::Result {
    let Some((outermost, inner)) = stack.split_last() else { return f.write_str("unknown") };
    for frame in inner {
        write!(f, "callsite({frame} at ")?;
    }
    write!(f, "{outermost}{:)<width$}", "", width = inner.len())
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let file = Quoted(&self.file);
        if self.function.is_empty() {
            write!(f, "{file}:{}:0", self.line)
        } else {
            write!(f, "{}({file}:{}:0)", Quoted(&self.function), self.line)
        }
    }
}

impl Display for ValueId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// A string with quotes and escapes.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_ascii_control() => write!(f, "\\{:02X}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// Whether a name may stand without quotes.
fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'))
}

/// `{key = value}`.
struct Dictionary<'a>(&'a [(String, Attribute)]);

impl Display for Dictionary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('{')?;
        for (index, (key, value)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            if is_bare(key) {
                f.write_str(key)?
            } else {
                write!(f, "{}", Quoted(key))?
            }
            if *value != Attribute::Unit {
                write!(f, " = {value}")?;
            }
        }
        f.write_char('}')
    }
}

impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Unit => f.write_str("unit"),
            Attribute::Bool(value) => write!(f, "{value}"),
            Attribute::Int(value, ty) => write!(f, "{value} : {ty}"),
            Attribute::Float { bits: _, ty } => write!(f, "{} : {ty}", Element(self)),
            Attribute::Str(text) => write!(f, "{}", Quoted(text)),
            Attribute::Symbol(path) => write_symbol(f, path),
            Attribute::Array(items) => write!(f, "[{}]", Commas(items)),
            Attribute::IntArray(values) if values.is_empty() => f.write_str("array<i64>"),
            Attribute::IntArray(values) => write!(f, "array<i64: {}>", Commas(values)),
            Attribute::Dict(entries) => write!(f, "{}", Dictionary(entries)),
            Attribute::Type(ty) => write!(f, "{ty}"),
            Attribute::Splat(value, ty) => write!(f, "dense<{}> : {ty}", Element(value)),
            Attribute::Dense(items, ty) => {
                f.write_str("dense<")?;
                if !items.is_empty() {
                    write_elements(f, items, &extents(ty))?;
                }
                write!(f, "> : {ty}")
            }
            // Builtin attributes such as `affine_map<…>` have no dialect and no `#`.
            Attribute::Opaque(text) => {
                let head = text.split('<').next().unwrap_or_default();
                write!(f, "{}{text}", if head.contains('.') { "#" } else { "" })
            }
        }
    }
}

/// `@outer::@inner`.
fn write_symbol(f: &mut Formatter<'_>, path: &str) -> fmt::Result {
    if path.split("::").all(is_bare) {
        write!(f, "@{}", path.replace("::", "::@"))
    } else {
        write!(f, "@{}", Quoted(path))
    }
}

/// A number without its type, as it stands in `dense<…>`.
struct Element<'a>(&'a Attribute);

impl Display for Element<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Attribute::Int(value, _) => write!(f, "{value}"),
            Attribute::Float { bits, ty: Type::Scalar(DType::F32) } => {
                let value = f32::from_bits(*bits as u32);
                if value.is_finite() {
                    write_decimal(f, format_args!("{value:e}"))
                } else {
                    write!(f, "0x{bits:08X}")
                }
            }
            Attribute::Float { bits, ty: Type::Scalar(dtype) } => {
                write!(f, "0x{bits:0width$X}", width = dtype.bits() / 4)
            }
            Attribute::Float { bits, ty: _ } => write!(f, "0x{bits:016X}"),
            other => write!(f, "{other}"),
        }
    }
}

/// A number in scientific form, with the point that MLIR asks for: `1e0` becomes `1.0e0`.
fn write_decimal(f: &mut Formatter<'_>, number: fmt::Arguments<'_>) -> fmt::Result {
    let text = number.to_string();
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => write!(f, "{mantissa}.0e{exponent}"),
        _ => f.write_str(&text),
    }
}

/// The extents of the type of dense values; empty where the IR doesn't name it, so that they print as a flat list.
fn extents(ty: &Type) -> Vec<usize> {
    match ty {
        Type::Vector(VectorType { shape, .. }) | Type::Tensor(VectorType { shape, .. }) => shape.clone(),
        Type::Opaque(text) => wide_integers(text).unwrap_or_default(),
        Type::Scalar(_) | Type::Index | Type::I64 | Type::MemRef(_) | Type::Function(..) => Vec::new(),
    }
}

/// `[[1, 2], [3, 4]]`.
fn write_elements(f: &mut Formatter<'_>, items: &[Attribute], shape: &[usize]) -> fmt::Result {
    let (Some(&extent), inner) = (shape.first(), shape.get(1..).unwrap_or_default()) else {
        return write!(f, "{}", Commas(items.iter().map(Element)));
    };
    f.write_char('[')?;
    for (index, part) in items.chunks((items.len() / extent.max(1)).max(1)).enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        write_elements(f, part, inner)?;
    }
    f.write_char(']')
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(dtype) => f.write_str(mlir_name(*dtype)),
            Type::Index => f.write_str("index"),
            Type::I64 => f.write_str("i64"),
            Type::Vector(vector) => write!(f, "vector<{vector}>"),
            Type::Tensor(tensor) => write!(f, "tensor<{tensor}>"),
            Type::MemRef(memref) => write!(f, "{memref}"),
            Type::Function(inputs, results) => write!(f, "({}) -> ({})", Commas(inputs), Commas(results)),
            Type::Opaque(text) => f.write_str(text),
        }
    }
}

/// The shape and element, as in `vector<16x128xf32>`.
impl Display for VectorType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.shape.iter().try_for_each(|extent| write!(f, "{extent}x"))?;
        write!(f, "{}", self.element)
    }
}

impl Display for MemRefType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("memref<")?;
        for extent in &self.shape {
            match extent {
                Some(extent) => write!(f, "{extent}x")?,
                None => f.write_str("?x")?,
            }
        }
        write!(f, "{}", self.element)?;
        if let Some(space) = self.space {
            write!(f, ", #tpu.memory_space<{space}>")?;
        }
        f.write_char('>')
    }
}

impl Display for ElementType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ElementType::Data(dtype) => mlir_name(*dtype),
            ElementType::Index => "index",
            ElementType::DmaSemaphore => "!tpu.dma_semaphore",
            ElementType::Semaphore => "!tpu.semaphore",
        })
    }
}

/// MLIR's name: `vmem`, `semaphore_mem`.
impl Display for MemorySpace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemorySpace::Smem => "smem",
            MemorySpace::Vmem => "vmem",
            MemorySpace::Hbm => "hbm",
            MemorySpace::Any => "any",
            MemorySpace::Semaphore => "semaphore_mem",
        })
    }
}
