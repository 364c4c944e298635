//! The policy: what each claim must reach, read from TOML.
//!
//! Invariant: a policy is a function of its text; every key is needed and none is unknown, so that a typing error never lowers a
//! threshold.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The policy that comes with the program.
pub const DEFAULT: &str = include_str!("policy.toml");

/// Thresholds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    version: u32,
    /// The corpus.
    pub regressions: Regressions,
    /// Generated batches.
    pub campaign: Campaign,
    /// Coverage of the IR.
    pub coverage: Coverage,
    /// The control suite.
    pub controls: Controls,
    /// Largest error over bound by type of q; `default` for others.
    pub precision: BTreeMap<String, f64>,
    /// Metamorphic relations.
    pub relations: Relations,
    /// The mutation score.
    pub mutation: Mutation,
    /// The TPU compiler's word.
    pub compile: Compile,
    /// Open findings.
    pub waivers: Waivers,
    /// What needn't be covered.
    #[serde(default)]
    pub uncovered: Vec<Uncovered>,
}

/// `[regressions]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regressions {
    /// Fewest cases.
    pub least: u64,
}

/// `[campaign]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// Generated batches.
    pub cases: u64,
    /// Fewest cases of a boundary class in a pair of option values.
    pub least_per_pair: u64,
}

/// `[coverage]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// Least share of coverage points.
    pub least: f64,
}

/// `[controls]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controls {
    /// Rounds of the suite.
    pub rounds: u64,
    /// Fewest controls.
    pub least: u64,
}

/// `[relations]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relations {
    /// Kept batches of each variant.
    pub cases: u64,
    /// Fewest pairs that hold.
    pub least: u64,
}

/// `[mutation]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// Mutants.
    pub mutants: usize,
    /// Kept batches that each is given.
    pub cases: u64,
    /// Of these, run under other orders of their copies, too.
    pub orders: u64,
    /// Kept batches of the kernel itself.
    pub controls: u64,
    /// Least score.
    pub score: f64,
}

/// `[compile]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compile {
    /// Whether a sign-off is refused where it isn't measured.
    pub required: bool,
}

/// `[waivers]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waivers {
    expires: toml::value::Datetime,
}

/// `[[uncovered]]`: something that needn't happen at a line of the kernel.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uncovered {
    /// The line's text without the spaces around it.
    pub line: String,
    /// What never happens there, as coverage calls it; `the line` where it is never reached.
    pub what: String,
    /// Why.
    pub reason: String,
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// What is wrong, with the line.
    pub fn parse(text: &str) -> Result<Policy, String> {
        let policy: Policy = toml::from_str(text).map_err(|error| {
            let line =
                error.span().map_or(0, |span| text.get(..span.start).unwrap_or("").matches('\n').count() + 1);
            format!("line {line}: {}", error.message())
        })?;
        if policy.version != 1 {
            return Err("only version 1 is known".to_owned());
        }
        if !policy.precision.contains_key("default") {
            return Err("[precision] needs `default`".to_owned());
        }
        match policy.waivers.expires {
            toml::value::Datetime { date: Some(_), time: None, offset: None } => {}
            _ => return Err("[waivers]: expires is a date, YYYY-MM-DD".to_owned()),
        }
        let names: Vec<&String> = policy.precision.keys().filter(|name| *name != "default").collect();
        let unknown =
            names.into_iter().find(|name| countersign_dtype::DType::from_name(name.as_str()).is_none());
        if let Some(name) = unknown {
            return Err(format!("[precision]: `{name}` is no element type"));
        }
        Ok(policy)
    }

    /// The largest r that right rows with q of this type may have.
    pub fn largest_r(&self, q: &str) -> f64 {
        self.precision.get(q).or_else(|| self.precision.get("default")).copied().unwrap_or(1.0)
    }

    /// First day on which waivers no longer hold that name none of their own, `YYYY-MM-DD`.
    pub fn expires(&self) -> String {
        self.waivers.expires.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_policy_is_the_strict_one() {
        let policy = Policy::parse(DEFAULT).unwrap();
        assert!(policy.mutation.score >= 0.95 && policy.mutation.mutants >= 300);
        assert!(policy.controls.least >= 1000 && policy.regressions.least > 0);
        assert_eq!((policy.largest_r("f32"), policy.largest_r("bf16")), (0.5, 1.0));
        assert_eq!(policy.expires(), "2027-06-30");
        assert!(policy.uncovered.iter().all(|uncovered| !uncovered.reason.is_empty()));
    }

    #[test]
    fn a_wrong_policy_names_its_place() {
        for (from, to, word) in [
            ("version = 1", "version = 2", "version"),
            ("score = 0.95", "scor = 0.95", "scor"),
            ("mutants = 324\n", "", "mutants"),
            ("least = 0.75", "least = \"most\"", "line 14"),
            ("default = 1.0", "f16 = 1.0", "default"),
            ("f32 = 0.5", "f31 = 0.5", "f31"),
            ("2027-06-30", "2027-06-30T00:00:00Z", "date"),
        ] {
            let changed = DEFAULT.replacen(from, to, 1);
            assert_ne!(changed, DEFAULT, "{from}");
            let error = Policy::parse(&changed).unwrap_err();
            assert!(error.contains(word), "{from}: {error}");
        }
    }
}
