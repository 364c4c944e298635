//! Probes of the static rules: calls that differ from the variant's in one place.
//!
//! Invariant: a call's operands fit each other but for what is probed.

use super::{Input, Probe};
use crate::rpa::validator::{Number, Shaped, StaticCall};
use crate::variant::Variant;

pub(super) fn probe(rule: &str, variant: &Variant) -> Probe {
    let mut probe = Probe::default();
    let call = |edit: &dyn Fn(&mut StaticCall)| {
        let mut call = StaticCall::of(variant);
        edit(&mut call);
        Input::Call(Box::new(call))
    };
    let float = |value: f64| Some(Number::Float(value));
    let (rows, columns) = (variant.max_seqs, variant.pages_per_seq);
    if !matches!(rule, "combined-heads-even" | "heads-divisible" | "page-size-positive") {
        probe.kept("the variant's own call", call(&|_| {}));
    }
    match rule {
        "operand-ranks" => {
            let flat =
                |c: &mut StaticCall| c.q.shape = vec![variant.tokens, variant.q_heads * variant.head_dim];
            probe.broken("q of 2 dimensions", call(&flat));
            probe.broken("q of 4 dimensions", call(&|c| c.q.shape.insert(0, 1)));
            probe.broken("kv_pages of 3 dimensions", call(&|c| c.kv_pages.shape.truncate(3)));
            probe.broken("kv_pages of 5 dimensions", call(&|c| c.kv_pages.shape.insert(0, 1)));
            probe.broken(
                "page_indices of 1 dimension",
                call(&|c| c.page_indices.shape = vec![rows * columns]),
            );
        }
        "combined-heads-even" => {
            let combined = 2 * variant.kv_heads;
            probe.kept("a K and a V head each", call(&|_| {}));
            probe.broken("1 combined head more", call(&|c| c.kv_pages.shape[2] = combined + 1));
            probe.broken("no combined head", call(&|c| c.kv_pages.shape[2] = 0));
        }
        "scales-float" => {
            probe.broken("k_scale an int", call(&|c| c.k_scale = Some(Number::Int(1))));
            probe.broken("v_scale an int", call(&|c| c.v_scale = Some(Number::Int(1))));
        }
        "num-seqs-shape" => {
            probe.broken("num_seqs of 2 entries", call(&|c| c.num_seqs.shape = vec![2]));
            probe.broken("num_seqs a scalar", call(&|c| c.num_seqs.shape = vec![]));
        }
        "num-seqs-int32" => {
            for dtype in ["int16", "int8", "float32", "bfloat16"] {
                probe.broken(format!("num_seqs {dtype}"), call(&|c| c.num_seqs = Shaped::new(&[1], dtype)));
            }
        }
        "head-dim-equal" => {
            probe.broken("1 more in kv_pages", call(&|c| c.kv_pages.shape[3] += 1));
            probe.broken("half of it in kv_pages", call(&|c| c.kv_pages.shape[3] /= 2));
        }
        "kv-lens-shape" => {
            probe.broken("1 entry more", call(&|c| c.kv_lens.shape = vec![rows + 1]));
            if rows > 1 {
                probe.broken("1 entry less", call(&|c| c.kv_lens.shape = vec![rows - 1]));
            }
        }
        "cu-q-lens-shape" => {
            probe.broken("as many entries as rows", call(&|c| c.cu_q_lens.shape = vec![rows]));
            probe.broken("2 entries more than rows", call(&|c| c.cu_q_lens.shape = vec![rows + 2]));
        }
        "metadata-int32" => {
            probe.broken("kv_lens int16", call(&|c| c.kv_lens.dtype = "int16".to_owned()));
            probe.broken("page_indices int16", call(&|c| c.page_indices.dtype = "int16".to_owned()));
            probe.broken("cu_q_lens float32", call(&|c| c.cu_q_lens.dtype = "float32".to_owned()));
        }
        "heads-divisible" => {
            let heads = |q: usize, kv: usize| {
                call(&move |c: &mut StaticCall| (c.q.shape[1], c.kv_pages.shape[2]) = (q, 2 * kv))
            };
            probe.kept("as many query heads as KV heads", heads(4, 4));
            probe.broken("1 query head less", heads(3, 4));
            probe.broken("1 query head more", heads(5, 4));
        }
        "page-size-positive" => {
            probe.kept("the variant's own pages", call(&|_| {}));
            probe.broken("pages of no token", call(&|c| c.kv_pages.shape[1] = 0));
        }
        "window-positive" => {
            probe.kept("a window of 1", call(&|c| c.sliding_window = Some(Number::Int(1))));
            probe.broken("a window of 0", call(&|c| c.sliding_window = Some(Number::Int(0))));
            probe.broken("a window of -1", call(&|c| c.sliding_window = Some(Number::Int(-1))));
        }
        "cap-nonzero" => {
            probe.kept("a cap of 1e-30", call(&|c| c.soft_cap = float(1e-30)));
            probe.broken("a cap of 0", call(&|c| c.soft_cap = float(0.0)));
        }
        "options-finite" => {
            probe.kept("sm_scale = 0", call(&|c| c.sm_scale = float(0.0)));
            for (name, value) in [("NaN", f64::NAN), ("infinite", f64::INFINITY)] {
                probe.broken(format!("sm_scale {name}"), call(&|c| c.sm_scale = float(value)));
                probe.broken(format!("soft_cap {name}"), call(&|c| c.soft_cap = float(value)));
                probe.broken(
                    format!("k_scale and v_scale {name}"),
                    call(&|c| (c.k_scale, c.v_scale) = (float(value), float(value))),
                );
            }
        }
        "mask-value-finite" => {
            // Options are f32 on their way into the kernel, so the limit is given as its f32.
            let limit = f64::from(-1e30f32);
            let limit = if limit > -1e30 { f64::from((-1e30f32).next_down()) } else { limit };
            probe.kept("mask_value = -1e30", call(&|c| c.mask_value = float(limit)));
            probe.broken("mask_value = -9e29", call(&|c| c.mask_value = float(f64::from(-9e29f32))));
            probe.broken("mask_value = -infinity", call(&|c| c.mask_value = float(f64::NEG_INFINITY)));
            probe.broken("mask_value = 0", call(&|c| c.mask_value = float(0.0)));
        }
        "pages-per-block-in-range" => {
            let pages =
                |pages: usize| call(&move |c: &mut StaticCall| c.num_kv_pages_per_block = Some(pages as i64));
            probe.kept("1 page a block", pages(1));
            probe.kept("a block of all columns", pages(columns));
            probe.broken("no page a block", pages(0));
            probe.broken("a block of 1 page more than columns", pages(columns + 1));
        }
        "queries-per-block-positive" => {
            probe.kept("1 query a block", call(&|c| c.num_queries_per_block = Some(1)));
            probe.broken("no query a block", call(&|c| c.num_queries_per_block = Some(0)));
            probe.broken("-1 queries a block", call(&|c| c.num_queries_per_block = Some(-1)));
        }
        "vmem-limit-positive" => {
            probe.kept("a limit of 1 byte", call(&|c| c.vmem_limit_bytes = Some(1)));
            probe.broken("a limit of 0 bytes", call(&|c| c.vmem_limit_bytes = Some(0)));
        }
        _ => return Probe::default(),
    }
    probe
}
