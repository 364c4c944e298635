//! The report of a night: what is new since the last one, what was done, what went wrong on the way, and trends.
//!
//! The cases that were replayed, findings included, are an ordinary [`crate::Report`] beside it.
//!
//! Invariant: plain data; shows what it is given and judges nothing.

mod markdown;
mod page;
mod trend;

use serde::{Deserialize, Serialize};

pub use markdown::night_to_markdown;
pub use page::night_to_html;
pub(crate) use trend::plot;

/// Version of the JSON form.
pub const NIGHT_VERSION: u32 = 1;

/// A night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Night {
    /// [`NIGHT_VERSION`].
    pub version: u32,
    /// Program and version.
    pub tool: String,
    /// Which night of the history it is, from 1; 0 where there is no history.
    pub number: i64,
    /// Its date in UTC, `YYYY-MM-DD`, for a person.
    pub date: String,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Its seed.
    pub seed: u64,
    /// Worker processes at a time.
    pub jobs: usize,
    /// The exit code that it ends with.
    pub exit_code: u8,
    /// Whether it was interrupted before its budget.
    pub interrupted: bool,
    /// Findings that nothing explains, those of earlier nights included.
    pub findings: Vec<NightFinding>,
    /// Findings of earlier nights that no longer show, or are explained by now.
    pub gone: Vec<String>,
    /// Cases replayed first: the regressions, then findings of earlier nights.
    pub replayed: u64,
    /// Of the regressions, expectations no longer met.
    pub stale: u64,
    /// Entries of known files whose day has come.
    pub expired: Vec<String>,
    /// What was searched.
    pub targets: Vec<NightTarget>,
    /// What went wrong on the way, and what became of it.
    pub troubles: Vec<String>,
    /// What deserves a look and fails nothing.
    pub warnings: Vec<String>,
    /// Figures over the nights.
    pub trends: Vec<Trend>,
}

/// A finding that nothing explains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NightFinding {
    /// One-line signature.
    pub signature: String,
    /// What happened, in words.
    pub detail: String,
    /// Whether no earlier night had it.
    pub new: bool,
    /// The night that had it first.
    pub first_night: i64,
    /// The stored case.
    pub file: String,
    /// How the case became smaller.
    pub minimised: Option<String>,
}

/// A kernel under a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NightTarget {
    /// Catalogue id.
    pub kernel: String,
    /// `differential` or `validators`.
    pub target: String,
    /// Cases tried.
    pub cases: u64,
    /// The same a second, over all workers.
    pub cases_per_second: f64,
    /// Known findings passed over.
    pub known: u64,
    /// Cases that could not be run.
    pub unsupported: u64,
    /// Cases of the grown corpus before.
    pub corpus_before: u64,
    /// The same after it was minimised.
    pub corpus_after: u64,
    /// What the corpus covers: points of the kernel's IR, or combinations of rules and checks.
    pub covered: u64,
    /// Points that there are, where that is known.
    pub points: Option<u64>,
}

/// A figure over the nights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// What it is.
    pub title: String,
    /// Night and value, in order.
    pub points: Vec<(i64, f64)>,
}

impl Night {
    /// Findings that no earlier night had.
    pub fn news(&self) -> impl Iterator<Item = &NightFinding> {
        self.findings.iter().filter(|finding| finding.new)
    }

    /// What is new since the last night, in a sentence.
    pub fn verdict(&self) -> String {
        let s = |count: usize| if count == 1 { "" } else { "s" };
        let (new, all) = (self.news().count(), self.findings.len());
        match (new, all) {
            (0, 0) => "Nothing new since the last night".to_owned(),
            (0, _) => format!("Nothing new; {all} finding{} of earlier nights unexplained", s(all)),
            _ => format!("{new} new finding{} since the last night", s(new)),
        }
    }
}

/// The night as pretty-printed JSON with a final newline.
///
/// # Errors
/// Only if a number can't be represented, which no field allows.
pub fn night_to_json(night: &Night) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(night)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn night(findings: Vec<NightFinding>) -> Night {
        let points = vec![(1, 80.0), (2, 85.5), (3, 90.0)];
        Night {
            version: NIGHT_VERSION,
            tool: "countersign 0.1.0".to_owned(),
            number: 3,
            date: "2026-01-02".to_owned(),
            seconds: 61.0,
            seed: 3,
            jobs: 2,
            exit_code: 1,
            interrupted: false,
            findings,
            gone: vec!["gone|one".to_owned()],
            replayed: 40,
            stale: 0,
            expired: Vec::new(),
            targets: vec![NightTarget {
                kernel: "jax-rpa".to_owned(),
                target: "differential".to_owned(),
                cases: 5000,
                cases_per_second: 90.0,
                known: 700,
                unsupported: 0,
                corpus_before: 10,
                corpus_after: 12,
                covered: 2478,
                points: Some(3303),
            }],
            troubles: vec!["a worker <died>".to_owned()],
            warnings: Vec::new(),
            trends: vec![Trend { title: "cases a second".to_owned(), points }],
        }
    }

    fn finding(new: bool) -> NightFinding {
        NightFinding {
            signature: "divergence|k|-|wrong-rows|-".to_owned(),
            detail: "row 3".to_owned(),
            new,
            first_night: 2,
            file: "findings/x.toml".to_owned(),
            minimised: None,
        }
    }

    #[test]
    fn new_is_told_from_unexplained() {
        assert_eq!(night(Vec::new()).verdict(), "Nothing new since the last night");
        assert_eq!(
            night(vec![finding(false)]).verdict(),
            "Nothing new; 1 finding of earlier nights unexplained"
        );
        assert_eq!(
            night(vec![finding(true), finding(false)]).verdict(),
            "1 new finding since the last night"
        );
    }

    #[test]
    fn all_forms_say_the_same_and_escape() {
        let night = night(vec![finding(true)]);
        let (page, text) = (night_to_html(&night), night_to_markdown(&night));
        for part in ["1 new finding since the last night", "2,478 of 3,303", "gone|one", "findings/x.toml"] {
            assert!(page.contains(part) && text.contains(part), "{part}\n{page}\n{text}");
        }
        assert!(page.contains("a worker &lt;died&gt;") && page.contains("<polyline"));
        let json = night_to_json(&night).unwrap();
        assert_eq!(serde_json::from_str::<Night>(&json).unwrap(), night);
    }
}
