//! Types of the generic form.

use countersign_dtype::DType;

/// An element of a vector, memref or tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// A number or mask lane.
    Data(DType),
    /// `index`.
    Index,
    /// `!tpu.dma_semaphore`.
    DmaSemaphore,
    /// `!tpu.semaphore`.
    Semaphore,
}

/// Where a memref lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemorySpace {
    /// Scalar memory.
    Smem,
    /// Vector memory.
    Vmem,
    /// High-bandwidth memory.
    Hbm,
    /// Left where the caller put it: HBM for our purposes.
    Any,
    /// Semaphores.
    Semaphore,
}

/// `vector<16x128xf32>` (and `tensor<…>` in glue).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VectorType {
    /// Extents.
    pub shape: Vec<usize>,
    /// Element type.
    pub element: ElementType,
}

/// `memref<16x?xf32, #tpu.memory_space<vmem>>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MemRefType {
    /// Extents; `None` is `?`.
    pub shape: Vec<Option<usize>>,
    /// Element type.
    pub element: ElementType,
    /// Memory space; `None` where the text gives none.
    pub space: Option<MemorySpace>,
}

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// A scalar number or mask: `i32`, `f32`, `i1`, `bf16`.
    Scalar(DType),
    /// `index`.
    Index,
    /// `i64`, only in attributes.
    I64,
    /// A vector.
    Vector(VectorType),
    /// A memref.
    MemRef(MemRefType),
    /// A tensor (StableHLO glue).
    Tensor(VectorType),
    /// `(inputs) -> (results)`.
    Function(Vec<Type>, Vec<Type>),
    /// Any other type, kept as text; lowering names it as unsupported where a value has it.
    Opaque(String),
}

impl Type {
    /// How many parts it has, itself included: what a copy of it costs.
    pub(crate) fn parts(&self) -> usize {
        1 + match self {
            Type::Vector(shaped) | Type::Tensor(shaped) => shaped.shape.len(),
            Type::MemRef(memref) => memref.shape.len(),
            Type::Function(inputs, results) => inputs.iter().chain(results).map(Type::parts).sum(),
            Type::Opaque(text) => text.len(),
            Type::Scalar(_) | Type::Index | Type::I64 => 0,
        }
    }
}

/// MLIR's name of a number, which isn't always that of [`DType::name`].
pub(crate) fn mlir_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F8E4M3FN => "f8E4M3FN",
        DType::F8E5M2 => "f8E5M2",
        DType::F32
        | DType::Bf16
        | DType::F16
        | DType::I32
        | DType::I16
        | DType::I8
        | DType::I4
        | DType::I1 => dtype.name(),
    }
}

/// The inverse of [`mlir_name`].
pub(crate) fn from_mlir_name(name: &str) -> Option<DType> {
    match name {
        "f8E4M3FN" => Some(DType::F8E4M3FN),
        "f8E5M2" => Some(DType::F8E5M2),
        _ => DType::from_name(name).filter(|dtype| mlir_name(*dtype) == name),
    }
}

/// The shape of a vector or tensor of i64, which only attributes have.
pub(crate) fn wide_integers(text: &str) -> Option<Vec<usize>> {
    let inner =
        text.strip_prefix("tensor<").or_else(|| text.strip_prefix("vector<"))?.strip_suffix("i64>")?;
    inner.split_terminator('x').map(|extent| extent.parse().ok()).collect()
}
