//! What the kernel does with a batch that breaks a rule, as campaigns have measured it: the explained gaps of `known.toml`.
//!
//! Invariant: nothing here is run; an effect is told only where an entry's condition holds on the batch.

use crate::known::{Facts, KnownFile};
use crate::signature::{Effect, Kind, Locus};

/// The effects of breaking `rule` of `kernel`, in words; nothing where none was ever seen on such a batch. Without `facts` every
/// entry of the rule counts.
pub fn known_effect(known: &KnownFile, kernel: &str, rule: &str, facts: Option<&Facts>) -> Option<String> {
    let mut words: Vec<&'static str> = Vec::new();
    for entry in &known.entries {
        let signature = &entry.signature;
        let is_of_rule = signature.kernel == kernel && signature.locus == Locus::Rule(rule.to_owned());
        let says_effect = signature.kind != Kind::MisleadingMessage && signature.kind != Kind::RefusesValid;
        if is_of_rule && says_effect && facts.is_none_or(|facts| entry.when.holds(facts)) {
            let word = in_words(signature.effect);
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    (!words.is_empty()).then(|| words.join("; or "))
}

fn in_words(effect: Effect) -> &'static str {
    use countersign_mosaic::FaultClass;
    match effect {
        Effect::WrongRows => "wrong rows, silently",
        Effect::OthersRows => "wrong rows of other sequences, silently",
        Effect::UndefinedOutput => "rows from undefined memory, silently",
        Effect::OtherBits => "another answer when its copies land at other times",
        Effect::Hang => "it doesn't end",
        Effect::Refusal => "it is refused",
        Effect::LoweringCrash => "lowering fails with a message that names no rule",
        Effect::Lowers => "it lowers, as if it were right",
        Effect::Message => "a message about something else",
        Effect::Fault(FaultClass::OutOfBounds) => {
            "a copy from outside an array: another's data, or a halted core"
        }
        Effect::Fault(FaultClass::Residue) => {
            "it ends with copies in flight that nobody waits for, which the next call meets"
        }
        Effect::Fault(FaultClass::UndefinedUse) => "undefined memory decides an address or a branch",
        Effect::Fault(class) => class.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_those_of_the_known_gaps() {
        let known = KnownFile::builtin().unwrap();
        let effect = known_effect(&known, "jax-rpa", "page-index-in-range", None).unwrap();
        assert!(effect.contains("outside an array"), "{effect}");
        assert_eq!(known_effect(&known, "jax-rpa", "head-dim-equal", None), None);
        assert_eq!(known_effect(&known, "another", "page-index-in-range", None), None);
    }
}
