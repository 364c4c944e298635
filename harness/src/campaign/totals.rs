//! The sums of a campaign.
//!
//! Invariant: records are added in the order of their index, so that every sum, and which case is a finding's first, is
//! the same on any number of threads.

use std::collections::BTreeMap;

use countersign_kernels::Variant;
use countersign_kernels::checks::Verdict;
use countersign_kernels::contract::{Keeping, Rule};
use countersign_reports::{Hits, InternalError, Place, R_BINS, RDistribution, Tally};
use serde::{Deserialize, Serialize};

use crate::compare::Deviation;
use crate::generate::{BoundaryClass, Slip, Tags};
use crate::judge::{Finding, judge};
use crate::options;
use crate::payload::Pattern;
use crate::signature::Signature;
use crate::trial::{Conduct, Trial};

/// A distinct finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// As the first case showed it.
    pub finding: Finding,
    /// The entry of the known files that explains it.
    pub known: Option<usize>,
    /// Findings before it of the same signature that other entries explain.
    pub twins: usize,
    /// Cases that showed it.
    pub count: u64,
    /// Index of the first.
    pub index: u64,
    /// Variant of the first, by position.
    pub variant: usize,
    /// The port's static verdict on the first.
    pub static_verdict: Verdict,
    /// The port's dynamic verdict on the first.
    pub dynamic_verdict: Verdict,
}

/// What is kept of a case that ran.
pub(super) struct Outcome {
    variant: usize,
    keeping: Keeping,
    rules: Vec<&'static Rule>,
    conduct: &'static str,
    unsupported: bool,
    owned_rows: usize,
    compared_rows: usize,
    largest_right: Option<Deviation>,
    r_rows: [u64; R_BINS],
    static_verdict: Verdict,
    dynamic_verdict: Verdict,
    findings: Vec<(Finding, Option<usize>)>,
}

/// One case on its way to the sums.
pub(super) struct Record {
    pub(super) index: u64,
    pub(super) tags: Option<Tags>,
    /// `Err`: a fault of ours.
    pub(super) outcome: Result<Outcome, String>,
}

impl Outcome {
    pub(super) fn of(
        trial: &Trial,
        variant: usize,
        explain: impl Fn(&Signature) -> Option<usize>,
    ) -> Outcome {
        let comparison = match &trial.conduct {
            Conduct::Finished(comparison) => Some(comparison),
            Conduct::NotRun | Conduct::Fault(_) | Conduct::Hang | Conduct::Unsupported(_) => None,
        };
        let findings = judge(trial).findings.into_iter().map(|finding| {
            let known = explain(&finding.signature);
            (finding, known)
        });
        Outcome {
            variant,
            keeping: trial.contract.keeping(),
            rules: trial.contract.rules(),
            conduct: trial.conduct.name(),
            unsupported: matches!(trial.conduct, Conduct::Unsupported(_)),
            owned_rows: comparison.map_or(0, |comparison| comparison.owned_rows),
            compared_rows: comparison.map_or(0, |comparison| comparison.compared_rows),
            largest_right: comparison.and_then(|comparison| comparison.largest_right),
            r_rows: comparison.map_or([0; R_BINS], |comparison| *comparison.r_rows),
            static_verdict: trial.static_verdict.clone(),
            dynamic_verdict: trial.dynamic_verdict.clone(),
            findings: findings.collect(),
        }
    }
}

/// The sums. Their serial form leaves the findings out: a shard names them apart ([`super::Seen`]).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Cases added.
    pub cases: u64,
    /// Batches that keep every rule.
    pub kept: u64,
    /// Batches that break disputed rules only.
    pub disputed: u64,
    /// Other batches.
    pub broken: u64,
    /// Cases that the engine couldn't run.
    pub unsupported: u64,
    /// Largest r in rows that are right, and where.
    pub largest_right: Option<(f64, Place)>,
    /// Rows owned by kept batches whose kernel ended.
    pub kept_rows: u64,
    /// Of these, rows compared to a value.
    pub kept_rows_compared: u64,
    /// How r is distributed over rows of kept batches, per pair of element types.
    pub r: BTreeMap<String, RDistribution>,
    /// Per class of the generator; pairs of options are counted at the end ([`options::pairs`]).
    pub hits: Hits,
    /// Per rule.
    pub rules: BTreeMap<String, Tally>,
    /// Per slip.
    pub slips: BTreeMap<String, Tally>,
    /// In the order of their first case.
    #[serde(skip)]
    pub findings: Vec<Found>,
    /// Faults of ours.
    pub internal_errors: Vec<InternalError>,
    /// Per variant: a bit per coverage point.
    pub coverage: Vec<Vec<u64>>,
    #[serde(skip)]
    variants: Vec<(String, String)>,
    #[serde(skip)]
    position: BTreeMap<(Signature, Option<usize>), usize>,
}

impl Totals {
    /// All zero, with an entry for every class that a campaign over `variants` can draw.
    pub fn new(variants: &[Variant], only: Option<Keeping>) -> Totals {
        fn zero(names: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
            names.map(|name| (name, 0)).collect()
        }
        let boundaries = BoundaryClass::ALL.into_iter().filter(|class| {
            let drawn = !class.is_disputed() || only != Some(Keeping::Kept);
            drawn && variants.iter().any(|variant| class.realisable(variant))
        });
        let slips = Slip::ALL.into_iter().filter(|slip| {
            let drawn = only.is_none_or(|only| only == slip.keeping());
            drawn && variants.iter().any(|variant| slip.realisable(variant))
        });
        let patterns = Pattern::ALL.into_iter().filter(|pattern| match pattern {
            Pattern::Overflow => only.is_none_or(|only| only == Keeping::Disputed),
            _ => true,
        });
        let names: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
        let by_variant = boundaries.clone().map(|class| {
            let able = variants.iter().filter(|variant| class.realisable(variant));
            (class.name(), zero(able.map(|variant| variant.name.clone())))
        });
        Totals {
            hits: Hits {
                boundary: zero(boundaries.clone().map(BoundaryClass::name)),
                boundary_by_variant: by_variant.collect(),
                option_pairs: BTreeMap::new(),
                slip: zero(slips.map(|slip| slip.name().to_owned())),
                pattern: zero(patterns.map(|pattern| pattern.name().to_owned())),
                variant: zero(names.iter().cloned()),
            },
            coverage: vec![Vec::new(); variants.len()],
            variants: variants.iter().map(|v| (v.name.clone(), options::dtypes(v))).collect(),
            ..Totals::default()
        }
    }

    /// Findings that no entry explains.
    pub fn new_findings(&self) -> usize {
        self.findings.iter().filter(|found| found.known.is_none()).count()
    }

    /// Coverage points hit, over all variants.
    pub fn covered(&self) -> u64 {
        self.coverage.iter().flatten().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Joins in the coverage of one engine of a variant.
    pub fn cover(&mut self, variant: usize, bits: &[u64]) {
        let Some(total) = self.coverage.get_mut(variant) else { return };
        if total.len() < bits.len() {
            total.resize(bits.len(), 0);
        }
        for (total, bits) in total.iter_mut().zip(bits) {
            *total |= bits;
        }
    }

    /// Adds the next case; the positions of findings that it is the first to show.
    pub(super) fn add(&mut self, record: Record) -> Vec<usize> {
        self.cases += 1;
        if let Some(tags) = &record.tags {
            self.count_tags(tags);
        }
        let outcome = match record.outcome {
            Ok(outcome) => outcome,
            Err(message) => {
                let kind = if message.starts_with("panic") { "panic" } else { "generator" };
                self.internal_errors.push(InternalError {
                    kind: kind.to_owned(),
                    case: record.index,
                    message,
                });
                return Vec::new();
            }
        };
        match outcome.keeping {
            Keeping::Kept => {
                self.kept += 1;
                self.kept_rows += outcome.owned_rows as u64;
                self.kept_rows_compared += outcome.compared_rows as u64;
                self.count_r(record.index, &outcome);
            }
            Keeping::Disputed => self.disputed += 1,
            Keeping::Broken => self.broken += 1,
        }
        self.unsupported += u64::from(outcome.unsupported);
        self.count_largest(record.index, &outcome);
        self.count_rules(&outcome);
        if let Some(slip) = record.tags.as_ref().and_then(|tags| tags.slip) {
            let tally = self.slips.entry(slip.name().to_owned()).or_default();
            tally.cases += 1;
            tally.alone += 1;
            count(tally, &outcome);
        }
        let mut fresh = Vec::new();
        for (finding, known) in outcome.findings {
            let key = (finding.signature.clone(), known);
            let position = match self.position.get(&key) {
                Some(&position) => position,
                None => {
                    let position = self.file(Found {
                        finding,
                        known,
                        twins: 0,
                        count: 0,
                        index: record.index,
                        variant: outcome.variant,
                        static_verdict: outcome.static_verdict.clone(),
                        dynamic_verdict: outcome.dynamic_verdict.clone(),
                    });
                    fresh.push(position);
                    position
                }
            };
            self.findings[position].count += 1;
        }
        fresh
    }

    /// Files a finding that isn't among those filed so far; its position.
    fn file(&mut self, found: Found) -> usize {
        let is_twin = |other: &&Found| {
            other.finding.signature == found.finding.signature
                && other.known.is_some() == found.known.is_some()
        };
        let twins = self.findings.iter().filter(is_twin).count();
        let position = self.findings.len();
        self.position.insert((found.finding.signature.clone(), found.known), position);
        self.findings.push(Found { twins, ..found });
        position
    }

    /// Adds the findings of `record`, which showed them first, that `wanted` counts.
    pub(super) fn restore(
        &mut self,
        record: Record,
        wanted: &dyn Fn(&Signature, Option<usize>) -> Option<u64>,
    ) -> Result<(), String> {
        let Outcome { variant, static_verdict, dynamic_verdict, findings, .. } = record.outcome?;
        for (finding, known) in findings {
            let Some(count) = wanted(&finding.signature, known) else { continue };
            if self.position.contains_key(&(finding.signature.clone(), known)) {
                continue;
            }
            self.file(Found {
                finding,
                known,
                twins: 0,
                count,
                index: record.index,
                variant,
                static_verdict: static_verdict.clone(),
                dynamic_verdict: dynamic_verdict.clone(),
            });
        }
        Ok(())
    }

    /// Joins in the sums of other cases of the same campaign; findings stay as they are.
    pub(super) fn absorb(&mut self, other: &Totals) {
        let earlier = |mine: &Option<(f64, Place)>, (r, place): &(f64, Place)| {
            mine.as_ref().is_none_or(|(largest, at)| r > largest || (r == largest && place.case < at.case))
        };
        self.cases += other.cases;
        self.kept += other.kept;
        self.disputed += other.disputed;
        self.broken += other.broken;
        self.unsupported += other.unsupported;
        self.kept_rows += other.kept_rows;
        self.kept_rows_compared += other.kept_rows_compared;
        if let Some(largest) =
            other.largest_right.as_ref().filter(|largest| earlier(&self.largest_right, largest))
        {
            self.largest_right = Some(largest.clone());
        }
        for (dtypes, theirs) in &other.r {
            let mine = self.r.entry(dtypes.clone()).or_default();
            mine.rows.resize(theirs.rows.len(), 0);
            mine.rows.iter_mut().zip(&theirs.rows).for_each(|(mine, theirs)| *mine += theirs);
            let largest = theirs.largest_at.clone().map(|place| (theirs.largest, place));
            let before = mine.largest_at.clone().map(|place| (mine.largest, place));
            if let Some((r, place)) = largest.filter(|largest| earlier(&before, largest)) {
                (mine.largest, mine.largest_at) = (r, Some(place));
            }
        }
        add(&mut self.hits.boundary, &other.hits.boundary);
        for (class, theirs) in &other.hits.boundary_by_variant {
            add(self.hits.boundary_by_variant.entry(class.clone()).or_default(), theirs);
        }
        add(&mut self.hits.slip, &other.hits.slip);
        add(&mut self.hits.pattern, &other.hits.pattern);
        add(&mut self.hits.variant, &other.hits.variant);
        add_tallies(&mut self.rules, &other.rules);
        add_tallies(&mut self.slips, &other.slips);
        self.internal_errors.extend(other.internal_errors.iter().cloned());
        self.internal_errors.sort_by_key(|error| error.case);
        other.coverage.iter().enumerate().for_each(|(variant, bits)| self.cover(variant, bits));
    }

    fn count_tags(&mut self, tags: &Tags) {
        let bump = |map: &mut BTreeMap<String, u64>, name: String| *map.entry(name).or_default() += 1;
        for class in &tags.classes {
            let name = class.name();
            bump(self.hits.boundary_by_variant.entry(name.clone()).or_default(), tags.variant.clone());
            bump(&mut self.hits.boundary, name);
        }
        if let Some(slip) = tags.slip {
            bump(&mut self.hits.slip, slip.name().to_owned());
        }
        bump(&mut self.hits.pattern, tags.pattern.name().to_owned());
        bump(&mut self.hits.variant, tags.variant.clone());
    }

    fn count_largest(&mut self, index: u64, outcome: &Outcome) {
        let Some(largest) = outcome.largest_right else { return };
        if self.largest_right.as_ref().is_none_or(|(r, _)| largest.r > *r) {
            self.largest_right = Some((largest.r, self.place(index, outcome.variant, &largest)));
        }
    }

    fn place(&self, case: u64, variant: usize, at: &Deviation) -> Place {
        let &Deviation { token, head, lane, .. } = at;
        Place { variant: self.variants[variant].0.clone(), case, token, head, lane }
    }

    fn count_r(&mut self, index: u64, outcome: &Outcome) {
        let place = outcome.largest_right.map(|at| (at.r, self.place(index, outcome.variant, &at)));
        let dtypes = self.variants[outcome.variant].1.clone();
        self.r.entry(dtypes).or_default().add(&outcome.r_rows, place);
    }

    fn count_rules(&mut self, outcome: &Outcome) {
        for rule in &outcome.rules {
            let tally = self.rules.entry(rule.id.to_owned()).or_insert_with(|| Tally {
                sentence: rule.sentence.to_owned(),
                standing: rule.standing.name().to_owned(),
                ..Tally::default()
            });
            tally.cases += 1;
            if outcome.rules.len() == 1 {
                tally.alone += 1;
                count(tally, outcome);
            }
        }
    }
}

fn add(mine: &mut BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) {
    theirs.iter().for_each(|(name, count)| *mine.entry(name.clone()).or_default() += count);
}

fn add_tallies(mine: &mut BTreeMap<String, Tally>, theirs: &BTreeMap<String, Tally>) {
    for (name, theirs) in theirs {
        let mine = mine.entry(name.clone()).or_insert_with(|| Tally {
            sentence: theirs.sentence.clone(),
            standing: theirs.standing.clone(),
            ..Tally::default()
        });
        mine.cases += theirs.cases;
        mine.alone += theirs.alone;
        add(&mut mine.kernel, &theirs.kernel);
        add(&mut mine.validators, &theirs.validators);
    }
}

fn count(tally: &mut Tally, outcome: &Outcome) {
    *tally.kernel.entry(outcome.conduct.to_owned()).or_default() += 1;
    let words = match verb(&outcome.static_verdict) {
        "accepts" => format!("static accepts, dynamic {}", verb(&outcome.dynamic_verdict)),
        other => format!("static {other}"),
    };
    *tally.validators.entry(words).or_default() += 1;
}

fn verb(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Accepts => "accepts",
        Verdict::Refuses { .. } => "refuses",
        Verdict::Crashes { .. } => "crashes",
    }
}
