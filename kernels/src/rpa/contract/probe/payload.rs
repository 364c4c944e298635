//! Probes of the rules of the payload.
//!
//! Invariant: values are set in the first sequence's first query token and first cached token only, to values that its
//! arrays hold exactly.

use countersign_dtype::DType;
use countersign_reference::Magnitudes;

use super::{Input, Of, Probe, Value, base};
use crate::variant::Variant;

pub(super) fn probe(rule: &str, variant: &Variant) -> Probe {
    let mut probe = Probe::default();
    let set =
        |of: Of, lane: Option<usize>, value: f32| Value { of, sequence: 0, token: 0, head: 0, lane, value };
    let batch = |values: Vec<Value>| Input::Batch(base(variant), values);
    let options = &variant.options;
    // Of the cache's types only these hold magnitudes near f32's end.
    let wide = matches!(variant.kv_dtype, DType::F32 | DType::Bf16);
    match rule {
        "owned-values-finite" => {
            probe.kept("ordinary values", batch(Vec::new()));
            probe.broken("NaN in q", batch(vec![set(Of::Q, Some(0), f32::NAN)]));
            probe.broken("infinity in q", batch(vec![set(Of::Q, Some(0), f32::INFINITY)]));
            if wide {
                probe.broken("NaN in K", batch(vec![set(Of::K, Some(0), f32::NAN)]));
                probe.broken("NaN in V", batch(vec![set(Of::V, Some(0), f32::NAN)]));
            }
        }
        "scores-below-f32-max" => {
            let key = match variant.kv_dtype {
                DType::F32 | DType::Bf16 => 60,
                DType::F8E4M3FN => 8,
                DType::F8E5M2 => 15,
                DType::I8 => 6,
                _ => 2,
            };
            let stored = 2f64.powi(key) * f64::from(options.k_scale.map_or(1.0, f32::abs));
            let per_query = variant.head_dim as f64 * stored;
            let scale = f64::from(options.sm_scale.abs());
            let limit = Magnitudes::SUM_LIMIT / scale.max(1.0);
            let limit = limit.min(Magnitudes::score_limit(options) / scale);
            // Powers of two, so that q's type holds them: the last that keeps the rule, and the first that breaks it.
            let exponent = (limit / per_query).log2().ceil() as i32;
            let row = |exponent: i32| {
                batch(vec![
                    set(Of::Q, None, 2f64.powi(exponent) as f32),
                    set(Of::K, None, 2f64.powi(key) as f32),
                ])
            };
            if exponent < 127 {
                probe.kept("q·k below the limit", row(exponent - 1));
                probe.broken("q·k at the limit", row(exponent));
            }
        }
        "v-sum-below-f32-max" if wide && options.v_scale.is_none_or(|scale| scale.abs() == 1.0) => {
            probe.kept("V = 2^126", batch(vec![set(Of::V, Some(0), 2f32.powi(126))]));
            probe.broken("V = 2^127", batch(vec![set(Of::V, Some(0), 2f32.powi(127))]));
        }
        _ => {}
    }
    probe
}
