//! The signature by which two findings are the same: kind, kernel, locus, effect, options; one line of text.
//!
//! Invariant: a function of the finding alone, never of the batch that triggered it, so that minimising a case or meeting
//! it again leaves it as it is. [`Signature::parse`] inverts [`std::fmt::Display`].

use std::fmt;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::kernel_name;
use countersign_mosaic::FaultClass;

/// What kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A kept batch whose output leaves its bound.
    Divergence,
    /// A kept batch on which the kernel faults or doesn't end.
    Fault,
    /// The validator refuses a batch that keeps every rule and that the kernel gets right.
    RefusesValid,
    /// A batch that breaks a disputed rule only, which the kernel gets wrong.
    MishandlesDisputed,
    /// A broken batch that every check accepts and the kernel gets wrong.
    AcceptsInvalid,
    /// A broken batch that only the dynamic check refuses, which production never calls, and the kernel gets wrong.
    RefusedUnseen,
    /// A refusal whose message is about something else.
    MisleadingMessage,
    /// A check that fails without a message that a user could act on.
    ValidatorCrash,
    /// A kept batch on which the kernel does something else when its copies land in another order.
    DmaOrder,
    /// A call that the static check accepts and that fails to lower, by accident.
    DoesNotLower,
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::Divergence,
        Kind::Fault,
        Kind::RefusesValid,
        Kind::MishandlesDisputed,
        Kind::AcceptsInvalid,
        Kind::RefusedUnseen,
        Kind::MisleadingMessage,
        Kind::ValidatorCrash,
        Kind::DmaOrder,
        Kind::DoesNotLower,
    ];

    /// The first field of a signature's text.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Divergence => "divergence",
            Kind::Fault => "fault",
            Kind::RefusesValid => "gap:refuses-valid",
            Kind::MishandlesDisputed => "gap:mishandles-disputed",
            Kind::AcceptsInvalid => "gap:accepts-invalid",
            Kind::RefusedUnseen => "gap:refused-unseen",
            Kind::MisleadingMessage => "gap:misleading-message",
            Kind::ValidatorCrash => "gap:validator-crash",
            Kind::DmaOrder => "dma-order",
            Kind::DoesNotLower => "gap:does-not-lower",
        }
    }

    /// One sentence for a person.
    pub const fn title(self) -> &'static str {
        match self {
            Kind::Divergence => "the kernel's answer to a correct batch leaves its error bound",
            Kind::Fault => "the kernel faults on a correct batch",
            Kind::RefusesValid => "the validator refuses a correct batch",
            Kind::MishandlesDisputed => "the kernel mishandles an input whose legality is disputed",
            Kind::AcceptsInvalid => "every check accepts an invalid batch, and the kernel goes wrong",
            Kind::RefusedUnseen => {
                "an invalid batch is refused only where production never looks, and the kernel goes wrong"
            }
            Kind::MisleadingMessage => {
                "the validator refuses an invalid batch with a message about something else"
            }
            Kind::ValidatorCrash => "the validator crashes without a message that a user could act on",
            Kind::DmaOrder => "what the kernel does with a correct batch depends on when its copies land",
            Kind::DoesNotLower => "the static check accepts a call that then fails to lower",
        }
    }
}

/// Where a finding sits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Locus {
    /// Nothing narrower than the kernel.
    Kernel,
    /// The one rule that the batch breaks.
    Rule(String),
    /// A check of the validator, by its id.
    Check(String),
    /// A line of the kernel's source and the IR op there.
    Source {
        /// File name without folders.
        file: String,
        /// Line, from 1.
        line: u32,
        /// Name of the IR op.
        op: String,
    },
}

/// What it does to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Rows leave their bound, silently.
    WrongRows,
    /// The same, where only rows of sequences that break no rule of their own are touched by another's breach.
    OthersRows,
    /// Owned output elements come from undefined memory.
    UndefinedOutput,
    /// The output has other bits.
    OtherBits,
    /// The VM saw a fault.
    Fault(FaultClass),
    /// Out of fuel.
    Hang,
    /// The call is refused, although it is right.
    Refusal,
    /// The user reads something untrue or nothing useful.
    Message,
    /// An exception from below while the call is lowered.
    LoweringCrash,
    /// It lowers, as if it were right.
    Lowers,
}

impl Effect {
    /// The fourth field of a signature's text.
    pub const fn name(self) -> &'static str {
        match self {
            Effect::WrongRows => "wrong-rows",
            Effect::OthersRows => "others-rows",
            Effect::UndefinedOutput => "undefined-output",
            Effect::OtherBits => "other-bits",
            Effect::Fault(class) => class.name(),
            Effect::Hang => "hang",
            Effect::Refusal => "refusal",
            Effect::Message => "message",
            Effect::LoweringCrash => "lowering-crash",
            Effect::Lowers => "lowers",
        }
    }

    fn from_name(name: &str) -> Option<Effect> {
        let plain = [
            Effect::WrongRows,
            Effect::OthersRows,
            Effect::UndefinedOutput,
            Effect::OtherBits,
            Effect::Hang,
            Effect::Refusal,
            Effect::Message,
            Effect::LoweringCrash,
            Effect::Lowers,
        ];
        plain
            .into_iter()
            .chain(FaultClass::ALL.into_iter().map(Effect::Fault))
            .find(|effect| effect.name() == name)
    }
}

/// The names of the options that a variant sets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OptionNames {
    /// These, in the fixed order window, cap, k_scale, v_scale; none at all is `-`.
    Set(Vec<String>),
    /// `*`: any. Only in a known file.
    Any,
}

const OPTION_NAMES: [&str; 4] = ["window", "cap", "k_scale", "v_scale"];

impl OptionNames {
    /// The options that `variant` sets.
    pub fn of(variant: &Variant) -> OptionNames {
        let options = &variant.options;
        let set = [
            options.sliding_window.is_some(),
            options.soft_cap.is_some(),
            options.k_scale.is_some(),
            options.v_scale.is_some(),
        ];
        OptionNames::Set(
            OPTION_NAMES
                .iter()
                .zip(set)
                .filter(|(_, set)| *set)
                .map(|(name, _)| (*name).to_owned())
                .collect(),
        )
    }
}

/// A finding's signature.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signature {
    /// What kind of finding.
    pub kind: Kind,
    /// The kernel's catalogue id.
    pub kernel: String,
    /// Where it sits.
    pub locus: Locus,
    /// What it does.
    pub effect: Effect,
    /// Options of the variant.
    pub options: OptionNames,
}

impl Signature {
    /// Reads the text form.
    ///
    /// # Errors
    /// A sentence naming the field that is wrong.
    pub fn parse(text: &str) -> Result<Signature, String> {
        let fields: Vec<&str> = text.split('|').map(str::trim).collect();
        let [kind, kernel, locus, effect, options] = fields.as_slice() else {
            return Err(format!(
                "a signature has five fields, kind|kernel|locus|effect|options, and `{text}` has {}",
                fields.len()
            ));
        };
        let kind = Kind::ALL
            .into_iter()
            .find(|candidate| candidate.name() == *kind)
            .ok_or_else(|| format!("`{kind}` is no kind of finding"))?;
        if kernel.is_empty() {
            return Err("the kernel's id is empty".to_owned());
        }
        let effect = Effect::from_name(effect).ok_or_else(|| format!("`{effect}` is no effect"))?;
        Ok(Signature {
            kind,
            kernel: (*kernel).to_owned(),
            locus: parse_locus(locus)?,
            effect,
            options: parse_options(options)?,
        })
    }

    /// Whether `self`, which may have `*` for its options, covers `other`.
    pub fn covers(&self, other: &Signature) -> bool {
        let Signature { kind, kernel, locus, effect, options } = self;
        // What is known of a kernel holds for its other releases, unless an entry names one.
        let same_kernel = *kernel == other.kernel || kernel == kernel_name(&other.kernel);
        let same_options = match options {
            OptionNames::Any => true,
            OptionNames::Set(_) => *options == other.options,
        };
        (kind, locus, effect) == (&other.kind, &other.locus, &other.effect) && same_kernel && same_options
    }

    /// A file name for this signature: letters, digits, dots and dashes only.
    pub fn slug(&self) -> String {
        let text = self.to_string().replace("|-", "");
        let mut slug = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                c if c.is_ascii_alphanumeric() || c == '.' => slug.push(c),
                _ if slug.ends_with('-') => {}
                _ => slug.push('-'),
            }
        }
        slug.trim_matches('-').to_owned()
    }
}

fn parse_locus(text: &str) -> Result<Locus, String> {
    let wrong = || format!("`{text}` is no locus: it is `-`, a rule, `check:ID`, or `FILE:LINE,OP`");
    if text == "-" {
        return Ok(Locus::Kernel);
    }
    if let Some(check) = text.strip_prefix("check:") {
        return Ok(Locus::Check(check.to_owned()));
    }
    if let Some((place, op)) = text.split_once(',') {
        let (file, line) = place.rsplit_once(':').ok_or_else(wrong)?;
        let line = line.parse().map_err(|_| wrong())?;
        return Ok(Locus::Source { file: file.to_owned(), line, op: op.to_owned() });
    }
    let is_rule =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if is_rule { Ok(Locus::Rule(text.to_owned())) } else { Err(wrong()) }
}

fn parse_options(text: &str) -> Result<OptionNames, String> {
    match text {
        "*" => return Ok(OptionNames::Any),
        "-" => return Ok(OptionNames::Set(Vec::new())),
        _ => {}
    }
    let mut order = OPTION_NAMES.iter();
    for name in text.split('+') {
        if !order.by_ref().any(|known| *known == name) {
            return Err(format!(
                "`{text}`: options are joined by + in the order {}",
                OPTION_NAMES.join(", ")
            ));
        }
    }
    Ok(OptionNames::Set(text.split('+').map(str::to_owned).collect()))
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}|{}|{}|{}|{}",
            self.kind.name(),
            self.kernel,
            self.locus,
            self.effect.name(),
            self.options
        )
    }
}

impl fmt::Display for Locus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Locus::Kernel => write!(f, "-"),
            Locus::Rule(rule) => write!(f, "{rule}"),
            Locus::Check(check) => write!(f, "check:{check}"),
            Locus::Source { file, line, op } => write!(f, "{file}:{line},{op}"),
        }
    }
}

impl fmt::Display for OptionNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionNames::Any => write!(f, "*"),
            OptionNames::Set(names) if names.is_empty() => write!(f, "-"),
            OptionNames::Set(names) => write!(f, "{}", names.join("+")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_signature() -> impl Strategy<Value = Signature> {
        let effects =
            [Effect::WrongRows, Effect::OthersRows, Effect::UndefinedOutput, Effect::Hang, Effect::Refusal]
                .into_iter()
                .chain(FaultClass::ALL.into_iter().map(Effect::Fault))
                .collect::<Vec<_>>();
        let locus = prop_oneof![
            Just(Locus::Kernel),
            "[a-z][a-z0-9-]{0,20}".prop_map(Locus::Rule),
            "[a-z][a-z-]{0,20}".prop_map(Locus::Check),
            ("[a-z_]{1,9}\\.py", any::<u32>(), "[a-z]{1,5}\\.[a-z_0-9]{1,9}")
                .prop_map(|(file, line, op)| Locus::Source { file, line, op }),
        ];
        let options = prop_oneof![
            Just(OptionNames::Any),
            proptest::sample::subsequence(OPTION_NAMES.to_vec(), 0..=4)
                .prop_map(|names| OptionNames::Set(names.into_iter().map(str::to_owned).collect())),
        ];
        (
            proptest::sample::select(Kind::ALL.to_vec()),
            "[a-z][a-z0-9-]{0,12}",
            locus,
            proptest::sample::select(effects),
            options,
        )
            .prop_map(|(kind, kernel, locus, effect, options)| Signature {
                kind,
                kernel,
                locus,
                effect,
                options,
            })
    }

    proptest! {
        #[test]
        fn text_comes_back(signature in any_signature()) {
            prop_assert_eq!(Signature::parse(&signature.to_string()), Ok(signature));
        }

        #[test]
        fn no_text_panics(text in "[-a-z:|*,+.0-9 ]{0,60}") {
            let _ = Signature::parse(&text);
        }
    }

    #[test]
    fn star_covers_any_options_and_nothing_else() {
        let star = Signature::parse("gap:accepts-invalid|k|page-index-in-range|out-of-bounds|*").unwrap();
        for (text, covered) in [
            ("gap:accepts-invalid|k|page-index-in-range|out-of-bounds|-", true),
            ("gap:accepts-invalid|k|page-index-in-range|out-of-bounds|window+cap", true),
            ("gap:accepts-invalid|k|page-index-in-range|hang|-", false),
            ("gap:accepts-invalid|k|kv-lens-in-table|out-of-bounds|-", false),
            ("gap:accepts-invalid|other|page-index-in-range|out-of-bounds|-", false),
        ] {
            assert_eq!(star.covers(&Signature::parse(text).unwrap()), covered, "{text}");
        }
    }

    #[test]
    fn errors_name_the_field() {
        for (text, word) in [
            ("a|b", "five fields"),
            ("oops|k|-|hang|-", "oops"),
            ("fault|k|-|oops|-", "oops"),
            ("fault|k|Oops|hang|-", "Oops"),
            ("fault|k|-|hang|cap+window", "order"),
        ] {
            assert!(Signature::parse(text).unwrap_err().contains(word), "{text}");
        }
    }

    #[test]
    fn slugs_are_file_names() {
        let signature =
            Signature::parse("fault|jax-rpa|kernel.py:65,tpu.enqueue_dma|out-of-bounds|-").unwrap();
        assert_eq!(signature.slug(), "fault-jax-rpa-kernel.py-65-tpu.enqueue-dma-out-of-bounds");
    }
}
