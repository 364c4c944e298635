//! What a worker process tells its supervisor: a line of JSON each, on its standard output.
//!
//! Invariant: a worker writes no file but its case in flight; whatever is to be kept travels whole in a message.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::case::Case;

/// What is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The kernel against the reference.
    Differential,
    /// The checks against the contract, no kernel run.
    Validators,
}

impl Target {
    /// Each, with its share of a kernel's time, in tenths: the checks are a thousand times as fast.
    pub const SHARES: [(Target, u32); 2] = [(Target::Differential, 9), (Target::Validators, 1)];

    /// `differential` or `validators`.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Differential => "differential",
            Target::Validators => "validators",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let named = Target::SHARES.into_iter().find(|(target, _)| target.name() == text);
        named.map(|(target, _)| target).ok_or_else(|| format!("no target `{text}`"))
    }
}

/// Sums of a worker so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Cases tried.
    pub cases: u64,
    /// Cases that were none.
    pub rejected: u64,
    /// Known findings passed over.
    pub known: u64,
    /// Cases that could not be run.
    pub unsupported: u64,
    /// Largest error over bound of a row that is right, by element types.
    pub largest: BTreeMap<String, f64>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message {
    /// The kernel is loaded.
    Ready,
    /// Sums; also a sign of life.
    Progress(Progress),
    /// A case worth storing, in binary form, base64.
    Keep(String),
    /// A finding that nothing explains.
    Finding {
        /// Its case in binary form, base64.
        case: String,
        /// Its signature.
        signature: String,
        /// What happened.
        detail: String,
    },
    /// A case that made us panic.
    Panic {
        /// The case.
        case: String,
        /// The panic's message.
        message: String,
    },
}

impl Message {
    /// A case as it travels; `None` of one without a binary form, which no search makes.
    pub fn pack(case: &Case) -> Option<String> {
        Some(STANDARD.encode(case.to_bytes().ok()?))
    }

    /// A packed case's binary form.
    ///
    /// # Errors
    /// If it is none.
    pub fn unpack(text: &str) -> Result<(Vec<u8>, Case), String> {
        let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
        let case = Case::from_bytes(&bytes).map_err(|error| error.to_string())?;
        Ok((bytes, case))
    }
}
