//! An error over its bound, in JSON.
//!
//! Invariant: what is written can be read again, also the infinite ratio of a NaN or of an undefined value, for which JSON has no number.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An error over its bound: 0 or more, and infinite where the value is NaN or undefined. JSON has a number, or `"infinite"`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(from = "Json", into = "Json")]
pub struct Ratio(pub f64);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Json {
    Finite(f64),
    Beyond(Beyond),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Beyond {
    Infinite,
}

impl From<Json> for Ratio {
    fn from(json: Json) -> Ratio {
        match json {
            Json::Finite(ratio) => Ratio(ratio),
            Json::Beyond(Beyond::Infinite) => Ratio(f64::INFINITY),
        }
    }
}

impl From<Ratio> for Json {
    fn from(Ratio(ratio): Ratio) -> Json {
        if ratio.is_finite() { Json::Finite(ratio) } else { Json::Beyond(Beyond::Infinite) }
    }
}

/// Four digits, or `infinite`.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_finite() { write!(f, "{:.4}", self.0) } else { f.write_str("infinite") }
    }
}
