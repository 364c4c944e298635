//! Upstream's two checks in Rust: the same order, the same verdict, the same words.
//!
//! Invariant: says what upstream *does*, its slips included (int32 wrap-around, clamped indices); what a batch must keep is
//! the contract's business. The real functions have the last word in a report; a recorded table of their answers tests
//! this port.
//!
//! Source: `static_validate_inputs` and `dynamic_validate_inputs` of jax 0.10.2, called with JAX arrays.

use std::fmt;

use countersign_dtype::DType;
use countersign_reference::Metadata;

use crate::family::Family;
use crate::operand_type::OperandType;
use crate::variant::Variant;

/// What a check says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No complaint.
    Accepts,
    /// A refusal on purpose.
    Refuses {
        /// Id of the failing check, see [`CHECKS`].
        check: &'static str,
        /// Upstream's words.
        message: String,
    },
    /// An assertion or an error from below: nothing that tells a user what to change.
    Crashes {
        /// Python's exception type, and its message where there is one.
        message: String,
    },
}

/// One refusal of upstream's checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// Short id; that of the contract's rule where one says the same.
    pub id: &'static str,
    /// Made while tracing (the entry point calls it) and not on values (nobody calls it in production).
    pub is_static: bool,
    /// How the message begins.
    pub begins: &'static str,
    /// What it contains further on.
    pub contains: &'static str,
}

impl Check {
    /// The check of that id.
    pub fn named(id: &str) -> Option<&'static Check> {
        CHECKS.iter().find(|check| check.id == id)
    }

    /// Its message, numbers left out: `Total q tokens … must be less or equal to max_num_batched_tokens=…`.
    pub fn words(&self) -> String {
        format!("{}… {}…", self.begins, self.contains)
    }
}

/// All refusals, in upstream's order.
pub const CHECKS: [Check; 15] = {
    const fn check(id: &'static str, is_static: bool, begins: &'static str, contains: &'static str) -> Check {
        Check { id, is_static, begins, contains }
    }
    [
        check("num-seqs-shape", true, "num_seqs.shape=", "must be (1,)"),
        check("head-dim-equal", true, "Q head_dim ", "must be the same as that of K/V"),
        check("kv-lens-shape", true, "Expected kv_lens.shape=", "to be ("),
        check("cu-q-lens-shape", true, "Expected cu_q_lens.shape=", "to be ("),
        check("metadata-int32", true, "The dtype of `kv_lens`", "must be int32"),
        check("heads-divisible", true, "num_q_heads=", "must be divisible by num_kv_heads="),
        check("window-positive", true, "sliding_window=", "must be positive"),
        check("cap-nonzero", true, "soft_cap=", "must not be 0.0"),
        check("pages-per-block-in-range", true, "num_kv_pages_per_block=", "must be in range (0, "),
        check("queries-per-block-positive", true, "num_queries_per_block=", "must be positive"),
        check("vmem-limit-positive", true, "vmem_limit_bytes=", "must be positive"),
        check("num-seqs-within-table", false, "num_seqs[0]=", "must be less or equal to max_num_seqs="),
        check("kv-lens-in-table", false, "pages_per_seq=", "must be greater or equal to min_pages_per_seq="),
        check(
            "total-q-within-rows",
            false,
            "Total q tokens ",
            "must be less or equal to max_num_batched_tokens=",
        ),
        check("q-len-within-kv-len", false, "q_len=", "must be less or equal to kv_len="),
    ]
};

/// The check that a message of upstream's comes from.
pub fn check_of_message(message: &str) -> Option<&'static str> {
    let matches = |check: &&Check| message.starts_with(check.begins) && message.contains(check.contains);
    CHECKS.iter().find(matches).map(|check| check.id)
}

/// A Python number as an option is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// `int`.
    Int(i64),
    /// `float`.
    Float(f64),
}

impl Number {
    /// The value as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

impl fmt::Display for Number {
    /// As Python's `repr` writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Number::Int(value) => write!(f, "{value}"),
            Number::Float(value) if value.is_nan() => f.write_str("nan"),
            Number::Float(value) => {
                let text = format!("{value:?}");
                match text.split_once('e') {
                    Some((mantissa, exponent)) => {
                        let (sign, digits) =
                            exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
                        write!(f, "{mantissa}e{sign}{digits:0>2}")
                    }
                    None => f.write_str(&text),
                }
            }
        }
    }
}

/// Shape and element type of an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shaped {
    /// Extents.
    pub shape: Vec<usize>,
    /// NumPy's name of the element type (`int32`, `float32`, `bfloat16`, …).
    pub dtype: String,
}

impl Shaped {
    /// From parts.
    pub fn new(shape: &[usize], dtype: &str) -> Shaped {
        Shaped { shape: shape.to_vec(), dtype: dtype.to_string() }
    }
}

/// NumPy's name of an element type.
pub const fn numpy_name(dtype: DType) -> &'static str {
    OperandType::Of(dtype).numpy_name()
}

/// All that a trace of the entry point sees: shapes, element types and options, however wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct StaticCall {
    /// The kernel's family. One without some of these operands doesn't look at them.
    pub family: Family,
    /// `[tokens, q_heads, head_dim]`.
    pub q: Shaped,
    /// `[pages, page_size, 2 * kv_heads, head_dim]`.
    pub kv_pages: Shaped,
    /// `i32[max_seqs]`.
    pub kv_lens: Shaped,
    /// `i32[max_seqs, pages_per_seq]`.
    pub page_indices: Shaped,
    /// `i32[max_seqs + 1]`.
    pub cu_q_lens: Shaped,
    /// `i32[1]`.
    pub num_seqs: Shaped,
    /// Factor on q·k.
    pub sm_scale: Option<Number>,
    /// Window in tokens.
    pub sliding_window: Option<Number>,
    /// Soft cap.
    pub soft_cap: Option<Number>,
    /// Added to masked scores.
    pub mask_value: Option<Number>,
    /// Factor on stored K.
    pub k_scale: Option<Number>,
    /// Factor on stored V.
    pub v_scale: Option<Number>,
    /// Pages per KV block.
    pub num_kv_pages_per_block: Option<i64>,
    /// Queries per query block.
    pub num_queries_per_block: Option<i64>,
    /// VMEM limit in bytes.
    pub vmem_limit_bytes: Option<i64>,
}

impl StaticCall {
    /// The call that a variant stands for.
    pub fn of(variant: &Variant) -> StaticCall {
        let float = |value: f32| Number::Float(f64::from(value));
        let options = variant.options;
        let kv_shape = [variant.pages, variant.page_size, 2 * variant.kv_heads, variant.head_dim];
        StaticCall {
            family: variant.family,
            q: Shaped::new(&[variant.tokens, variant.q_heads, variant.head_dim], numpy_name(variant.q_dtype)),
            kv_pages: Shaped::new(&kv_shape, numpy_name(variant.kv_dtype)),
            kv_lens: Shaped::new(&[variant.max_seqs], "int32"),
            page_indices: Shaped::new(&[variant.max_seqs, variant.pages_per_seq], "int32"),
            cu_q_lens: Shaped::new(&[variant.max_seqs + 1], "int32"),
            num_seqs: Shaped::new(&[1], "int32"),
            sm_scale: Some(float(options.sm_scale)),
            sliding_window: options.sliding_window.map(|window| Number::Int(i64::from(window))),
            soft_cap: options.soft_cap.map(float),
            mask_value: Some(float(options.mask_value)),
            k_scale: options.k_scale.map(float),
            v_scale: options.v_scale.map(float),
            num_kv_pages_per_block: variant.pages_per_block.map(|pages| pages as i64),
            num_queries_per_block: variant.queries_per_block.map(|queries| queries as i64),
            vmem_limit_bytes: None,
        }
    }

    /// The operands by parameter name, in the entry point's order.
    pub fn operands(&self) -> [(&'static str, &Shaped); 6] {
        [
            ("q", &self.q),
            ("kv_pages", &self.kv_pages),
            ("kv_lens", &self.kv_lens),
            ("page_indices", &self.page_indices),
            ("cu_q_lens", &self.cu_q_lens),
            ("num_seqs", &self.num_seqs),
        ]
    }

    /// The variant's call with the extents that the metadata really has.
    pub fn with_metadata(variant: &Variant, metadata: &Metadata) -> StaticCall {
        let rows =
            metadata.page_indices.len().checked_div(metadata.pages_per_seq).unwrap_or(variant.max_seqs);
        StaticCall {
            kv_lens: Shaped::new(&[metadata.kv_lens.len()], "int32"),
            page_indices: Shaped::new(&[rows, metadata.pages_per_seq], "int32"),
            cu_q_lens: Shaped::new(&[metadata.cu_q_lens.len()], "int32"),
            ..StaticCall::of(variant)
        }
    }
}

/// A tuple as Python's `repr` writes it.
fn tuple(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    if extents.len() == 1 { format!("({},)", extents[0]) } else { format!("({})", extents.join(", ")) }
}

/// A NumPy dtype as `repr` writes it: the extension types of ml_dtypes have no quotes.
fn dtype_repr(name: &str) -> String {
    let is_extension = name == "bfloat16" || name.starts_with("float8") || name == "int4" || name == "uint4";
    if is_extension { format!("dtype({name})") } else { format!("dtype('{name}')") }
}

/// What `a, b, c = shape` raises where the rank differs.
fn unpack(shape: &[usize], rank: usize) -> Result<(), Verdict> {
    let message = match shape.len() {
        got if got < rank => format!("ValueError: not enough values to unpack (expected {rank}, got {got})"),
        got if got > rank => format!("ValueError: too many values to unpack (expected {rank})"),
        _ => return Ok(()),
    };
    Err(Verdict::Crashes { message })
}

fn require(holds: bool, check: &'static str, message: impl FnOnce() -> String) -> Result<(), Verdict> {
    if holds { Ok(()) } else { Err(Verdict::Refuses { check, message: message() }) }
}

fn assert(holds: bool) -> Result<(), Verdict> {
    if holds { Ok(()) } else { Err(Verdict::Crashes { message: "AssertionError".to_string() }) }
}

fn verdict(outcome: Result<(), Verdict>) -> Verdict {
    outcome.err().unwrap_or(Verdict::Accepts)
}

/// `static_validate_inputs`: shapes, element types, options. Called by the entry point while it is traced.
pub fn static_check(call: &StaticCall) -> Verdict {
    verdict(check_statics(call))
}

fn check_statics(call: &StaticCall) -> Result<(), Verdict> {
    unpack(&call.q.shape, 3)?;
    let (q_heads, head_dim) = (call.q.shape[1], call.q.shape[2]);
    unpack(&call.kv_pages.shape, 4)?;
    let (combined, kv_head_dim) = (call.kv_pages.shape[2], call.kv_pages.shape[3]);
    assert(combined % 2 == 0)?;
    assert(!matches!(call.k_scale, Some(Number::Int(_))))?;
    assert(!matches!(call.v_scale, Some(Number::Int(_))))?;
    let kv_heads = combined / 2;
    unpack(&call.page_indices.shape, 2)?;
    let (max_seqs, pages_per_seq) = (call.page_indices.shape[0], call.page_indices.shape[1]);
    require(call.num_seqs.shape == [1], "num-seqs-shape", || {
        format!("num_seqs.shape={} must be (1,)", tuple(&call.num_seqs.shape))
    })?;
    require(kv_head_dim == head_dim, "head-dim-equal", || {
        format!("Q head_dim {head_dim} must be the same as that of K/V {kv_head_dim}.")
    })?;
    require(call.kv_lens.shape == [max_seqs], "kv-lens-shape", || {
        let shape = tuple(&call.kv_lens.shape);
        format!(
            "Expected kv_lens.shape={shape} to be ({max_seqs},) where `max_num_seqs` is `page_indices.shape[0]`."
        )
    })?;
    require(call.cu_q_lens.shape == [max_seqs + 1], "cu-q-lens-shape", || {
        let (shape, entries) = (tuple(&call.cu_q_lens.shape), max_seqs + 1);
        format!(
            "Expected cu_q_lens.shape={shape} to be ({entries},)  where `max_num_seqs` is `page_indices.shape[0]`."
        )
    })?;
    let metadata = [&call.kv_lens, &call.page_indices, &call.cu_q_lens];
    require(metadata.iter().all(|operand| operand.dtype == "int32"), "metadata-int32", || {
        let [kv_lens, page_indices, cu_q_lens] = metadata.map(|operand| dtype_repr(&operand.dtype));
        format!(
            "The dtype of `kv_lens`, `page_indices`, and `cu_q_lens` must be int32. Got kv_lens.dtype={kv_lens}, \
             page_indices.dtype={page_indices}, cu_q_lens.dtype={cu_q_lens}."
        )
    })?;
    if kv_heads == 0 {
        return Err(Verdict::Crashes { message: "ZeroDivisionError: integer modulo by zero".to_string() });
    }
    require(q_heads % kv_heads == 0, "heads-divisible", || {
        format!("num_q_heads={q_heads} must be divisible by num_kv_heads={kv_heads}")
    })?;
    if let Some(window) = call.sliding_window {
        let refused = window.as_f64() <= 0.0;
        require(!refused, "window-positive", || format!("sliding_window={window} must be positive."))?;
    }
    if let Some(cap) = call.soft_cap {
        require(cap.as_f64() != 0.0, "cap-nonzero", || format!("soft_cap={cap} must not be 0.0."))?;
    }
    if let Some(pages) = call.num_kv_pages_per_block {
        require(0 < pages && pages <= pages_per_seq as i64, "pages-per-block-in-range", || {
            format!("num_kv_pages_per_block={pages} must be in range (0, {pages_per_seq}].")
        })?;
    }
    if let Some(queries) = call.num_queries_per_block {
        require(queries > 0, "queries-per-block-positive", || {
            format!("num_queries_per_block={queries} must be positive.")
        })?;
    }
    if let Some(bytes) = call.vmem_limit_bytes {
        require(bytes > 0, "vmem-limit-positive", || format!("vmem_limit_bytes={bytes} must be positive."))?;
    }
    Ok(())
}

/// `dynamic_validate_inputs`: the static checks, then the metadata's values. Called by upstream's tests only.
///
/// Where `metadata` disagrees with the call's shapes, its values are read as if cut there;
/// `num_seqs` is read in the call's type for it.
pub fn dynamic_check_call(call: &StaticCall, metadata: &Metadata) -> Verdict {
    verdict(check_statics(call).and_then(|()| check_values(call, metadata)))
}

fn check_values(call: &StaticCall, metadata: &Metadata) -> Result<(), Verdict> {
    let Metadata { kv_lens, cu_q_lens, num_seqs, .. } = metadata;
    let (tokens, page_size) = (call.q.shape[0], call.kv_pages.shape[1]);
    let (max_seqs, pages_per_seq) = (call.page_indices.shape[0], call.page_indices.shape[1]);
    let count_type = CountType::of(&call.num_seqs.dtype);
    let count = count_type.read(i64::from(*num_seqs));
    require(count <= count_type.compared_with(max_seqs as i64), "num-seqs-within-table", || {
        let count = count_type.repr(count, &call.num_seqs.dtype);
        format!("num_seqs[0]={count} must be less or equal to max_num_seqs={max_seqs}")
    })?;
    let Some(longest) = kv_lens.iter().copied().max() else {
        let message =
            "ValueError: zero-size array to reduction operation max which has no identity".to_string();
        return Err(Verdict::Crashes { message });
    };
    let needed = wrapping_ceil_div(longest, page_size as i32);
    require(pages_per_seq as i64 >= i64::from(needed), "kv-lens-in-table", || {
        let (needed, longest) = (scalar(needed), scalar(longest));
        format!(
            "pages_per_seq={pages_per_seq} must be greater or equal to min_pages_per_seq={needed} given \
             max_kv_len={longest} and page_size={page_size}."
        )
    })?;
    if count_type == CountType::Float {
        let dtype = &call.num_seqs.dtype;
        let message =
            format!("TypeError: Indexer must have integer or boolean type, got indexer with type {dtype}");
        return Err(Verdict::Crashes { message });
    }
    if count_type == CountType::Bool {
        // As an index it keeps or drops the whole of cu_q_lens under a new dimension.
        let message = if count != 0 {
            "ValueError: The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
        } else {
            "ValueError: The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is \
             not empty."
        };
        return Err(Verdict::Crashes { message: message.to_string() });
    }
    let total = index(cu_q_lens, count);
    require(i64::from(total) <= tokens as i64, "total-q-within-rows", || {
        format!("Total q tokens {total} must be less or equal to max_num_batched_tokens={tokens}.")
    })?;
    if call.num_seqs.dtype == "int4" {
        let message = "TypeError: only integer scalar arrays can be converted to a scalar index".to_string();
        return Err(Verdict::Crashes { message });
    }
    for sequence in 0..count {
        let q_len = index(cu_q_lens, sequence + 1).wrapping_sub(index(cu_q_lens, sequence));
        let kv_len = index(kv_lens, sequence);
        require(q_len <= kv_len, "q-len-within-kv-len", || {
            let (q_len, kv_len) = (scalar(q_len), scalar(kv_len));
            format!("q_len={q_len} must be less or equal to kv_len={kv_len} at sequence {sequence}.")
        })?;
    }
    Ok(())
}

/// The element type of `num_seqs`, which no static check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountType {
    /// An integer of so many bits: what is compared with it is cut to its width first, the table's rows included.
    Integer {
        /// Width.
        bits: u32,
        /// Whether it has a sign.
        signed: bool,
    },
    /// A float: good enough to be compared, but not to index with.
    Float,
    /// A truth value: compared as 0 or 1.
    Bool,
}

impl CountType {
    /// From NumPy's name.
    fn of(dtype: &str) -> CountType {
        let (name, signed) = dtype.strip_prefix('u').map_or((dtype, true), |name| (name, false));
        match name.strip_prefix("int").and_then(|bits| bits.parse().ok()) {
            Some(bits) => CountType::Integer { bits, signed },
            None if name == "bool" => CountType::Bool,
            None => CountType::Float,
        }
    }

    /// A value as it comes out of an array of the type. Floats are taken to hold it exactly.
    fn read(self, value: i64) -> i64 {
        match self {
            CountType::Integer { bits, signed: true } if bits < 64 => value << (64 - bits) >> (64 - bits),
            CountType::Integer { bits, signed: false } if bits < 64 => value & ((1 << bits) - 1),
            CountType::Integer { .. } | CountType::Float => value,
            CountType::Bool => i64::from(value != 0),
        }
    }

    /// A Python int as it is compared with an element of the type.
    fn compared_with(self, value: i64) -> i64 {
        match self {
            CountType::Integer { .. } | CountType::Float => self.read(value),
            CountType::Bool => value,
        }
    }

    /// As `repr` writes it; the extension types of ml_dtypes print whole numbers without a point.
    fn repr(self, value: i64, dtype: &str) -> String {
        if self == CountType::Bool {
            return format!("Array({}, dtype=bool)", if value == 0 { "False" } else { "True" });
        }
        let point = if matches!(dtype, "float16" | "float32" | "float64") { "." } else { "" };
        format!("Array({value}{point}, dtype={dtype})")
    }
}

/// A scalar JAX array as `repr` writes it.
fn scalar(value: i32) -> String {
    format!("Array({value}, dtype=int32)")
}

/// Ceiling division in int32 as XLA computes it: the sum wraps around, the quotient is truncated, x / 0 is −1.
fn wrapping_ceil_div(value: i32, by: i32) -> i32 {
    if by == 0 { -1 } else { value.wrapping_add(by - 1).wrapping_div(by) }
}

/// JAX's reading of a one-dimensional array: a negative index counts from the end, then the index is clamped.
fn index(values: &[i32], index: i64) -> i32 {
    let len = values.len() as i64;
    let wrapped = if index < 0 { index + len } else { index };
    values.get(wrapped.clamp(0, (len - 1).max(0)) as usize).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_python() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1e-7, "1e-07"),
            (1e22, "1e+22"),
            (-2.5, "-2.5"),
            (f64::INFINITY, "inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(Number::Float(value).to_string(), expected);
        }
        assert_eq!(Number::Float(f64::NAN).to_string(), "nan");
        assert_eq!(Number::Int(-3).to_string(), "-3");
    }

    #[test]
    fn indices_wrap_and_then_clamp() {
        let values = [10, 11, 12];
        for (at, expected) in
            [(0, 10), (2, 12), (3, 12), (1 << 31, 12), (-1, 12), (-3, 10), (-4, 10), (-1 << 31, 10)]
        {
            assert_eq!(index(&values, at), expected, "index {at}");
        }
    }

    #[test]
    fn a_narrow_num_seqs_narrows_the_limit_too() {
        let int8 = CountType::of("int8");
        assert_eq!((int8.read(200), int8.read(-1), int8.read(100)), (-56, -1, 100));
        assert_eq!(CountType::of("uint8").read(-1), 255);
        assert_eq!(CountType::of("uint32").read(-1), i64::from(u32::MAX));
        assert_eq!(CountType::of("int4").read(9), -7);
        assert_eq!(CountType::of("float32").repr(5, "float32"), "Array(5., dtype=float32)");
        assert_eq!(CountType::of("bfloat16").repr(5, "bfloat16"), "Array(5, dtype=bfloat16)");
    }

    #[test]
    fn a_page_count_near_the_int32_limit_wraps() {
        assert_eq!(wrapping_ceil_div(25, 8), 4);
        assert!(wrapping_ceil_div(i32::MAX, 8) < 0);
        assert_eq!(wrapping_ceil_div(i32::MAX, 1), i32::MAX);
    }
}
