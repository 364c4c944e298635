//! The static side, swept: every option at its edges, every shape off by one, every element type, and two of these at once.
//!
//! Invariant: an edit changes one option or one operand; two edits of the same one are never combined. Which edits there are
//! follows from the variant alone.

use super::validator::{Number, Shaped, StaticCall};
use crate::operand_type::OperandType;
use crate::variant::Variant;

/// What an edit changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Axis {
    /// A keyword option.
    Option,
    /// An operand's shape.
    Shape,
    /// An operand's element type.
    Type,
}

impl Axis {
    /// `option`, `shape` or `type`.
    pub const fn name(self) -> &'static str {
        match self {
            Axis::Option => "option",
            Axis::Shape => "shape",
            Axis::Type => "type",
        }
    }
}

/// One change of a variant's call.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// What kind of change.
    pub axis: Axis,
    /// Option or operand.
    pub of: &'static str,
    /// What it is, e.g. `soft_cap = 0.0`.
    pub name: String,
    /// The call with it.
    pub call: StaticCall,
}

/// Every edit of `variant`'s call.
pub fn edits(variant: &Variant) -> Vec<Edit> {
    let base = StaticCall::of(variant);
    let mut edits = Vec::new();
    options(variant, &base, &mut edits);
    shapes(&base, &mut edits);
    types(&base, &mut edits);
    edits
}

/// Both edits at once; `None` where they change the same option, or the same operand in the same way.
pub fn both(variant: &Variant, first: &Edit, second: &Edit) -> Option<StaticCall> {
    if (first.axis, first.of) == (second.axis, second.of) {
        return None;
    }
    let base = StaticCall::of(variant);
    let mut call = first.call.clone();
    for ((mine, theirs), base) in
        operands_mut(&mut call).into_iter().zip(second.call.operands()).zip(base.operands())
    {
        let (theirs, base) = (theirs.1, base.1);
        if theirs.shape != base.shape {
            mine.shape.clone_from(&theirs.shape);
        }
        if theirs.dtype != base.dtype {
            mine.dtype.clone_from(&theirs.dtype);
        }
    }
    let other = &second.call;
    let take = |mine: &mut Option<Number>, theirs: Option<Number>, base: Option<Number>| {
        // NaN differs from itself, as it should here.
        if theirs != base {
            *mine = theirs;
        }
    };
    take(&mut call.sm_scale, other.sm_scale, base.sm_scale);
    take(&mut call.sliding_window, other.sliding_window, base.sliding_window);
    take(&mut call.soft_cap, other.soft_cap, base.soft_cap);
    take(&mut call.mask_value, other.mask_value, base.mask_value);
    take(&mut call.k_scale, other.k_scale, base.k_scale);
    take(&mut call.v_scale, other.v_scale, base.v_scale);
    let take = |mine: &mut Option<i64>, theirs: Option<i64>, base: Option<i64>| {
        if theirs != base {
            *mine = theirs;
        }
    };
    take(&mut call.num_kv_pages_per_block, other.num_kv_pages_per_block, base.num_kv_pages_per_block);
    take(&mut call.num_queries_per_block, other.num_queries_per_block, base.num_queries_per_block);
    take(&mut call.vmem_limit_bytes, other.vmem_limit_bytes, base.vmem_limit_bytes);
    Some(call)
}

fn options(variant: &Variant, base: &StaticCall, edits: &mut Vec<Edit>) {
    let mut add = |of: &'static str, name: String, set: &dyn Fn(&mut StaticCall)| {
        let mut call = base.clone();
        set(&mut call);
        if call != *base {
            edits.push(Edit { axis: Axis::Option, of, name, call });
        }
    };
    type Of = fn(&mut StaticCall) -> &mut Option<Number>;
    let float = Number::Float;
    let limits = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let numbers: [(&'static str, Of, Vec<Number>); 6] = [
        (
            "sm_scale",
            |c| &mut c.sm_scale,
            [0.0, -1.0, 1.0, 1e30].into_iter().chain(limits).map(float).collect(),
        ),
        (
            "sliding_window",
            |c| &mut c.sliding_window,
            [1, 0, -1, i64::from(i32::MAX), 1 << 31].map(Number::Int).to_vec(),
        ),
        (
            "soft_cap",
            |c| &mut c.soft_cap,
            [0.0, -0.0, 1e-30, 30.0, -30.0, 1e30].into_iter().chain(limits).map(float).collect(),
        ),
        (
            "mask_value",
            |c| &mut c.mask_value,
            [0.0, -1.0, -1e30, -3e38].into_iter().chain(limits).map(float).collect(),
        ),
        ("k_scale", |c| &mut c.k_scale, scales(&limits)),
        ("v_scale", |c| &mut c.v_scale, scales(&limits)),
    ];
    for (of, field, values) in numbers {
        add(of, format!("{of} absent"), &|call| *field(call) = None);
        for value in values {
            add(of, format!("{of} = {value}"), &|call| *field(call) = Some(value));
        }
    }
    let both_scales = |value: f64| {
        move |call: &mut StaticCall| {
            (call.k_scale, call.v_scale) = (Some(Number::Float(value)), Some(Number::Float(value)));
        }
    };
    for value in [0.0, 0.5, 1.0, f64::NAN] {
        let name = format!("k_scale = v_scale = {}", Number::Float(value));
        add("k_scale", name, &both_scales(value));
    }
    let columns = variant.pages_per_seq as i64;
    let rows = variant.tokens as i64;
    type Whole = fn(&mut StaticCall) -> &mut Option<i64>;
    let wholes: [(&'static str, Whole, Vec<i64>); 3] = [
        (
            "num_kv_pages_per_block",
            |c| &mut c.num_kv_pages_per_block,
            vec![-1, 0, 1, columns - 1, columns, columns + 1, 1 << 31],
        ),
        (
            "num_queries_per_block",
            |c| &mut c.num_queries_per_block,
            vec![-1, 0, 1, 3, rows - 1, rows, rows + 1, 2 * rows, 1 << 31],
        ),
        ("vmem_limit_bytes", |c| &mut c.vmem_limit_bytes, vec![-1, 0, 1, 1 << 20, 1 << 40]),
    ];
    for (of, field, values) in wholes {
        add(of, format!("{of} absent"), &|call| *field(call) = None);
        for value in values {
            add(of, format!("{of} = {value}"), &|call| *field(call) = Some(value));
        }
    }
}

fn scales(limits: &[f64]) -> Vec<Number> {
    let mut values = vec![Number::Int(1), Number::Int(0)];
    values.extend([0.0, 0.5, 1.0, -1.0].iter().chain(limits).copied().map(Number::Float));
    values
}

/// The operands, in the entry point's order.
fn operands_mut(call: &mut StaticCall) -> [&mut Shaped; 6] {
    let StaticCall { q, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs, .. } = call;
    [q, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs]
}

fn shapes(base: &StaticCall, edits: &mut Vec<Edit>) {
    for (at, (of, operand)) in base.operands().into_iter().enumerate() {
        let mut add = |shape: Vec<usize>| {
            if shape == operand.shape {
                return;
            }
            let name = format!("{of} of shape {shape:?}");
            let mut call = base.clone();
            operands_mut(&mut call)[at].shape = shape;
            edits.push(Edit { axis: Axis::Shape, of, name, call });
        };
        let rank = operand.shape.len();
        for dim in 0..rank {
            let extent = operand.shape[dim];
            let mut tried = vec![extent + 1, 0, 2 * extent];
            tried.extend(extent.checked_sub(1).filter(|less| *less > 0));
            tried.extend((extent > 3).then_some(extent / 2));
            tried.sort_unstable();
            tried.dedup();
            for other in tried {
                let mut shape = operand.shape.clone();
                shape[dim] = other;
                add(shape);
            }
        }
        let mut more = operand.shape.clone();
        more.insert(0, 1);
        add(more);
        if rank > 0 {
            add(operand.shape[1..].to_vec());
        }
    }
}

fn types(base: &StaticCall, edits: &mut Vec<Edit>) {
    for (at, (of, operand)) in base.operands().into_iter().enumerate() {
        for dtype in OperandType::all() {
            let name = dtype.numpy_name();
            if name != operand.dtype {
                let mut call = base.clone();
                name.clone_into(&mut operands_mut(&mut call)[at].dtype);
                edits.push(Edit { axis: Axis::Type, of, name: format!("{of} {name}"), call });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rpa::testing::variant;

    #[test]
    fn every_option_operand_and_type_is_swept() {
        let edits = edits(&variant());
        let of =
            |axis: Axis| -> BTreeSet<_> { edits.iter().filter(|e| e.axis == axis).map(|e| e.of).collect() };
        assert_eq!(of(Axis::Option).len(), 9);
        assert_eq!((of(Axis::Shape).len(), of(Axis::Type).len()), (6, 6));
        let names: BTreeSet<_> = edits.iter().map(|edit| edit.name.as_str()).collect();
        assert_eq!(names.len(), edits.len(), "an edit twice");
        println!("{} edits", edits.len());
    }

    #[test]
    fn two_edits_show_both() {
        let edits = edits(&variant());
        let named = |name: &str| edits.iter().find(|edit| edit.name == name).unwrap();
        let (cap, rows) = (named("soft_cap = 0.0"), named("kv_lens of shape [5]"));
        let call = both(&variant(), cap, rows).unwrap();
        assert_eq!((call.soft_cap, &call.kv_lens.shape[..]), (Some(Number::Float(0.0)), &[5][..]));
        assert_eq!(both(&variant(), rows, cap), Some(call));
        assert_eq!(both(&variant(), cap, named("soft_cap = 30.0")), None);
        let typed = both(&variant(), rows, named("kv_lens int16")).unwrap();
        assert_eq!((typed.kv_lens.shape[0], typed.kv_lens.dtype.as_str()), (5, "int16"));
    }
}
