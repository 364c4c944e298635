//! The probes that are calls: the real checks asked, what they accept lowered, and what lowers and is a variant run.
//!
//! Invariant: every verdict and every outcome is that of the installed package; the port is only compared with it.

use countersign_kernels::Variant;
use countersign_kernels::call::Call;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::checks::{
    Number, StaticCall, Verdict, check_of_message, dynamic_check_call, static_check,
};
use countersign_kernels::contract::probe::{Edge, Input, Probe, base, probe};
use countersign_kernels::contract::{Scope, check_static, rules};
use countersign_kernels::engine::Policy;
use countersign_kernels::env::{Environment, Progress, SetupError};
use countersign_kernels::export::{Refusal, export};
use countersign_kernels::worker::{Asked, Traced, Worker, WorkerError, metadata_values};
use countersign_reference::Options;
use countersign_reports::{ProbeRow, RuleRow};

use super::batches::empty_row;
use super::{count, probe_case, tally};
use crate::campaign::Subject;
use crate::case::check_size;
use crate::confirm::say;
use crate::judge::effect_name;
use crate::loaded::Loaded;
use crate::trial::run_trial;

/// Why the calls could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// The worker has no answer.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The exporter.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The port says something else than the real check: a fault of ours.
    #[error("{0}")]
    Port(String),
}

/// What a lowering, or a run, came to.
struct Outcome {
    effect: String,
    example: String,
}

/// Asks about every probe of a static rule on `variants`.
///
/// # Errors
/// Where the worker doesn't answer, or the port disagrees with it.
pub fn calls(
    environment: &Environment,
    worker: &mut Worker,
    kernel: &KernelEntry,
    variants: &[Variant],
    policy: &Policy,
    progress: &dyn Progress,
) -> Result<Vec<RuleRow>, CallsError> {
    let entry_point = kernel.python.call();
    let mut rows = Vec::new();
    for rule in rules(kernel.family).iter().filter(|rule| rule.scope == Scope::Static) {
        progress.step(&format!("probing {}", rule.id));
        let mut row = empty_row(rule);
        for variant in variants {
            let Probe { kept, broken } = probe(rule, variant);
            for (edge, is_kept) in kept.iter().map(|e| (e, true)).chain(broken.iter().map(|e| (e, false))) {
                let Input::Call(call) = &edge.input else { continue };
                let Some(python) = Call::of_static(&entry_point, variant.generation, call) else { continue };
                let (first, second) = ask(worker, &python, call, variant)?;
                let outcome = if first == Verdict::Accepts {
                    accepted(environment, worker, kernel, &python, call, variant, policy, progress)?
                } else {
                    Outcome { effect: "refused at trace time".to_owned(), example: String::new() }
                };
                let side = if is_kept { &mut row.kept } else { &mut row.broken };
                tally(side, Some((&first, second.as_ref())), &outcome.effect);
                for gap in gaps(call, is_kept, &first, &outcome.effect) {
                    count(&mut row.gaps, gap);
                }
                add(&mut row, edge, is_kept, &first, second.as_ref(), &outcome);
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The real checks, compared with the port.
fn ask(
    worker: &mut Worker,
    python: &Call,
    call: &StaticCall,
    variant: &Variant,
) -> Result<(Verdict, Option<Verdict>), CallsError> {
    let metadata = base(variant);
    let port = static_check(call);
    let values = if port == Verdict::Accepts { metadata_values(call, &metadata) } else { Vec::new() };
    let answer = worker.validate_values(python, &values)?;
    let (first, second) = (verdict(answer.static_check), answer.dynamic_check.map(verdict));
    let port_second = (port == Verdict::Accepts).then(|| dynamic_check_call(call, &metadata));
    if (&port, &port_second) == (&first, &second) {
        Ok((first, second))
    } else {
        Err(CallsError::Port(format!(
            "the port says {port:?} and {port_second:?}, the checks {first:?} and {second:?}"
        )))
    }
}

/// What a worker's word is to the port.
pub(crate) fn verdict(asked: Asked) -> Verdict {
    match asked {
        Asked::Accepts => Verdict::Accepts,
        Asked::Refuses(Refusal { message, .. }) => {
            Verdict::Refuses { check: check_of_message(&message).unwrap_or("unknown"), message }
        }
        Asked::Crashes(Refusal { kind, message, .. }) if message.is_empty() => {
            Verdict::Crashes { message: kind }
        }
        Asked::Crashes(Refusal { kind, message, .. }) => {
            Verdict::Crashes { message: format!("{kind}: {message}") }
        }
    }
}

/// Lowers what the static check accepts, and runs it where it is a variant.
#[allow(clippy::too_many_arguments, reason = "one step of the loop above, with all that it holds")]
fn accepted(
    environment: &Environment,
    worker: &mut Worker,
    kernel: &KernelEntry,
    python: &Call,
    call: &StaticCall,
    variant: &Variant,
    policy: &Policy,
    progress: &dyn Progress,
) -> Result<Outcome, CallsError> {
    let Some(runnable) = as_variant(call, variant) else {
        return Ok(match worker.trace(python)? {
            Traced::Lowers => Outcome { effect: "lowers".to_owned(), example: String::new() },
            Traced::Refused(refusal) => fails(&refusal),
        });
    };
    let mut exports = export(environment, &python.entry_point, std::slice::from_ref(&runnable), progress)?;
    if let Some(Err(refusal)) = exports.first() {
        return Ok(fails(refusal));
    }
    let loaded = Loaded::new(kernel, vec![runnable], std::mem::take(&mut exports), environment.is_unpinned());
    let edge = Edge { name: String::new(), input: Input::Batch(base(variant), Vec::new()), besides: &[] };
    let runnable = &loaded.variants()[0];
    let Some(case) = probe_case(&kernel.id, &runnable.name, &edge) else {
        return Err(CallsError::Port("a batch without a case".to_owned()));
    };
    let mut engine = loaded.engine(0);
    let trial = run_trial(Some(engine.as_mut()), kernel, runnable, &case, policy)
        .map_err(|error| CallsError::Port(error.to_string()))?;
    let effect = effect_name(&trial).to_owned();
    let example = if effect.starts_with("right") { String::new() } else { trial.conduct.to_string() };
    Ok(Outcome { effect, example })
}

fn fails(refusal: &Refusal) -> Outcome {
    let effect = if refusal.deliberate { "refused by the entry point" } else { "lowering-crash" };
    Outcome { effect: effect.to_owned(), example: refusal.to_string() }
}

/// The variant that makes this call, if one does.
pub(super) fn as_variant(call: &StaticCall, near: &Variant) -> Option<Variant> {
    let float = |number: Option<Number>| number.map(|number| number.as_f64() as f32);
    let (&[tokens, q_heads, head_dim], &[pages, page_size, combined, _]) =
        (&call.q.shape[..], &call.kv_pages.shape[..])
    else {
        return None;
    };
    let &[max_seqs, pages_per_seq] = &call.page_indices.shape[..] else { return None };
    let whole = |value: Option<i64>| value.map(usize::try_from).transpose().ok();
    let window = match call.sliding_window {
        Some(Number::Int(window)) => Some(i32::try_from(window).ok()?),
        Some(Number::Float(_)) => return None,
        None => None,
    };
    let candidate = Variant {
        name: format!("{}-probe", near.name),
        tokens,
        q_heads,
        kv_heads: combined / 2,
        head_dim,
        page_size,
        pages,
        max_seqs,
        pages_per_seq,
        pages_per_block: whole(call.num_kv_pages_per_block)?,
        queries_per_block: whole(call.num_queries_per_block)?,
        tuned: None,
        options: Options {
            sm_scale: float(call.sm_scale)?,
            sliding_window: window,
            soft_cap: float(call.soft_cap),
            mask_value: float(call.mask_value)?,
            k_scale: float(call.k_scale),
            v_scale: float(call.v_scale),
        },
        ..near.clone()
    };
    // By their text, in which NaN equals NaN.
    let same = format!("{:?}", StaticCall::of(&candidate)) == format!("{call:?}");
    (same
        && check_size(&candidate).is_ok()
        && max_seqs == near.max_seqs
        && pages_per_seq == near.pages_per_seq)
        .then_some(candidate)
}

/// The kinds of gaps that a probed call shows.
fn gaps(call: &StaticCall, kept: bool, verdict: &Verdict, effect: &str) -> Vec<&'static str> {
    let breaches = check_static(call);
    let disputed = breaches.iter().all(|breach| breach.rule.standing.name() == "disputed");
    let wrong = !matches!(
        effect,
        "right" | "right where defined" | "lowers" | "refused at trace time" | "refused by the entry point"
    );
    match verdict {
        Verdict::Crashes { .. } => vec!["gap:validator-crash"],
        Verdict::Refuses { .. } if kept => vec!["gap:refuses-valid"],
        Verdict::Refuses { check, .. } => {
            let named = breaches.iter().any(|breach| breach.rule.refused_by.contains(check));
            if named { Vec::new() } else { vec!["gap:misleading-message"] }
        }
        Verdict::Accepts if effect == "lowering-crash" => vec!["gap:does-not-lower"],
        Verdict::Accepts if kept => Vec::new(),
        Verdict::Accepts if disputed && wrong => vec!["gap:mishandles-disputed"],
        Verdict::Accepts if wrong || effect == "lowers" => vec!["gap:accepts-invalid"],
        Verdict::Accepts => Vec::new(),
    }
}

fn add(
    row: &mut RuleRow,
    edge: &Edge,
    kept: bool,
    first: &Verdict,
    second: Option<&Verdict>,
    outcome: &Outcome,
) {
    let position = row.probes.iter().position(|probe| probe.name == edge.name && probe.kept == kept);
    let position = position.unwrap_or_else(|| {
        row.probes.push(ProbeRow {
            name: edge.name.clone(),
            kept,
            r#static: say(first),
            dynamic: second.map_or_else(|| "not reached".to_owned(), say),
            ..ProbeRow::default()
        });
        row.probes.len() - 1
    });
    let probe = &mut row.probes[position];
    count(&mut probe.effects, &outcome.effect);
    if probe.example.is_empty() {
        probe.example.clone_from(&outcome.example);
    }
}
