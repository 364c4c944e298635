//! A figure over the nights as a small line plot.
//!
//! Invariant: a function of its points; the axis starts at 0, so that a change looks as large as it is.

use maud::{Markup, html};

use super::Trend;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 170.0;
/// Left, right, top and bottom of where the line may be.
const AREA: [f64; 4] = [58.0, 400.0, 14.0, 136.0];
/// Nights named under the axis, at most.
const TICKS: usize = 6;

/// The plot with its title.
pub(crate) fn plot(trend: &Trend) -> Markup {
    let (Some(&(first, _)), Some(&(last, value))) = (trend.points.first(), trend.points.last()) else {
        return html! {};
    };
    let most = trend.points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let top_value = if most > 0.0 { most } else { 1.0 };
    let [left, right, top, bottom] = AREA;
    let across = |night: i64| match last - first {
        0 => (left + right) / 2.0,
        span => left + (right - left) * (night - first) as f64 / span as f64,
    };
    let up = |value: f64| bottom - (bottom - top) * value / top_value;
    let round = |value: f64| (value * 10.0).round() / 10.0;
    let path: Vec<String> = trend
        .points
        .iter()
        .map(|&(night, value)| format!("{},{}", round(across(night)), round(up(value))))
        .collect();
    let every = trend.points.len().div_ceil(TICKS);
    let spoken: Vec<String> =
        trend.points.iter().map(|(night, value)| format!("night {night}: {}", number(*value))).collect();
    html! {
        figure {
            figcaption { strong { (trend.title) } ", last " (number(value)) "." }
            div.scroll tabindex="0" {
                svg.spread.growth.trend viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
                    aria-label={ (trend.title) ". " (spoken.join(", ")) } {
                    @for part in [0.0, 0.5, 1.0] {
                        @let y = round(up(top_value * part));
                        line.grid x1=(left) x2=(right) y1=(y) y2=(y) {}
                        text.small text-anchor="end" x=(left - 6.0) y=(y + 4.0) { (number(top_value * part)) }
                    }
                    @for &(night, _) in trend.points.iter().step_by(every) {
                        text.small text-anchor="middle" x=(round(across(night))) y=(bottom + 17.0) { (night) }
                    }
                    text.small text-anchor="middle" x=((left + right) / 2.0) y=(HEIGHT - 3.0) { "night" }
                    polyline.line.l0 points=(path.join(" ")) {}
                    @for &(night, value) in &trend.points {
                        circle.dot.l0 cx=(round(across(night))) cy=(round(up(value))) r="2.5" {
                            title { "night " (night) ": " (number(value)) }
                        }
                    }
                }
            }
        }
    }
}

/// Three digits that count, or a whole number.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || size.fract() == 0.0 => crate::html::grouped(value.round() as u64),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
