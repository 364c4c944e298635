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
    insta::assert_snapshot!(text, @r"
    jax-rpa · sample · normal@1 with seed 7
    q [32, 4, 128] f32; cache of 16 pages, each 8 tokens of 2 KV heads, bf16
    page table of 4 rows and 5 columns; query block of 8 rows, KV block of 2 pages
    soft cap 30

       seq  rows of q          q_len   kv_len  pages                     remarks
         0  0..1                   1       18  3 1 2                     decode
         1  1..6                   5        4  4                         q_len > kv_len
         2  6..13                  7       33  3 6 7 9 8                 chunked prefill
                                                                         shares pages with 0
            13..32: padding rows
      cu_q_lens past num_seqs: 13
      kv_lens past num_seqs: 999

    broken: q-len-within-kv-len
    ");
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
