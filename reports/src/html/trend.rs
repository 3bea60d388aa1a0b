//! A number of each run of a series, as bars from left to right. The table beside it has the same numbers.

use maud::{Markup, html};

const HEIGHT: f64 = 90.0;
const TOP: f64 = 14.0;
const LEFT: f64 = 62.0;
const BAR: f64 = 14.0;
const GAP: f64 = 6.0;

/// One run's place in a trend.
pub(super) struct Point {
    /// The number; `None` where it is not known.
    pub(super) value: Option<f64>,
    /// Whether the run failed, which is drawn apart.
    pub(super) bad: bool,
    /// The whole in words.
    pub(super) title: String,
}

/// The chart of `points`, the first run left; `label` writes a number as people read it.
pub(super) fn trend(name: &str, points: &[Point], label: impl Fn(f64) -> String) -> Markup {
    let values = points.iter().filter_map(|p| p.value);
    let high = values.clone().fold(0.0, f64::max);
    let low = values.fold(0.0, f64::min);
    // Of nothing but zeroes there is no scale; they stand on the ground.
    let (scale, zero) = if high > low {
        let scale = (HEIGHT - TOP) / (high - low);
        (scale, TOP + high * scale)
    } else {
        (0.0, HEIGHT)
    };
    let width = LEFT + points.len() as f64 * (BAR + GAP) + GAP;
    html! {
        figure.trend {
            figcaption { (name) }
            div.scroll tabindex="0" role="group" aria-label=(name) {
                svg role="img" aria-label={ (name) ", " (points.len()) " runs; the table has the numbers" } width=(width) height=(HEIGHT + 18.0) {
                    line.zero x1=(LEFT) x2=(width) y1=(zero) y2=(zero) {}
                    @if high > 0.0 { text.scale x=(LEFT - 5.0) y=(TOP + 4.0) text-anchor="end" { (label(high)) } }
                    text.scale x=(LEFT - 5.0) y=(zero + 4.0) text-anchor="end" { "0" }
                    @if low < 0.0 { text.scale x=(LEFT - 5.0) y=((HEIGHT + 4.0).max(zero + 15.0)) text-anchor="end" { (label(low)) } }
                    @for (i, point) in points.iter().enumerate() { (bar(LEFT + GAP + i as f64 * (BAR + GAP), zero, scale, point)) }
                }
            }
        }
    }
}

fn bar(x: f64, zero: f64, scale: f64, point: &Point) -> Markup {
    let Some(value) = point.value else {
        return html! { g { title { (point.title) } text.unknown x=(x + BAR / 2.0) y=(zero - 3.0) text-anchor="middle" { "?" } } };
    };
    let height = (value * scale).abs().max(1.5);
    let y = if value < 0.0 { zero } else { zero - height };
    html! {
        g.bar.bad[point.bad] {
            title { (point.title) }
            rect x=(x) y=(format!("{y:.1}")) width=(BAR) height=(format!("{height:.1}")) {}
            @if point.bad { path d=(format!("M{:.1},{:.1}l4,4m0,-4l-4,4", x + BAR / 2.0 - 2.0, y - 7.0)) {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_which_nothing_failed_are_drawn_on_the_ground() {
        let point = |bad| Point {
            value: Some(0.0),
            bad,
            title: String::new(),
        };
        let chart = trend("Failed", &[point(false), point(true)], |n| n.to_string()).into_string();
        assert!(!chart.contains("NaN") && !chart.contains("inf"), "{chart}");
        assert!(chart.contains("y1=\"90\""), "{chart}");
    }
}
