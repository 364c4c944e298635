//! A batch as a picture: its cumulative lengths, its rows of q as a strip, and each sequence's pages.
//!
//! Invariant: draws any metadata, however absurd; every number drawn is the batch's own, and what is clipped is counted.

use maud::{Markup, html};

use super::number::counted;
use super::strip;
use crate::{BatchReport, FindingReport, SequenceReport};

/// Most rows past num_seqs that are drawn.
const MAX_UNUSED: usize = 2;

/// The batch of a finding.
pub(super) fn batch(batch: &BatchReport, finding: &FindingReport) -> Markup {
    let marks = Marks { batch };
    let used = used_sequences(batch);
    let drawn = batch.sequences.len().min(used + MAX_UNUSED);
    html! {
        figure.batch {
            figcaption { (caption(batch, finding)) }
            p.scalars {
                span { "num_seqs" }
                (cell(&batch.num_seqs.to_string(), marks.on("num_seqs", &[])))
                span.note { "of at most " (batch.table_rows) }
            }
            (cumulative(batch, &marks, used))
            (strip::strip(batch, used))
            div.scroll tabindex="0" {
                table.sequences {
                    thead {
                        tr {
                            th scope="col" { "seq" } th scope="col" { "rows of " (batch.rows_of()) } th.number scope="col" { "q_len" }
                            th.number scope="col" { "kv_len" } th scope="col" { "pages, from page_indices" } th scope="col" { "remarks" }
                        }
                    }
                    tbody {
                        @for (index, sequence) in batch.sequences.iter().enumerate().take(drawn) {
                            (row(batch, &marks, index, sequence, index < used))
                        }
                    }
                }
            }
            @if batch.table_rows > drawn {
                p.note { "and " (counted((batch.table_rows - drawn) as u64, "more row", "more rows")) " of the page table, not drawn" }
            }
        }
    }
}

/// Sequences that the batch names and that were kept.
fn used_sequences(batch: &BatchReport) -> usize {
    let held = batch.sequences.len().min(batch.cu_q_lens.len().saturating_sub(1));
    usize::try_from(batch.num_seqs).unwrap_or(0).min(held)
}

fn caption(batch: &BatchReport, finding: &FindingReport) -> Markup {
    html! {
        "q has " (batch.rows) " rows"
        @if let Some(block) = batch.query_block { ", in query blocks of " (block) }
        "; the cache has " (batch.pages) " pages of " (batch.page_size) " tokens"
        @if let Some(block) = batch.kv_block { ", read in KV blocks of " (block) " pages" }
        ". Payload " (batch.payload.join("; ")) ". Variant " (finding.variant) "."
    }
}

/// Entries that break a rule.
struct Marks<'a> {
    batch: &'a BatchReport,
}

impl<'a> Marks<'a> {
    /// The rule that an entry breaks.
    fn on(&self, array: &str, index: &[usize]) -> Option<&'a str> {
        let breaks = |breach: &&crate::BreachReport| {
            breach.entries.iter().any(|entry| entry.array == array && entry.index == index)
        };
        self.batch.breaches.iter().find(breaks).map(|breach| breach.rule.as_str())
    }
}

/// A number in a box; marked with the rule that it breaks.
fn cell(text: &str, rule: Option<&str>) -> Markup {
    html! {
        @match rule {
            Some(rule) => span.cell.bad title={ "breaks " (rule) } { (text) sup { "!" } },
            None => span.cell { (text) },
        }
    }
}

fn cumulative(batch: &BatchReport, marks: &Marks<'_>, used: usize) -> Markup {
    let shown = batch.cu_q_lens.len().min(used + 1 + MAX_UNUSED);
    html! {
        div.scroll tabindex="0" {
            table.array {
                tr.index {
                    td {}
                    @for index in 0..shown { th scope="col" { (index) } }
                }
                tr {
                    th scope="row" { "cu_q_lens" }
                    @for (index, value) in batch.cu_q_lens.iter().enumerate().take(shown) {
                        td.past[index > used] { (cell(&value.to_string(), marks.on("cu_q_lens", &[index]))) }
                    }
                    @if shown > used + 1 { td.past-note { "past num_seqs" } }
                }
            }
        }
    }
}

fn row(
    batch: &BatchReport,
    marks: &Marks<'_>,
    index: usize,
    sequence: &SequenceReport,
    used: bool,
) -> Markup {
    let ends = batch.cu_q_lens.get(index).zip(batch.cu_q_lens.get(index + 1));
    html! {
        tr.past[!used] {
            th scope="row" { @if used { span class={ "swatch s" (index % 8) } { (index) } } @else { (index) } }
            @match ends {
                Some((start, end)) if used => {
                    td { (start) ":" (end) }
                    td.number { (i64::from(*end) - i64::from(*start)) }
                }
                _ => { td {} td {} }
            }
            td.number { (cell(&sequence.kv_len.to_string(), marks.on("kv_lens", &[index]))) }
            td { div.pages { (pages(batch, marks, index, sequence, used)) } }
            td.remarks {
                @if used { (remarks(batch, index, sequence)) } @else { span.past-note { "past num_seqs" } }
            }
        }
    }
}

/// The row of the page table, a box a page.
fn pages(
    batch: &BatchReport,
    marks: &Marks<'_>,
    row: usize,
    sequence: &SequenceReport,
    used: bool,
) -> Markup {
    let page_size = batch.page_size.max(1);
    let kv_len = if used { usize::try_from(sequence.kv_len).unwrap_or(0) } else { 0 };
    let reach = batch.columns.saturating_mul(page_size);
    let missing = kv_len.saturating_sub(reach).div_ceil(page_size);
    let left_out = batch.columns - sequence.pages.len().min(batch.columns);
    html! {
        @for (column, page) in sequence.pages.iter().enumerate() {
            @let tokens = kv_len.saturating_sub(column * page_size).min(page_size);
            @match marks.on("page_indices", &[row, column]) {
                Some(rule) => span.pg.bad title={ "column " (column) " breaks " (rule) } { (page) sup { "!" } },
                None if tokens == 0 => span.pg.un { (page) },
                None if tokens == page_size => span.pg { (page) },
                None => span.pg style={ "--f:" (tokens * 100 / page_size) "%" } title={ (tokens) " of " (page_size) " tokens" } { (page) },
            }
        }
        @if left_out > 0 { span.note { "and " (left_out) " more columns" } }
        @if missing > 0 {
            span.pg.none { (missing) " more needed" sup { "!" } }
        }
    }
}

fn remarks(batch: &BatchReport, index: usize, sequence: &SequenceReport) -> Markup {
    let wrong = wrong_rows_of(batch, index);
    html! {
        (sequence.remarks.join(", "))
        @if wrong > 0 {
            " " span.wrongs { "✗ " (wrong) " wrong " @if wrong == 1 { "row" } @else { "rows" } }
        }
    }
}

/// Wrong rows among a sequence's rows of q.
fn wrong_rows_of(batch: &BatchReport, index: usize) -> usize {
    let entry = |at: usize| batch.cu_q_lens.get(at).and_then(|&value| usize::try_from(value).ok());
    let (Some(start), Some(end)) = (entry(index), entry(index + 1)) else { return 0 };
    batch.wrong_rows.iter().map(|&(first, last)| last.min(end).saturating_sub(first.max(start))).sum()
}
