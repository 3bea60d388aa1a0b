//! A linear axis in seconds or counts, and its ticks.

use super::drawing::{Anchor, Colour, Drawing, TEXT};

/// A linear axis between two pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    from: f64,
    to: f64,
    pixels: [f64; 2],
}

impl Axis {
    /// The axis from `from` at the first pixel to `to` at the second. An empty range is widened to one.
    pub(super) fn new(from: f64, to: f64, pixels: [f64; 2]) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self { from, to, pixels }
    }

    /// The pixel of a value; values outside lie at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.pixels[0] + share * (self.pixels[1] - self.pixels[0])
    }

    /// Round values, about `most` of them.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let step = round_step((self.to - self.from) / most as f64);
        let first = (self.from / step - 1e-9).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }

    /// Vertical grid lines with the values under them and the unit at the end.
    pub(super) fn along_bottom(&self, drawing: &mut Drawing, top: f64, bottom: f64, unit: &str) {
        for tick in self.ticks(10) {
            let x = self.at(tick);
            drawing.line(vec![[x, top], [x, bottom]], Colour::GRID, 1.0);
            let label = plain(tick);
            drawing.text(
                [x, bottom + 11.0],
                &label,
                TEXT,
                Colour::QUIET,
                Anchor::Middle,
            );
        }
        let end = [self.pixels[1], bottom + 27.0];
        drawing.text(end, unit, TEXT, Colour::QUIET, Anchor::End);
    }

    /// Horizontal grid lines with the values at their left.
    pub(super) fn along_left(&self, drawing: &mut Drawing, left: f64, right: f64) {
        for tick in self.ticks(4) {
            let y = self.at(tick);
            drawing.line(vec![[left, y], [right, y]], Colour::GRID, 1.0);
            let label = plain(tick);
            drawing.text([left - 8.0, y], &label, TEXT, Colour::QUIET, Anchor::End);
        }
    }
}

/// 1, 2 or 5 times a power of ten, at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    steps
        .into_iter()
        .find(|step| *step >= least * 0.999)
        .unwrap_or(10.0 * power)
}

/// A number without needless decimals.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(
            Axis::new(0.0, 22.9, [0.0, 1.0]).ticks(10),
            [0.0, 5.0, 10.0, 15.0, 20.0]
        );
        assert_eq!(Axis::new(-0.3, 0.6, [0.0, 1.0]).ticks(4).len(), 2);
        assert!(Axis::new(0.0, 0.0, [0.0, 1.0]).ticks(5).len() >= 5);
    }

    #[test]
    fn values_outside_lie_at_the_ends() {
        let axis = Axis::new(0.0, 10.0, [100.0, 200.0]);
        assert_eq!([-5.0, 5.0, 99.0].map(|v| axis.at(v)), [100.0, 150.0, 200.0]);
    }
}
