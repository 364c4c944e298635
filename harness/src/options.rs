//! The options by which variants differ, as axes with named values: what a report counts cases by.
//!
//! Invariant: a function of the variants alone. Every variant has exactly one value on each axis; an axis lists the values
//! that the kernel's family knows, whether or not a variant has them, so that what is missing shows.

use std::collections::BTreeMap;

use countersign_kernels::Variant;
use countersign_kernels::rpa::facts;
use countersign_reports::OptionAxis;

/// An axis: its name, its values in order, and a variant's value.
struct Axis {
    name: &'static str,
    values: &'static [&'static str],
    of: fn(&Variant) -> &'static str,
}

const AXES: [Axis; 10] = [
    Axis { name: "q dtype", values: &["f32", "bf16"], of: |v| v.q_dtype.name() },
    Axis {
        name: "kv dtype",
        values: &["f32", "bf16", "f8e4m3fn", "f8e5m2", "i8", "i4"],
        of: |v| v.kv_dtype.name(),
    },
    Axis { name: "window", values: &["none", "set"], of: |v| set(v.options.sliding_window.is_some()) },
    Axis { name: "soft cap", values: &["none", "set"], of: |v| set(v.options.soft_cap.is_some()) },
    Axis { name: "kv scales", values: &["none", "one", "equal", "unequal"], of: scales },
    Axis { name: "head blocks", values: &["1", "more"], of: head_blocks },
    Axis {
        name: "q heads per kv head",
        values: &["1", "2 or more"],
        of: |v| if v.q_heads <= v.kv_heads { "1" } else { "2 or more" },
    },
    Axis {
        name: "page size",
        values: &["1", "2 to 15", "16 or more"],
        of: |v| match v.page_size {
            0 | 1 => "1",
            2..=15 => "2 to 15",
            _ => "16 or more",
        },
    },
    Axis {
        name: "blocks",
        values: &["given", "default"],
        of: |v| match (v.pages_per_block, v.queries_per_block) {
            (Some(_), Some(_)) => "given",
            _ => "default",
        },
    },
    Axis { name: "generation", values: &["v4", "v5e", "v5p", "v6e", "v7x"], of: |v| v.generation.name() },
];

const fn set(is_set: bool) -> &'static str {
    if is_set { "set" } else { "none" }
}

fn scales(variant: &Variant) -> &'static str {
    match (variant.options.k_scale, variant.options.v_scale) {
        (None, None) => "none",
        (Some(k), Some(v)) if k == v => "equal",
        (Some(_), Some(_)) => "unequal",
        (Some(_), None) | (None, Some(_)) => "one",
    }
}

fn head_blocks(variant: &Variant) -> &'static str {
    match facts::heads_per_block(variant) {
        Some((q_heads, _)) if q_heads < variant.q_heads => "more",
        Some(_) | None => "1",
    }
}

/// The axes, each with its values: the known ones, then others that a variant has.
pub fn axes(variants: &[Variant]) -> Vec<OptionAxis> {
    AXES.iter()
        .map(|axis| {
            let mut values: Vec<String> = axis.values.iter().map(|&value| value.to_owned()).collect();
            for value in variants.iter().map(axis.of) {
                if !values.iter().any(|known| known == value) {
                    values.push(value.to_owned());
                }
            }
            OptionAxis { name: axis.name.to_owned(), values }
        })
        .collect()
}

/// A variant's value on each axis.
pub fn of(variant: &Variant) -> BTreeMap<String, String> {
    AXES.iter().map(|axis| (axis.name.to_owned(), (axis.of)(variant).to_owned())).collect()
}

/// Cases per pair of values of two axes, the earlier axis first; `cases` is per variant, by name.
pub fn pairs(variants: &[Variant], cases: &BTreeMap<String, u64>) -> BTreeMap<String, BTreeMap<String, u64>> {
    let axes = axes(variants);
    let named = |axis: &str, value: &str| format!("{axis}: {value}");
    let mut pairs: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for (position, first) in axes.iter().enumerate() {
        for value in &first.values {
            let row = pairs.entry(named(&first.name, value)).or_default();
            for second in &axes[position + 1..] {
                row.extend(second.values.iter().map(|value| (named(&second.name, value), 0)));
            }
        }
    }
    for variant in variants {
        let count = cases.get(&variant.name).copied().unwrap_or(0);
        for (position, first) in AXES.iter().enumerate() {
            let Some(row) = pairs.get_mut(&named(first.name, (first.of)(variant))) else { continue };
            for second in &AXES[position + 1..] {
                *row.entry(named(second.name, (second.of)(variant))).or_default() += count;
            }
        }
    }
    pairs.retain(|_, row| !row.is_empty());
    pairs
}

/// Element types of q and cache, as r is counted by them.
pub fn dtypes(variant: &Variant) -> String {
    format!("{}, {}", variant.q_dtype.name(), variant.kv_dtype.name())
}

#[cfg(test)]
mod tests {
    use countersign_dtype::DType;
    use countersign_kernels::catalogue::{Catalogue, Tier};
    use countersign_kernels::variant::Generation;

    use super::*;

    fn variants() -> Vec<Variant> {
        let kernel = Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone();
        kernel.variants(Tier::Small).cloned().collect()
    }

    #[test]
    fn lists_of_values_are_complete() {
        let axes = axes(&[]);
        let values = |name: &str| axes.iter().find(|axis| axis.name == name).unwrap().values.clone();
        assert_eq!(values("generation"), Generation::ALL.map(|generation| generation.name().to_owned()));
        for dtype in values("kv dtype") {
            assert!(DType::from_name(&dtype).is_some(), "{dtype}");
        }
    }

    #[test]
    fn a_value_that_nobody_foresaw_is_listed_too() {
        let mut variant = variants()[0].clone();
        variant.q_dtype = DType::F16;
        let axes = axes(std::slice::from_ref(&variant));
        assert!(axes[0].values.contains(&"f16".to_owned()));
        assert_eq!(of(&variant)["q dtype"], "f16");
    }

    #[test]
    fn scales_are_told_apart() {
        let mut variant = variants()[0].clone();
        for (k, v, expected) in [
            (None, None, "none"),
            (Some(0.5), None, "one"),
            (Some(0.5), Some(0.5), "equal"),
            (Some(0.5), Some(0.25), "unequal"),
        ] {
            (variant.options.k_scale, variant.options.v_scale) = (k, v);
            assert_eq!(of(&variant)["kv scales"], expected);
        }
    }

    #[test]
    fn a_pair_counts_the_cases_of_the_variants_that_have_both() {
        let variants = variants();
        let cases: BTreeMap<String, u64> =
            variants.iter().enumerate().map(|(i, v)| (v.name.clone(), 1 << i)).collect();
        let pairs = pairs(&variants, &cases);
        let expected: u64 = variants
            .iter()
            .filter(|v| v.q_dtype == DType::Bf16 && v.options.sliding_window.is_some())
            .map(|v| cases[&v.name])
            .sum();
        assert!(expected > 0);
        assert_eq!(pairs["q dtype: bf16"]["window: set"], expected);
        // Each case is in one pair for each two axes.
        let axes = AXES.len() as u64;
        let sum: u64 = pairs.values().flat_map(BTreeMap::values).sum();
        assert_eq!(sum, ((1 << variants.len()) - 1) * axes * (axes - 1) / 2);
        // What no variant has stands there with 0.
        let one = super::pairs(&variants[..1], &cases);
        assert_eq!(variants[0].q_dtype, DType::F32);
        assert_eq!(one["q dtype: bf16"]["window: set"], 0);
        assert_eq!(one["q dtype: f32"]["window: none"], 1);
    }
}
