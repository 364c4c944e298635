//! The TOML and the binary form: each reads back as it was, and neither panics on anything.

use std::collections::BTreeMap;

use countersign::case::{
    Case, OperandName, OperandOverride, OptionValue, Patch, PatchTarget, Payload, StaticOverrides, VariantRef,
};
use countersign::corpus::{CorpusFile, Expect, Origin};
use countersign_dtype::DType;
use countersign_kernels::operand_type::OperandType;
use countersign_reference::Metadata;
use proptest::prelude::*;

use crate::samples;

fn metadata() -> impl Strategy<Value = Metadata> {
    (0usize..9, 0usize..7).prop_flat_map(|(rows, columns)| {
        // Small ranges repeat, so that fills and empty rows occur; full ranges reach the limits.
        let value = prop_oneof![4 => -1i32..3, 1 => any::<i32>()];
        let list = |len: usize| prop::collection::vec(value.clone(), len);
        (list(rows), list(rows * columns), list(rows + 1), any::<i32>()).prop_map(
            move |(kv_lens, page_indices, cu_q_lens, num_seqs)| Metadata {
                kv_lens,
                page_indices,
                pages_per_seq: columns,
                cu_q_lens,
                num_seqs,
            },
        )
    })
}

fn patch() -> impl Strategy<Value = Patch> {
    let target = prop::sample::select(PatchTarget::ALL.to_vec());
    let value = any::<u32>().prop_map(|bits| {
        let value = f32::from_bits(bits);
        if value.is_nan() { f32::NAN } else { value }
    });
    (target, 0usize..99, any::<u32>(), 0usize..9, any::<Option<u16>>(), value).prop_map(
        |(target, sequence, token, head, lane, value)| Patch {
            target,
            sequence,
            token: token as usize,
            head,
            lane: lane.map(usize::from),
            value,
        },
    )
}

fn statics() -> impl Strategy<Value = StaticOverrides> {
    let operand = prop::sample::select(OperandName::ALL.to_vec());
    let dtype = prop::option::of(prop::sample::select(OperandType::all().collect::<Vec<_>>()));
    let over = (prop::option::of(prop::collection::vec(0usize..4096, 0..5)), dtype)
        .prop_map(|(shape, dtype)| OperandOverride { shape, dtype });
    let option = prop_oneof![
        Just(OptionValue::Absent),
        any::<i64>().prop_map(OptionValue::Integer),
        any::<f64>().prop_map(OptionValue::Float),
    ];
    let name = prop::sample::select(countersign::case::OPTION_NAMES.map(str::to_owned).to_vec());
    (prop::collection::btree_map(operand, over, 0..4), prop::collection::btree_map(name, option, 0..4))
        .prop_map(|(operands, options)| StaticOverrides { operands, options })
}

fn case() -> impl Strategy<Value = Case> {
    let inline = (1usize..5000, any::<bool>(), any::<f32>(), any::<Option<i32>>()).prop_map(
        |(tokens, tuned, scale, window)| {
            let mut variant = samples::variant(DType::Bf16, DType::F8E4M3FN);
            variant.tokens = tokens;
            if tuned {
                (variant.pages_per_block, variant.queries_per_block) = (None, None);
                variant.options.mask_value = -1e30;
            }
            variant.options.sm_scale = if scale.is_nan() { 1.0 } else { scale };
            variant.options.k_scale = Some(0.1);
            variant.options.sliding_window = window;
            VariantRef::Inline(Box::new(variant))
        },
    );
    let variant = prop_oneof!["[ -~é\n]{0,12}".prop_map(VariantRef::Named), inline];
    (
        variant,
        metadata(),
        any::<u64>(),
        prop::collection::vec(patch(), 0..5),
        prop::option::of("sha256:[0-9a-f]{4}"),
        prop::option::of(statics()),
    )
        .prop_map(|(variant, metadata, seed, patches, checksum, statics)| Case {
            kernel: "jax-rpa".to_owned(),
            variant,
            metadata,
            payload: Payload { pattern: "normal@1".to_owned(), seed, patches, file: None },
            checksum,
            statics,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn toml_reads_back(case in case()) {
        let text = case.to_toml();
        prop_assert_eq!(Case::from_toml(&text).map_err(|error| format!("{error}\n{text}")), Ok(case));
    }

    #[test]
    fn binary_reads_back(case in case()) {
        let bytes = case.to_bytes().unwrap();
        prop_assert_eq!(Case::from_bytes(&bytes), Ok(case));
    }

    #[test]
    fn damaged_binary_forms_are_errors_or_cases(
        case in case(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = case.to_bytes().unwrap();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        if let Ok(case) = Case::from_bytes(&bytes) {
            // What was read can be used, or is refused; neither panics.
            let _ = case.batch(&samples::variant(DType::F32, DType::F32));
            let _ = Case::from_toml(&case.to_toml());
        }
        let shorter = &case.to_bytes().unwrap()[..cut.index(bytes.len())];
        prop_assert!(Case::from_bytes(shorter).is_err());
    }

    #[test]
    fn damaged_toml_is_an_error_or_a_case(case in case(), at in any::<prop::sample::Index>(), piece in "[ -~\n]{0,3}") {
        let mut text = case.to_toml();
        let mut place = at.index(text.len());
        while !text.is_char_boundary(place) {
            place -= 1;
        }
        text.insert_str(place, &piece);
        if let Err(error) = Case::from_toml(&text) {
            prop_assert!(!error.message.is_empty());
        }
    }
}

#[test]
fn absurd_lengths_in_a_binary_case_are_refused_without_allocating_them() {
    let mut bytes = b"CSGN\x01\x07jax-rpa\x00\x01x".to_vec();
    bytes.extend([0xff; 9]);
    bytes.push(0x01);
    assert!(Case::from_bytes(&bytes).unwrap_err().message.contains("damaged"));
    assert!(Case::from_bytes(b"[case]").unwrap_err().message.contains("CSGN"));
    assert!(Case::from_bytes(b"CSGN\x02").unwrap_err().message.contains("version"));
}

const HAND_WRITTEN: &str = r#"# two sequences
[case]
version = 1
kernel = "jax-rpa"
variant = "sample"
num_seqs = 2
cu_q_lens = [0, 5, 6, 0, 0]
kv_lens = [18, 9, 0, 0]
pages_per_seq = 5
page_fill = 0
page_indices = [[3, 1, 2], [4, 5]]

[case.payload]
pattern = "normal@1"
seed = 1
patches = [{ target = "q", sequence = 0, token = 4, head = 1, value = nan }]

[origin]
when = "2025-12-01"
from = "a person"
cause = "It reads well."

[expect]
clean = true
"#;

#[test]
fn a_hand_written_file_is_read() {
    let file = CorpusFile::from_toml(HAND_WRITTEN).unwrap();
    assert_eq!(file.case.metadata.page_indices[..8], [3, 1, 2, 0, 0, 4, 5, 0]);
    assert_eq!(file.case.metadata.page_indices.len(), 20);
    assert_eq!(file.expect, Some(Expect::Clean));
    assert_eq!(CorpusFile::from_toml(&file.to_toml()), Ok(file.clone()));
    file.case.batch(&samples::variant(DType::F32, DType::F32)).unwrap();

    let signatures = Expect::Signatures(vec!["fault · a \"quoted\" one".to_owned(); 3]);
    let origin = Origin { cause: "Two\nlines.".to_owned(), ..file.origin.clone().unwrap() };
    let other = CorpusFile { expect: Some(signatures), origin: Some(origin), ..file };
    assert_eq!(CorpusFile::from_toml(&other.to_toml()), Ok(other));
}

#[test]
fn errors_have_the_line_and_a_remedy() {
    let edits = BTreeMap::from([
        (("seed = 1", "sede = 1"), (13, "`case.payload.seed` is missing")),
        (("seed = 1", "seed = 1\nsede = 2"), (16, "unknown key `sede`")),
        (("version = 1", "version = 2"), (3, "only version 1")),
        (("[18, 9, 0, 0]", "[18, 9, 0]"), (7, "one more than kv_lens")),
        (("page_fill = 0\n", ""), (10, "page_fill = 0")),
        (("pages_per_seq = 5", "pages_per_seq = 2"), (11, "more than pages_per_seq")),
        (("num_seqs = 2", "num_seqs = 9999999999"), (6, "does not fit")),
        (("num_seqs = 2", "num_seqs = \"2\""), (6, "expected an integer")),
        (("target = \"q\"", "target = \"o\""), (16, "unknown target")),
        (("clean = true", "clean = false"), (23, "either")),
        (("kernel = \"jax-rpa\"", "kernel = jax"), (4, "not valid TOML")),
        (("pages_per_seq = 5", "pages_per_seq = 99999999999"), (11, "more than 1048576 entries")),
    ]);
    for ((from, to), (line, message)) in edits {
        let text = HAND_WRITTEN.replacen(from, to, 1);
        assert_ne!(text, HAND_WRITTEN);
        let error = CorpusFile::from_toml(&text).unwrap_err();
        assert!(error.line.is_some_and(|found| found.abs_diff(line) <= 1), "{to}: {error}");
        assert!(error.message.contains(message), "{to}: {error}");
    }
}
