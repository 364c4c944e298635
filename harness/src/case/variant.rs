//! A variant written out in a case: the keys of `[case.variant]` are the fields of [`Variant`] and its options; its family is `rpa`
//! where it isn't said.
//!
//! Invariant: every field of a variant can be written, and reads back as it was.

use countersign_kernels::family::Family;
use countersign_kernels::{Generation, Variant};
use countersign_reference::Options;

use super::CaseError;
use super::reader::{Field, Table};
use super::text::{float, quote, read_dtype};

/// The entry point's own default: -0.7 times the largest f32.
const DEFAULT_MASK_VALUE: f32 = (-0.7 * f32::MAX as f64) as f32;

pub(crate) fn write_variant(out: &mut String, variant: &Variant) {
    let Variant { name, q_dtype, kv_dtype, options, generation, .. } = variant;
    let v = variant;
    *out += &format!("name = {}\n", quote(name));
    if variant.family != Family::Rpa {
        *out += &format!("family = \"{}\"\n", variant.family.name());
    }
    let sizes = [
        ("tokens", Some(v.tokens)),
        ("q_heads", Some(v.q_heads)),
        ("kv_heads", Some(v.kv_heads)),
        ("head_dim", Some(v.head_dim)),
        ("page_size", Some(v.page_size)),
        ("pages", Some(v.pages)),
        ("max_seqs", Some(v.max_seqs)),
        ("pages_per_seq", Some(v.pages_per_seq)),
        ("pages_per_block", v.pages_per_block),
        ("queries_per_block", v.queries_per_block),
    ];
    for (key, size) in sizes {
        if let Some(size) = size {
            *out += &format!("{key} = {size}\n");
        }
    }
    *out += &format!("q_dtype = \"{}\"\nkv_dtype = \"{}\"\n", q_dtype.name(), kv_dtype.name());
    *out += &format!("sm_scale = {}\n", float(options.sm_scale));
    if let Some(window) = options.sliding_window {
        *out += &format!("sliding_window = {window}\n");
    }
    let floats = [("soft_cap", options.soft_cap), ("k_scale", options.k_scale), ("v_scale", options.v_scale)];
    for (key, value) in floats {
        if let Some(value) = value {
            *out += &format!("{key} = {}\n", float(value));
        }
    }
    if options.mask_value.to_bits() != DEFAULT_MASK_VALUE.to_bits() {
        *out += &format!("mask_value = {}\n", float(options.mask_value));
    }
    *out += &format!("generation = \"{}\"\n", generation.name());
}

pub(crate) fn read_variant(mut table: Table<'_>) -> Result<Variant, CaseError> {
    let name = table.get("name").map(|field| field.string()).transpose()?;
    let family = table.get("family").map(|field| read_family(&field)).transpose()?.unwrap_or(Family::Rpa);
    let tokens = size(&mut table, "tokens", "rows of q")?;
    let q_heads = size(&mut table, "q_heads", "query heads")?;
    let kv_heads = size(&mut table, "kv_heads", "KV heads")?;
    let head_dim = size(&mut table, "head_dim", "the head dimension")?;
    let page_size = size(&mut table, "page_size", "tokens per page")?;
    let pages = size(&mut table, "pages", "physical pages in the cache")?;
    let max_seqs = size(&mut table, "max_seqs", "rows of the page table")?;
    let pages_per_seq = size(&mut table, "pages_per_seq", "columns of the page table")?;
    let pages_per_block = table.get("pages_per_block").map(|field| field.integer()).transpose()?;
    let queries_per_block = table.get("queries_per_block").map(|field| field.integer()).transpose()?;
    let q_dtype = read_dtype(&table.require("q_dtype", "q's element type, e.g. \"f32\"")?)?;
    let kv_dtype = read_dtype(&table.require("kv_dtype", "the cache's element type, e.g. \"bf16\"")?)?;
    let sliding_window = table.get("sliding_window").map(|field| field.integer()).transpose()?;
    let mut option = |key| table.get(key).map(|field| field.float().map(|value| value as f32)).transpose();
    let options = Options {
        sm_scale: option("sm_scale")?.unwrap_or(1.0),
        sliding_window,
        soft_cap: option("soft_cap")?,
        mask_value: option("mask_value")?.unwrap_or(DEFAULT_MASK_VALUE),
        k_scale: option("k_scale")?,
        v_scale: option("v_scale")?,
    };
    let generation = read_generation(&table.require("generation", "a TPU generation, e.g. \"v6e\"")?)?;
    table.finish()?;
    Ok(Variant {
        family,
        name: name.unwrap_or_else(|| "inline".to_owned()),
        tokens,
        q_heads,
        kv_heads,
        head_dim,
        page_size,
        pages,
        max_seqs,
        pages_per_seq,
        q_dtype,
        kv_dtype,
        pages_per_block,
        queries_per_block,
        tuned: None,
        options,
        generation,
    })
}

fn size(table: &mut Table<'_>, key: &'static str, what: &str) -> Result<usize, CaseError> {
    table.require(key, what)?.integer()
}

fn read_family(field: &Field<'_>) -> Result<Family, CaseError> {
    let name = field.string()?;
    Family::from_name(&name).ok_or_else(|| {
        let names = Family::ALL.map(Family::name);
        field.error(format!("unknown family `{name}`; use {}", names.join(", ")))
    })
}

fn read_generation(field: &Field<'_>) -> Result<Generation, CaseError> {
    let name = field.string()?;
    Generation::from_name(&name).ok_or_else(|| {
        let names = Generation::ALL.map(Generation::name);
        field.error(format!("unknown TPU generation `{name}`; use {}", names.join(", ")))
    })
}
