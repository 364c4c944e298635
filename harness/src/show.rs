//! A case as a text table: one line a sequence with its rows of q, lengths, pages and what is odd about it.
//!
//! Invariant: total over all metadata; no line that we compose is wider than [`WIDTH`] columns. It describes and doesn't
//! judge: verdicts are given to it as lines.

use countersign_kernels::{Blocks, Variant};
use countersign_reference::Metadata;

use crate::case::Case;

/// Columns of the table.
pub const WIDTH: usize = 100;
/// Most sequences that get a line.
const MAX_SEQUENCES: usize = 40;
/// Columns of the page list.
const PAGES_WIDTH: usize = 24;
/// Columns before the remarks.
const REMARKS_AT: usize = 2 + 4 + 2 + 15 + 2 + 7 + 2 + 7 + 2 + PAGES_WIDTH + 2;

/// The case as a table, `verdicts` below it.
pub fn table(case: &Case, variant: &Variant, verdicts: &[String]) -> String {
    let (v, meta, rows) = (variant, &case.metadata, variant.family.model().rows().array);
    let mut lines = vec![
        format!("{} · {} · {}", case.kernel, v.name, payload(case)),
        format!(
            "{rows} [{}, {}, {}] {}; cache of {} pages, each {} tokens of {} KV heads, {}",
            v.tokens,
            v.q_heads,
            v.head_dim,
            v.q_dtype.name(),
            v.pages,
            v.page_size,
            v.kv_heads,
            v.kv_dtype.name()
        ),
        format!(
            "page table of {} rows and {} columns; {}",
            v.max_seqs,
            v.pages_per_seq,
            blocks(v).unwrap_or_else(|| "blocks from the kernel's tuning table".to_owned())
        ),
    ];
    if let Some(options) = options(v) {
        lines.push(options);
    }
    if let Some(statics) = &case.statics {
        let operands = statics.operands.keys().map(|operand| operand.name().to_owned());
        let names: Vec<String> = operands.chain(statics.options.keys().cloned()).collect();
        lines.push(format!("only traced: overrides {}", names.join(", ")));
    }
    lines.push(String::new());
    lines.push(format!(
        "  {:>4}  {:<15}  {:>7}  {:>7}  {:<PAGES_WIDTH$}  remarks",
        "seq",
        format!("rows of {rows}"),
        "q_len",
        "kv_len",
        "pages"
    ));
    let sequences = meta.sequences_in_table();
    for sequence in 0..sequences.min(MAX_SEQUENCES) {
        lines.extend(sequence_lines(v, meta, sequence));
    }
    if sequences > MAX_SEQUENCES {
        lines.push(format!("  … and {} more sequences", sequences - MAX_SEQUENCES));
    }
    lines.extend(surroundings(v, meta, sequences));
    if !case.payload.patches.is_empty() {
        lines.push(format!("  {} patched places in the payload", case.payload.patches.len()));
    }
    if !verdicts.is_empty() {
        lines.push(String::new());
        lines.extend(verdicts.iter().cloned());
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn payload(case: &Case) -> String {
    let payload = &case.payload;
    match &payload.file {
        Some(file) => format!("{} from {}", payload.pattern, file.name),
        None => format!("{} with seed {}", payload.pattern, payload.seed),
    }
}

fn blocks(variant: &Variant) -> Option<String> {
    let Blocks { queries, pages } = variant.blocks()?;
    Some(format!("query block of {queries} rows, KV block of {pages} pages"))
}

fn options(variant: &Variant) -> Option<String> {
    let options = &variant.options;
    let named = [
        ("window", options.sliding_window.map(|window| window.to_string())),
        ("soft cap", options.soft_cap.map(|cap| cap.to_string())),
        ("k_scale", options.k_scale.map(|scale| scale.to_string())),
        ("v_scale", options.v_scale.map(|scale| scale.to_string())),
    ];
    let set: Vec<String> =
        named.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))).collect();
    (!set.is_empty()).then(|| set.join(", "))
}

/// A sequence's line; further remarks go below the first.
fn sequence_lines(variant: &Variant, meta: &Metadata, sequence: usize) -> Vec<String> {
    let (start, end) = (meta.cu_q_lens[sequence], meta.cu_q_lens[sequence + 1]);
    let q_len = i64::from(end) - i64::from(start);
    let kv_len = meta.kv_lens[sequence];
    let used = used_pages(variant, meta, sequence);
    let remarks = remarks(variant, meta, sequence);
    let mut lines = wrap(&remarks, WIDTH - REMARKS_AT);
    let first = if lines.is_empty() { String::new() } else { lines.remove(0) };
    let rows = format!("{start}..{end}");
    let (rows, more) = if rows.len() > 15 { (format!("{start}.."), Some(end)) } else { (rows, None) };
    let mut all = vec![format!(
        "  {sequence:>4}  {rows:<15}  {:>7}  {:>7}  {:<PAGES_WIDTH$}  {first}",
        short(q_len),
        short(i64::from(kv_len)),
        page_list(used, PAGES_WIDTH)
    )];
    all.extend(more.map(|end| format!("  {:>4}  ..{end}", "")));
    all.extend(lines.into_iter().map(|line| format!("{:REMARKS_AT$}{line}", "")));
    all
}

/// A number of at most seven columns.
fn short(value: i64) -> String {
    let text = value.to_string();
    if text.len() <= 7 { text } else { format!("{:.0e}", value as f64) }
}

fn used_pages<'a>(variant: &Variant, meta: &'a Metadata, sequence: usize) -> &'a [i32] {
    let kv_len = usize::try_from(meta.kv_lens[sequence]).unwrap_or(0);
    let used = kv_len.div_ceil(variant.page_size.max(1)).min(meta.pages_per_seq);
    &meta.page_indices[sequence * meta.pages_per_seq..][..used]
}

/// What is odd, or at least notable, about a sequence below num_seqs.
pub(crate) fn remarks(variant: &Variant, meta: &Metadata, sequence: usize) -> Vec<String> {
    let (start, end) = (i64::from(meta.cu_q_lens[sequence]), i64::from(meta.cu_q_lens[sequence + 1]));
    let (q_len, kv_len) = (end - start, i64::from(meta.kv_lens[sequence]));
    let mut remarks = Vec::new();
    let kind = match q_len {
        0 if kv_len == 0 => "empty",
        0 => "no rows",
        1 if kv_len >= 1 => "decode",
        _ if 0 < q_len && q_len == kv_len => "prefill",
        _ if 0 < q_len && q_len < kv_len => "chunked prefill",
        _ => "",
    };
    let mut remark = |holds: bool, text: &str| {
        if holds && !text.is_empty() {
            remarks.push(text.to_owned());
        }
    };
    remark(true, kind);
    remark(start < 0 || end < 0, "negative row");
    remark(q_len < 0, "rows decrease");
    remark(
        end > variant.tokens as i64,
        &format!("past {}'s {} rows", variant.family.model().rows().array, variant.tokens),
    );
    remark(kv_len < 0, "negative kv_len");
    remark(q_len > kv_len && kv_len >= 0, "q_len > kv_len");
    let reach = meta.pages_per_seq.saturating_mul(variant.page_size) as i64;
    remark(kv_len > reach, &format!("kv_len past the table's {reach}"));
    let used = used_pages(variant, meta, sequence);
    let outside = used.iter().find(|&&page| usize::try_from(page).map_or(true, |page| page >= variant.pages));
    remark(outside.is_some(), &format!("no page {}", outside.unwrap_or(&0)));
    let sharer = (0..sequence.min(MAX_SEQUENCES))
        .find(|&other| used_pages(variant, meta, other).iter().any(|page| used.contains(page)));
    remark(sharer.is_some(), &format!("shares pages with {}", sharer.unwrap_or(0)));
    remarks
}

/// Padding rows and what stands past num_seqs.
fn surroundings(variant: &Variant, meta: &Metadata, sequences: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let rows = meta.kv_lens.len();
    if usize::try_from(meta.num_seqs) != Ok(sequences) {
        lines.push(format!("  num_seqs = {}, but the page table has {rows} rows", meta.num_seqs));
    }
    let total = meta.cu_q_lens.get(sequences).and_then(|&total| usize::try_from(total).ok());
    if let Some(padding) = total.filter(|&total| total < variant.tokens) {
        lines.push(format!("  {:>4}  {padding}..{}: padding rows", "", variant.tokens));
    }
    if sequences < rows {
        let tails = [
            ("cu_q_lens", meta.cu_q_lens.get(sequences + 1..).unwrap_or(&[])),
            ("kv_lens", &meta.kv_lens[sequences..]),
            ("page_indices", &meta.page_indices[sequences * meta.pages_per_seq..]),
        ];
        for (name, tail) in tails.into_iter().filter(|(_, tail)| tail.iter().any(|&value| value != 0)) {
            lines.push(format!("  {name} past num_seqs: {}", page_list(tail, WIDTH - 32)));
        }
    }
    lines
}

/// Numbers with runs as `3-7`, cut at `width` columns with a count of the rest.
fn page_list(pages: &[i32], width: usize) -> String {
    let mut runs: Vec<(i32, i32, usize)> = Vec::new();
    for &page in pages {
        match runs.last_mut() {
            Some((_, last, count)) if last.checked_add(1) == Some(page) => {
                *last = page;
                *count += 1;
            }
            _ => runs.push((page, page, 1)),
        }
    }
    let mut text = String::new();
    let mut left = pages.len();
    for (first, last, count) in runs {
        let run = match count {
            1 => first.to_string(),
            2 => format!("{first} {last}"),
            _ if first < 0 => format!("{first} to {last}"),
            _ => format!("{first}-{last}"),
        };
        let rest = format!(" … {left} more");
        if text.len() + run.len() + 1 + rest.chars().count() > width {
            let cut = if text.is_empty() { rest.trim_start().to_owned() } else { rest };
            // The last run needs no room for a rest.
            if left > count || text.len() + run.len() + 1 > width {
                return text + &cut;
            }
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text += &run;
        left -= count;
    }
    text
}

/// Remarks joined by commas, in lines of at most `width` columns where a remark allows it.
fn wrap(remarks: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for remark in remarks {
        match lines.last_mut() {
            Some(line) if line.len() + remark.len() + 2 <= width => {
                *line += ", ";
                *line += remark;
            }
            _ => lines.push(remark.clone()),
        }
    }
    lines
}
