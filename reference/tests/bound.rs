//! The bound against a model of the kernel's arithmetic: a right kernel stays inside, a slightly wrong one doesn't.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

mod common;

use common::model::{Fault, Model, Order, Skew, largest_ratio};
use common::{Extents, PLAIN, Role, Stream};
use countersign_dtype::DType;
use countersign_reference::{Batch, Blocking, Matmul, Options, Profile, attend};

/// What the payload aims at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Aim {
    Normal,
    /// A large common offset in q and k: scores far above their differences.
    Offset,
    /// One key takes all the weight; V is one-hot by key.
    SaturatedOneHot,
    /// The largest score comes first, or last: every block rescales, or underflows.
    Descending,
    Ascending,
    /// Values over forty powers of ten.
    MixedMagnitudes,
    /// Values of K and V that are denormal, or products that are.
    Denormal,
    /// Scores whose uncertainty is of the order of 1.
    LargeEta,
    /// Equal scores and values that cancel.
    Cancelling,
    /// V = 1.
    Ones,
    /// Uncertain scores, and the value of the lesser key is enormous.
    UncertainLarge,
}

const AIMS: [Aim; 11] = [
    Aim::Normal,
    Aim::Offset,
    Aim::SaturatedOneHot,
    Aim::Descending,
    Aim::Ascending,
    Aim::MixedMagnitudes,
    Aim::Denormal,
    Aim::LargeEta,
    Aim::Cancelling,
    Aim::Ones,
    Aim::UncertainLarge,
];

struct Case {
    batch: Batch,
    options: Options,
    blocking: Blocking,
}

fn case(seed: u64, aim: Aim) -> Case {
    let mut stream = Stream(seed);
    let q_dtype = stream.pick(&[DType::F32, DType::F32, DType::Bf16]);
    let kv_dtype = match q_dtype {
        DType::F32 => stream.pick(&[DType::F32, DType::F32, DType::Bf16, DType::F8E4M3FN, DType::I8]),
        _ => stream.pick(&[DType::Bf16, DType::Bf16, DType::F8E5M2]),
    };
    let head_dim = stream.pick(&[1, 3, 8, 16, 32, 128]);
    let many_blocks = stream.between(0, 5) == 0;
    let pages_per_seq = if many_blocks { 40 } else { 8 };
    let page_size = stream.pick(&[1, 2, 4, 8]);
    let heads = stream.pick(&[1, 2]);
    let extents = Extents {
        tokens: 12,
        q_heads: heads * stream.pick(&[1, 2]),
        kv_heads: heads,
        head_dim,
        page_size,
        pages_per_seq,
        q_dtype,
        kv_dtype,
    };
    let longest = pages_per_seq * page_size;
    let lengths: Vec<(usize, usize)> = (0..stream.between(1, 2))
        .map(|_| {
            let q_len = stream.between(1, 4.min(longest));
            let kv_len = if stream.between(0, 2) == 0 { longest } else { stream.between(q_len, longest) };
            (q_len, kv_len)
        })
        .collect();
    let kv_per_block = page_size * stream.between(1, if many_blocks { 1 } else { 4 });
    let sharpness = stream.pick(&[1.0, 1.0, 8.0, 60.0]) as f32;
    let offset = stream.pick(&[10.0, 1000.0]);
    let root = (head_dim as f32).sqrt();
    let mut options = PLAIN;
    options.sm_scale = stream.pick(&[1.0 / root, 1.0 / root, 1.0, 0.03, -0.5]);
    if stream.between(0, 2) == 0 {
        options.sliding_window = Some(stream.between(1, longest + 2) as i32);
    }
    if stream.between(0, 2) == 0 {
        options.soft_cap = Some(stream.pick(&[0.5, 5.0, 30.0, 1e30]));
    }
    if !kv_dtype.is_float() || stream.between(0, 3) == 0 {
        options.k_scale = Some(stream.pick(&[0.017, 0.5, 1.3]));
        options.v_scale = Some(stream.pick(&[0.02, 0.25, 3.0]));
    }
    if aim == Aim::LargeEta || aim == Aim::UncertainLarge {
        options.sm_scale = stream.pick(&[1e3, 1e5, 1e6]) / head_dim as f32;
    }
    let steep = stream.pick(&[0.5, 3.0, 20.0]) as f32;
    let quantised = kv_dtype == DType::I8;
    let mut fill = |role: Role, index: usize, element: usize, stream: &mut Stream| {
        let normal = stream.normal();
        let value = match (aim, role) {
            (Aim::Offset, Role::Query | Role::Key) => normal + offset,
            (Aim::SaturatedOneHot, Role::Value) => f32::from(index % head_dim == element),
            (Aim::SaturatedOneHot, _) => 40.0 * normal,
            (Aim::Descending | Aim::Ascending, Role::Query) => 1.0 + 0.01 * normal,
            (Aim::Descending, Role::Key) => steep * -(index as f32) + 0.1 * normal,
            (Aim::Ascending, Role::Key) => steep * index as f32 + 0.1 * normal,
            (Aim::MixedMagnitudes, Role::Value) => normal * 10f32.powi(stream.between(0, 40) as i32 - 25),
            (Aim::MixedMagnitudes, _) => normal * 10f32.powi(stream.between(0, 4) as i32 - 3),
            (Aim::Denormal, Role::Value) => normal * 10f32.powi(-(stream.between(36, 44) as i32)),
            (Aim::Denormal, _) => normal * 10f32.powi(-(stream.between(0, 24) as i32)),
            (Aim::Cancelling, Role::Value) => {
                (1000.0 + 0.001 * normal) * if (index + element).is_multiple_of(2) { 1.0 } else { -1.0 }
            }
            (Aim::Cancelling, Role::Key) => 1.0,
            (Aim::Ones, Role::Value) => 1.0,
            (Aim::UncertainLarge, Role::Value) => {
                if index % 3 == 1 {
                    1e9 * normal
                } else {
                    0.001 * normal
                }
            }
            (_, Role::Query) => sharpness * normal,
            _ => normal,
        };
        if quantised && role != Role::Query { value * 20.0 } else { value }
    };
    let batch = extents.batch(&lengths, &mut stream, &mut fill);
    Case { batch, options, blocking: Blocking { kv_per_block, weights: DType::F32 } }
}

impl Case {
    fn ratio(&self, model: &Model) -> f64 {
        let reference = attend(&self.batch, &self.options, &self.blocking, &model.profile);
        largest_ratio(&model.run(&self.batch, &reference, &self.options, &self.blocking), &reference)
    }
}

const V5E: Profile = Profile {
    matmul: Matmul::Bf16x1,
    exp_ulp: 116.0,
    tanh_ulp: 1365.5,
    div_ulp: 198.0,
    flush_denormals: true,
};
const FLUSHING: Profile = Profile { flush_denormals: true, ..Profile::EXACT };
const INACCURATE: Profile = Profile { exp_ulp: 116.0, tanh_ulp: 1365.5, div_ulp: 198.0, ..Profile::EXACT };

/// Runs `count` right cases under a profile and returns the largest ratio per aim, for f32 and for bf16 outputs (where the
/// output's own rounding may use up its part of the bound).
fn controls(profile: Profile, count: u64, seed: u64) -> Vec<(Aim, [f64; 2])> {
    let orders = [Order::FusedAscending, Order::Ascending, Order::Descending, Order::EightLanes];
    let skews = [Skew::Library, Skew::Up, Skew::Down, Skew::Alternating, Skew::Halves];
    let mut largest: Vec<(Aim, [f64; 2])> = AIMS.iter().map(|&aim| (aim, [0.0; 2])).collect();
    for index in 0..count {
        let entry = &mut largest[index as usize % AIMS.len()];
        let model = Model {
            profile,
            order: orders[index as usize / AIMS.len() % 4],
            skew: skews[index as usize / AIMS.len() % 5],
            fault: Fault::None,
        };
        let case = case(seed + index, entry.0);
        let ratio = case.ratio(&model);
        if ratio > 1.0 {
            println!("seed {} {:?} {model:?}: r = {ratio}", seed + index, entry.0);
        }
        let of_type = &mut entry.1[usize::from(case.batch.q.dtype == DType::Bf16)];
        *of_type = of_type.max(ratio);
    }
    largest
}

fn assert_inside(name: &str, profile: Profile, count: u64) {
    let largest = controls(profile, count, 7_000_000);
    for (aim, [f32_outputs, bf16_outputs]) in &largest {
        println!("{name}: {aim:?}: largest r = {f32_outputs:.4} (f32), {bf16_outputs:.4} (bf16)");
    }
    assert!(largest.iter().all(|(_, ratios)| ratios.iter().all(|ratio| *ratio <= 1.0)), "{name}");
    // A bound that nothing comes near would prove nothing.
    assert!(largest.iter().any(|(_, ratios)| ratios[0] > 0.3), "{name}: every r is tiny");
}

#[test]
fn a_right_kernel_stays_inside() {
    assert_inside("exact", Profile::EXACT, 3300);
}

#[test]
fn a_right_kernel_on_an_inaccurate_device_stays_inside() {
    assert_inside("inaccurate", INACCURATE, 1100);
    assert_inside("flushing", FLUSHING, 1100);
    assert_inside("bf16x1", Profile { matmul: Matmul::Bf16x1, ..Profile::EXACT }, 1100);
    assert_inside("v5e", V5E, 1100);
}

/// A case on which each fault has something to bite on: f32, realistic scores, several blocks, window and cap in reach.
fn plain_case(seed: u64) -> Case {
    let mut stream = Stream(seed);
    let extents = Extents {
        tokens: 8,
        q_heads: 2,
        kv_heads: 1,
        head_dim: 32,
        page_size: 4,
        pages_per_seq: 12,
        q_dtype: DType::F32,
        kv_dtype: DType::F32,
    };
    let q_len = stream.between(2, 6);
    let batch = extents
        .batch(&[(q_len, stream.between(30, 48))], &mut stream, &mut |_, _, _, stream| stream.normal());
    let mut options = PLAIN;
    options.sm_scale = 1.0 / 32f32.sqrt();
    options.sliding_window = Some(stream.between(18, 22) as i32);
    options.soft_cap = Some(3.0);
    Case { batch, options, blocking: Blocking { kv_per_block: 4, weights: DType::F32 } }
}

#[test]
fn every_fault_leaves_the_bound() {
    let faults = [
        Fault::Bf16Weights,
        Fault::ScaleSquared,
        Fault::CausalMaskDropped,
        Fault::LastLaneLost,
        Fault::AlphaDropped,
        Fault::CapIgnored,
        Fault::WindowOff,
    ];
    for fault in faults {
        let model =
            Model { profile: Profile::EXACT, order: Order::FusedAscending, skew: Skew::Library, fault };
        let ratios: Vec<f64> = (0..60).map(|seed| plain_case(seed).ratio(&model)).collect();
        let smallest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{fault:?}: smallest r = {smallest:.1}");
        assert!(smallest > 1.0, "{fault:?}");
    }
}

/// The faults that are large against bf16's own rounding show in a bf16 output, too.
#[test]
fn faults_leave_the_bound_of_bf16_outputs() {
    for fault in [Fault::ScaleSquared, Fault::CausalMaskDropped, Fault::LastLaneLost, Fault::WindowOff] {
        let model =
            Model { profile: Profile::EXACT, order: Order::FusedAscending, skew: Skew::Library, fault };
        let smallest = (0..60)
            .map(|seed| {
                let mut case = plain_case(seed);
                let rounded = |array: &countersign_dtype::Array| {
                    countersign_dtype::Array::from_f32(DType::Bf16, &array.shape, &array.to_f32_vec())
                };
                case.batch.q = rounded(&case.batch.q);
                case.batch.kv_pages = rounded(&case.batch.kv_pages);
                case.ratio(&model)
            })
            .fold(f64::INFINITY, f64::min);
        println!("bf16 {fault:?}: smallest r = {smallest:.1}");
        assert!(smallest > 1.0, "{fault:?}");
    }
}

/// Why the rounding of sums is bounded with perturbed weights. Cancellation in f32 makes the kernel see score 0 for key A
/// where it is 40, so that key B (20) takes all the weight. The output is then off by all of v_B, which the mean's hull
/// allows, *and* carries the rounding of v_B; exact weights would allow only e^-20 of that.
#[test]
fn rounding_is_relative_to_what_the_weights_may_become() {
    let extents = Extents {
        tokens: 1,
        q_heads: 1,
        kv_heads: 1,
        head_dim: 3,
        page_size: 1,
        pages_per_seq: 8,
        q_dtype: DType::F32,
        kv_dtype: DType::F32,
    };
    let v_b = 1e9;
    let batch = extents.batch(&[(1, 8)], &mut Stream(1), &mut |role, index, element, _| match (
        role, index, element,
    ) {
        (Role::Query, ..) => 1.0,
        (Role::Key, 0, _) => [1e8, 1.0, -1e8][element],
        (Role::Key, 1, 0) => 0.5,
        (Role::Key, 2.., 0) => -1e3,
        (Role::Value, 1, _) => v_b,
        _ => 0.0,
    });
    let case = Case {
        batch,
        options: Options { sm_scale: 40.0, ..PLAIN },
        blocking: Blocking { kv_per_block: 1, weights: DType::F32 },
    };
    let model = Model { profile: INACCURATE, order: Order::Ascending, skew: Skew::Up, fault: Fault::None };
    let reference = attend(&case.batch, &case.options, &case.blocking, &model.profile);
    let output = model.run(&case.batch, &reference, &case.options, &case.blocking)[0];
    let (exact, error) = (reference.values[0], (f64::from(output) - reference.values[0]).abs());
    let hull = f64::from(v_b) - exact;
    let roundings = 8.0 * (116.0 + 198.0 + 4.0) * 2f64.powi(-23); // of 8 blocks, generously
    assert!(exact < 3.0, "exactly, A has the weight: {exact}");
    assert!(
        error > hull + roundings * exact,
        "unperturbed weights would raise an alarm here: {error} {hull}"
    );
    let ratio = error / reference.bounds[0];
    println!("r = {ratio}");
    assert!(ratio <= 1.0);
}

/// Denormal V of bf16 meets a scale of 2^20 on a device that flushes operands: 2^-110 becomes 0, a loss 65,536 times what
/// the same device loses elsewhere.
#[test]
fn a_scale_multiplies_what_its_operand_lost_before() {
    let extents = Extents {
        tokens: 1,
        q_heads: 1,
        kv_heads: 1,
        head_dim: 4,
        page_size: 2,
        pages_per_seq: 4,
        q_dtype: DType::F32,
        kv_dtype: DType::Bf16,
    };
    let tiny = 2f32.powi(-130);
    let batch = extents.batch(&[(1, 8)], &mut Stream(1), &mut |role, _, _, stream| match role {
        Role::Value => tiny,
        _ => stream.normal(),
    });
    let case = |v_scale: f32| Case {
        batch: batch.clone(),
        options: Options { v_scale: Some(v_scale), ..PLAIN },
        blocking: Blocking { kv_per_block: 2, weights: DType::F32 },
    };
    let model = Model { profile: V5E, order: Order::FusedAscending, skew: Skew::Library, fault: Fault::None };
    let scaled = case(2f32.powi(20));
    let reference = attend(&scaled.batch, &scaled.options, &scaled.blocking, &V5E);
    let output = model.run(&scaled.batch, &reference, &scaled.options, &scaled.blocking)[0];
    assert_eq!(output, 0.0);
    assert!((reference.values[0] / 2f64.powi(-110) - 1.0).abs() < 1e-9, "{}", reference.values[0]);
    assert!(scaled.ratio(&model) <= 1.0);
    // A scale that is flushed itself leaves nothing to bound, and the bound says so.
    let nothing = case(f32::MIN_POSITIVE / 2.0);
    assert!(attend(&nothing.batch, &nothing.options, &nothing.blocking, &V5E).bounds[0].is_infinite());
    let kept = attend(&nothing.batch, &nothing.options, &nothing.blocking, &Profile::EXACT);
    assert!(kept.bounds[0].is_finite());
}
