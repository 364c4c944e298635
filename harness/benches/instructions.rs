//! Instructions that the VM executes for one call of the kernel, by kv length: `cargo bench -p countersign --bench instructions`.
//!
//! The program runs itself under valgrind's callgrind once a length, and only what happens inside the engine call is counted:
//! neither reading and lowering the module nor the first call, which allocates. Counts don't depend on what else the machine
//! does, so they make a regression check where times can't.
//!
//! Invariant: from 16 kv blocks up, twice the kv length costs twice the instructions within 15 %; else the exit code is 1.

use std::path::Path;
use std::process::{Command, ExitCode};

use countersign::campaign::Subject;
use countersign::case::{Case, Payload, VariantRef};
use countersign::loaded::Loaded;
use countersign::payload::Pattern;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::Catalogue;
use countersign_kernels::custom;
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::env::{Environment, Silent};
use countersign_kernels::export::export;
use countersign_kernels::rpa::bind::{Bound, bind};
use countersign_reference::{Batch, Metadata};

/// One sequence of up to 4,096 tokens in blocks of 32.
const VARIANT: &str = "f32-q4-kv4,tokens=16,max_seqs=1,pages_per_seq=256";
const BLOCK: usize = 32;
const LENGTHS: [usize; 5] = [8 * BLOCK, 16 * BLOCK, 32 * BLOCK, 64 * BLOCK, 128 * BLOCK];
/// Lengths below this are shown and not judged: what a call costs once still shows there.
const JUDGED: usize = 16 * BLOCK;
const TOLERANCE: f64 = 0.15;
/// Says to the program that it is the one being counted, and of which length.
const ARGUMENT: &str = "--count";

type Outcome<T> = Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let length =
        arguments.iter().position(|argument| argument == ARGUMENT).and_then(|at| arguments.get(at + 1));
    let outcome = match length {
        Some(length) => {
            length.parse().map_err(|_| "a length is a number".to_owned()).and_then(call).map(|()| true)
        }
        None => table(),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Counts every length, prints the table, and says whether the growth is linear.
fn table() -> Outcome<bool> {
    prepare()?; // so that the counted processes find the kernel exported
    let folder = std::env::temp_dir().join(format!("countersign-instructions-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let counts: Outcome<Vec<u64>> = LENGTHS.iter().map(|&length| count(&folder, length)).collect();
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    let counts = counts?;
    println!("{VARIANT}, {} query tokens, kv blocks of {BLOCK}", 16);
    println!("kv length  kv blocks  instructions  over half the length");
    let mut linear = true;
    for (index, (&length, &count)) in LENGTHS.iter().zip(&counts).enumerate() {
        let ratio = index.checked_sub(1).map(|before| count as f64 / counts[before] as f64);
        let shown = ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        println!("{length:>9}  {:>9}  {count:>12}  {shown:>20}", length / BLOCK);
        let judged = index > 0 && LENGTHS[index - 1] >= JUDGED;
        linear &= !judged || ratio.is_some_and(|ratio| (ratio / 2.0 - 1.0).abs() <= TOLERANCE);
    }
    if !linear {
        println!(
            "from {} kv blocks up, twice the length isn't twice the instructions within 15 %",
            JUDGED / BLOCK
        );
    }
    Ok(linear)
}

/// Instructions inside the engine call, as callgrind sums them up.
fn count(folder: &Path, length: usize) -> Outcome<u64> {
    let out = folder.join(length.to_string());
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*engine_call*"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args([ARGUMENT, &length.to_string()])
        .output();
    let run = run.map_err(|error| {
        format!("valgrind can't be run ({error}); install it, e.g. `apt install valgrind`")
    })?;
    if !run.status.success() {
        return Err(format!("valgrind failed:\n{}", String::from_utf8_lossy(&run.stderr)));
    }
    let profile = std::fs::read_to_string(&out).map_err(|error| error.to_string())?;
    let total =
        profile.lines().find_map(|line| line.strip_prefix("totals:").or(line.strip_prefix("summary:")));
    total.and_then(|total| total.trim().parse().ok()).filter(|&count: &u64| count > 0).ok_or_else(|| {
        "callgrind counted nothing: is this built without the symbol `engine_call`?".to_owned()
    })
}

/// The variant, exported and loaded.
fn prepare() -> Outcome<(Loaded, Variant)> {
    let catalogue = Catalogue::builtin().map_err(|error| error.to_string())?;
    let kernel = catalogue.kernel("jax-rpa").ok_or("the kernel is missing from the catalogue")?;
    let variant = custom::variant(kernel, VARIANT).map_err(|error| error.message)?;
    let environment = Environment::open(None, None, &Silent).map_err(|error| error.to_string())?;
    let entry_point = format!("{}:{}", kernel.python.module, kernel.python.entry_point);
    let variants = vec![variant];
    let exports =
        export(&environment, &entry_point, &variants, &Silent).map_err(|error| error.to_string())?;
    let loaded = Loaded::new(kernel, variants, exports, environment.is_unpinned());
    let variant = loaded.variants()[0].clone();
    Ok((loaded, variant))
}

/// Calls the kernel twice, the second time counted.
fn call(length: usize) -> Outcome<()> {
    let (loaded, variant) = prepare()?;
    let metadata = Metadata {
        kv_lens: vec![length as i32],
        page_indices: (0..variant.pages_per_seq as i32).collect(),
        pages_per_seq: variant.pages_per_seq,
        cu_q_lens: vec![0, 16],
        num_seqs: 1,
    };
    let payload = Payload::pattern(Pattern::Normal.name().to_owned(), 1);
    let case = Case {
        kernel: loaded.kernel().id.clone(),
        variant: VariantRef::Named(variant.name.clone()),
        metadata,
        payload,
        checksum: None,
        statics: None,
    };
    let batch = case.batch(&variant).map_err(|error| error.to_string())?;
    let bound = bind(&variant, &batch);
    let mut engine = loaded.engine(0);
    engine.run(&batch, &bound, &Policy::default());
    match engine_call(engine.as_mut(), &batch, &bound).end {
        EngineEnd::Finished => Ok(()),
        end => Err(format!("the kernel doesn't end: {end:?}")),
    }
}

/// What is counted; callgrind finds it by its name.
#[inline(never)]
fn engine_call(engine: &mut dyn Engine, batch: &Batch, bound: &[Bound<'_>; 6]) -> EngineRun {
    engine.run(batch, bound, &Policy::default())
}
