//! A variant of a user's own from a line of text: `q_heads=64,kv_heads=8,page_size=128`, or a catalogue's variant with
//! some keys replaced, `f32-q4-kv4,page_size=32`. And what to try where such a variant doesn't lower.
//!
//! Invariant: what isn't said has the default of [`defaults`], which the command line's help states; nothing that is said is
//! ignored. The name of such a variant is the line itself, keys in the order of [`KEYS`], so that it can be given again.

use std::fmt;

use countersign_dtype::DType;
use countersign_reference::Options;

use crate::catalogue::{KernelEntry, VariantText};
use crate::family::Family;
use crate::rpa::facts::{self, DEFAULT_MASK_VALUE};
use crate::variant::{Generation, Variant};

/// The keys, in the order in which a name holds them. Those of a catalogue's variant, but for its name.
pub const KEYS: [&str; 19] = [
    "tokens",
    "q_heads",
    "kv_heads",
    "head_dim",
    "page_size",
    "pages",
    "max_seqs",
    "pages_per_seq",
    "q_dtype",
    "kv_dtype",
    "pages_per_block",
    "queries_per_block",
    "generation",
    "sm_scale",
    "sliding_window",
    "soft_cap",
    "mask_value",
    "k_scale",
    "v_scale",
];

/// Keys that may be `none`.
const OPTIONAL: [&str; 7] = [
    "pages_per_block",
    "queries_per_block",
    "sliding_window",
    "soft_cap",
    "mask_value",
    "k_scale",
    "v_scale",
];

/// Why a line is no variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for CustomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for CustomError {}

fn error<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, CustomError> {
    Err(CustomError { message: message.into(), help: help.into() })
}

/// The variant that `text` stands for: a name of `kernel`'s catalogue, keys with values, or both.
///
/// # Errors
/// An unknown name or key (with the nearest known one), a key given twice, a value that doesn't fit.
pub fn variant(kernel: &KernelEntry, text: &str) -> Result<Variant, CustomError> {
    let mut parts = text.split(',').map(str::trim).peekable();
    let name = parts.next_if(|part| !part.contains('='));
    let mut base = match name {
        Some(name) => named(kernel, name)?,
        None => Variant { family: kernel.family, ..defaults() },
    };
    let pairs = pairs(parts)?;
    if pairs.is_empty() {
        return Ok(base);
    }
    let has = |key: &str| pairs.iter().any(|(given, _)| *given == key);
    if name.is_none() {
        base.kv_dtype = pair_dtype(&pairs, "q_dtype").unwrap_or(base.kv_dtype);
    }

    let unwritable = |error: &dyn fmt::Display| CustomError {
        message: format!("`{text}`: {error}"),
        help: "this is a fault of countersign: please report it".to_owned(),
    };
    let mut table = toml::Table::try_from(VariantText::from(&base)).map_err(|error| unwritable(&error))?;
    table.insert("name".to_owned(), toml::Value::String(name_of(name, &pairs)));
    for (key, value) in &pairs {
        match value {
            Some(value) => table.insert((*key).to_owned(), value.clone()),
            None => table.remove(*key),
        };
    }
    let read: VariantText = table.try_into().map_err(|error: toml::de::Error| CustomError {
        message: format!("`{text}`: {}", error.message()),
        help: "sizes are integers, sm_scale, soft_cap and scales are numbers, types and the generation are names".to_owned(),
    })?;
    let mut variant = Variant::try_from(read).map_err(|message| CustomError {
        message,
        help: "`countersign kernels show` has examples".to_owned(),
    })?;

    if !has("pages") && (name.is_none() || has("max_seqs") || has("pages_per_seq")) {
        variant.pages = variant.max_seqs.saturating_mul(variant.pages_per_seq).saturating_add(2);
    }
    if !has("pages_per_block") {
        variant.pages_per_block = variant.pages_per_block.map(|pages| pages.min(variant.pages_per_seq));
    }
    if !has("sm_scale") && has("head_dim") {
        variant.options.sm_scale = (variant.head_dim as f32).sqrt().recip();
    }
    variant.family = kernel.family;
    kernel.family.model().settle(&mut variant).map_err(|message| CustomError {
        message: format!("`{text}`: {message}"),
        help: "`countersign kernels show` has examples".to_owned(),
    })?;
    Ok(variant)
}

fn named(kernel: &KernelEntry, name: &str) -> Result<Variant, CustomError> {
    match kernel.variant(name) {
        Some(variant) => Ok(variant.clone()),
        None => {
            let names: Vec<&str> = kernel.variants.iter().map(|entry| entry.variant.name.as_str()).collect();
            let own = "or say its shapes, e.g. q_heads=64,kv_heads=8,page_size=128";
            error(
                format!("{} has no variant `{name}`", kernel.id),
                format!("known: {}; {own}", names.join(", ")),
            )
        }
    }
}

/// Where a line says nothing and names no variant. The command line's help states these.
fn defaults() -> Variant {
    Variant {
        family: Family::Rpa,
        name: String::new(),
        tokens: 64,
        q_heads: 8,
        kv_heads: 2,
        head_dim: 128,
        page_size: 16,
        pages: 18,
        max_seqs: 4,
        pages_per_seq: 4,
        q_dtype: DType::Bf16,
        kv_dtype: DType::Bf16,
        pages_per_block: Some(2),
        queries_per_block: Some(16),
        tuned: None,
        options: Options {
            sm_scale: 0.088_388_346, // the root of 1/128
            sliding_window: None,
            soft_cap: None,
            mask_value: DEFAULT_MASK_VALUE,
            k_scale: None,
            v_scale: None,
        },
        generation: Generation::V6e,
    }
}

/// A key with its value; `None` for `none`.
type Pair = (&'static str, Option<toml::Value>);

fn pairs<'t>(parts: impl Iterator<Item = &'t str>) -> Result<Vec<Pair>, CustomError> {
    let mut pairs: Vec<Pair> = Vec::new();
    for part in parts {
        let Some((key, value)) = part.split_once('=') else {
            return error(
                format!("`{part}` is no `key=value`"),
                "a catalogue's name stands first, then keys with values, separated by commas",
            );
        };
        let (key, value) = (key.trim(), value.trim());
        let Some(&known) = KEYS.iter().find(|known| **known == key) else {
            return error(format!("no key `{key}` in a variant"), suggestion(key));
        };
        if pairs.iter().any(|(other, _)| *other == known) {
            return error(format!("`{key}` is there twice"), "say it once");
        }
        let value = match value {
            "none" if OPTIONAL.contains(&known) => None,
            _ => Some(value_of(value)),
        };
        pairs.push((known, value));
    }
    pairs.sort_by_key(|(key, _)| KEYS.iter().position(|known| known == key));
    Ok(pairs)
}

/// A number as such, anything else as a name.
fn value_of(text: &str) -> toml::Value {
    if let Ok(integer) = text.parse() {
        toml::Value::Integer(integer)
    } else if let Ok(float) = text.parse() {
        toml::Value::Float(float)
    } else {
        toml::Value::String(text.to_owned())
    }
}

fn pair_dtype(pairs: &[Pair], wanted: &str) -> Option<DType> {
    let (_, value) = pairs.iter().find(|(key, _)| *key == wanted)?;
    value.as_ref()?.as_str().and_then(DType::from_name)
}

/// `base,key=value,…`.
fn name_of(base: Option<&str>, pairs: &[Pair]) -> String {
    let value = |value: &Option<toml::Value>| match value {
        None => "none".to_owned(),
        Some(toml::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let keys = pairs.iter().map(|(key, given)| format!("{key}={}", value(given)));
    let parts: Vec<String> = base.map(str::to_owned).into_iter().chain(keys).collect();
    parts.join(",")
}

/// The nearest known key, if one is near, and all of them.
fn suggestion(key: &str) -> String {
    let likeness = |known: &str| strsim::jaro_winkler(key, known);
    let nearest = KEYS.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let near = nearest.filter(|known| likeness(known) > 0.8);
    let meant = near.map(|known| format!("did you mean `{known}`? ")).unwrap_or_default();
    format!("{meant}known: {}", KEYS.join(", "))
}

/// What to try where `variant` doesn't lower, for the reasons that we know. `words` are the kernel's.
pub fn advice(variant: &Variant, words: &str) -> String {
    let v = variant;
    if !v.q_heads.is_multiple_of(v.kv_heads.max(1)) {
        return format!("q_heads must be a multiple of kv_heads = {}", v.kv_heads);
    }
    if facts::heads_per_block(v).is_none() {
        let lowers = |&kv_heads: &usize| {
            let heads = Variant { kv_heads, q_heads: kv_heads, ..v.clone() };
            facts::heads_per_block(&heads).is_some()
        };
        let known: Vec<String> = (1..=32).filter(lowers).map(|heads| heads.to_string()).collect();
        return format!(
            "with a cache of {} the kernel takes {} KV heads, no other number up to 32: K and V heads together must fill \
             whole registers",
            v.kv_dtype.name(),
            known.join(", ")
        );
    }
    if v.options.k_scale.is_some() != v.options.v_scale.is_some() && v.q_dtype != v.kv_dtype {
        return "give both k_scale and v_scale: with one of them K and V have different types, which the kernel asserts \
                against without a word"
            .to_owned();
    }
    if !v.head_dim.is_multiple_of(128) {
        return format!(
            "head_dim = {}: the kernel takes multiples of 128; pad the heads with zeros",
            v.head_dim
        );
    }
    if words.to_lowercase().contains("vmem") {
        return "fewer pages_per_block or queries_per_block take less of the TPU's fast memory".to_owned();
    }
    "another page_size, pages_per_block or queries_per_block may lower; `countersign kernels show` lists variants that do".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    fn kernel() -> KernelEntry {
        Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone()
    }

    fn wrong(text: &str) -> CustomError {
        variant(&kernel(), text).unwrap_err()
    }

    #[test]
    fn a_name_alone_is_the_catalogues_variant() {
        assert_eq!(variant(&kernel(), "f32-q4-kv4").as_ref(), Ok(kernel().variant("f32-q4-kv4").unwrap()));
    }

    #[test]
    fn keys_replace_defaults_and_what_follows_from_them() {
        let own = variant(&kernel(), "page_size=128, q_heads=64,kv_heads=8,q_dtype=f32").unwrap();
        assert_eq!((own.q_heads, own.kv_heads, own.page_size, own.pages), (64, 8, 128, 18));
        assert_eq!((own.q_dtype, own.kv_dtype), (DType::F32, DType::F32));
        assert_eq!(own.name, "q_heads=64,kv_heads=8,page_size=128,q_dtype=f32");
        assert_eq!(variant(&kernel(), &own.name), Ok(own));

        let own = variant(&kernel(), "head_dim=256,pages_per_seq=1,max_seqs=2,sliding_window=7").unwrap();
        assert_eq!((own.pages, own.pages_per_block, own.options.sliding_window), (4, Some(1), Some(7)));
        assert_eq!(own.options.sm_scale, 0.0625);
        assert_eq!(variant(&kernel(), "soft_cap=30").unwrap().options.soft_cap, Some(30.0));
    }

    #[test]
    fn keys_replace_those_of_a_named_variant() {
        let base = kernel().variant("f32-q8-kv1-cap").unwrap().clone();
        let own = variant(&kernel(), "f32-q8-kv1-cap,soft_cap=none,tokens=24").unwrap();
        let mut expected = Variant { name: own.name.clone(), tokens: 24, ..base };
        expected.options.soft_cap = None;
        assert_eq!(own, expected);
        assert_eq!(own.name, "f32-q8-kv1-cap,tokens=24,soft_cap=none");
    }

    #[test]
    fn what_is_wrong_is_named_with_a_remedy() {
        assert!(wrong("q_head=4").help.contains("did you mean `q_heads`?"), "{}", wrong("q_head=4"));
        assert!(wrong("surprise=4").help.starts_with("known: tokens"), "{}", wrong("surprise=4"));
        assert!(wrong("no-such").help.contains("f32-q4-kv4"));
        assert!(wrong("f32-q4-kv4,tokens").message.contains("no `key=value`"));
        assert!(wrong("tokens=4,tokens=5").message.contains("twice"));
        assert!(wrong("tokens=many").message.contains("many"), "{}", wrong("tokens=many"));
        assert!(wrong("tokens=none").message.contains("none"), "{}", wrong("tokens=none"));
        assert!(wrong("tokens=0").message.contains("tokens = 0"));
        assert!(wrong("q_dtype=f33").message.contains("f33"));
        assert!(wrong("generation=v3").message.contains("v4, v5e"));
    }

    #[test]
    fn advice_knows_which_heads_lower() {
        let advice = |text: &str| advice(&variant(&kernel(), text).unwrap(), "no");
        assert!(advice("q_heads=3,kv_heads=3,q_dtype=f32").contains("takes 1, 2, 4, 8"));
        assert!(advice("q_heads=4,kv_heads=1,kv_dtype=i8").contains("takes 2, 4, 8"));
        assert!(advice("q_heads=4,kv_heads=2,kv_dtype=i4").contains("takes 4, 8"));
        assert!(advice("q_heads=5").contains("multiple of kv_heads = 2"));
        assert!(advice("head_dim=64").contains("multiples of 128"));
        assert!(advice("kv_dtype=i8,k_scale=0.5").contains("both k_scale and v_scale"));
    }
}
