//! Campaigns over small engines made for these tests: sums don't depend on threads, a panic is kept, a stop is a prefix.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not recognised as tests")]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign::campaign::{Confirmed, Observer, Plan, Subject, Totals, finish, run};
use countersign::case::Case;
use countersign::confirm::{Answer, Validator, confirm, first_case};
use countersign::corpus::CorpusFile;
use countersign::fuzzing::{Guidance, Hunt, Step};
use countersign::generate::BoundaryClass;
use countersign::known::KnownFile;
use countersign::minimise::{BUDGET, Draft, Minimiser, Target, Weight, minimise_all};
use countersign_dtype::Array;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::checks::{Verdict, dynamic_check};
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::rpa::bind::Bound;
use countersign_kernels::rpa::facts;
use countersign_reference::{Batch, Blocking, Profile, attend};
use countersign_reports::{KernelReport, R_UNIT, Report, Timing, to_html, to_json};

/// Answers with the reference's own values, but as `slip` says.
struct ReferenceEngine {
    variant: Variant,
    slip: Slip,
    coverage: Vec<u64>,
}

/// What is wrong with a [`ReferenceEngine`].
#[derive(Clone, Copy, PartialEq)]
enum Slip {
    /// Nothing.
    None,
    /// The last owned row is doubled where a sequence has more than this many cached tokens.
    LongSequences(i32),
    /// The first owned row comes from undefined memory where the batch has this many sequences.
    UndefinedRow(i32),
    /// It panics where the batch has this many sequences.
    Panic(i32),
    /// It can't run at all.
    Unsupported,
}

impl Engine for ReferenceEngine {
    fn run(&mut self, batch: &Batch, _bound: &[Bound<'_>; 6], _policy: &Policy) -> EngineRun {
        let variant = &self.variant;
        let sequences = batch.metadata.num_seqs;
        let bit = sequences.rem_euclid(64);
        self.coverage[0] |= 1 << bit;
        let blocking = Blocking { kv_per_block: facts::kv_block(variant).unwrap(), weights: variant.q_dtype };
        let reference = attend(batch, &variant.options, &blocking, &Profile::EXACT);
        let mut output = Array::zeros(variant.q_dtype, &[variant.tokens, variant.q_heads, variant.head_dim]);
        for (element, value) in reference.values.iter().enumerate() {
            output.set_f32(element, *value as f32);
        }
        let width = variant.q_heads * variant.head_dim;
        let mut undefined: Vec<Range<usize>> = Vec::new();
        match self.slip {
            Slip::None => {}
            Slip::LongSequences(limit) => {
                let metadata = &batch.metadata;
                for sequence in 0..metadata.sequences_in_table() {
                    let last = metadata.cu_q_lens[sequence + 1] - 1;
                    if metadata.kv_lens[sequence] > limit && (0..variant.tokens as i32).contains(&last) {
                        for element in last as usize * width..(last as usize + 1) * width {
                            output.set_f32(element, 2.0 * reference.values[element] as f32 + 1.0);
                        }
                    }
                }
            }
            Slip::UndefinedRow(count) if sequences == count => undefined.push(0..width),
            Slip::Panic(count) if sequences == count => panic!("made to panic"),
            Slip::UndefinedRow(_) | Slip::Panic(_) => {}
            Slip::Unsupported => {
                let end = EngineEnd::Unsupported("tpu.new_op".to_owned());
                return EngineRun { output: None, undefined, end, fuel_used: 0 };
            }
        }
        EngineRun { output: Some(output), undefined, end: EngineEnd::Finished, fuel_used: 1 }
    }

    fn coverage(&self) -> &[u64] {
        &self.coverage
    }

    fn clear_coverage(&mut self) {
        self.coverage.fill(0);
    }
}

struct Fake {
    kernel: KernelEntry,
    variants: Vec<Variant>,
    slip: Slip,
}

impl Fake {
    fn new(slip: Slip) -> Fake {
        let kernel = Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone();
        let variants = kernel.variants(Tier::Small).take(3).cloned().collect();
        Fake { kernel, variants, slip }
    }
}

impl Subject for Fake {
    fn kernel(&self) -> &KernelEntry {
        &self.kernel
    }

    fn variants(&self) -> &[Variant] {
        &self.variants
    }

    fn engine(&self, variant: usize) -> Box<dyn Engine> {
        Box::new(ReferenceEngine {
            variant: self.variants[variant].clone(),
            slip: self.slip,
            coverage: vec![0],
        })
    }
}

#[derive(Default)]
struct Heard {
    fresh: Vec<usize>,
    panics: usize,
}

impl Observer for Heard {
    fn case(&mut self, _totals: &Totals, fresh: &[usize]) {
        self.fresh.extend(fresh);
    }

    fn panicked(&mut self, _totals: &Totals) {
        self.panics += 1;
    }
}

/// Asks the port again, or says something else, or nothing.
enum FakeValidator {
    Port,
    AlwaysAccepts,
    Gone,
}

impl Validator for FakeValidator {
    fn ask(&mut self, variant: &Variant, case: &Case) -> Result<Answer, String> {
        let dynamic = match self {
            FakeValidator::Port => dynamic_check(variant, &case.metadata),
            FakeValidator::AlwaysAccepts => Verdict::Accepts,
            FakeValidator::Gone => return Err("no Python".to_owned()),
        };
        Ok(Answer { static_verdict: Verdict::Accepts, dynamic_verdict: Some(dynamic) })
    }
}

fn campaign(slip: Slip, cases: u64, jobs: usize, only: Option<Keeping>) -> (Totals, Heard) {
    let known = KnownFile::default();
    let plan = Plan { seed: 7, cases: Some(cases), jobs, only, policy: Policy::default(), known: &known };
    let mut heard = Heard::default();
    let totals = run(&Fake::new(slip), &plan, &|| true, &mut heard);
    (totals, heard)
}

fn report(slip: Slip, cases: u64, jobs: usize, validator: &mut FakeValidator) -> Report {
    let subject = Fake::new(slip);
    let known = KnownFile::default();
    let plan =
        Plan { seed: 7, cases: Some(cases), jobs, only: None, policy: Policy::default(), known: &known };
    let totals = run(&subject, &plan, &|| true, &mut Heard::default());
    let tried = minimise_all(&subject, &plan, &totals, &|| true);
    let confirmed = totals.findings.iter().zip(tried).map(|(found, tried)| Confirmed {
        confirmation: confirm(&subject, &plan, found, &tried, validator),
        minimal: tried.and_then(Result::ok),
        repro: None,
        suspects: None,
    });
    let confirmed: Vec<Confirmed> = confirmed.collect();
    let kernel = KernelReport { id: "jax-rpa".to_owned(), ..KernelReport::default() };
    finish(&subject, &plan, &totals, &confirmed, kernel, false, Timing::default())
}

#[test]
fn threads_do_not_show() {
    let slip = Slip::LongSequences(20);
    let (one, _) = campaign(slip, 300, 1, None);
    let (four, _) = campaign(slip, 300, 4, None);
    assert_eq!(one.cases, 300);
    assert!(!one.findings.is_empty(), "the slip must be met for the comparison to mean something");
    assert!(one.covered() > 0);
    assert_eq!(one, four);
    let json = |jobs| to_json(&report(slip, 200, jobs, &mut FakeValidator::Port)).unwrap();
    assert_eq!(json(1), json(3));
    let page = |jobs| to_html(&report(slip, 200, jobs, &mut FakeValidator::Port));
    assert_eq!(page(1), page(3));
}

#[test]
fn the_reference_agrees_with_itself() {
    let (totals, heard) = campaign(Slip::None, 300, 2, Some(Keeping::Kept));
    assert_eq!(totals.kept, 300);
    let divergences: Vec<_> = totals
        .findings
        .iter()
        .map(|found| found.finding.signature.to_string())
        .filter(|s| !s.starts_with("gap"))
        .collect();
    assert_eq!(divergences, Vec::<String>::new());
    assert_eq!(totals.kept_rows, totals.kept_rows_compared);
    assert_eq!(heard.fresh.len(), totals.findings.len());
}

#[test]
fn a_wrong_kernel_is_found_with_its_first_case() {
    let (totals, _) = campaign(Slip::LongSequences(20), 300, 2, Some(Keeping::Kept));
    let found = totals
        .findings
        .iter()
        .find(|found| found.finding.signature.to_string() == "divergence|jax-rpa|-|wrong-rows|-");
    let found = found.expect("a divergence");
    assert!(found.count > 1);
    // The first case alone shows it, and no shorter campaign does.
    let (shorter, _) = campaign(Slip::LongSequences(20), found.index, 2, Some(Keeping::Kept));
    assert!(shorter.findings.iter().all(|other| other.finding.signature != found.finding.signature));
}

#[test]
fn undefined_output_is_found() {
    let (totals, _) = campaign(Slip::UndefinedRow(2), 200, 2, Some(Keeping::Kept));
    let signatures: Vec<_> =
        totals.findings.iter().map(|found| found.finding.signature.to_string()).collect();
    assert!(signatures.contains(&"divergence|jax-rpa|-|undefined-output|-".to_owned()), "{signatures:?}");
}

#[test]
fn a_panic_is_kept_with_its_case_and_the_campaign_goes_on() {
    let (totals, heard) = campaign(Slip::Panic(2), 100, 2, Some(Keeping::Kept));
    assert_eq!(totals.cases, 100);
    assert!(!totals.internal_errors.is_empty());
    assert_eq!(heard.panics, totals.internal_errors.len());
    assert!(totals.internal_errors.iter().all(|error| error.message.contains("made to panic")));
    assert_eq!(totals.kept + totals.internal_errors.len() as u64, 100);
    assert_eq!(report(Slip::Panic(2), 100, 2, &mut FakeValidator::Port).exit_code, 2);
}

#[test]
fn a_stop_leaves_a_prefix() {
    let known = KnownFile::default();
    let plan = Plan { seed: 7, cases: None, jobs: 3, only: None, policy: Policy::default(), known: &known };
    let asked = AtomicU64::new(0);
    let go_on = || asked.fetch_add(1, Ordering::Relaxed) < 90;
    let stopped = run(&Fake::new(Slip::LongSequences(20)), &plan, &go_on, &mut Heard::default());
    assert_eq!(stopped.cases, 90);
    let (whole, _) = campaign(Slip::LongSequences(20), 90, 1, None);
    assert_eq!(stopped, whole);
}

#[test]
fn an_engine_that_cannot_run_leaves_the_run_incomplete() {
    let report = report(Slip::Unsupported, 50, 1, &mut FakeValidator::Port);
    assert!(report.summary.unsupported > 0);
    assert_eq!(report.summary.findings_new, 0, "{:?}", report.findings);
    assert_eq!(report.exit_code, 3);
}

#[test]
fn findings_are_confirmed_or_say_why_not() {
    let slip = Slip::LongSequences(20);
    let asked = report(slip, 150, 2, &mut FakeValidator::Port);
    assert!(asked.findings.iter().all(|finding| finding.validators.asked));
    assert_eq!((asked.summary.unasked, asked.exit_code), (0, 1));
    let unasked = report(slip, 150, 2, &mut FakeValidator::Gone);
    assert_eq!(unasked.summary.unasked, unasked.findings.len() as u64);
    assert!(unasked.findings.iter().all(|finding| !finding.validators.asked));
}

#[test]
fn a_finding_brings_its_batch_its_wrong_rows_and_a_case_that_replays() {
    let report = report(Slip::LongSequences(20), 150, 2, &mut FakeValidator::Port);
    let finding = report
        .findings
        .iter()
        .find(|finding| finding.signature == "divergence|jax-rpa|-|wrong-rows|-")
        .expect("a divergence");
    let batch = finding.batch.as_ref().unwrap();
    assert!(batch.breaches.is_empty(), "a divergence is about a correct batch");
    // The engine doubles the last row of each sequence with more than 20 cached tokens.
    let used = usize::try_from(batch.num_seqs).unwrap();
    let mut expected: Vec<usize> = Vec::new();
    for sequence in (0..used).filter(|&sequence| batch.sequences[sequence].kv_len > 20) {
        expected.push(usize::try_from(batch.cu_q_lens[sequence + 1]).unwrap() - 1);
    }
    let wrong: Vec<usize> = batch.wrong_rows.iter().flat_map(|&(first, end)| first..end).collect();
    assert_eq!(wrong, expected);
    assert!(!wrong.is_empty());
    let file = CorpusFile::from_toml(finding.case_file.as_deref().unwrap()).unwrap();
    assert_eq!(file.case.metadata.cu_q_lens[..batch.cu_q_lens.len()], batch.cu_q_lens);
    assert!(finding.kernel.as_deref().unwrap().contains("wrong rows"));
}

#[test]
fn rows_of_kept_batches_are_counted_by_r_and_classes_by_variant() {
    let (totals, _) = campaign(Slip::LongSequences(20), 300, 2, Some(Keeping::Kept));
    let counted: u64 = totals.r.values().flat_map(|distribution| &distribution.rows).sum();
    assert_eq!(counted, totals.kept_rows_compared);
    let beyond: u64 = totals.r.values().flat_map(|distribution| &distribution.rows[R_UNIT + 1..]).sum();
    assert!(beyond > 0, "the doubled rows leave their bound");
    let variants = Fake::new(Slip::None).variants;
    for class in BoundaryClass::ALL.into_iter().filter(|class| !class.is_disputed()) {
        let Some(cells) = totals.hits.boundary_by_variant.get(&class.name()) else { continue };
        assert_eq!(cells.values().sum::<u64>(), totals.hits.boundary[&class.name()], "{}", class.name());
        // A zero stands wherever the class could have been drawn.
        for variant in variants.iter().filter(|variant| class.realisable(variant)) {
            assert!(cells.contains_key(&variant.name), "{} on {}", class.name(), variant.name);
        }
    }
}

#[test]
fn a_port_that_differs_from_the_validator_is_our_own_fault() {
    // Broken batches are refused by the port; a validator that accepts all of them contradicts it.
    let report = report(Slip::LongSequences(0), 300, 2, &mut FakeValidator::AlwaysAccepts);
    assert!(
        report.internal_errors.iter().any(|error| error.kind == "validator port disagreement"),
        "{report:?}"
    );
    assert_eq!(report.exit_code, 2);
}

#[test]
fn a_known_entry_hides_only_where_its_condition_holds() {
    let entry = |when: &str| {
        let text = format!(
            "version = 1\n[[known]]\nsignature = \"divergence|jax-rpa|-|wrong-rows|*\"\nwhen = \"{when}\"\nstatus = \"open\"\ncause = \"made for a test\"\n"
        );
        KnownFile::parse(&text, std::path::Path::new("test.toml")).unwrap()
    };
    let count = |known: &KnownFile| {
        let plan = Plan {
            seed: 7,
            cases: Some(200),
            jobs: 2,
            only: Some(Keeping::Kept),
            policy: Policy::default(),
            known,
        };
        let totals = run(&Fake::new(Slip::LongSequences(20)), &plan, &|| true, &mut Heard::default());
        let is_divergence = |signature: &str| signature.starts_with("divergence");
        let of = |is_known: bool| {
            let mine = totals.findings.iter().filter(|found| found.known.is_some() == is_known);
            mine.filter(|found| is_divergence(&found.finding.signature.to_string()))
                .map(|found| found.count)
                .sum::<u64>()
        };
        (of(true), of(false))
    };
    let (explained, news) = count(&entry("any(seq: seq.kv_len > 20)"));
    assert!(explained > 0);
    assert_eq!(news, 0);
    let (explained, news) = count(&entry("any(seq: seq.kv_len > 30)"));
    assert!(explained > 0 && news > 0, "{explained} {news}");
}

#[test]
fn a_minimised_case_has_the_least_that_the_slip_needs_and_stays_what_it_is() {
    let subject = Fake::new(Slip::LongSequences(20));
    let known = KnownFile::default();
    let policy = Policy::default();
    let plan = Plan { seed: 7, cases: Some(300), jobs: 2, only: Some(Keeping::Kept), policy, known: &known };
    let totals = run(&subject, &plan, &|| true, &mut Heard::default());
    let found = totals
        .findings
        .iter()
        .find(|found| found.finding.signature.to_string() == "divergence|jax-rpa|-|wrong-rows|-")
        .expect("a divergence");
    let target = Target(vec![(found.finding.signature.clone(), found.known)]);
    let mut minimiser = Minimiser::new(&subject, &known, policy);
    let mut minimise =
        |draft: &Draft, budget| minimiser.minimise(draft.clone(), &target, budget, &|| true).unwrap();
    let first = first_case(&subject, &plan, found);

    let minimal = minimise(&first, BUDGET);
    assert!(minimal.complete && minimal.executions < BUDGET);
    let meta = &minimal.draft.case.metadata;
    assert_eq!((meta.num_seqs, &meta.cu_q_lens[..2], &meta.kv_lens[..1]), (1, &[0, 1][..], &[21][..]));
    let others = meta.cu_q_lens[2..].iter().chain(&meta.kv_lens[1..]);
    assert!(others.chain(&meta.page_indices[2..]).all(|&entry| entry == 0), "{meta:?}");
    assert_eq!(meta.page_indices[..2], [0, 1]);
    assert_eq!(minimal.draft.case.payload.pattern, "sequence-v@1");
    assert_eq!(minimise(&minimal.draft, BUDGET).draft, minimal.draft, "a second time changes nothing");

    // A budget is a limit, and what was reached by then is kept.
    for budget in 1..10 {
        let early = minimise(&first, budget);
        assert!(early.executions <= budget && !early.complete);
        assert!(
            Weight::of(&subject.variants[early.draft.position], &early.draft.case)
                <= Weight::of(&subject.variants[first.position], &first.case)
        );
    }
    // Ctrl-C before anything was tried leaves the case as it was.
    let stopped = minimiser.minimise(first.clone(), &target, BUDGET, &|| false).unwrap();
    assert_eq!((stopped.draft, stopped.executions, stopped.complete), (first, 0, false));
}

#[test]
fn a_minimised_case_stays_under_the_entry_that_explains_it() {
    let text = "version = 1\n[[known]]\nsignature = \"divergence|jax-rpa|-|wrong-rows|*\"\n\
                when = \"any(seq: seq.kv_len > 30)\"\nstatus = \"open\"\ncause = \"made for a test\"\n";
    let known = KnownFile::parse(text, std::path::Path::new("test.toml")).unwrap();
    let subject = Fake::new(Slip::LongSequences(20));
    let policy = Policy::default();
    let plan = Plan { seed: 7, cases: Some(200), jobs: 2, only: Some(Keeping::Kept), policy, known: &known };
    let totals = run(&subject, &plan, &|| true, &mut Heard::default());
    let tried = minimise_all(&subject, &plan, &totals, &|| true);
    let mut lengths = std::collections::BTreeSet::new();
    for (found, tried) in totals.findings.iter().zip(tried) {
        if found.finding.signature.to_string() == "divergence|jax-rpa|-|wrong-rows|-" {
            let minimal = tried.unwrap().unwrap();
            lengths.insert((found.known.is_some(), minimal.draft.case.metadata.kv_lens[0]));
        }
    }
    // The condition is part of what stays: known findings don't shrink into news.
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [(false, 21), (true, 31)]);
}

#[test]
fn a_hunt_reports_a_signature_once_and_outlives_panics() {
    let known = KnownFile::default();
    let hunt = |slip, steps| {
        let subject = Fake::new(slip);
        let mut hunt = Hunt::new(&subject, &known, Policy::default(), Guidance::Coverage, Vec::new(), 7);
        let steps: Vec<Step> = (0..steps).map(|_| hunt.step()).collect();
        (steps, hunt.covered().count(), hunt.parents().len(), hunt.unsupported())
    };
    let (steps, covered, parents, _) = hunt(Slip::LongSequences(20), 200);
    let signatures: Vec<String> =
        steps.iter().flat_map(|step| &step.findings).map(|finding| finding.signature.to_string()).collect();
    let distinct: std::collections::BTreeSet<&String> = signatures.iter().collect();
    assert!(!distinct.is_empty() && distinct.len() == signatures.len(), "{signatures:?}");
    assert_eq!(covered, steps.iter().map(|step| step.fresh).sum::<u64>());
    assert_eq!(parents, steps.iter().filter(|step| step.fresh > 0).count());
    assert!(parents > 3 && parents < 100, "{parents}");

    let (steps, _, parents, _) = hunt(Slip::Panic(2), 200);
    let panics: Vec<&str> = steps.iter().filter_map(|step| step.panic.as_deref()).collect();
    assert!(panics.len() > 3 && panics.iter().all(|panic| *panic == "made to panic"), "{panics:?}");
    assert!(parents > 3, "{parents}");

    let (_, covered, parents, unsupported) = hunt(Slip::Unsupported, 50);
    assert!(unsupported > 40 && covered > 0 && parents > 0);
}

#[test]
fn a_hunt_is_a_function_of_seed_start_and_steps() {
    let (subject, known) = (Fake::new(Slip::LongSequences(20)), KnownFile::default());
    let steps = |guidance, start: &[Case], seed| {
        let mut hunt = Hunt::new(&subject, &known, Policy::default(), guidance, start.to_vec(), seed);
        let steps: Vec<Step> = (0..150).map(|_| hunt.step()).collect();
        (steps, hunt.parents().cloned().collect::<Vec<_>>(), hunt.waiting())
    };
    let first = steps(Guidance::Coverage, &[], 1);
    assert_eq!(first, steps(Guidance::Coverage, &[], 1));
    assert_ne!(first, steps(Guidance::Coverage, &[], 2));
    assert!(steps(Guidance::None, &[], 1).1.is_empty());
    // What was kept is tried first, and covers at once what it was kept for.
    let mut start = first.1.clone();
    start.push(start[0].clone());
    start[0].metadata.kv_lens.push(1);
    let (again, parents, waiting) = steps(Guidance::Coverage, &start, 3);
    assert!(again.iter().zip(&start).all(|(step, case)| step.case == *case));
    assert_eq!((waiting, parents.contains(&start[0])), (0, false));
    // Without guidance nothing is learnt from them.
    let unguided = steps(Guidance::None, &start, 3);
    assert!(unguided.1.is_empty() && unguided.0[start.len()..] != again[start.len()..]);
}
