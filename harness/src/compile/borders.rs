//! Axes of the option space: one option changed over its range, the others as they are.
//!
//! Invariant: what an axis holds doesn't depend on what compiles, so that two runs ask the same.

use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::custom;

/// An axis: what it is called, and its variants by value.
#[derive(Debug, Clone, PartialEq)]
pub struct Border {
    /// Which option.
    pub name: String,
    /// Value and variant.
    pub steps: Vec<(String, Variant)>,
}

/// The axes around `base`.
///
/// # Errors
/// A value that no variant around this base can have.
pub fn borders(kernel: &KernelEntry, base: &Variant) -> Result<Vec<Border>, String> {
    let ratio = (base.q_heads / base.kv_heads.max(1)).max(1);
    let powers = |from: u32, to: u32| (from..=to).map(|power| 1usize << power);
    let keyed = |key: &'static str, values: Vec<usize>| {
        let step = move |value: usize| (value.to_string(), format!("{key}={value}"));
        (key, values.into_iter().map(step).collect::<Vec<_>>())
    };
    let types = |key: &'static str, names: &[&str]| {
        (key, names.iter().map(|name| ((*name).to_owned(), format!("{key}={name}"))).collect::<Vec<_>>())
    };
    let heads = |kv_heads: usize| {
        (
            format!("{}/{kv_heads}", ratio * kv_heads),
            format!("q_heads={},kv_heads={kv_heads}", ratio * kv_heads),
        )
    };
    let pages = |pages: usize| {
        let columns = base.pages_per_seq.max(pages);
        (pages.to_string(), format!("pages_per_block={pages},pages_per_seq={columns}"))
    };
    let axes = [
        keyed("head_dim", vec![64, 128, 192, 256, 384, 512, 1024]),
        ("q_heads/kv_heads", powers(0, 6).map(heads).collect()),
        keyed("page_size", powers(0, 10).collect()),
        ("pages_per_block", powers(0, 8).map(pages).collect()),
        keyed("queries_per_block", powers(0, 9).collect()),
        keyed("tokens", powers(0, 15).step_by(3).collect()),
        keyed("max_seqs", powers(0, 14).step_by(2).collect()),
        keyed("pages_per_seq", powers(2, 16).step_by(2).collect()),
        types("q_dtype", &["f32", "bf16", "f16"]),
        types("kv_dtype", &["f32", "bf16", "f16", "f8e4m3fn", "f8e5m2", "i8", "i4"]),
    ];
    let border = |(name, steps): (&str, Vec<(String, String)>)| {
        let step = |(value, keys): (String, String)| {
            let variant = custom::variant(kernel, &format!("{},{keys}", base.name));
            variant.map(|variant| (value, variant)).map_err(|error| error.message)
        };
        let steps = steps.into_iter().map(step).collect::<Result<_, _>>()?;
        Ok(Border { name: name.to_owned(), steps })
    };
    axes.into_iter().map(border).collect()
}

#[cfg(test)]
mod tests {
    use countersign_kernels::catalogue::Catalogue;

    use super::*;

    #[test]
    fn every_axis_changes_its_option_alone_and_passes_its_own_base() {
        let catalogue = Catalogue::builtin().unwrap();
        let kernel = catalogue.kernel("jax-rpa").unwrap();
        let base = kernel.variant("f32-q4-kv4").unwrap();
        let borders = borders(kernel, base).unwrap();
        assert_eq!(borders.len(), 10);
        for Border { name, steps } in &borders {
            assert!(steps.len() >= 3, "{name}");
            let alike = |step: &&(String, Variant)| {
                let v = &step.1;
                let same = [
                    v.head_dim == base.head_dim,
                    v.kv_heads == base.kv_heads,
                    v.page_size == base.page_size,
                    v.queries_per_block == base.queries_per_block,
                    v.q_dtype == base.q_dtype,
                    v.kv_dtype == base.kv_dtype,
                ];
                same.iter().filter(|same| !**same).count() <= 1
            };
            assert_eq!(steps.iter().filter(alike).count(), steps.len(), "{name}");
        }
    }
}
