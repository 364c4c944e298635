//! The real environment end to end: set up, export, ask. Needs the package registry the first time, then the cache.
//!
//! Invariant: honours `COUNTERSIGN_HOME`, as the product does, so that a cache may be shared between runs.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use countersign_dtype::{Array, DType};
use countersign_kernels::call::{Call, OptionValue};
use countersign_kernels::env::{Environment, Progress, Silent};
use countersign_kernels::export::{NamedCall, export, export_calls};
use countersign_kernels::family::Family;
use countersign_kernels::manifest::{Role, TensorType};
use countersign_kernels::worker::{Asked, InterpretOptions, Interpreted, Traced, Worker};
use countersign_kernels::{Generation, Variant};
use countersign_reference::{Metadata, Options};

const ENTRY_POINT: &str = "jax.experimental.pallas.ops.tpu.ragged_paged_attention:ragged_paged_attention";

/// The environment, opened once for all tests: two at a time would only wait for each other.
fn environment() -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT
        .get_or_init(|| Environment::open(None, None, &Silent).unwrap_or_else(|error| panic!("{error}")))
}

/// The pinned interpreter used as a user's own, with a cache of its own, so that tests see what is written there.
fn own_environment(home: &Path) -> Environment {
    Environment::open(Some(home.to_path_buf()), Some(environment().python().to_path_buf()), &Silent).unwrap()
}

fn tiny() -> Variant {
    Variant {
        family: Family::Rpa,
        name: "tiny".into(),
        tokens: 8,
        q_heads: 2,
        kv_heads: 1,
        head_dim: 128,
        page_size: 4,
        pages: 4,
        max_seqs: 2,
        pages_per_seq: 2,
        q_dtype: DType::F32,
        kv_dtype: DType::F32,
        pages_per_block: Some(1),
        queries_per_block: Some(8),
        tuned: None,
        options: Options {
            sm_scale: 0.7,
            sliding_window: None,
            soft_cap: None,
            mask_value: -1e30,
            k_scale: None,
            v_scale: None,
        },
        generation: Generation::V5e,
    }
}

fn metadata() -> Metadata {
    Metadata {
        kv_lens: vec![3, 0],
        page_indices: vec![1, 0, 0, 0],
        pages_per_seq: 2,
        cu_q_lens: vec![0, 2, 0],
        num_seqs: 1,
    }
}

#[derive(Default)]
struct Steps(Mutex<Vec<String>>);

impl Progress for Steps {
    fn step(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }

    fn done(&self, message: &str) {
        self.step(message);
    }
}

#[test]
fn an_export_is_kept_once_and_a_damaged_one_is_made_again() {
    let home = tempfile::tempdir().unwrap();
    let environment = own_environment(home.path());
    let mut refused = tiny();
    refused.pages_per_block = Some(9);
    let variants = [tiny(), refused];

    let first = export(&environment, ENTRY_POINT, &variants, &Silent).unwrap();
    let exported = first[0].as_ref().unwrap();
    assert!(exported.mlir.contains("\"stable_mosaic.tpu.enqueue_dma\"("));
    let roles: Vec<&Role> = exported.manifest.operands.iter().map(|operand| &operand.role).collect();
    let parameter = |name: &str| Role::Parameter(name.into());
    let expected = ["kv_lens", "page_indices", "cu_q_lens", "", "num_seqs", "q", "kv_pages"]
        .map(|name| if name.is_empty() { Role::Constant(vec![0, 0]) } else { parameter(name) });
    assert_eq!(roles, expected.iter().collect::<Vec<_>>());
    assert_eq!(exported.manifest.outputs, [TensorType { dtype: DType::F32, shape: vec![8, 2, 128] }]);
    assert_eq!(exported.manifest.packages["jax"], "0.10.2");
    assert!(exported.manifest.unpinned);
    assert!(exported.mlir.contains("value = 0.699999988 : f32"), "0.7 must arrive as the nearest f32");
    let refusal = first[1].as_ref().unwrap_err();
    assert_eq!(refusal.message, "num_kv_pages_per_block=9 must be in range (0, 2].");

    let steps = Steps::default();
    assert_eq!(export(&environment, ENTRY_POINT, &variants, &steps).unwrap(), first);
    assert_eq!(*steps.0.lock().unwrap(), Vec::<String>::new(), "everything comes from the cache");

    let kept = home.path().join("kernels").join(&exported.key).join("kernel.mlir");
    fs::write(&kept, fs::read_to_string(&kept).unwrap().replacen("arith.addi", "arith.subi", 1)).unwrap();
    assert_eq!(export(&environment, ENTRY_POINT, &variants, &steps).unwrap(), first);
    assert!(steps.0.lock().unwrap()[0].contains("1 of them damaged"));

    let names = fs::read_dir(home.path().join("kernels")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(
        names.into_iter().all(|name| !name.to_string_lossy().starts_with('.')),
        "nothing temporary stays"
    );
}

#[test]
fn the_static_check_can_be_left_out() {
    let home = tempfile::tempdir().unwrap();
    let mut call = Call::of(ENTRY_POINT, &tiny());
    call.options.insert("sliding_window".into(), OptionValue::Int(-1));
    let refused = NamedCall { name: "checked".into(), call: call.clone() };
    call.skip_static_validation = true;
    let lowered = NamedCall { name: "unchecked".into(), call };
    let results = export_calls(&own_environment(home.path()), &[refused, lowered], &Silent).unwrap();
    assert_eq!(results[0].as_ref().unwrap_err().message, "sliding_window=-1 must be positive.");
    assert!(results[1].as_ref().unwrap().manifest.call.skip_static_validation);
}

#[test]
fn the_pinned_environment_is_ready_and_says_what_it_holds() {
    let environment = environment();
    assert!(!environment.is_unpinned());
    assert_eq!(environment.versions().packages["jax"], "0.10.2");
    let check = Environment::check(None, None).unwrap();
    assert!(check.is_ready(), "{check:?}");
}

#[test]
fn the_worker_answers_for_the_real_kernel() {
    let mut worker = Worker::start(environment()).unwrap();
    assert_eq!(worker.versions(), Some(environment().versions()));
    let call = Call::of(ENTRY_POINT, &tiny());

    let clean = worker.validate(&call, &metadata()).unwrap();
    assert_eq!((clean.static_check, clean.dynamic_check), (Asked::Accepts, Some(Asked::Accepts)));
    let too_many = worker.validate(&call, &Metadata { num_seqs: 3, ..metadata() }).unwrap();
    let Some(Asked::Refuses(refusal)) = too_many.dynamic_check else { panic!("{too_many:?}") };
    assert!(refusal.message.contains("must be less or equal to max_num_seqs=2"), "{refusal:?}");

    let mut overridden = call.clone();
    overridden.operand_mut("num_seqs").unwrap().shape = vec![2];
    let Traced::Refused(refusal) = worker.trace(&overridden).unwrap() else { panic!("it lowered") };
    assert_eq!(refusal.message, "num_seqs.shape=(2,) must be (1,)");
    assert_eq!(worker.trace(&call).unwrap(), Traced::Lowers);

    // q = 0: every score is equal, so row r of the one sequence is the mean of the values that it may see: 1, 2 | 1, 2, 3.
    let metadata = metadata();
    let mut pages = vec![f32::NAN; 4 * 4 * 2 * 128];
    for token in 0..3 {
        let start = (4 + token) * 2 * 128; // page 1
        pages[start..start + 128].fill(0.0);
        pages[start + 128..start + 256].fill(token as f32 + 1.0);
    }
    let floats = |shape: &[usize], values: &[f32]| Array {
        dtype: DType::F32,
        shape: shape.to_vec(),
        bytes: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    };
    let kv_pages = floats(&[4, 4, 2, 128], &pages);
    let q = Array::zeros(DType::F32, &[8, 2, 128]);
    let integers = [
        ("kv_lens", Array::from_i32(&[2], &metadata.kv_lens)),
        ("page_indices", Array::from_i32(&[2, 2], &metadata.page_indices)),
        ("cu_q_lens", Array::from_i32(&[3], &metadata.cu_q_lens)),
        ("num_seqs", Array::from_i32(&[1], &[metadata.num_seqs])),
    ];
    let mut values: Vec<(&str, &Array)> = vec![("q", &q), ("kv_pages", &kv_pages)];
    values.extend(integers.iter().map(|(name, array)| (*name, array)));
    let options = InterpretOptions { detect_races: true, ..Default::default() };
    let answer = worker.interpret(&call, &values, options).unwrap();
    let Interpreted::Ran { outputs, race, .. } = answer else { panic!("{answer:?}") };
    assert_eq!((outputs.len(), race), (1, Some(false)));
    let row = |token: usize| -> Vec<f32> {
        let bytes = &outputs[0].bytes[token * 1024..(token + 1) * 1024];
        bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
    };
    assert!(row(0).iter().all(|value| (value - 1.5).abs() < 1e-6), "{:?}", row(0));
    assert!(row(1).iter().all(|value| (value - 2.0).abs() < 1e-6), "{:?}", row(1));
}
