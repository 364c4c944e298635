//! Raw findings of a campaign, minimised: each still shows what it showed, a second time changes nothing, and all are small.
//!
//! `COUNTERSIGN_MINIMISED=50` minimises so many, evenly drawn from the findings; `--nocapture` prints the table.

use countersign::campaign::{Found, Plan, Subject, draw, run};
use countersign::known::KnownFile;
use countersign::minimise::{BUDGET, Draft, Minimal, Minimiser, Target};
use countersign_kernels::engine::Policy;
use countersign_reports::SizeReport;

use crate::{Deaf, Kernel};

/// Findings that are minimised where nobody says otherwise.
const FINDINGS: usize = 12;
/// Cases of the campaign that finds them.
const CASES: u64 = 1500;

#[test]
fn raw_findings_become_small_and_stay_what_they_are() {
    let count = std::env::var("COUNTERSIGN_MINIMISED").map_or(FINDINGS, |count| count.parse().unwrap());
    let known = KnownFile::builtin().unwrap();
    let subject = Kernel::unedited();
    let policy = Policy::default();
    let plan = Plan { seed: 1, cases: Some(CASES), jobs: 2, only: None, policy, known: &known };
    let findings = run(&subject, &plan, &|| true, &mut Deaf).findings;
    assert!(findings.len() >= count, "only {} findings", findings.len());
    let chosen: Vec<&Found> = (0..count).map(|index| &findings[index * findings.len() / count]).collect();

    let mut minimiser = Minimiser::new(&subject, &known, policy);
    let mut minimised: Vec<Minimal> = Vec::new();
    for found in chosen {
        let target = Target(vec![(found.finding.signature.clone(), found.known)]);
        let draft = Draft { position: found.variant, case: draw(&subject, &plan, found.index).case };
        let minimal = minimiser.minimise(draft, &target, BUDGET, &|| true).unwrap();
        let what = format!("case {}, {}", found.index, found.finding.signature);
        assert!(minimal.complete, "{what}: not within {BUDGET} executions");
        let shown = minimiser.target(&minimal.draft).unwrap();
        assert!(target.0.iter().all(|finding| shown.0.contains(finding)), "{what} no longer shows");
        let again = minimiser.minimise(minimal.draft.clone(), &target, BUDGET, &|| true).unwrap();
        assert_eq!(again.draft, minimal.draft, "{what}: a second time changed it");
        println!(
            "{:>5} executions, {} -> {} on {}, {}: {}",
            minimal.executions,
            minimal.before,
            minimal.after,
            subject.variants()[minimal.draft.position].name,
            minimal.draft.case.payload.pattern,
            found.finding.signature,
        );
        minimised.push(minimal);
    }
    println!("{} findings         median before, after    largest before, after", minimised.len());
    let sizes: [(&str, SizeOf); 3] = [
        ("sequences", |size| size.sequences),
        ("query tokens", |size| size.queries),
        ("tokens in the cache", |size| size.keys),
    ];
    for (name, of) in sizes {
        let before: Vec<u64> = sorted(minimised.iter().map(|minimal| of(&minimal.before)));
        let after: Vec<u64> = sorted(minimised.iter().map(|minimal| of(&minimal.after)));
        let [median, last] = [count / 2, count - 1];
        println!(
            "{name:<20} {:>14}, {:>5}    {:>15}, {:>5}",
            before[median], after[median], before[last], after[last]
        );
    }
    let is_small = |minimal: &Minimal| {
        let variant = &subject.variants()[minimal.draft.position];
        let meta = &minimal.draft.case.metadata;
        // A batch that names more sequences than its table has rows for has as many as the table.
        minimal.after.sequences <= 3 || meta.num_seqs as usize == variant.max_seqs + 1
    };
    assert!(minimised.iter().all(is_small), "more than 3 sequences are left");
}

type SizeOf = fn(&SizeReport) -> u64;

fn sorted(numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    numbers
}
