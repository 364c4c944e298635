//! The built-in corpus: every file reads, and shows what its name says.

use std::collections::BTreeSet;

use countersign::corpus::{CorpusFile, builtin};
use countersign::generate::Slip;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::rpa::contract;

/// Rules that a file's case breaks.
fn rules(file: &CorpusFile) -> Vec<&'static str> {
    let catalogue = Catalogue::builtin().unwrap();
    let kernel = catalogue.kernel(&file.case.kernel).unwrap();
    let variants: Vec<_> = kernel.variants(Tier::Small).cloned().collect();
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
fn every_file_reads_and_says_where_it_came_from() {
    for (name, text) in builtin() {
        let file = read(name);
        rules(&file);
        assert!(file.origin.is_some_and(|origin| origin.cause.len() > 10), "{name}");
        assert!(text.lines().count() < 60, "{name}");
    }
    let names: Vec<&str> = builtin().iter().map(|(name, _)| *name).collect();
    assert!(names.is_sorted());
}

#[test]
fn every_slip_has_a_seed_that_stands_to_the_contract_as_the_slip_does() {
    let catalogue = Catalogue::builtin().unwrap();
    let variants: Vec<_> = catalogue.kernel("jax-rpa").unwrap().variants(Tier::Small).cloned().collect();
    for slip in Slip::ALL {
        let case = read(&format!("seeds/{}.toml", slip.name())).case;
        let variant = case.variant(&variants).unwrap();
        let found = contract::check(variant, &case.batch(variant).unwrap()).keeping();
        assert_eq!(found, slip.keeping(), "{}", slip.name());
    }
    let named: BTreeSet<String> = Slip::ALL.map(|slip| format!("seeds/{}.toml", slip.name())).into();
    let seeds = builtin().iter().filter(|(name, _)| name.starts_with("seeds/"));
    assert!(seeds.clone().all(|(name, _)| named.contains(*name)), "a seed is named for its slip");
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
