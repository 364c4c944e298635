//! `--only`: what is measured besides the VM.
//!
//! Invariant: the VM is always timed, since every ratio needs it or is printed beside it.

use clap::ValueEnum;

/// Something to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Nothing but the VM.
    Vm,
    /// The algorithm by hand.
    Native,
    /// Our reference, and JAX's.
    Reference,
    /// JAX's interpreter.
    Interpreter,
    /// The VM with each sanitizer off.
    Sanitizers,
    /// Cases a second, whole trials, on one thread and two.
    Throughput,
    /// Times over tokens, kv length and heads.
    Growth,
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    bits: u32,
    jax: bool,
}

impl Parts {
    /// `only`, or everything if that is empty.
    pub(super) fn new(only: &[Part], no_jax: bool) -> Parts {
        let all = Part::value_variants();
        let chosen = if only.is_empty() { all } else { only };
        let bits = chosen.iter().fold(0, |bits, &part| bits | 1 << part as u32);
        Parts { bits, jax: !no_jax }
    }

    /// Whether `part` is measured.
    pub(super) fn has(self, part: Part) -> bool {
        self.bits & 1 << part as u32 != 0
    }

    /// Whether Python is needed to run something.
    pub(super) fn asks_jax(self) -> bool {
        self.jax && (self.has(Part::Interpreter) || self.has(Part::Reference))
    }

    /// Whether cases are timed one by one.
    pub(super) fn times_cases(self) -> bool {
        [Part::Vm, Part::Native, Part::Reference, Part::Interpreter, Part::Sanitizers]
            .into_iter()
            .any(|part| self.has(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_chosen_is_everything() {
        let all = Parts::new(&[], false);
        assert!(Part::value_variants().iter().all(|&part| all.has(part)) && all.asks_jax());
        assert!(!Parts::new(&[], true).asks_jax());
        let native = Parts::new(&[Part::Native], false);
        assert!(native.has(Part::Native) && native.times_cases() && !native.asks_jax());
        assert!(!Parts::new(&[Part::Growth], false).times_cases());
    }
}
