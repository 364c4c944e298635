//! The table that `show` prints.

use countersign::generate::generate;
use countersign::show;
use countersign_dtype::DType;
use countersign_kernels::catalogue::{Catalogue, Tier};

use crate::samples;

#[test]
fn the_table_names_rows_lengths_pages_and_oddities() {
    let mut case = samples::case();
    case.metadata.page_indices[10] = 3;
    case.metadata.kv_lens[1] = 4;
    case.metadata.kv_lens[3] = 999;
    let verdicts = ["broken: q-len-within-kv-len".to_owned()];
    let text = show::table(&case, &samples::variant(DType::F32, DType::Bf16), &verdicts);
    insta::assert_snapshot!(text, @"");
}

#[test]
fn any_case_fits_the_width() {
    let catalogue = Catalogue::builtin().unwrap();
    let variants: Vec<_> = catalogue.kernel("jax-rpa").unwrap().variants(Tier::Small).cloned().collect();
    for index in 0..3000 {
        let case = generate(4, index, "jax-rpa", &variants, None).case;
        let text = show::table(&case, case.variant(&variants).unwrap(), &[]);
        for line in text.lines() {
            assert!(line.chars().count() <= show::WIDTH, "{line}\n{text}");
        }
    }
}
