//! Static rules: shapes, element types and options of a call.
//!
//! Invariant: looks at a [`StaticCall`] alone, and says all that is wrong with it, not only the first thing.

use super::{Breach, Rule, rules};
use crate::rpa::validator::{Number, Shaped, StaticCall};

/// The static rules that a call breaks.
pub fn check_static(call: &StaticCall) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut require = |holds: bool, rule: &'static Rule, detail: &dyn Fn() -> String| {
        if !holds {
            breaches.push(Breach { rule, sequence: None, detail: detail(), entries: Vec::new() });
        }
    };
    let ranks = [("q", &call.q, 3), ("kv_pages", &call.kv_pages, 4), ("page_indices", &call.page_indices, 2)];
    for (name, operand, rank) in ranks {
        let found = operand.shape.len();
        require(found == rank, &rules::OPERAND_RANKS, &|| {
            format!("{name} has {found} dimensions instead of {rank}")
        });
    }

    if let (&[_, q_heads, q_dim], &[_, page_size, combined, kv_dim]) =
        (&call.q.shape[..], &call.kv_pages.shape[..])
    {
        let even = combined >= 2 && combined % 2 == 0;
        require(even, &rules::COMBINED_HEADS_EVEN, &|| format!("kv_pages has {combined} combined heads"));
        require(q_dim == kv_dim, &rules::HEAD_DIM_EQUAL, &|| {
            format!("q has head dimension {q_dim}, kv_pages {kv_dim}")
        });
        require(!even || q_heads % (combined / 2) == 0, &rules::HEADS_DIVISIBLE, &|| {
            format!("{q_heads} query heads for {} KV heads", combined / 2)
        });
        require(page_size > 0, &rules::PAGE_SIZE_POSITIVE, &|| "kv_pages has pages of 0 tokens".to_string());
    }

    let scalar = &call.num_seqs;
    require(scalar.shape == [1], &rules::NUM_SEQS_SHAPE, &|| {
        format!("num_seqs has shape {:?}", scalar.shape)
    });
    require(scalar.dtype == "int32", &rules::NUM_SEQS_INT32, &|| format!("num_seqs is {}", scalar.dtype));
    if let &[rows, columns] = &call.page_indices.shape[..] {
        let one_dimensional = [
            ("kv_lens", &call.kv_lens, rows, &rules::KV_LENS_SHAPE),
            ("cu_q_lens", &call.cu_q_lens, rows + 1, &rules::CU_Q_LENS_SHAPE),
        ];
        for (name, operand, entries, rule) in one_dimensional {
            require(operand.shape == [entries], rule, &|| {
                let shape = &operand.shape;
                format!(
                    "{name} has shape {shape:?}; page_indices has {rows} rows, so it should be [{entries}]"
                )
            });
        }
        if let Some(pages) = call.num_kv_pages_per_block {
            require((1..=columns as i64).contains(&pages), &rules::PAGES_PER_BLOCK_IN_RANGE, &|| {
                format!("num_kv_pages_per_block = {pages}; page_indices has {columns} columns")
            });
        }
    }
    let named =
        [("kv_lens", &call.kv_lens), ("page_indices", &call.page_indices), ("cu_q_lens", &call.cu_q_lens)];
    let others: Vec<&(&str, &Shaped)> =
        named.iter().filter(|(_, operand)| operand.dtype != "int32").collect();
    require(others.is_empty(), &rules::METADATA_INT32, &|| {
        let each: Vec<_> =
            others.iter().map(|(name, operand)| format!("{name} is {}", operand.dtype)).collect();
        each.join(", ")
    });

    if let Some(window) = call.sliding_window {
        let positive = window.as_f64() > 0.0;
        require(positive, &rules::WINDOW_POSITIVE, &|| format!("sliding_window = {window}"));
    }
    if let Some(cap) = call.soft_cap {
        require(cap.as_f64() != 0.0, &rules::CAP_NONZERO, &|| format!("soft_cap = {cap}"));
    }
    let factors = [
        ("sm_scale", call.sm_scale),
        ("soft_cap", call.soft_cap),
        ("k_scale", call.k_scale),
        ("v_scale", call.v_scale),
    ];
    for (name, value) in factors.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        require(value.as_f64().is_finite(), &rules::OPTIONS_FINITE, &|| format!("{name} = {value}"));
    }
    for (name, value) in [("k_scale", call.k_scale), ("v_scale", call.v_scale)] {
        let is_int = matches!(value, Some(Number::Int(_)));
        require(!is_int, &rules::SCALES_FLOAT, &|| format!("{name} is an int"));
    }
    if let Some(mask) = call.mask_value {
        let value = mask.as_f64();
        let holds = value.is_finite() && value <= -1e30;
        require(holds, &rules::MASK_VALUE_FINITE, &|| format!("mask_value = {mask}"));
    }
    if let Some(queries) = call.num_queries_per_block {
        require(queries > 0, &rules::QUERIES_PER_BLOCK_POSITIVE, &|| {
            format!("num_queries_per_block = {queries}")
        });
    }
    if let Some(bytes) = call.vmem_limit_bytes {
        require(bytes > 0, &rules::VMEM_LIMIT_POSITIVE, &|| format!("vmem_limit_bytes = {bytes}"));
    }
    breaches
}
