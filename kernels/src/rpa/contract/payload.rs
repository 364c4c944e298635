//! Rules of the payload: the batch's own q, K and V are finite, and the arithmetic on them stays inside f32.
//!
//! One cheap pass over what each sequence owns finds its largest magnitudes; only where those could leave f32 are the
//! exact sums computed ([`magnitudes`]).
//!
//! Invariant: looks at no value that the batch doesn't own; those may be anything. A sequence whose metadata is broken owns
//! nothing for certain and isn't looked at: what it claims by mistake is no second fact.

use std::ops::Range;

use countersign_dtype::{Array, DType, read_f32, round_to};
use countersign_reference::{Batch, Magnitudes, Metadata, Options, Shape, magnitudes};

use super::{Breach, Standing, rules};
use crate::variant::Variant;

pub(in crate::rpa) fn check(variant: &Variant, batch: &Batch, breaches: &mut Vec<Breach>) {
    let Some(shape) = batch.shape() else { return }; // a static rule is broken
    let options = &variant.options;
    let mask_is_sound = options.mask_value.is_finite() && options.mask_value <= -1e30;
    let score_limit = if mask_is_sound { Magnitudes::score_limit(options) } else { f64::INFINITY };
    let scale = f64::from(options.sm_scale.abs());
    let factor = |scale: Option<f32>| f64::from(scale.map_or(1.0, f32::abs));

    let undisputed = |breach: &&Breach| breach.rule.standing != Standing::Disputed;
    let unsound: Vec<usize> =
        breaches.iter().filter(undisputed).filter_map(|breach| breach.sequence).collect();
    for sequence in (0..batch.metadata.sequences_in_table()).filter(|sequence| !unsound.contains(sequence)) {
        let mut broken = |rule, detail| {
            breaches.push(Breach { rule, sequence: Some(sequence), detail, entries: Vec::new() });
        };
        let rows = owned_rows(&batch.metadata, sequence, shape.tokens);
        let row_len = shape.q_heads * shape.head_dim;
        let q = largest(&batch.q, rows.start * row_len..rows.end * row_len);
        let mut cached = (0.0f32, 0);
        for (page, slots) in owned_pages(&batch.metadata, sequence, &shape) {
            cached = (
                cached.0.max(largest(&batch.kv_pages, slot_range(&shape, page, 0..slots))),
                cached.1 + slots,
            );
        }
        let (kv, keys) = cached;
        let (k, v) = (f64::from(kv) * factor(options.k_scale), f64::from(kv) * factor(options.v_scale));

        let scaled = options.k_scale.is_some() || options.v_scale.is_some();
        let kv_is_finite =
            if scaled { round_to(batch.q.dtype, k.max(v) as f32).is_finite() } else { kv.is_finite() };
        if !(q.is_finite() && kv_is_finite)
            && let Some(place) = first_not_finite(batch, &shape, options, sequence)
        {
            broken(&rules::OWNED_VALUES_FINITE, place);
            continue;
        }
        let products = shape.head_dim as f64 * f64::from(q) * k;
        let inside = products * scale.max(1.0) < Magnitudes::SUM_LIMIT
            && products * scale < score_limit
            && keys as f64 * v < Magnitudes::SUM_LIMIT;
        if inside {
            continue;
        }
        let exact = magnitudes(&alone(batch, sequence), options);
        if exact.dot >= Magnitudes::SUM_LIMIT || exact.score >= score_limit {
            let detail = format!(
                "the terms of q·k sum to {:.3e} in magnitude (limit {:.3e}), scores reach {:.3e} (limit {score_limit:.3e})",
                exact.dot,
                Magnitudes::SUM_LIMIT,
                exact.score
            );
            broken(&rules::SCORES_BELOW_F32_MAX, detail);
        }
        if exact.v_sum >= Magnitudes::SUM_LIMIT {
            let (sum, limit) = (exact.v_sum, Magnitudes::SUM_LIMIT);
            let detail = format!("|V| sums to {sum:.3e} over the sequence's tokens (limit {limit:.3e})");
            broken(&rules::V_SUM_BELOW_F32_MAX, detail);
        }
    }
}

/// Rows of q that a sequence claims, clipped to q.
fn owned_rows(metadata: &Metadata, sequence: usize, tokens: usize) -> Range<usize> {
    let clip = |row: i32| usize::try_from(row).unwrap_or(0).min(tokens);
    let start = clip(metadata.cu_q_lens[sequence]);
    start..clip(metadata.cu_q_lens[sequence + 1]).max(start)
}

/// The pages of a sequence that exist, in order, each with its number of owned slots.
fn owned_pages(metadata: &Metadata, sequence: usize, shape: &Shape) -> impl Iterator<Item = (usize, usize)> {
    let (columns, page_size, pages) = (metadata.pages_per_seq, shape.page_size, shape.pages);
    let kv_len = usize::try_from(metadata.kv_lens[sequence]).unwrap_or(0);
    let row = metadata.page_indices.get(sequence * columns..(sequence + 1) * columns).unwrap_or(&[]);
    row.iter().take(kv_len.div_ceil(page_size)).enumerate().filter_map(move |(logical, &page)| {
        let page = usize::try_from(page).ok().filter(|page| *page < pages)?;
        Some((page, page_size.min(kv_len - logical * page_size)))
    })
}

/// Elements of the cache that slots of a page take.
fn slot_range(shape: &Shape, page: usize, slots: Range<usize>) -> Range<usize> {
    let slot_len = 2 * shape.kv_heads * shape.head_dim;
    let first = page * shape.page_size;
    (first + slots.start) * slot_len..(first + slots.end) * slot_len
}

/// The largest magnitude in a range of elements; infinite exactly if one of them isn't finite.
fn largest(array: &Array, elements: Range<usize>) -> f32 {
    match array.dtype {
        DType::F32 => {
            // Sixteen running maxima, so that the loop becomes vector instructions; a comparison skips NaN, hence the flags.
            let (mut most, mut nan) = ([0.0f32; 16], [false; 16]);
            let bytes = &array.bytes[elements.start * 4..elements.end * 4];
            let (groups, rest) = bytes.as_chunks::<4>().0.as_chunks::<16>();
            for group in groups {
                for lane in 0..16 {
                    let value = f32::from_le_bytes(group[lane]).abs();
                    most[lane] = if value > most[lane] { value } else { most[lane] };
                    nan[lane] |= value.is_nan();
                }
            }
            let rest = rest.iter().map(|chunk| f32::from_le_bytes(*chunk).abs());
            let most = most.into_iter().zip(nan).map(|(most, nan)| if nan { f32::NAN } else { most });
            most.chain(rest).map(|value| from_magnitude(value.to_bits())).fold(0.0, f32::max)
        }
        DType::Bf16 => {
            let chunks = array.bytes[elements.start * 2..elements.end * 2].as_chunks().0;
            let magnitude = |chunk: &[u8; 2]| i16::from_le_bytes(*chunk) & i16::MAX;
            from_magnitude((chunks.iter().map(magnitude).fold(0, i16::max) as u32) << 16)
        }
        _ => {
            let mut values = vec![0.0; elements.len()];
            read_f32(array.dtype, &array.bytes, elements.start, &mut values);
            values
                .iter()
                .map(|value| if value.is_nan() { f32::INFINITY } else { value.abs() })
                .fold(0.0, f32::max)
        }
    }
}

/// The f32 of these bits without their sign, NaN counting as infinite. Magnitudes order like their bits.
fn from_magnitude(bits: u32) -> f32 {
    f32::from_bits(bits.min(f32::INFINITY.to_bits()))
}

/// Says where the first value of a sequence stands that isn't finite: in q, then in the cache in the order of its tokens.
fn first_not_finite(batch: &Batch, shape: &Shape, options: &Options, sequence: usize) -> Option<String> {
    let rows = owned_rows(&batch.metadata, sequence, shape.tokens);
    let row_len = shape.q_heads * shape.head_dim;
    for element in rows.start * row_len..rows.end * row_len {
        let value = batch.q.get_f32(element);
        if !value.is_finite() {
            let (row, head, dim) =
                (element / row_len, element % row_len / shape.head_dim, element % shape.head_dim);
            return Some(format!("q[{row}, {head}, {dim}] = {value}"));
        }
    }
    for (page, slots) in owned_pages(&batch.metadata, sequence, shape) {
        for element in slot_range(shape, page, 0..slots) {
            let (head, dim) = (element / shape.head_dim % (2 * shape.kv_heads), element % shape.head_dim);
            let scale = if head % 2 == 0 { options.k_scale } else { options.v_scale };
            let stored = batch.kv_pages.get_f32(element);
            let value = scale.map_or(stored, |scale| round_to(batch.q.dtype, stored * scale));
            if !value.is_finite() {
                let slot = element / (2 * shape.kv_heads * shape.head_dim) % shape.page_size;
                let after = if stored.is_finite() { " after its scale" } else { "" };
                let which = if head % 2 == 0 { 'K' } else { 'V' };
                let head_index = head / 2;
                return Some(format!(
                    "kv_pages[{page}, {slot}, {head}, {dim}] = {value}{after} ({which} of KV head {head_index})"
                ));
            }
        }
    }
    None
}

/// The batch with one of its sequences alone.
fn alone(batch: &Batch, sequence: usize) -> Batch {
    let Metadata { kv_lens, page_indices, pages_per_seq, cu_q_lens, .. } = &batch.metadata;
    let columns = sequence * pages_per_seq..(sequence + 1) * pages_per_seq;
    Batch {
        metadata: Metadata {
            kv_lens: vec![kv_lens[sequence]],
            page_indices: page_indices[columns].to_vec(),
            pages_per_seq: *pages_per_seq,
            cu_q_lens: cu_q_lens[sequence..=sequence + 1].to_vec(),
            num_seqs: 1,
        },
        q: batch.q.clone(),
        kv_pages: batch.kv_pages.clone(),
    }
}
