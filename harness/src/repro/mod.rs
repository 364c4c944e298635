//! A finding as a Python script that needs jax and numpy alone: for whoever has to mend the kernel, and has no countersign.
//!
//! ```text
//! docstring ─► imports ─► the batch (arrays, options) ─► what is claimed (limits) ─► validators, kernel, reference or walk
//! ```
//!
//! Invariant: a function of the case and what its trial showed. A finding that no script can show is an error with its reason.

mod arrays;

use std::fmt::Write as _;

use countersign_dtype::{Array, DType};
use countersign_kernels::Variant;
use countersign_kernels::call::OptionValue;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::checks::{CHECKS, Shaped, StaticCall, Verdict, check_of_message};
use countersign_kernels::rpa::facts;
use countersign_kernels::rpa::repro::Shows;
use countersign_mosaic::FaultClass;
use countersign_reference::{Batch, Metadata};

use crate::case::{Case, StaticOverrides};
use crate::contract::Lowering;
use crate::judge::Finding;
use crate::payload;
use crate::signature::{Effect, Kind};
use crate::trial::{Conduct, Trial};

/// Most lines that the arrays may take.
const MAX_LINES: usize = 20_000;

/// What is known of a finding besides its trial.
#[derive(Debug, Clone, Copy, Default)]
pub struct Besides<'a> {
    /// What the broken sequences do to the others, in a sentence.
    pub others: Option<&'a str>,
    /// What became of the call when it was lowered; a finding about that needs it.
    pub lowering: Option<&'a Lowering>,
}

/// The script that shows `finding` of `case`, which `trial` tried.
///
/// # Errors
/// In words, why there is none.
pub fn script(
    kernel: &KernelEntry,
    case: &Case,
    trial: &Trial,
    finding: &Finding,
    besides: Besides<'_>,
) -> Result<String, String> {
    let variant = &trial.variant;
    let shows = shows(finding)?;
    let batch = case.batch(variant).map_err(|error| error.to_string())?;
    let mut text = docstring(kernel, variant, finding, trial, besides.others);
    let payload = match &case.statics {
        Some(statics) => shapes(&case.static_call(variant), statics),
        None => match payload(case, variant, &batch) {
            Err(_) if !shows.runs() => shapes(&case.static_call(variant), &StaticOverrides::default()),
            payload => payload?,
        },
    };
    text += &shows.imports(&kernel.python, payload.contains("base64"));
    text += "\n# ---- the batch ------------------------------------------------------------------------------------------------------------\n\n";
    text += &metadata(&case.metadata);
    text += &options(kernel, case, variant)?;
    text += &payload;
    text += "\n# ---- what is claimed ------------------------------------------------------------------------------------------------------\n\n";
    text += &claims(shows, variant, trial, finding, besides.lowering)?;
    text.push_str("\n\n");
    Ok(text + &shows.body(kernel))
}

fn shows(finding: &Finding) -> Result<Shows, String> {
    let signature = &finding.signature;
    match (signature.kind, signature.effect) {
        (Kind::MisleadingMessage | Kind::ValidatorCrash, _) => Ok(Shows::Message),
        (Kind::RefusesValid, _) => Ok(Shows::Refusal),
        (Kind::DmaOrder, Effect::OtherBits) => Ok(Shows::Orders),
        (_, Effect::WrongRows | Effect::OthersRows | Effect::UndefinedOutput) => Ok(Shows::Values),
        (_, Effect::Hang) => Ok(Shows::Hang),
        (_, Effect::Fault(FaultClass::Race)) => Ok(Shows::Races),
        (_, Effect::LoweringCrash | Effect::Lowers) => Ok(Shows::Lowering),
        (
            _,
            Effect::Fault(
                FaultClass::OutOfBounds
                | FaultClass::UndefinedUse
                | FaultClass::Deadlock
                | FaultClass::Residue,
            ),
        ) => Ok(Shows::Derived),
        (
            _,
            effect @ Effect::Fault(
                FaultClass::OutputRevisited | FaultClass::Arithmetic | FaultClass::Narrowing,
            ),
        ) => Err(format!(
            "no batch makes the released kernel do that ({}): its output blocks, divisors and integer types follow from the \
             call alone. In an edited one, `countersign show FILE --trace` names the line",
            effect.name()
        )),
        (_, effect @ (Effect::OtherBits | Effect::Refusal | Effect::Message)) => {
            Err(format!("{} is no effect of {}", effect.name(), signature.kind.name()))
        }
    }
}

fn docstring(
    kernel: &KernelEntry,
    variant: &Variant,
    finding: &Finding,
    trial: &Trial,
    others: Option<&str>,
) -> String {
    let mut paragraphs = vec![
        format!("{}: {}.", kernel.title, finding.signature.kind.title()),
        finding.signature.to_string(),
        format!("{}.", finding.detail.trim_end_matches('.')),
    ];
    let rules = trial
        .contract
        .breaches
        .iter()
        .map(|breach| format!("Broken: {} ({})", breach.rule.sentence, breach.detail));
    paragraphs.extend(rules);
    paragraphs.extend(others.map(|others| format!("{others}.")));
    paragraphs.push(format!(
        "Run it with Python, numpy and {}: `python FILE`. No TPU is needed (lowered for {} where it was found). It ends with 0 \
         where the finding shows, with 1 where it does not (another jax, or it was mended), with 2 where it can't be tried.",
        kernel.python.packages.join(", "),
        variant.generation.device_kind(),
    ));
    paragraphs.push(format!("Written by {}.", crate::campaign::tool()));
    let plain = |text: String| text.replace('\\', "/").replace("\"\"\"", "'''");
    let wrapped: Vec<String> = paragraphs.into_iter().map(|text| wrap(&plain(text), 120)).collect();
    format!("\"\"\"{}\n\"\"\"\n\n", wrapped.join("\n\n"))
}

/// Lines of at most `width` columns where words allow it.
fn wrap(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

fn metadata(meta: &Metadata) -> String {
    let list = |values: &[i32]| values.iter().map(i32::to_string).collect::<Vec<String>>().join(", ");
    let rows: Vec<String> = meta
        .page_indices
        .chunks(meta.pages_per_seq.max(1))
        .map(|row| format!("    [{}],\n", list(row)))
        .collect();
    format!(
        "num_seqs = np.array([{}], np.int32)\ncu_q_lens = np.array([{}], np.int32)\nkv_lens = np.array([{}], np.int32)\n\
         page_indices = np.array([\n{}], np.int32)\n",
        meta.num_seqs,
        list(&meta.cu_q_lens),
        list(&meta.kv_lens),
        rows.concat()
    )
}

fn options(kernel: &KernelEntry, case: &Case, variant: &Variant) -> Result<String, String> {
    let blocks = variant.blocks().ok_or("its block sizes are the tuning table's, and not known here")?;
    let mut call = case.python_call(kernel, variant);
    // Written out, since the tuning table asks a live TPU.
    for (name, size) in [("num_kv_pages_per_block", blocks.pages), ("num_queries_per_block", blocks.queries)]
    {
        if let Some(option @ OptionValue::None) = call.options.get_mut(name) {
            *option = OptionValue::Int(size as i64);
        }
    }
    let mut text = "OPTIONS = {\n".to_owned();
    for (name, value) in &call.options {
        let value = match value {
            OptionValue::None => "None".to_owned(),
            OptionValue::Bool(true) => "True".to_owned(),
            OptionValue::Bool(false) => "False".to_owned(),
            OptionValue::Int(value) => value.to_string(),
            OptionValue::Float(value) if value.is_finite() => format!("{value:?}"),
            OptionValue::Float(value) => format!("float(\"{value}\")"),
            OptionValue::Text(value) => format!("{value:?}"),
        };
        let _ = writeln!(text, "    \"{name}\": {value},");
    }
    Ok(text + "}\n")
}

/// q, the cache, and what else the case overrides: zeros, since only shapes and types are looked at.
fn shapes(call: &StaticCall, statics: &StaticOverrides) -> String {
    let overridden = |name: &str| statics.operands.keys().any(|operand| operand.name() == name);
    let operands = call.operands().into_iter();
    let written = operands.filter(|(name, _)| ["q", "kv_pages"].contains(name) || overridden(name));
    let line = |(name, Shaped { shape, dtype }): (&str, &Shaped)| {
        format!("{name} = np.zeros({}, jnp.{dtype})\n", tuple(shape))
    };
    format!("\n# Only shapes and types are looked at.\n{}", written.map(line).collect::<String>())
}

/// q and the cache.
fn payload(case: &Case, variant: &Variant, batch: &Batch) -> Result<String, String> {
    let meta = &case.metadata;
    let poison = |array: &Array| {
        if array.dtype.is_float() { "np.nan".to_owned() } else { lowest(array.dtype).to_string() }
    };
    let poisoned = |array: &Array| if array.dtype.is_float() { f32::NAN } else { lowest(array.dtype) as f32 };
    let full = |name: &str, array: &Array| {
        format!(
            "{name} = np.full({}, {}, {})",
            tuple(&array.shape),
            poison(array),
            arrays::dtype_name(array.dtype)
        )
    };
    let mut lines =
        vec![String::new(), "# What the batch does not own holds NaN, or the lowest integer.".to_owned()];
    let mut q = Vec::new();
    if variant.family.model().takes_q() {
        lines.push(full("q", &batch.q));
        q = arrays::fill("q", &batch.q, false, poisoned(&batch.q), &|row| owner_of_row(meta, row));
    }
    lines.push(full("kv_pages", &batch.kv_pages));
    let page_size = variant.page_size;
    let owner = |slot: usize| owner_of_page(meta, slot / page_size.max(1), page_size);
    let kv = arrays::fill("kv_pages", &batch.kv_pages, true, poisoned(&batch.kv_pages), &owner);
    if q.iter().chain(&kv).any(|line| line.contains("values(")) {
        lines.insert(0, VALUES.to_owned());
    }
    lines.extend(q);
    lines.extend(kv);
    if lines.len() > MAX_LINES {
        return Err(
            "its payload is too large to be written out; `countersign minimize` makes the case smaller"
                .to_owned(),
        );
    }
    Ok(lines.join("\n") + "\n")
}

const VALUES: &str = "

def values(dtype, shape, text):
    \"\"\"Elements from their bytes.\"\"\"
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)

";

fn lowest(dtype: DType) -> i32 {
    match dtype {
        DType::I4 => -8,
        DType::I8 => -128,
        DType::I16 => -32768,
        DType::I32 => i32::MIN,
        DType::F32 | DType::Bf16 | DType::F16 | DType::F8E4M3FN | DType::F8E5M2 | DType::I1 => 0,
    }
}

fn tuple(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    if let [one] = extents.as_slice() { format!("({one},)") } else { format!("({})", extents.join(", ")) }
}

fn owner_of_row(meta: &Metadata, row: usize) -> String {
    let holds = |sequence: &usize| {
        let rows = i64::from(meta.cu_q_lens[*sequence])..i64::from(meta.cu_q_lens[sequence + 1]);
        rows.contains(&(row as i64))
    };
    let owner = (0..payload::sequences(meta)).rev().find(holds);
    owner.map_or_else(|| "nobody".to_owned(), |sequence| format!("sequence {sequence}"))
}

fn owner_of_page(meta: &Metadata, page: usize, page_size: usize) -> String {
    let holds = |sequence: &usize| {
        let used = usize::try_from(meta.kv_lens[*sequence]).unwrap_or(0).div_ceil(page_size.max(1));
        let row = meta.page_indices.iter().skip(sequence * meta.pages_per_seq);
        row.take(used.min(meta.pages_per_seq)).any(|&entry| usize::try_from(entry) == Ok(page))
    };
    let owner = (0..payload::sequences(meta)).rev().find(holds);
    owner.map_or_else(|| "nobody".to_owned(), |sequence| format!("sequence {sequence}"))
}

fn claims(
    shows: Shows,
    variant: &Variant,
    trial: &Trial,
    finding: &Finding,
    lowering: Option<&Lowering>,
) -> Result<String, String> {
    match shows {
        Shows::Lowering => {
            let raises = match lowering.ok_or("nobody has lowered the call")? {
                Lowering::Lowers => "None".to_owned(),
                Lowering::Declined(refusal) | Lowering::Fails(refusal) => format!("{:?}", refusal.kind),
            };
            let device = variant.generation.device_kind();
            Ok(format!("RAISES = {raises}  # while it is lowered\nDEVICE = {device:?}\n"))
        }
        Shows::Values | Shows::Refusal => {
            let Conduct::Finished(comparison) = &trial.conduct else {
                return Err("the kernel did not end".to_owned());
            };
            Ok(format!(
                "LIMIT = {:?}  # the largest error that rounding can explain in a row of this batch\n",
                comparison.largest_bound
            ))
        }
        Shows::Message => {
            let verdicts = [&trial.static_verdict, &trial.dynamic_verdict];
            let said = verdicts.into_iter().find_map(|verdict| match verdict {
                Verdict::Accepts => None,
                Verdict::Refuses { message, .. } => Some(message),
                Verdict::Crashes { message } => Some(message),
            });
            let said = said.ok_or("no check says anything")?;
            let check = check_of_message(said).and_then(|id| CHECKS.iter().find(|check| check.id == id));
            let (begins, contains) = match check {
                Some(check) => (check.begins.to_owned(), check.contains.to_owned()),
                None => (said.clone(), String::new()),
            };
            let rules = trial
                .contract
                .breaches
                .iter()
                .map(|breach| format!("{} ({})", breach.rule.sentence, breach.detail));
            let wrong: Vec<String> = rules.collect();
            let wrong = if wrong.is_empty() { "nothing".to_owned() } else { wrong.join("; ") };
            Ok(format!(
                "WRONG = {:?}\n# The check's words, which don't say that:\nBEGINS, CONTAINS = {begins:?}, {contains:?}\n",
                format!("against \"{wrong}\"")
            ))
        }
        Shows::Derived => {
            let blocks = variant.blocks().ok_or("its block sizes aren't known")?;
            let head_blocks = facts::grid(variant).map_or(1, |[head_blocks, _]| head_blocks);
            Ok(format!(
                "EXPECTED = {:?}\n\
                 QUERIES_PER_BLOCK, PAGES_PER_BLOCK = {}, {}\n\
                 HEAD_BLOCKS = {head_blocks}  # grid steps over heads, as the entry point chooses them for these heads and types\n",
                finding.signature.effect.name(),
                blocks.queries,
                blocks.pages,
            ))
        }
        Shows::Orders | Shows::Hang | Shows::Races => Ok(String::new()),
    }
}
