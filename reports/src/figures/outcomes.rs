//! Requests by kind of outcome: the failed ones on their own scale, and under them all.

use rollscope_analyzer::Analysis;
use rollscope_records::Recording;

use super::axis::Axis;
use super::drawing::{Anchor, Colour, Drawing, WIDTH};
use crate::series::{Kind, Second, Seconds};
use crate::text::{count, counted};

const LEFT: f64 = 60.0;
const RIGHT: f64 = WIDTH - 16.0;
/// Columns at most: neighbouring seconds are put together beyond that.
const MOST_COLUMNS: usize = 250;

pub(super) fn drawing(a: &Analysis, recording: &Recording) -> Drawing {
    let seconds = Seconds::of(&recording.requests);
    let width = seconds.each.len().div_ceil(MOST_COLUMNS).max(1);
    let under = format!(
        "{} sent, {} failed, {} dropped; by the time at which they were due, a column {}",
        counted(a.requests.sent, "request", "requests"),
        count(a.requests.failed),
        count(a.requests.dropped),
        if width == 1 {
            "a second".to_owned()
        } else {
            format!("{width} s")
        }
    );
    let mut drawing = Drawing::titled("Outcomes over time", &under);
    if seconds.each.is_empty() {
        drawing.label(
            [12.0, Drawing::TOP + 10.0],
            "No request was recorded.",
            Anchor::Start,
        );
        drawing.height = Drawing::TOP + 30.0;
        return drawing;
    }
    let columns: Vec<_> = seconds.each.chunks(width).collect();
    let time = Axis::new(seconds.first as f64, seconds.end() as f64, [LEFT, RIGHT]);
    let failed = &Kind::ALL[..5];
    let panels = [
        ("failed", failed, Drawing::TOP + 14.0, 110.0),
        ("all", &Kind::ALL[..], Drawing::TOP + 160.0, 110.0),
    ];
    for (name, kinds, top, height) in panels {
        drawing.label([LEFT, top - 10.0], name, Anchor::Start);
        panel(
            &mut drawing,
            &columns,
            &time,
            (seconds.first, width),
            kinds,
            [top, top + height],
        );
    }
    let bottom = Drawing::TOP + 270.0;
    time.along_bottom(&mut drawing, bottom, bottom, "run time, s");
    let shown = |kind: &&Kind| seconds.each.iter().any(|s| s.of(**kind) > 0);
    let items: Vec<_> = Kind::ALL
        .iter()
        .filter(shown)
        .map(|k| (colour(*k), k.words()))
        .collect();
    drawing.legend([LEFT, bottom + 44.0], &items);
    drawing
}

fn panel(
    drawing: &mut Drawing,
    columns: &[&[Second]],
    time: &Axis,
    (first, width): (i64, usize),
    kinds: &[Kind],
    [top, bottom]: [f64; 2],
) {
    let of = |column: &[Second], kind: Kind| column.iter().map(|s| s.of(kind)).sum::<u64>();
    let all = |column: &&[Second]| kinds.iter().map(|k| of(column, *k)).sum::<u64>();
    let most = columns.iter().map(all).max().unwrap_or(0);
    let scale = Axis::new(0.0, most as f64, [bottom, top]);
    if most > 0 {
        scale.along_left(drawing, LEFT, RIGHT);
    }
    drawing.line(vec![[LEFT, bottom], [RIGHT, bottom]], Colour::GREY, 1.0);
    for (n, column) in columns.iter().enumerate() {
        let from = first as f64 + (n * width) as f64;
        let x = [time.at(from), time.at(from + width as f64)];
        let mut below = 0;
        // The good ones lie at the bottom, so that the bad ones stand on an even ground.
        for kind in kinds.iter().rev() {
            let n = of(column, *kind);
            if n > 0 {
                let y = [scale.at(below as f64), scale.at((below + n) as f64)];
                drawing.rectangle([x[0], y[1]], [x[1], y[0]], colour(*kind));
            }
            below += n;
        }
    }
}

/// The colour of a kind of outcome.
pub(super) const fn colour(kind: Kind) -> Colour {
    match kind {
        Kind::Ok => Colour::GREEN,
        Kind::Connect => Colour::RED,
        Kind::Cut => Colour::PURPLE,
        Kind::Truncated => Colour::ORANGE,
        Kind::Status => Colour::BLUE,
        Kind::Other => Colour::INK,
        Kind::NotSent => Colour::GREY,
    }
}
