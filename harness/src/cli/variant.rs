//! `--variant`: variants of the catalogue by name, and shapes of one's own.
//!
//! Invariant: what can't be run is refused here as far as that can be known without Python.

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{KernelEntry, Tier};
use countersign_kernels::custom::{self, advice};
use countersign_kernels::export::Refusal;

use super::console::Failure;
use crate::case::check_size;

/// `--variant`, of every command that chooses variants.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct VariantArgument {
    /// Only this variant: a name of the catalogue, or shapes of your own as `key=value,…`, or a name with keys that replace
    /// its own. May be repeated; --help says the defaults.
    ///
    /// Keys: tokens, q_heads, kv_heads, head_dim, page_size, pages, max_seqs, pages_per_seq, q_dtype, kv_dtype, pages_per_block,
    /// queries_per_block, generation, sm_scale, sliding_window, soft_cap, mask_value, k_scale, v_scale.
    ///
    /// Defaults without a name: tokens=64, q_heads=8, kv_heads=2, head_dim=128, page_size=16, max_seqs=4, pages_per_seq=4,
    /// q_dtype=bf16, kv_dtype as q_dtype, pages_per_block=2, queries_per_block=16, generation=v6e, no window, cap or scales. In
    /// any case, unless given: pages are two more than all rows of the page table can use, pages_per_block is at most
    /// pages_per_seq, and a head_dim brings its sm_scale, the root of 1/head_dim.
    #[arg(long, value_name = "NAME|KEY=VALUE,…")]
    variant: Vec<String>,
}

impl VariantArgument {
    pub(super) fn is_empty(&self) -> bool {
        self.variant.is_empty()
    }

    /// The variants that are asked for, or all of the tier.
    pub(super) fn variants(&self, kernel: &KernelEntry, tier: Tier) -> Result<Vec<Variant>, Failure> {
        if self.variant.is_empty() {
            return Ok(kernel.variants(tier).cloned().collect());
        }
        let mut chosen: Vec<Variant> = Vec::new();
        for text in &self.variant {
            let variant =
                custom::variant(kernel, text).map_err(|error| Failure::new(error.message, error.help))?;
            check_size(&variant).map_err(|error| {
                Failure::new(
                    error.message,
                    "pages, page_size, kv_heads and head_dim multiply; so do tokens and q_heads",
                )
            })?;
            if chosen.iter().all(|other| other.name != variant.name) {
                chosen.push(variant);
            }
        }
        Ok(chosen)
    }
}

/// A refusal in the kernel's own words, and what to try.
pub(super) fn does_not_lower(variant: &Variant, refusal: &Refusal) -> String {
    format!("{} does not lower: {refusal}\n  {}", variant.name, advice(variant, &refusal.message))
}
