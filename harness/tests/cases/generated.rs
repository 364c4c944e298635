//! Generation: deterministic, short, of every class, and as the contract says it was meant.

use std::collections::BTreeMap;

use countersign::case::Case;
use countersign::generate::{BoundaryClass, Generated, Slip, generate, generate_from};
use countersign::payload::Pattern;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::contract::{self, Keeping};

fn variants() -> Vec<Variant> {
    let catalogue = Catalogue::builtin().unwrap();
    catalogue.kernel("jax-rpa").unwrap().variants(Tier::Small).cloned().collect()
}

fn variant<'a>(variants: &'a [Variant], case: &'a Case) -> &'a Variant {
    case.variant(variants).unwrap()
}

#[test]
fn a_case_is_a_function_of_seed_and_index() {
    let variants = variants();
    let all: Vec<Generated> = (0..200).map(|index| generate(1, index, "jax-rpa", &variants, None)).collect();
    for (index, generated) in all.iter().enumerate().rev() {
        assert_eq!(*generated, generate(1, index as u64, "jax-rpa", &variants, None));
    }
    let other = generate(2, 0, "jax-rpa", &variants, None);
    assert_ne!(all[0], other);
}

#[test]
fn a_thousand_cases_are_readable_and_read_back() {
    let variants = variants();
    for index in 0..1000 {
        let case = generate(1, index, "jax-rpa", &variants, None).case;
        let text = case.to_toml();
        assert!(text.lines().count() < 60, "{text}");
        assert_eq!(Case::from_toml(&text).as_ref(), Ok(&case), "{text}");
        assert_eq!(Case::from_bytes(&case.to_bytes().unwrap()).as_ref(), Ok(&case));
    }
}

#[test]
fn five_thousand_cases_meet_every_realisable_class_slip_pattern_and_variant() {
    let variants = variants();
    let mut hits: BTreeMap<String, usize> = BTreeMap::new();
    for class in BoundaryClass::ALL {
        if variants.iter().any(|variant| class.realisable(variant)) {
            hits.insert(class.name(), 0);
        }
    }
    hits.extend(Slip::ALL.map(|slip| (slip.name().to_owned(), 0)));
    hits.extend(Pattern::ALL.map(|pattern| (pattern.name().to_owned(), 0)));
    hits.extend(variants.iter().map(|variant| (variant.name.clone(), 0)));
    for index in 0..5000 {
        let tags = generate(1, index, "jax-rpa", &variants, None).tags;
        let slip = tags.slip.map(|slip| slip.name().to_owned());
        let classes = tags.classes.iter().map(|class| class.name());
        let names = classes.chain(slip).chain([tags.pattern.name().to_owned(), tags.variant]);
        names.for_each(|name| {
            hits.entry(name).and_modify(|count| *count += 1);
        });
    }
    let rare: Vec<_> = hits.iter().filter(|(_, count)| **count < 5).collect();
    assert!(rare.is_empty(), "{rare:?} of {hits:#?}");
}

/// What the contract says of a case.
fn keeping(variants: &[Variant], case: &Case) -> (Keeping, Vec<&'static str>) {
    let variant = variant(variants, case);
    let contract = contract::check(variant, &case.batch(variant).unwrap());
    (contract.keeping(), contract.rules().iter().map(|rule| rule.id).collect())
}

#[test]
fn the_contract_agrees_with_the_intention() {
    let variants = variants();
    let mut counts = BTreeMap::new();
    let mut single = BTreeMap::new();
    for index in 0..10_000 {
        let generated = generate(3, index, "jax-rpa", &variants, None);
        let (keeping, rules) = keeping(&variants, &generated.case);
        assert_eq!(
            keeping,
            generated.tags.intention,
            "{rules:?} {:?}\n{}",
            generated.tags,
            generated.case.to_toml()
        );
        *counts.entry(keeping).or_insert(0) += 1;
        if keeping == Keeping::Broken {
            *single.entry(rules.len() == 1).or_insert(0) += 1;
        }
    }
    assert!((5700..6300).contains(&counts[&Keeping::Kept]), "{counts:?}");
    assert!((1300..1700).contains(&counts[&Keeping::Disputed]), "{counts:?}");
    assert!((2200..2800).contains(&counts[&Keeping::Broken]), "{counts:?}");
    assert!(single[&true] > 3 * single[&false], "mostly one broken rule at a time: {single:?}");
}

#[test]
fn only_selects() {
    let variants = variants();
    for only in [Keeping::Kept, Keeping::Disputed, Keeping::Broken] {
        for index in 0..1000 {
            let generated = generate(5, index, "jax-rpa", &variants, Some(only));
            assert_eq!(keeping(&variants, &generated.case).0, only, "{:?}", generated.tags);
        }
    }
}

#[test]
fn any_bytes_give_a_case() {
    let variants = variants();
    for length in 0..300usize {
        for filler in [0u8, 1, 0x7f, 0xff] {
            let case = generate_from(&vec![filler; length], "jax-rpa", &variants, None).case;
            case.batch(variant(&variants, &case)).unwrap();
        }
    }
}
