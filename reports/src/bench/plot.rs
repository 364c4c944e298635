//! Pictures of times: lines over a size, on logarithmic scales, and bars of a ratio.
//!
//! Invariant: a function of its numbers; what a picture shows is also said in words to those who can't see it.

use maud::{Markup, html};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 260.0;
/// Left, right, top and bottom of where lines may be.
const AREA: [f64; 4] = [56.0, 420.0, 12.0, 220.0];

/// A named line: points of a positive size and a positive value.
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// Lines over `axis`; values in milliseconds.
pub(super) fn lines(axis: &str, lines: &[Line]) -> Markup {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let Some((low, high)) = decades(points().map(|(_, value)| value)) else { return html! {} };
    let sizes = points().map(|(size, _)| size);
    let (least, most) = sizes.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
    let [left, right, top, bottom] = AREA;
    let across = |size: f64| left + (right - left) * (size / least).ln() / (most / least).ln().max(1e-9);
    let up = |value: f64| bottom - (bottom - top) * (value.log10() - low) / (high - low);
    let mut ticks: Vec<f64> = lines.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    html! {
        div.scroll tabindex="0" {
            svg.spread.growth viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ "Times over " (axis) ": " (described(lines)) } {
                @for exponent in low as i32..=high as i32 {
                    @let y = up(10f64.powi(exponent));
                    line.grid x1=(left) x2=(right) y1=(y) y2=(y) {}
                    text.small text-anchor="end" x=(left - 6.0) y=(y + 4.0) { (millis(10f64.powi(exponent))) }
                }
                @for &size in &ticks {
                    line.axis x1=(across(size)) x2=(across(size)) y1=(bottom) y2=(bottom + 4.0) {}
                    text.small text-anchor="middle" x=(across(size)) y=(bottom + 17.0) { (size) }
                }
                line.axis x1=(left) x2=(right) y1=(bottom) y2=(bottom) {}
                text.small text-anchor="middle" x=((left + right) / 2.0) y=(HEIGHT - 6.0) { (axis) }
                @for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.points.is_empty()) {
                    polyline class={ "line l" (number) } points=(path(line, across, up)) {}
                    @for &(size, value) in &line.points {
                        circle class={ "dot l" (number) } cx=(round(across(size))) cy=(round(up(value))) r="2.5" {
                            title { (line.name) ", " (axis) " " (size) ": " (millis(value)) }
                        }
                    }
                    @if let Some(&(size, value)) = line.points.last() {
                        text x=(across(size) + 8.0) y=(round(up(value) + 4.0)) { (line.name) }
                    }
                }
            }
        }
    }
}

/// Bars on a logarithmic scale from 1 up (down, for ratios below), each with its number; a line at `aim` where there is one.
pub(super) fn bars(title: &str, aim: Option<f64>, ratios: &[(&str, f64)]) -> Markup {
    const STEP: usize = 20;
    let most = ratios.iter().map(|(_, ratio)| *ratio).chain(aim).fold(1.0f64, f64::max);
    let length = |ratio: f64| (270.0 * (1.0 + ratio).ln() / (1.0 + most).ln()).max(1.0);
    let height = ratios.len() * STEP + 8;
    html! {
        div.scroll tabindex="0" {
            svg.spread viewBox={ "0 0 620 " (height) } role="img" aria-label={
                (title) ": " (ratios.iter().map(|(name, ratio)| format!("{name} {}", number(*ratio))).collect::<Vec<_>>().join(", "))
            } {
                @for (place, (name, ratio)) in ratios.iter().enumerate() {
                    text text-anchor="end" x="256" y=(place * STEP + 15) { (name) }
                    rect.within x="264" y=(place * STEP + 4) width=(round(length(*ratio))) height=(STEP - 7) {}
                    text.small x=(round(270.0 + length(*ratio))) y=(place * STEP + 15) { (number(*ratio)) }
                }
                @if let Some(aim) = aim {
                    line.unit x1=(round(264.0 + length(aim))) x2=(round(264.0 + length(aim))) y1="0" y2=(height) {}
                }
            }
        }
    }
}

/// Whole decades around positive values, at least one.
fn decades(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) =
        values.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    (high > 0.0 && low > 0.0).then(|| {
        let low = low.log10().floor();
        (low, high.log10().ceil().max(low + 1.0))
    })
}

fn path(line: &Line, across: impl Fn(f64) -> f64, up: impl Fn(f64) -> f64) -> String {
    let point = |&(size, value): &(f64, f64)| format!("{},{}", round(across(size)), round(up(value)));
    line.points.iter().map(point).collect::<Vec<_>>().join(" ")
}

fn described(lines: &[Line]) -> String {
    let point = |(size, value): &(f64, f64)| format!("{} at {size}", millis(*value));
    let line = |line: &Line| {
        format!("{} {}", line.name, line.points.iter().map(point).collect::<Vec<_>>().join(", "))
    };
    lines.iter().map(line).collect::<Vec<_>>().join("; ")
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// A time with its unit.
pub(super) fn millis(ms: f64) -> String {
    match ms {
        _ if ms >= 1000.0 => format!("{} s", number(ms / 1000.0)),
        _ if ms >= 1.0 => format!("{} ms", number(ms)),
        _ => format!("{} µs", number(ms * 1000.0)),
    }
}

/// Three digits that count.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => super::super::html::grouped(value.round() as u64),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
