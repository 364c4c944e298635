//! The built-in corpus: every file is sound, and shows what its name says; the generated part is what its generator makes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use countersign::corpus::{self, CorpusFile, Expect, builtin};
use countersign::generate::{BoundaryClass, Slip};
use countersign::known::{Facts, KnownFile};
use countersign::signature::{OptionNames, Signature};
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::contract;

fn kernel() -> KernelEntry {
    Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone()
}

/// Rules that a file's case breaks.
fn rules(file: &CorpusFile) -> Vec<&'static str> {
    let variants: Vec<_> = kernel().variants(Tier::Full).cloned().collect();
    let variant = file.case.variant(&variants).unwrap();
    let batch = file.case.batch(variant).unwrap();
    contract::check(variant, &batch).rules().iter().map(|rule| rule.id).collect()
}

fn read(name: &str) -> CorpusFile {
    let (_, text) =
        builtin().iter().find(|(path, _)| *path == name).unwrap_or_else(|| panic!("{name} is missing"));
    CorpusFile::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn nothing_is_wrong_with_any_file() {
    let files: Vec<(String, String)> =
        builtin().iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let mut names: Vec<String> = Vec::new();
    let problems = corpus::verify(
        Path::new(""),
        &files,
        &Catalogue::builtin().unwrap(),
        &KnownFile::builtin().unwrap(),
        2,
        &mut |name| names.push(name.to_owned()),
    );
    assert_eq!(problems, []);
    assert!(names.is_sorted());
    assert_eq!(names.len(), files.len());
    for (name, text) in &files {
        assert!(text.lines().count() < 60, "{name}");
        assert!(read(name).origin.is_some_and(|origin| origin.cause.len() > 10), "{name}");
    }
}

/// What is generated, by path, but for what seeds expect, which only a replay can tell.
fn made() -> BTreeMap<String, CorpusFile> {
    let mut made = BTreeMap::from_iter(corpus::seeds(&kernel()).unwrap());
    made.extend(corpus::upstream().unwrap());
    made
}

#[test]
fn seeds_and_upstreams_batches_are_what_the_generator_makes() {
    let is_made = |name: &&str| name.starts_with("seeds/") || name.starts_with("upstream/");
    let mut made = made();
    for name in builtin().iter().map(|(name, _)| *name).filter(is_made) {
        let found = read(name);
        let mut made =
            made.remove(name).unwrap_or_else(|| panic!("`countersign corpus make` doesn't write {name}"));
        if name.starts_with("seeds/") {
            assert!(found.expect.is_some(), "{name}");
            made.expect.clone_from(&found.expect);
        }
        assert_eq!(found, made, "{name} isn't what `countersign corpus make corpus` writes");
    }
    assert!(made.is_empty(), "`countersign corpus make corpus` writes more: {:?}", made.keys());
}

#[test]
fn every_slip_has_a_seed_that_stands_to_the_contract_as_the_slip_does() {
    let variants: Vec<_> = kernel().variants(Tier::Small).cloned().collect();
    for slip in Slip::ALL {
        let case = read(&format!("seeds/{}.toml", slip.name())).case;
        let variant = case.variant(&variants).unwrap();
        let found = contract::check(variant, &case.batch(variant).unwrap()).keeping();
        assert_eq!(found, slip.keeping(), "{}", slip.name());
    }
}

#[test]
fn every_boundary_class_has_a_seed_that_is_of_it() {
    let variants: Vec<_> = kernel().variants(Tier::Small).cloned().collect();
    for class in BoundaryClass::ALL {
        let case = read(&format!("seeds/{}.toml", class.name())).case;
        let variant = case.variant(&variants).unwrap();
        assert!(BoundaryClass::observe(variant, &case.metadata).contains(&class), "{}", class.name());
    }
}

#[test]
fn slips_and_classes_have_names_of_their_own_and_seeds_no_others() {
    let slips = Slip::ALL.map(|slip| slip.name().to_owned());
    let names: BTreeSet<String> =
        slips.into_iter().chain(BoundaryClass::ALL.map(BoundaryClass::name)).collect();
    assert_eq!(names.len(), Slip::ALL.len() + BoundaryClass::ALL.len());
    let seeds: BTreeSet<String> = builtin()
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("seeds/")?.strip_suffix(".toml"))
        .map(str::to_owned)
        .collect();
    assert_eq!(seeds, names);
}

#[test]
fn upstreams_batches_are_all_there_and_of_the_full_tier() {
    let upstream = corpus::upstream().unwrap();
    let mut families: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, file) in &upstream {
        *families.entry(name.split('/').nth(1).unwrap()).or_default() += 1;
        assert_eq!(Tier::of(file.case.variant(&[]).unwrap()), Tier::Full, "{name}");
        assert_eq!(file.expect, Some(Expect::Clean), "{name}");
        let meta = &file.case.metadata;
        let used = |sequence: usize| {
            let row = &meta.page_indices[sequence * meta.pages_per_seq..][..meta.pages_per_seq];
            &row[..(meta.kv_lens[sequence] as usize).div_ceil(16)]
        };
        let pages: Vec<i32> = (0..meta.num_seqs as usize).flat_map(used).copied().collect();
        assert_eq!(BTreeSet::from_iter(&pages).len(), pages.len(), "{name} uses a page twice");
        assert!(pages.iter().all(|page| (0..1000).contains(page)), "{name}");
    }
    let expected = [
        ("basic", 2),
        ("complex", 120),
        ("decode-only", 2),
        ("logit-soft-capping", 8),
        ("mixed", 2),
        ("prefill-only", 2),
        ("quantized-kv-cache", 4),
        ("sliding-window", 12),
    ];
    assert_eq!(families, BTreeMap::from(expected));
    let names: BTreeSet<&String> = upstream.iter().map(|(name, _)| name).collect();
    assert_eq!((names.len(), upstream.len()), (152, 152));
}

#[test]
fn the_example_in_the_readme_is_a_sound_case() {
    let readme = include_str!("../../../corpus/README.md");
    let (_, after) = readme.split_once("<!-- A test replays this very text. -->\n```toml\n").unwrap();
    let (example, _) = after.split_once("\n```\n").unwrap();
    let files = [("example.toml".to_owned(), example.to_owned())];
    let problems = corpus::verify(
        Path::new(""),
        &files,
        &Catalogue::builtin().unwrap(),
        &KnownFile::builtin().unwrap(),
        1,
        &mut |_| {},
    );
    // It is written as a person writes.
    assert!(problems.iter().all(|problem| problem.message.contains("--fix` rewrites it")), "{problems:?}");
    assert!(rules(&CorpusFile::from_toml(example).unwrap()).is_empty());
}

#[test]
fn the_first_batch_and_its_relatives_break_the_rule_that_they_are_named_for() {
    let expected: [(&str, &[&str]); 4] = [
        ("two-prefills-of-600", &["total-q-within-rows"]),
        ("num-seqs-over-table", &["num-seqs-within-table"]),
        ("page-table-too-short", &["kv-lens-in-table"]),
        ("q-len-over-kv-len", &["q-len-within-kv-len"]),
    ];
    for (slug, broken) in expected {
        assert_eq!(rules(&read(&format!("regressions/jax-rpa/{slug}.toml"))), broken, "{slug}");
    }
    for slug in ["num-seqs-of-two-entries", "head-dim-differs"] {
        assert!(read(&format!("regressions/jax-rpa/{slug}.toml")).case.statics.is_some(), "{slug}");
    }
}

#[test]
fn every_known_finding_has_a_regression_that_shows_it() {
    let variants: Vec<_> = kernel().variants(Tier::Full).cloned().collect();
    let mine = builtin().iter().filter(|(name, _)| name.starts_with("regressions/"));
    let shown: Vec<(Signature, Facts)> = mine
        .flat_map(|(name, _)| {
            let file = read(name);
            let facts = Facts::of(file.case.variant(&variants).unwrap(), &file.case.metadata);
            let signatures = match file.expect {
                Some(Expect::Signatures(signatures)) => signatures,
                Some(Expect::Clean) | None => Vec::new(),
            };
            signatures.into_iter().map(move |text| (Signature::parse(&text).unwrap(), facts.clone()))
        })
        .collect();
    let known = KnownFile::builtin().unwrap();
    for (position, entry) in known.entries.iter().enumerate() {
        let is_its_own =
            |(signature, facts): &(Signature, Facts)| known.explain(signature, facts) == Some(position);
        assert!(shown.iter().any(is_its_own), "entry {position}, {}", entry.signature);
    }
}

/// One gap of the published report, as its Markdown has it.
fn published_gaps() -> Vec<(Signature, Vec<&'static str>)> {
    let page = include_str!("../../../reports/published/jax-rpa-0.10.2-gaps.md");
    let of = |part: &'static str| {
        let mut lines = part.lines();
        let signature = lines.find_map(|line| line.strip_prefix("`gap:")?.strip_suffix('`'))?;
        Some((Signature::parse(&format!("gap:{signature}")).unwrap(), lines.collect()))
    };
    page.split("\n### ").filter_map(of).collect()
}

#[test]
fn every_published_gap_is_minimised_kept_explained_and_has_a_script() {
    let published = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../reports/published"));
    let known = KnownFile::builtin().unwrap();
    let gaps = published_gaps();
    assert!(gaps.len() > 50, "{} gaps", gaps.len());
    for (signature, lines) in gaps {
        let quoted = |begins: &str| {
            let line = lines.iter().find_map(|line| line.strip_prefix(begins));
            let text = line.unwrap_or_else(|| panic!("{signature}: no line begins with {begins}"));
            text.split('`').next().unwrap()
        };
        let name = quoted("- regression: `corpus/");
        let Some(Expect::Signatures(expected)) = read(name).expect else { panic!("{name}: clean") };
        let gap = Signature { options: OptionNames::Any, ..signature.clone() };
        assert!(
            expected.iter().any(|text| gap.covers(&Signature::parse(text).unwrap())),
            "{signature}: {name}"
        );

        let entry = quoted("- explained by `");
        assert!(known.entries.iter().any(|known| known.signature.to_string() == entry), "{entry}");
        assert!(Signature::parse(entry).unwrap().covers(&signature), "{entry}: {signature}");

        assert!(published.join(quoted("- without countersign: `python ")).is_file(), "{signature}");
        let is_small = lines.iter().any(|line| {
            // A call is one edit of a right one: there is nothing to leave out.
            line.starts_with("- From the edit ") || line.contains("of which nothing can be left out")
        });
        assert!(is_small, "{signature}: its regression isn't minimal, {lines:#?}");
    }
}
