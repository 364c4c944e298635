//! Other releases of JAX: that each is run, and that bugs which were mended since are found in the one that has them. Ignored: each
//! release needs an environment of its own, half a gigabyte and a minute.

use countersign::campaign::{Plan, Totals, run};
use countersign::known::KnownFile;
use countersign::loaded::Loaded;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::Policy;
use countersign_kernels::env::{Environment, Silent};
use countersign_kernels::export::export;

use crate::Deaf;

fn load(id: &str) -> Loaded {
    let catalogue = Catalogue::builtin().unwrap();
    let kernel = catalogue.kernel(id).unwrap();
    let environment = Environment::open_for(None, None, &kernel.python.packages, &Silent).unwrap();
    let variants: Vec<_> = kernel.variants(Tier::Small).cloned().collect();
    let exports = export(&environment, &kernel.python.call(), &variants, &Silent).unwrap();
    Loaded::new(kernel, variants, exports, false)
}

fn campaign(loaded: &Loaded, cases: u64, only: Option<Keeping>, known: &KnownFile) -> Totals {
    let plan = Plan { seed: 1, cases: Some(cases), jobs: 2, only, policy: Policy::default(), known };
    run(loaded, &plan, &|| true, &mut Deaf)
}

#[test]
#[ignore = "installs three releases of JAX"]
fn releases_with_the_same_kernel_show_nothing_that_is_not_known() {
    let known = KnownFile::builtin().unwrap();
    for id in ["jax-rpa@0.7.2", "jax-rpa@0.8.1", "jax-rpa@0.9.2"] {
        let loaded = load(id);
        assert_eq!(loaded.failures().collect::<Vec<_>>(), [], "{id}");
        let totals = campaign(&loaded, 1000, None, &known);
        assert_eq!(totals.unsupported, 0, "{id}");
        let news: Vec<String> = totals
            .findings
            .iter()
            .filter(|found| found.known.is_none())
            .map(|found| found.finding.signature.to_string())
            .collect();
        assert!(news.is_empty() && !totals.findings.is_empty(), "{id}: {news:?}");
    }
}

/// Two bugs of jax 0.6.0, both mended by jax-ml/jax 11cf85deb0: a NaN in the cache past kv_len reaches the output, and pages that
/// fill up a block are found through table entries that the sequence doesn't own.
#[test]
#[ignore = "installs two releases of JAX"]
fn bugs_that_were_mended_are_found_where_they_are() {
    let known = KnownFile::builtin().unwrap();
    let shown = |id: &str| {
        let loaded = load(id);
        assert_eq!(loaded.failures().collect::<Vec<_>>(), [], "{id}");
        let totals = campaign(&loaded, 200, Some(Keeping::Kept), &known);
        assert_eq!((totals.kept, totals.unsupported), (200, 0), "{id}");
        let of = |kind: &str, effect: &str| {
            totals
                .findings
                .iter()
                .filter(|found| found.known.is_none())
                .map(|found| found.finding.signature.to_string())
                .filter(|text| text.starts_with(kind) && text.contains(effect))
                .count()
        };
        (of("divergence|", "|undefined-output|"), of("fault|", "|undefined-use|"))
    };
    let (nan, filler) = shown("jax-rpa@0.6.0");
    assert!(nan > 0, "keys and values past kv_len are not masked in jax 0.6.0");
    assert!(filler > 0, "table entries past a sequence's own pages are used in jax 0.6.0");
    assert_eq!(shown("jax-rpa@0.7.2"), (0, 0));
}
