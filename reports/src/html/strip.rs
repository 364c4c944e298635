//! The rows of q as a strip: who owns which, where the padding is, what lies beyond q, and which rows came out wrong.
//!
//! Invariant: to scale wherever it is drawn; what lies outside the drawn range ends in an arrow with its value.

use maud::{Markup, html};

use crate::BatchReport;

/// Width of the drawing, in units of its view box.
const WIDTH: f64 = 1000.0;
/// Height of a lane.
const LANE: f64 = 26.0;
/// Where the first lane begins.
const TOP: f64 = 22.0;
/// Units that a label of a tick needs.
const LABEL: f64 = 30.0;

/// Patterns that the strips of a page share.
pub(crate) fn patterns() -> Markup {
    html! {
        svg.defs width="0" height="0" aria-hidden="true" {
            defs {
                pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    line.hatch-line x1="0" y1="0" x2="0" y2="7" {}
                }
                pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse" {
                    circle.dot cx="3" cy="3" r="1" {}
                }
            }
        }
    }
}

/// Rows of q from left to right. Sequences that overlap, or go backwards, get a lane each.
pub(super) fn strip(batch: &BatchReport, used: usize) -> Markup {
    let ends = batch.cu_q_lens.get(..=used).unwrap_or(&batch.cu_q_lens);
    let ordered = ends.windows(2).all(|pair| pair[0] <= pair[1]);
    let scale = Scale::of(batch.rows, ends);
    let lanes = if ordered { 1 } else { used.max(1) };
    let bottom = TOP + lanes as f64 * LANE;
    let height = bottom + if batch.wrong_rows.is_empty() { 20.0 } else { 46.0 };
    let total = ends.last().copied().unwrap_or(0);
    let rows = i64::try_from(batch.rows).unwrap_or(i64::MAX);
    html! {
        div.scroll tabindex="0" {
            svg.strip viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(described(batch, used)) {
                // q itself, with the padding that no sequence covers
                (bar(batch.rows_of(), &scale, 0, rows, TOP, lanes as f64 * LANE))
                @if ordered && i64::from(total) < rows {
                    @let from = i64::from(total.max(0));
                    (bar("pad", &scale, from, rows, TOP, LANE))
                    (label(&scale, from, rows, TOP, "padding"))
                }
                @for (index, pair) in ends.windows(2).enumerate() {
                    @let (start, end) = (i64::from(pair[0]), i64::from(pair[1]));
                    @let y = if ordered { TOP } else { TOP + index as f64 * LANE };
                    @if start <= end {
                        (bar(&format!("s{}", index % 8), &scale, start, end, y, LANE))
                        @if end > rows { (bar("beyond", &scale, start.max(rows), end, y, LANE)) }
                    } @else {
                        (bar("backwards", &scale, end, start, y, LANE))
                    }
                    (label(&scale, start.min(end), start.max(end), y, &index.to_string()))
                }
                (blocks(batch, &scale, lanes))
                (ticks(batch, &scale, ends, bottom))
                // where q ends
                line.end x1=(px(scale.x(rows))) x2=(px(scale.x(rows))) y1=(px(TOP - 6.0)) y2=(px(bottom + 4.0)) {}
                text.small text-anchor="end" x=(px(scale.x(rows) - 4.0)) y=(px(TOP - 9.0)) { "q ends: " (rows) " rows" }
                @if let Some(most) = ends.iter().max().filter(|most| i64::from(**most) > scale.high) {
                    text.small text-anchor="end" x=(px(WIDTH)) y=(px(TOP - 9.0)) { "→ " (most) }
                }
                @if let Some(least) = ends.iter().min().filter(|least| i64::from(**least) < scale.low) {
                    text.small x="0" y=(px(TOP - 9.0)) { (least) " ←" }
                }
                @for &(first, last) in &batch.wrong_rows {
                    @let (x, end) = (scale.x(first as i64), scale.x(last as i64));
                    rect.wrong x=(px(x)) y=(px(bottom + 20.0)) width=(px((end - x).max(3.0))) height="7" {}
                }
                @if let Some(&(first, _)) = batch.wrong_rows.first() {
                    @let x = scale.x(first as i64).min(WIDTH - 90.0);
                    text.wrong-text x=(px(x)) y=(px(bottom + 38.0)) { "✗ wrong rows" }
                }
            }
        }
    }
}

/// From rows of q to units of the view box.
struct Scale {
    low: i64,
    high: i64,
}

impl Scale {
    /// All of q, and at most half as much again on either side where entries lie there.
    fn of(rows: usize, ends: &[i32]) -> Scale {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX / 4).max(1);
        let margin = (rows / 2).max(2);
        let least = ends.iter().copied().min().map_or(0, i64::from);
        let most = ends.iter().copied().max().map_or(0, i64::from);
        Scale { low: least.clamp(-margin, 0), high: most.clamp(rows, rows + margin) }
    }

    fn x(&self, row: i64) -> f64 {
        let span = (self.high - self.low).max(1) as f64;
        (row.clamp(self.low, self.high) - self.low) as f64 / span * WIDTH
    }
}

/// A coordinate in tenths, so that the text is short and the same everywhere.
fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() as i64;
    if tenths % 10 == 0 {
        (tenths / 10).to_string()
    } else {
        format!("{}.{}", tenths / 10, (tenths % 10).abs())
    }
}

fn bar(class: &str, scale: &Scale, from: i64, to: i64, y: f64, height: f64) -> Markup {
    let (x, end) = (scale.x(from), scale.x(to));
    html! { rect class=(class) x=(px(x)) y=(px(y)) width=(px(end - x)) height=(px(height)) {} }
}

/// A text in the middle of a bar that has room for it.
fn label(scale: &Scale, from: i64, to: i64, y: f64, text: &str) -> Markup {
    let (x, end) = (scale.x(from), scale.x(to));
    html! {
        @if end - x >= 9.0 * text.len() as f64 {
            text text-anchor="middle" x=(px((x + end) / 2.0)) y=(px(y + LANE - 8.0)) { (text) }
        }
    }
}

/// Where query blocks begin.
fn blocks(batch: &BatchReport, scale: &Scale, lanes: usize) -> Markup {
    let starts = match batch.query_block {
        Some(block) if block > 0 && batch.rows / block <= 64 => (block..batch.rows).step_by(block).collect(),
        Some(_) | None => Vec::new(),
    };
    html! {
        @for start in starts {
            @let x = px(scale.x(start as i64));
            line.block x1=(x) x2=(x) y1=(px(TOP)) y2=(px(TOP + lanes as f64 * LANE)) {}
        }
    }
}

/// A tick for each cumulative length, with its value where there is room.
fn ticks(batch: &BatchReport, scale: &Scale, ends: &[i32], bottom: f64) -> Markup {
    let mut sorted: Vec<i64> = ends.iter().map(|&end| i64::from(end)).collect();
    sorted.push(batch.rows as i64);
    sorted.retain(|&end| (scale.low..=scale.high).contains(&end));
    sorted.sort_unstable();
    sorted.dedup();
    let mut free = f64::NEG_INFINITY;
    let labelled = sorted.into_iter().map(|end| {
        let x = scale.x(end);
        let has_room = x >= free;
        if has_room {
            free = x + LABEL;
        }
        (end, x, has_room)
    });
    html! {
        @for (end, x, has_room) in labelled {
            line.tick x1=(px(x)) x2=(px(x)) y1=(px(bottom)) y2=(px(bottom + 4.0)) {}
            @if has_room {
                @let anchor = if x < 10.0 { "start" } else if x > WIDTH - 10.0 { "end" } else { "middle" };
                text.small text-anchor=(anchor) x=(px(x)) y=(px(bottom + 15.0)) { (end) }
            }
        }
    }
}

/// The strip in words.
fn described(batch: &BatchReport, used: usize) -> String {
    let pairs = batch.cu_q_lens.windows(2).take(used);
    let owned: Vec<String> = pairs
        .enumerate()
        .map(|(index, pair)| format!("sequence {index} from {} to {}", pair[0], pair[1]))
        .collect();
    let wrong: Vec<String> =
        batch.wrong_rows.iter().map(|(first, end)| format!("{first} to {}", end - 1)).collect();
    let wrong = if wrong.is_empty() { String::new() } else { format!("; wrong rows {}", wrong.join(", ")) };
    format!("{} rows of {}: {}{wrong}", batch.rows, batch.rows_of(), owned.join(", "))
}
