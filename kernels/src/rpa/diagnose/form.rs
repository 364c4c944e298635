//! From dumped arrays to a batch: shapes and types as they are, and values read as far as any reading makes sense.
//!
//! Wrong types, a flat or transposed page table, a num_seqs of another shape: each is a slip, is named, and is undone, so that the
//! values can be looked at.
//!
//! Invariant: the call of [`Subject`] is the dumped one; the state's is the undone one.

use std::collections::BTreeMap;

use countersign_dtype::DType;
use countersign_reference::Metadata;

use super::{Cause, Given, Repair, State};
use crate::catalogue::KernelEntry;
use crate::checks::{Shaped, StaticCall, Verdict, dynamic_check_call, numpy_name, static_check};
use crate::contract::{Breach, Rule, Scope, check_static};
use crate::custom::{self, CustomError};
use crate::family::Family;

/// An operand that a dump may hold.
#[derive(Debug, Clone, Copy)]
pub struct Operand {
    /// The entry point's name for it.
    pub name: &'static str,
    /// Its shape in words.
    pub shape: &'static str,
    /// Whether its values are needed, not only its shape.
    pub is_metadata: bool,
    /// What other programs call it.
    pub aliases: &'static [&'static str],
}

/// The operands of a family, in the entry point's order.
pub fn operands(family: Family) -> impl Iterator<Item = &'static Operand> + Clone {
    let roles = family.model().roles();
    OPERANDS.iter().filter(|operand| roles.iter().any(|role| role.name() == operand.name))
}

/// Those of all families.
static OPERANDS: [Operand; 6] = [
    Operand {
        name: "q",
        shape: "[tokens, q_heads, head_dim]",
        is_metadata: false,
        aliases: &["query", "queries"],
    },
    Operand {
        name: "kv_pages",
        shape: "[pages, page_size, 2 * kv_heads, head_dim]",
        is_metadata: false,
        aliases: &["kv_cache", "kv", "cache"],
    },
    Operand {
        name: "kv_lens",
        shape: "[max_num_seqs]",
        is_metadata: true,
        aliases: &["seq_lens", "seqlens", "context_lens", "kv_seq_lens", "cache_seqlens", "lengths"],
    },
    Operand {
        name: "page_indices",
        shape: "[max_num_seqs, pages_per_seq]",
        is_metadata: true,
        aliases: &["block_tables", "block_table", "page_table", "page_tables", "kv_page_indices"],
    },
    Operand {
        name: "cu_q_lens",
        shape: "[max_num_seqs + 1]",
        is_metadata: true,
        aliases: &["query_start_loc", "cu_seqlens_q", "cu_seqlens", "qo_indptr", "cu_query_lens"],
    },
    Operand {
        name: "num_seqs",
        shape: "[1]",
        is_metadata: true,
        aliases: &["num_sequences", "n_seqs", "batch_size"],
    },
];

/// A dumped batch, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Shapes and types as they were dumped.
    pub call: StaticCall,
    /// The batch with the slips of form undone.
    pub state: State,
    /// Those slips.
    pub form: Vec<Cause>,
    /// Operands whose shape nobody gave: rules that need it are not judged.
    pub unknown: Vec<&'static str>,
}

impl Subject {
    /// What the batch breaks as it was dumped: static rules first.
    pub fn breaches(&self) -> Vec<Breach> {
        let mut breaches = check_static(&self.call);
        breaches
            .extend(self.state.breaches().into_iter().filter(|breach| breach.rule.scope != Scope::Static));
        breaches
    }

    /// What upstream's two checks say to the arrays as JAX takes them.
    pub fn verdicts(&self) -> Verdicts {
        // While jax_enable_x64 is off, JAX halves 64-bit types before anyone checks them.
        let mut call = self.call.clone();
        for operand in [&mut call.kv_lens, &mut call.page_indices, &mut call.cu_q_lens, &mut call.num_seqs] {
            if let Some(stem) = operand.dtype.strip_suffix("64") {
                operand.dtype = format!("{stem}32");
            }
        }
        let fixed = static_check(&call);
        let dynamic = (fixed == Verdict::Accepts).then(|| dynamic_check_call(&call, &self.state.metadata));
        let with_x64 = static_check(&self.call);
        Verdicts { with_x64: (with_x64 != fixed).then_some(with_x64), fixed, dynamic }
    }

    /// Whether a rule can't be judged without the shape of an operand.
    pub fn needs(&self, rule: &Rule, operand: &str) -> bool {
        // A kv length is in the table if its pages are; their size is the cache's.
        rule.arrays.contains(&operand) || rule.id == "kv-lens-in-table" && operand == "kv_pages"
    }
}

/// What upstream's checks say of a dumped batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdicts {
    /// The static one.
    pub fixed: Verdict,
    /// The same with jax_enable_x64, where it differs.
    pub with_x64: Option<Verdict>,
    /// The dynamic one, where the static one accepts.
    pub dynamic: Option<Verdict>,
}

/// Most entries of a table that is unpacked: a garbage kv_len mustn't make us allocate.
const MAX_UNPACKED: usize = 1 << 24;

/// Larger than any extent, and small enough to be multiplied: nothing is past it.
const NO_LIMIT: usize = 1 << 40;

/// Reads dumped arrays as a batch of `kernel`. `variant` are keys and values that the arrays don't hold, as `--variant` takes them;
/// without block sizes those of the kernel's tuning table count.
///
/// # Errors
/// An array that is missing; a key that is unknown or says otherwise than the arrays.
pub fn read(
    kernel: &KernelEntry,
    arrays: &BTreeMap<&'static str, Given>,
    variant: &str,
) -> Result<Subject, CustomError> {
    for operand in operands(kernel.family).filter(|operand| operand.is_metadata) {
        if !arrays.contains_key(operand.name) {
            return Err(CustomError {
                message: format!("no array `{}`", operand.name),
                help: "name it with --map".to_owned(),
            });
        }
    }
    let shape = |name: &str| arrays.get(name).map(|given| given.shape.as_slice());
    let mut known: Vec<(&str, usize)> = Vec::new();
    if let Some([tokens, q_heads, head_dim]) = shape("q") {
        known.extend([("tokens", *tokens), ("q_heads", *q_heads), ("head_dim", *head_dim)]);
    }
    if let Some([pages, page_size, combined, head_dim]) = shape("kv_pages") {
        known.extend([("kv_heads", combined / 2), ("page_size", *page_size), ("pages", *pages)]);
        if shape("q").is_none() {
            known.push(("head_dim", *head_dim));
        }
    }
    let said = said(variant)?;
    let mut form = Vec::new();
    let page_size = shape("kv_pages")
        .and_then(|shape| shape.get(1).copied())
        .or_else(|| said.get("page_size").and_then(|size| size.parse().ok()));
    let metadata = metadata(arrays, page_size, &mut form);
    let rows = metadata.page_indices.len().checked_div(metadata.pages_per_seq).unwrap_or(0);
    known.extend([("max_seqs", rows), ("pages_per_seq", metadata.pages_per_seq)]);
    for (key, extent) in &known {
        if let Some(value) = said.get(key).filter(|value| **value != extent.to_string()) {
            return Err(CustomError {
                message: format!("{key} is {extent} in the file, --variant says {value}"),
                help: "leave out what the arrays say themselves".to_owned(),
            });
        }
    }
    let mut text: Vec<String> = said.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut add = |key: &str, value: String| {
        if !said.contains_key(key) {
            text.push(format!("{key}={value}"));
        }
    };
    for (key, extent) in &known {
        add(key, (*extent).max(1).to_string());
    }
    for (key, name) in [("q_dtype", "q"), ("kv_dtype", "kv_pages")] {
        if let Some(dtype) = arrays.get(name).and_then(|given| dtype_of(&given.dtype)) {
            add(key, dtype.name().to_owned());
        }
    }
    add("pages_per_block", "none".to_owned());
    add("queries_per_block", "none".to_owned());
    let mut variant = custom::variant(kernel, &text.join(","))?;
    variant.name = "dumped".to_owned();
    for (key, extent) in &known {
        match *key {
            "tokens" => variant.tokens = *extent,
            "pages" => variant.pages = *extent,
            _ => {}
        }
    }
    // Of what nobody says, the most lenient counts.
    let unsaid = |key: &str| !said.contains_key(key) && !known.iter().any(|(known, _)| *known == key);
    let mut unknown = Vec::new();
    if unsaid("tokens") {
        variant.tokens = NO_LIMIT;
        unknown.push(kernel.family.model().rows().array);
    }
    if unsaid("pages") || unsaid("page_size") {
        unknown.push("kv_pages");
    }
    if unsaid("pages") {
        variant.pages = NO_LIMIT;
    }
    if unsaid("page_size") {
        variant.page_size = NO_LIMIT;
    }
    match (unsaid("q_heads"), unsaid("kv_heads")) {
        (true, false) => variant.q_heads = variant.kv_heads,
        (false, true) => variant.kv_heads = 1,
        (true, true) | (false, false) => {}
    }
    kernel.family.model().settle(&mut variant).map_err(|message| CustomError {
        message,
        help: "leave out what the kernel's family doesn't have".to_owned(),
    })?;

    let mut call = StaticCall::with_metadata(&variant, &metadata);
    let whole = call.clone();
    for (name, target) in [
        ("q", &mut call.q),
        ("kv_pages", &mut call.kv_pages),
        ("kv_lens", &mut call.kv_lens),
        ("page_indices", &mut call.page_indices),
        ("cu_q_lens", &mut call.cu_q_lens),
        ("num_seqs", &mut call.num_seqs),
    ] {
        if let Some(given) = arrays.get(name) {
            *target = Shaped { shape: given.shape.clone(), dtype: given.dtype.clone() };
        }
    }
    let mut undone = whole;
    undone.q.clone_from(&call.q);
    undone.kv_pages.clone_from(&call.kv_pages);
    Ok(Subject { call, state: State { call: undone, variant, metadata }, form, unknown })
}

/// The keys and values of a variant's text.
fn said(text: &str) -> Result<BTreeMap<&str, &str>, CustomError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            part.split_once('=').map(|(key, value)| (key.trim(), value.trim())).ok_or_else(|| CustomError {
                message: format!("`{part}` is no `key=value`"),
                help: "e.g. tokens=1024,page_size=16,pages=4096".to_owned(),
            })
        })
        .collect()
}

/// The element type of that NumPy name, if a variant can have it.
fn dtype_of(name: &str) -> Option<DType> {
    use DType::{Bf16, F8E4M3FN, F8E5M2, F16, F32, I4, I8};
    [F32, Bf16, F16, F8E4M3FN, F8E5M2, I8, I4].into_iter().find(|dtype| numpy_name(*dtype) == name)
}

/// The values, with slips of form undone and named.
fn metadata(
    arrays: &BTreeMap<&'static str, Given>,
    page_size: Option<usize>,
    form: &mut Vec<Cause>,
) -> Metadata {
    let empty = Given { dtype: "int32".to_owned(), shape: vec![0], values: Vec::new(), odd: None };
    let given = |name: &str| arrays.get(name).unwrap_or(&empty);
    let kv_lens = given("kv_lens").values.clone();
    let cu_q_lens = given("cu_q_lens").values.clone();
    let scalar = given("num_seqs");
    let num_seqs = scalar.values.first().copied().unwrap_or(0);
    if scalar.shape != [1] {
        form.push(Cause {
            slip: "num-seqs-shape",
            sentence: format!("num_seqs has shape {:?}, not [1]", scalar.shape),
            why: if scalar.shape.is_empty() { "it is a scalar" } else { "its first value is taken" }
                .to_owned(),
            places: Vec::new(),
            repair: Repair::default(),
            stands_in: false,
            advice: "num_seqs = np.array([len(q_lens)], np.int32)".to_owned(),
            unsure: (scalar.values.len() != 1)
                .then(|| format!("num_seqs holds {} values", scalar.values.len())),
        });
    }
    let table = given("page_indices");
    let (columns, page_indices) = match table.shape[..] {
        [_] => {
            let used = usize::try_from(num_seqs).unwrap_or(0).min(kv_lens.len());
            let packed = page_size.and_then(|size| packed_table(table, &kv_lens, used, size));
            match packed {
                Some((columns, values, cause)) => {
                    form.push(cause);
                    (columns, values)
                }
                None => flat_table(table, kv_lens.len(), form),
            }
        }
        [rows, columns] if rows != kv_lens.len() && columns == kv_lens.len() => {
            transposed(table, rows, columns, form)
        }
        [_, columns] => (columns, table.values.clone()),
        // Of another rank: the contract says so; rows are what the last dimension leaves.
        _ => (table.shape.last().copied().unwrap_or(1), table.values.clone()),
    };
    form.extend(types(arrays));
    let columns = columns.max(1);
    Metadata { kv_lens, page_indices, pages_per_seq: columns, cu_q_lens, num_seqs }
}

fn types(arrays: &BTreeMap<&'static str, Given>) -> Option<Cause> {
    let wrong: Vec<(&'static str, &Given)> = OPERANDS
        .iter()
        .filter(|operand| operand.is_metadata)
        .filter_map(|operand| Some((operand.name, arrays.get(operand.name)?)))
        .filter(|(_, given)| given.dtype != "int32")
        .collect();
    let (first, given) = wrong.first()?;
    let names: Vec<&str> = wrong.iter().map(|(name, _)| *name).collect();
    let is_float = given.dtype.starts_with("float") || given.dtype == "bfloat16";
    let odd = wrong.iter().find_map(|(name, given)| {
        given.odd.as_ref().map(|(at, value)| format!("{name}, entry {at}: {value} is no int32"))
    });
    let types: Vec<&str> = wrong.iter().map(|(_, given)| given.dtype.as_str()).collect();
    let same = types.iter().all(|name| *name == types[0]);
    let sentence = match (names.len(), same) {
        (1, _) => format!("{first} is {}, not int32", given.dtype),
        (_, true) => format!("{} are {}, not int32", listed(&names), given.dtype),
        (_, false) => format!("{} are {}, not int32", listed(&names), listed(&types)),
    };
    Some(Cause {
        slip: if is_float { "metadata-float" } else { "metadata-int64" },
        sentence,
        why: match (is_float, given.dtype.as_str()) {
            (true, _) => "a division or a float literal makes floats; JAX doesn't turn them back",
            (false, "int64") => {
                "int64 is NumPy's default; JAX makes int32 of it only while jax_enable_x64 is off"
            }
            (false, _) => "the kernel takes int32",
        }
        .to_owned(),
        places: Vec::new(),
        repair: Repair::default(),
        stands_in: false,
        advice: if names.len() == 1 {
            format!("{first} = {first}.astype(np.int32)")
        } else {
            "np.asarray(…, np.int32) for each of them".to_owned()
        },
        unsure: odd,
    })
}

/// `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
        [] => String::new(),
    }
}

/// A page table of one dimension that holds the used pages of all sequences, and no others, one after the other.
fn packed_table(
    table: &Given,
    kv_lens: &[i32],
    sequences: usize,
    page_size: usize,
) -> Option<(usize, Vec<i32>, Cause)> {
    let needs = |kv_len: &i32| usize::try_from(*kv_len).unwrap_or(0).div_ceil(page_size.max(1));
    let needed: Vec<usize> = kv_lens[..sequences].iter().map(needs).collect();
    let columns = needed.iter().copied().max().filter(|columns| *columns > 0)?;
    let all = needed.iter().try_fold(0usize, |sum, count| sum.checked_add(*count))?;
    let cells = columns.checked_mul(kv_lens.len())?;
    // Whole rows are the plainer reading where they are wide enough.
    let is_rows = table.values.len() == cells;
    if all != table.values.len() || is_rows || cells > MAX_UNPACKED {
        return None;
    }
    let mut values = vec![0; cells];
    let mut from = 0;
    for (row, count) in needed.iter().enumerate() {
        values[row * columns..][..*count].copy_from_slice(&table.values[from..from + count]);
        from += count;
    }
    let cause = Cause {
        slip: "packed-page-table",
        sentence:
            "page_indices has one dimension, without gaps: this kernel takes a padded row for each sequence"
                .to_owned(),
        why: format!("its {all} entries are just the pages that the kv_lens of {sequences} sequences need"),
        places: Vec::new(),
        repair: Repair { page_indices: Some((columns, values.clone())), ..Repair::default() },
        stands_in: false,
        advice: format!(
            "page_indices = np.zeros(({}, {columns}), np.int32), a row for each sequence",
            kv_lens.len()
        ),
        unsure: None,
    };
    Some((columns, values, cause))
}

/// A page table of one dimension: rows one after the other.
fn flat_table(table: &Given, rows: usize, form: &mut Vec<Cause>) -> (usize, Vec<i32>) {
    let entries = table.values.len();
    let columns = entries.checked_div(rows).unwrap_or(0);
    let even = columns > 0 && columns * rows == entries;
    form.push(Cause {
        slip: "flat-page-table",
        sentence: "page_indices has one dimension: this kernel takes a row for each sequence".to_owned(),
        why: if even {
            format!("its {entries} entries make {rows} rows, as kv_lens has, of {columns}")
        } else {
            format!("its {entries} entries make no {rows} equal rows")
        },
        places: Vec::new(),
        repair: Repair { page_indices: even.then(|| (columns, table.values.clone())), ..Repair::default() },
        stands_in: !even,
        advice: if even {
            format!("page_indices = page_indices.reshape({rows}, {columns})")
        } else {
            String::new()
        },
        unsure: (!even).then(|| format!("{entries} entries can't be cut into {rows} rows")),
    });
    if even { (columns, table.values.clone()) } else { (entries.max(1), table.values.clone()) }
}

fn transposed(table: &Given, rows: usize, columns: usize, form: &mut Vec<Cause>) -> (usize, Vec<i32>) {
    let turned: Vec<i32> = (0..columns)
        .flat_map(|column| (0..rows).map(move |row| (row, column)))
        .map(|(row, column)| table.values[row * columns + column])
        .collect();
    form.push(Cause {
        slip: "transposed-page-table",
        sentence: "page_indices looks transposed: its columns are as many as kv_lens has entries".to_owned(),
        why: format!("its shape is [{rows}, {columns}], and kv_lens has {columns} entries"),
        places: Vec::new(),
        repair: Repair { page_indices: Some((rows, turned.clone())), ..Repair::default() },
        stands_in: false,
        advice: "page_indices = page_indices.T".to_owned(),
        unsure: None,
    });
    (rows, turned)
}
