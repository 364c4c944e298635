//! How time grows with the kv length, the query tokens, and the heads.
//!
//! Invariant: along an axis nothing else changes: one variant with room for the largest size, or variants that differ in
//! nothing but their heads.

use countersign_reports::{Growth, GrowthPoint};

use super::parts::{Part, Parts};
use super::sides;
use super::subjects::Subjects;
use super::{Run, Stop};

/// Variant of the axis of kv lengths; a kv block is 32 tokens.
const BY_KV: &str = "f32-q4-kv4,tokens=16,max_seqs=1,pages_per_seq=128";
/// Variant of the axis of query tokens.
const BY_TOKENS: &str = "f32-q4-kv4,tokens=512,max_seqs=1,pages_per_seq=32";
/// Query heads, two for each KV head: with one the kernel doesn't lower from eight on.
const HEADS: [usize; 5] = [2, 4, 8, 16, 32];

/// The variants that these measurements need, as `--variant` takes them.
pub(super) fn variants() -> Vec<String> {
    let by_heads = HEADS.iter().map(|&heads| by_heads(heads));
    [BY_KV, BY_TOKENS].into_iter().map(str::to_owned).chain(by_heads).collect()
}

fn by_heads(heads: usize) -> String {
    let kv_heads = heads / 2;
    format!("f32-q4-kv4,tokens=32,q_heads={heads},kv_heads={kv_heads},max_seqs=1,pages_per_seq=8")
}

/// All axes.
pub(super) fn measure(subjects: &Subjects, run: &Run) -> Result<Vec<Growth>, Stop> {
    let parts = Parts::new(&[Part::Native, Part::Reference], true);
    let point = |axis: &str, size: usize, variant: &str, lengths: (i32, i32)| -> Result<GrowthPoint, Stop> {
        run.step(&format!("growth by {axis}: {size}"))?;
        let position = subjects.extra(variant)?;
        let case = subjects.case(position, &[lengths]);
        Ok(GrowthPoint { size, times: sides::time(subjects, position, &case, parts)? })
    };
    let mut kv_length = Vec::new();
    for size in [64, 128, 256, 512, 1024, 2048] {
        kv_length.push(point("kv length", size, BY_KV, (16, size as i32))?);
    }
    let mut tokens = Vec::new();
    for size in [16, 32, 64, 128, 256, 512] {
        tokens.push(point("query tokens", size, BY_TOKENS, (size as i32, 512))?);
    }
    let mut heads = Vec::new();
    for size in HEADS {
        heads.push(point("query heads", size, &by_heads(size), (32, 128))?);
    }
    let growth = |axis: &str, fixed: &str, points| Growth {
        axis: axis.to_owned(),
        fixed: format!("one f32 sequence, {fixed}, head dimension 128, kv blocks of 32 tokens"),
        points,
    };
    Ok(vec![
        growth("kv length", "16 query tokens, 4 heads", kv_length),
        growth("query tokens", "kv length 512, 4 heads", tokens),
        growth("query heads", "32 query tokens, kv length 128, two query heads for each KV head", heads),
    ])
}
