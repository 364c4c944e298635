//! Mutants that mean the same by a written argument.
//!
//! Invariant: an argument is asked for survivors alone, so it never stands against a finding.

use countersign_kernels::Variant;
use countersign_kernels::rpa::facts;
use serde::Deserialize;

use super::Mutant;

/// The arguments that come with the program.
const BUILTIN: &str = include_str!("equivalent.toml");

/// All arguments.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    equivalent: Vec<Argument>,
}

/// What a mutant must be for an argument to stand; what is absent may be anything.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Argument {
    /// A line of the kernel's source that the op comes from, in any frame of its stack.
    line: String,
    /// The line after it.
    next: Option<String>,
    /// A line of another frame.
    under: Option<String>,
    operators: Vec<String>,
    /// Which of the places where the operator can be applied to the op.
    place: Option<usize>,
    op: Option<String>,
    /// The number that a constant has in the kernel.
    constant: Option<String>,
    /// Dimensions of the op's result.
    rank: Option<usize>,
    #[serde(default)]
    when: Vec<Condition>,
    argument: String,
}

/// What the static side of the call makes sure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Condition {
    /// No table row reaches a second KV block.
    OneKvBlock,
    /// One grid step holds all heads.
    OneHeadBlock,
    /// A query block is one token.
    OneQuery,
    /// Scores are capped at 64 or less, so that the exponential of a difference of two is a normal number.
    SmallCap,
    /// sm_scale is so small that half the mask value still lies below any score of a kept batch: |q·k| stays below 2^127.
    SmallScale,
    /// The window is so wide that each query sees a key of the first KV block.
    FirstBlockSeen,
    /// The output is bf16.
    Bf16Output,
}

impl Condition {
    pub(super) fn holds(self, variant: &Variant) -> bool {
        let reach = facts::table_reach(variant.page_size, variant.pages_per_seq);
        let options = &variant.options;
        match self {
            Condition::OneKvBlock => facts::kv_block(variant).is_some_and(|block| reach <= block),
            Condition::OneHeadBlock => facts::grid(variant).is_some_and(|[heads, _]| heads == 1),
            Condition::OneQuery => variant.blocks().is_some_and(|blocks| blocks.queries == 1),
            Condition::SmallCap => options.soft_cap.is_some_and(|cap| cap.abs() <= 64.0),
            Condition::SmallScale => {
                let largest = f64::from(options.sm_scale).abs() * 2f64.powi(127);
                2.0 * largest + 104.0 < f64::from(options.mask_value).abs() / 2.0
            }
            Condition::FirstBlockSeen => match options.sliding_window.and_then(|w| usize::try_from(w).ok()) {
                Some(window) => facts::kv_block(variant).is_some_and(|block| reach < window + block),
                None => true,
            },
            Condition::Bf16Output => variant.q_dtype == countersign_dtype::DType::Bf16,
        }
    }
}

impl Arguments {
    /// Those that come with the program.
    ///
    /// # Errors
    /// If they can't be read: a fault of ours.
    pub(super) fn builtin() -> Result<Arguments, String> {
        toml::from_str(BUILTIN).map_err(|error| error.to_string())
    }

    /// Why a mutant means the same, if somebody has said so; `lines` are those of its stack, each with the next one of the file.
    pub(super) fn of(&self, mutant: &Mutant, variant: &Variant, lines: &[(&str, &str)]) -> Option<&str> {
        let found = self.equivalent.iter().find(|argument| argument.fits(mutant, variant, lines));
        found.map(|argument| argument.argument.as_str())
    }
}

impl Argument {
    fn fits(&self, mutant: &Mutant, variant: &Variant, lines: &[(&str, &str)]) -> bool {
        let reads = |(line, next): &(&str, &str)| {
            line.trim() == self.line && self.next.as_ref().is_none_or(|wanted| wanted == next.trim())
        };
        let under = |wanted: &String| lines.iter().any(|(line, _)| line.trim() == *wanted);
        self.operators.iter().any(|name| name == mutant.mutation.operator.name())
            && self.place.is_none_or(|place| place == mutant.mutation.place)
            && self.op.as_ref().is_none_or(|op| *op == mutant.op)
            && self.constant.as_ref().is_none_or(|constant| Some(constant) == mutant.constant.as_ref())
            && self.rank.is_none_or(|rank| Some(rank) == mutant.rank)
            && self.when.iter().all(|condition| condition.holds(variant))
            && lines.iter().any(reads)
            && self.under.as_ref().is_none_or(under)
    }
}

#[cfg(test)]
mod tests {
    use countersign_kernels::catalogue::Catalogue;
    use countersign_mosaic::mutation::{Mutation, Operator};

    use super::*;

    fn variant(name: &str) -> Variant {
        let catalogue = Catalogue::builtin().unwrap();
        catalogue.kernel("jax-rpa").unwrap().variant(name).unwrap().clone()
    }

    fn mutant(operator: Operator, op: &str, constant: Option<&str>, rank: usize) -> Mutant {
        Mutant {
            position: 0,
            variant: String::new(),
            mutation: Mutation { op: 0, operator, place: 0 },
            op: op.to_owned(),
            constant: constant.map(str::to_owned),
            rank: Some(rank),
            stack: Vec::new(),
        }
    }

    #[test]
    fn arguments_name_operators_that_there_are() {
        let known: Vec<&str> = Operator::ALL.into_iter().map(Operator::name).collect();
        for argument in &Arguments::builtin().unwrap().equivalent {
            assert!(argument.operators.iter().all(|name| known.contains(&name.as_str())), "{argument:?}");
        }
    }

    #[test]
    fn an_argument_fits_its_line_place_constant_and_variant_alone() {
        let arguments = Arguments::builtin().unwrap();
        let of = |mutant: &Mutant, variant: &Variant, lines: &[(&str, &str)]| {
            arguments.of(mutant, variant, lines).is_some()
        };
        let (plain, capped) = (variant("f32-q2-kv2-scale1"), variant("f32-q16-kv8-scales-cap"));
        let masked = [("      qk += jnp.where(causal_mask, mask_value, 0.0)", "")];
        let value =
            mutant(Operator::Double, "arith.constant", Some("-238197630000000000000000000000000000000"), 2);
        assert!(of(&value, &capped, &masked));
        // With a scale of 1 a kept batch has scores as large as half the mask value.
        assert!(!of(&value, &plain, &masked));
        let zero = mutant(Operator::Double, "arith.constant", Some("0"), 2);
        assert!(of(&zero, &plain, &masked));
        assert!(!of(&mutant(Operator::Double, "arith.constant", Some("7"), 2), &plain, &masked));
        let store = [("        pltpu.store(ref, val, mask=jnp.logical_and(iota >= start, iota < end))", "")];
        // Statistics have two dimensions; the output has three, and its rows belong to others.
        assert!(of(&mutant(Operator::AndOr, "arith.andi", None, 2), &plain, &store));
        assert!(!of(&mutant(Operator::AndOr, "arith.andi", None, 3), &plain, &store));
        assert!(!of(&mutant(Operator::NoStore, "arith.andi", None, 2), &plain, &store));
    }

    #[test]
    fn conditions_are_those_of_the_catalogues_variants() {
        let holds = |condition: Condition, name: &str| condition.holds(&variant(name));
        assert!(holds(Condition::OneKvBlock, "f32-q2-kv2-scale1"));
        assert!(!holds(Condition::OneKvBlock, "f32-q4-kv4"));
        assert!(holds(Condition::OneHeadBlock, "f32-q4-kv4"));
        assert!(!holds(Condition::OneHeadBlock, "f32-q16-kv8"));
        assert!(holds(Condition::OneQuery, "f32-q4-kv2-page1"));
        assert!(!holds(Condition::SmallScale, "f32-q2-kv2-scale1"));
        assert!(holds(Condition::FirstBlockSeen, "bf16-f8e4m3fn-q4-kv4-page1-scales-window-cap"));
    }
}
