//! Generates cases: boundary classes, slips and payload patterns, mixed so that each is met early.
//!
//! Invariant: a case is a function of its arguments alone. A kept batch is built so, never found by rejection. What a
//! generator intends is in [`Tags`]; what a batch really keeps is the contract's word.

mod boundary;
mod dice;
mod plan;
mod slip;

pub use boundary::{BoundaryClass, Edge, Form, Length, Unit};
pub use slip::Slip;

use countersign_kernels::Variant;
use countersign_kernels::contract::Keeping;
use countersign_reference::Metadata;

use crate::case::{Case, Patch, Payload, VariantRef};
use crate::payload::Pattern;
use dice::Dice;
use plan::Wish;

/// A case with what it was made for.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The case.
    pub case: Case,
    /// What it shows.
    pub tags: Tags,
}

/// What a generated case shows, to be counted per campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Tags {
    /// Name of the variant.
    pub variant: String,
    /// Pattern of the payload.
    pub pattern: Pattern,
    /// Boundary classes, as observed on the metadata.
    pub classes: Vec<BoundaryClass>,
    /// The slip, if one was made.
    pub slip: Option<Slip>,
    /// How the batch was meant to stand to the contract.
    pub intention: Keeping,
}

/// Case `index` of the campaign with this seed: about 60 % kept, 15 % disputed, 25 % broken, or `only` one of them.
///
/// # Panics
/// If `variants` is empty.
pub fn generate(
    seed: u64,
    index: u64,
    kernel: &str,
    variants: &[Variant],
    only: Option<Keeping>,
) -> Generated {
    generate_from(&dice::campaign_bytes(seed, index), kernel, variants, only)
}

/// A case from any bytes, e.g. a fuzzer's; short inputs give simple cases.
///
/// # Panics
/// If `variants` is empty.
pub fn generate_from(bytes: &[u8], kernel: &str, variants: &[Variant], only: Option<Keeping>) -> Generated {
    assert!(!variants.is_empty(), "a kernel without variants has no cases");
    let dice = &mut Dice::new(bytes);
    let drawn = match dice.range(0, 19) {
        0..=11 => Keeping::Kept,
        12..=14 => Keeping::Disputed,
        _ => Keeping::Broken,
    };
    let intention = only.unwrap_or(drawn);
    let overflow = intention == Keeping::Disputed && dice.chance(1, 5);
    let slips: Vec<Slip> = Slip::ALL.into_iter().filter(|slip| slip.keeping() == intention).collect();
    let slip = (!overflow && (intention != Keeping::Kept || dice.chance(1, 7))).then(|| dice.pick(&slips));

    let draft = match slip {
        Some(slip) => choose(variants, dice, |variant| slip.realisable(variant)).map(|variant| {
            let (metadata, patches) = slip.commit(variant, dice);
            Draft { variant, metadata, patches, slip: Some(slip) }
        }),
        None if overflow => choose(variants, dice, |variant| Pattern::Overflow.suits(variant))
            .map(|variant| Draft::of(variant, &Wish::any(variant), dice)),
        None => None,
    };
    // No slip, or no variant with room for it.
    let fallback = draft.is_none();
    let draft = draft.unwrap_or_else(|| boundary_batch(variants, dice));
    let intention = if fallback { Keeping::Kept } else { intention };
    let pattern = if overflow && !fallback { Pattern::Overflow } else { dice.pick(&ORDINARY) };

    let Draft { variant, metadata, patches, slip } = draft;
    let tags = Tags {
        variant: variant.name.clone(),
        pattern,
        classes: BoundaryClass::observe(variant, &metadata),
        slip,
        intention,
    };
    let payload = Payload { pattern: pattern.name().to_owned(), seed: dice.seed(), patches, file: None };
    let variant = VariantRef::Named(variant.name.clone());
    let case = Case { kernel: kernel.to_owned(), variant, metadata, payload, checksum: None, statics: None };
    Generated { case, tags }
}

/// Patterns that keep the contract; `normal` twice.
const ORDINARY: [Pattern; 13] = {
    let mut patterns = Pattern::ALL;
    let mut at = 0;
    while at < patterns.len() {
        if matches!(patterns[at], Pattern::Overflow) {
            patterns[at] = Pattern::Normal;
        }
        at += 1;
    }
    patterns
};

struct Draft<'a> {
    variant: &'a Variant,
    metadata: Metadata,
    patches: Vec<Patch>,
    slip: Option<Slip>,
}

impl<'a> Draft<'a> {
    fn of(variant: &'a Variant, wish: &Wish, dice: &mut Dice<'_>) -> Draft<'a> {
        let lens = plan::lengths(variant, wish, dice);
        let metadata = plan::layout(variant, &lens, wish, dice);
        Draft { variant, metadata, patches: Vec::new(), slip: None }
    }
}

/// A kept batch, aimed at a boundary class: half of the time the class chooses the variant, else the variant the class.
fn boundary_batch<'a>(variants: &'a [Variant], dice: &mut Dice<'_>) -> Draft<'a> {
    let aim = |class: BoundaryClass, variant: &Variant| !class.is_disputed() && class.realisable(variant);
    let (variant, class) = if dice.chance(1, 2) {
        let class = dice.pick(&BoundaryClass::ALL);
        (choose(variants, dice, |variant| aim(class, variant)), Some(class))
    } else {
        let variant = &variants[dice.range(0, variants.len() - 1)];
        let classes: Vec<BoundaryClass> =
            BoundaryClass::ALL.into_iter().filter(|&class| aim(class, variant)).collect();
        (Some(variant), (!classes.is_empty()).then(|| dice.pick(&classes)))
    };
    match (variant, class) {
        (Some(variant), Some(class)) => {
            let wish = Wish::of(class, variant, dice);
            Draft::of(variant, &wish, dice)
        }
        (variant, _) => {
            let variant = variant.unwrap_or_else(|| &variants[dice.range(0, variants.len() - 1)]);
            Draft::of(variant, &Wish::any(variant), dice)
        }
    }
}

/// One of the variants that `suits`, if there is one.
fn choose<'a>(
    variants: &'a [Variant],
    dice: &mut Dice<'_>,
    suits: impl Fn(&Variant) -> bool,
) -> Option<&'a Variant> {
    let suitable: Vec<&Variant> = variants.iter().filter(|variant| suits(variant)).collect();
    (!suitable.is_empty()).then(|| dice.pick(&suitable))
}
