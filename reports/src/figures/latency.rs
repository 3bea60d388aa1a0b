//! Latency from the due time, second by second, on a logarithmic scale.

use rollscope_records::Recording;

use super::axis::Axis;
use super::drawing::{Anchor, Colour, Drawing, TEXT, WIDTH};
use crate::series::Seconds;
use crate::text::millis;

const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 70.0;
/// Name, thousandths, colour, width of the line.
const LINES: [(&str, usize, Colour, f64); 3] = [
    ("max", 1000, Colour::GREY, 1.0),
    ("p99", 990, Colour::ORANGE, 2.0),
    ("p50", 500, Colour::BLUE, 3.0),
];

pub(super) fn drawing(recording: &Recording) -> Drawing {
    let under = "of answered requests, by the second in which they were due; logarithmic";
    let mut drawing = Drawing::titled("Latency from the due time", under);
    let seconds = Seconds::of(&recording.requests);
    let every = seconds
        .each
        .iter()
        .flat_map(|s| [s.quantile(1), s.quantile(1000)]);
    let bounds = every.flatten().map(|ms| ms.max(0.001).log10());
    let (low, high) = bounds.fold((f64::MAX, f64::MIN), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    if low > high {
        drawing.label(
            [12.0, Drawing::TOP + 10.0],
            "No request was answered.",
            Anchor::Start,
        );
        drawing.height = Drawing::TOP + 30.0;
        return drawing;
    }
    let (top, bottom) = (Drawing::TOP + 10.0, Drawing::TOP + 230.0);
    let (low, high) = (low.floor(), high.ceil().max(low.floor() + 1.0));
    let scale = Axis::new(low, high, [bottom, top]);
    for power in low as i32..=high as i32 {
        let y = scale.at(f64::from(power));
        drawing.line(vec![[LEFT, y], [RIGHT, y]], Colour::GRID, 1.0);
        let label = millis(10f64.powi(power));
        drawing.text([LEFT - 8.0, y], &label, TEXT, Colour::QUIET, Anchor::End);
    }
    let time = Axis::new(seconds.first as f64, seconds.end() as f64, [LEFT, RIGHT]);
    time.along_bottom(&mut drawing, top, bottom, "run time, s");
    for (_, permille, colour, width) in LINES {
        for points in unbroken(&seconds, permille, &time, &scale) {
            drawing.line(points, colour, width);
        }
    }
    names(&mut drawing, &seconds, &scale);
    drawing.height = bottom + 40.0;
    drawing
}

/// The line in pieces: it breaks where nothing was answered. A piece of one second is a dash.
fn unbroken(seconds: &Seconds, permille: usize, time: &Axis, scale: &Axis) -> Vec<Vec<[f64; 2]>> {
    let mut pieces = vec![Vec::new()];
    for (n, second) in seconds.each.iter().enumerate() {
        let at = seconds.first as f64 + n as f64;
        match (second.quantile(permille), pieces.last_mut()) {
            (Some(ms), Some(piece)) => {
                let y = scale.at(ms.max(0.001).log10());
                if piece.is_empty() {
                    piece.push([time.at(at), y]);
                }
                piece.push([time.at(at + 0.5), y]);
            }
            _ => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// The lines' names at their ends, with the last values, kept apart from each other.
fn names(drawing: &mut Drawing, seconds: &Seconds, scale: &Axis) {
    let mut taken = f64::MIN;
    for (name, permille, colour, _) in LINES {
        let last = seconds.each.iter().rev().find_map(|s| s.quantile(permille));
        let Some(ms) = last else { continue };
        let y = scale.at(ms.max(0.001).log10()).max(taken + 15.0);
        taken = y;
        drawing.rectangle([RIGHT + 6.0, y - 4.0], [RIGHT + 14.0, y + 4.0], colour);
        drawing.label([RIGHT + 20.0, y], name, Anchor::Start);
    }
}
