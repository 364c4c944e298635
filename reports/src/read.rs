//! A report read back from its JSON.
//!
//! Invariant: a text of another version, or one that is cut short, is refused with the reason and the place, never read in
//! part.

use serde_json::Value;

use crate::{Report, SCHEMA_VERSION};

/// Why a text is no report that this program can read. One line, with the line and column of the text where there is one.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It isn't JSON, or it ends too early.
    #[error("not whole JSON: {0}")]
    Json(serde_json::Error),
    /// JSON, but no report.
    #[error("no report of countersign: it has no schema_version")]
    NoVersion,
    /// A report of another version.
    #[error("a report of schema_version {found}; this program reads version {SCHEMA_VERSION}")]
    Version {
        /// What it says.
        found: Value,
    },
    /// Of this version, but a field is missing or of another type.
    #[error("no report of schema_version {SCHEMA_VERSION}: {0}")]
    Content(serde_json::Error),
}

/// Reads what [`crate::to_json`] wrote.
///
/// # Errors
/// [`ReadError`].
pub fn from_json(text: &str) -> Result<Report, ReadError> {
    let value: Value = serde_json::from_str(text).map_err(ReadError::Json)?;
    match value.get("schema_version") {
        None => Err(ReadError::NoVersion),
        // From the text once more, so that an error has its place.
        Some(version) if *version == SCHEMA_VERSION => serde_json::from_str(text).map_err(ReadError::Content),
        Some(found) => Err(ReadError::Version { found: found.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        from_json(text).unwrap_err().to_string()
    }

    #[test]
    fn the_reason_and_the_place_are_named() {
        for (text, words) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("# Report", "expected value at line 1 column 1"),
            ("{\n  \"schema_version\": 2,\n  \"tool\": \"count", "EOF while parsing a string at line 3"),
            ("[1, 2]", "no schema_version"),
            ("{\"schema\": 2}", "no schema_version"),
            ("{\"schema_version\": 1}", "schema_version 1; this program reads version 2"),
            ("{\"schema_version\": \"2\"}", "schema_version \"2\""),
            (
                "{\"schema_version\": 2,\n \"tool\": 7}",
                "invalid type: integer `7`, expected a string at line 2 column 10",
            ),
            ("{\"schema_version\": 2}", "missing field `tool`"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(words) && !refusal.contains('\n'), "{text}: {refusal}");
        }
    }
}
