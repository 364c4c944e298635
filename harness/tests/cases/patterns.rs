//! Payload patterns: frozen, logical, owned elements only.

use countersign::case::{Patch, PatchTarget, payload_checksum};
use countersign::payload::Pattern;
use countersign_dtype::DType;
use countersign_reference::{Batch, Metadata};

use crate::samples;

/// sha256 of the sample's payload per pattern, f32 and bf16. A change needs a new version of the pattern, never a new hash.
const GOLDEN: [(&str, &str, &str); Pattern::ALL.len() + Pattern::PLAIN.len()] = include!("golden.rs.txt");

#[test]
fn payloads_are_frozen() {
    let hash = |pattern: Pattern, dtype| {
        let mut case = samples::case();
        case.payload.pattern = pattern.name().to_owned();
        payload_checksum(&case.batch(&samples::variant(dtype, dtype)).unwrap())
    };
    let found: Vec<(&str, String, String)> = Pattern::every()
        .map(|pattern| (pattern.name(), hash(pattern, DType::F32), hash(pattern, DType::Bf16)))
        .collect();
    let golden: Vec<(&str, String, String)> =
        GOLDEN.iter().map(|&(name, f32, bf16)| (name, f32.to_owned(), bf16.to_owned())).collect();
    assert_eq!(found, golden, "found:\n{found:#?}");
}

fn batch(metadata: Metadata, pattern: Pattern) -> Batch {
    let mut case = samples::case();
    case.metadata = metadata;
    case.payload.pattern = pattern.name().to_owned();
    case.batch(&samples::variant(DType::F32, DType::F32)).unwrap()
}

/// The K and V row of a sequence's position, through the page table.
fn cache_row(batch: &Batch, sequence: usize, position: usize) -> Vec<f32> {
    let meta = &batch.metadata;
    let page = meta.page_indices[sequence * meta.pages_per_seq + position / 8] as usize;
    let row = (page * 8 + position % 8) * 4 * 128;
    (row..row + 4 * 128).map(|index| batch.kv_pages.get_f32(index)).collect()
}

#[test]
fn values_follow_logical_coordinates_not_pages_or_lengths() {
    for pattern in Pattern::every() {
        let original = batch(samples::case().metadata, pattern);
        let mut meta = samples::case().metadata;
        meta.page_indices[..3].copy_from_slice(&[15, 14, 13]);
        meta.kv_lens[0] = 17;
        meta.cu_q_lens = vec![0, 1, 5, 12, 0];
        let moved = batch(meta, pattern);
        for position in 0..17 {
            assert_eq!(cache_row(&original, 0, position), cache_row(&moved, 0, position), "{pattern:?}");
        }
        let row = |batch: &Batch, row: usize| -> Vec<u8> {
            batch.q.bytes[row * 4 * 128 * 4..][..4 * 128 * 4].to_vec()
        };
        // The third sequence's first row moved from 6 to 5.
        assert_eq!(row(&original, 6), row(&moved, 5), "{pattern:?}");
    }
}

#[test]
fn all_that_is_owned_is_finite_and_nothing_else_is() {
    for pattern in Pattern::every() {
        let batch = batch(samples::case().metadata, pattern);
        let rows = batch.q.to_f32_vec();
        assert!(rows[..13 * 512].iter().all(|value| value.is_finite()), "{pattern:?}");
        assert!(rows[13 * 512..].iter().all(|value| value.is_nan()), "{pattern:?}");
        let owned: usize = (18 + 5 + 33) * 4 * 128;
        let finite = batch.kv_pages.to_f32_vec().iter().filter(|value| value.is_finite()).count();
        assert_eq!(finite, owned, "{pattern:?}");
    }
}

#[test]
fn integer_and_narrow_caches_hold_finite_values_inside_their_range() {
    for dtype in [DType::I8, DType::I4, DType::F8E4M3FN, DType::F8E5M2, DType::F16] {
        for pattern in Pattern::every() {
            let mut case = samples::case();
            case.payload.pattern = pattern.name().to_owned();
            let batch = case.batch(&samples::variant(DType::Bf16, dtype)).unwrap();
            let row = cache_row(&batch, 2, 32);
            assert!(row.iter().all(|value| value.is_finite()), "{dtype:?} {pattern:?}");
        }
    }
}

/// Mean and deviation of the scaled scores of one query against its cache.
fn scores(pattern: Pattern) -> (f64, f64) {
    let batch = batch(samples::case().metadata, pattern);
    let mut scores = Vec::new();
    for token in 6..13 {
        for position in 1..33 {
            let keys = cache_row(&batch, 2, position);
            let dot: f64 = (0..128)
                .map(|lane| f64::from(batch.q.get_f32(token * 512 + lane)) * f64::from(keys[lane]))
                .sum();
            scores.push(dot * 0.088_388_346);
        }
    }
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / scores.len() as f64;
    (mean, variance.sqrt())
}

#[test]
fn scores_have_the_magnitude_that_the_pattern_promises() {
    let deviation = |pattern| scores(pattern).1;
    assert!((1.2..3.0).contains(&deviation(Pattern::Normal)), "{:?}", scores(Pattern::Normal));
    assert!((40.0..90.0).contains(&deviation(Pattern::Saturated)), "{:?}", scores(Pattern::Saturated));
    assert!((30.0..65.0).contains(&deviation(Pattern::NearCap)), "{:?}", scores(Pattern::NearCap));
    assert!(deviation(Pattern::Tiny) < 1e-9, "{:?}", scores(Pattern::Tiny));
    // 1.5 times the deviation of the positions 1 to 32.
    assert!((12.0..16.0).contains(&deviation(Pattern::Staircase)), "{:?}", scores(Pattern::Staircase));
    assert!((1.0..6.0).contains(&deviation(Pattern::Cancelling)), "{:?}", scores(Pattern::Cancelling));
    let (mean, deviation) = scores(Pattern::CommonOffset);
    assert!((150.0..220.0).contains(&mean) && (1.0..6.0).contains(&deviation), "{mean} {deviation}");
}

#[test]
fn a_one_hot_value_names_its_sequence_head_and_position() {
    let batch = batch(samples::case().metadata, Pattern::OneHotV);
    for (sequence, position) in [(0, 17), (2, 0), (2, 32)] {
        let row = cache_row(&batch, sequence, position);
        for head in 0..2 {
            let v = &row[(2 * head + 1) * 128..][..128];
            let hot: Vec<usize> = (0..128).filter(|&lane| v[lane] != 0.0).collect();
            assert_eq!(hot, [position, 64 + position / 64, 96 + sequence * 2 + head]);
        }
    }
}

#[test]
fn patches_set_owned_elements_and_refuse_others() {
    let patch =
        |target, sequence, token, head| Patch { target, sequence, token, head, lane: Some(3), value: 2.5 };
    let variant = samples::variant(DType::F32, DType::F32);
    let mut case = samples::case();
    case.payload.patches = vec![patch(PatchTarget::Q, 2, 1, 3), patch(PatchTarget::V, 0, 17, 1)];
    let batch = case.batch(&variant).unwrap();
    assert_eq!(batch.q.get_f32((7 * 4 + 3) * 128 + 3), 2.5);
    assert_eq!(cache_row(&batch, 0, 17)[3 * 128 + 3], 2.5);
    for outside in [
        patch(PatchTarget::Q, 0, 1, 0),
        patch(PatchTarget::K, 0, 18, 0),
        patch(PatchTarget::V, 3, 0, 0),
        patch(PatchTarget::K, 0, 0, 2),
    ] {
        case.payload.patches = vec![outside];
        let message = case.batch(&variant).unwrap_err().message;
        assert!(message.contains("patch"), "{message}");
    }
}

#[test]
fn a_wrong_checksum_or_shape_is_refused_with_a_remedy() {
    let variant = samples::variant(DType::F32, DType::F32);
    let mut case = samples::case();
    case.checksum = Some(payload_checksum(&case.batch(&variant).unwrap()));
    case.batch(&variant).unwrap();
    case.payload.seed += 1;
    assert!(case.batch(&variant).unwrap_err().message.contains("remove `checksum`"));

    let mut case = samples::case();
    case.metadata.kv_lens.push(0);
    assert!(case.batch(&variant).unwrap_err().message.contains("max_seqs = 4"));
    case = samples::case();
    case.payload.pattern = "normal@2".to_owned();
    assert!(case.batch(&variant).unwrap_err().message.contains("normal@1"));
    let huge = countersign_kernels::Variant { pages: usize::MAX / 2, ..variant };
    assert!(samples::case().batch(&huge).unwrap_err().message.contains("choose other shapes"));
}
