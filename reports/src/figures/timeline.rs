//! Stages, failed requests, bursts, and a lane for each pod, over the run's time.

use rollscope_analyzer::{Analysis, PodReport};
use rollscope_records::Recording;

use super::axis::Axis;
use super::drawing::{Anchor, Colour, Drawing, TEXT, WIDTH, estimated_width, name_end, shortened};
use super::outcomes::colour;
use super::{MOST_PODS, end_of, left_out};
use crate::html::placement::Placement;
use crate::series::{Kind, Seconds};
use crate::text::{cause_code, count, counted, verdict};

const LEFT: f64 = 210.0;
const RIGHT: f64 = WIDTH - 16.0;
const LANE: f64 = 26.0;
/// Height of the bars of failed requests.
const BARS: f64 = 44.0;
/// Bursts that have a name in the figure; with more, only their marks fit.
const MOST_NAMES: usize = 6;

pub(super) fn drawing(a: &Analysis, recording: &Recording) -> Drawing {
    let title = format!(
        "{}: {}",
        shortened(&a.run.name, 60),
        verdict(a.verdict.outcome)
    );
    let lanes = lanes(a);
    let under = format!(
        "{} of {} failed, {} allowed.{}",
        count(a.requests.failed),
        counted(a.requests.sent, "request", "requests"),
        count(a.run.max_failed),
        left_out(a.pods.len(), lanes.len())
    );
    let mut drawing = Drawing::titled(&title, &under);
    let end = recording.requests.iter().filter_map(|r| r.ended).max();
    let end = end.map_or(0.0, |e| e.nanos() as f64 / 1e9);
    let end = end.max(a.run.duration_ms.0 as f64 / 1e9);
    let time = Axis::new(0.0, end, [LEFT, RIGHT]);
    let mut content = Drawing::default();
    let mut y = stages(&mut content, a, &time, Drawing::TOP);
    y = failures(&mut content, recording, &time, y);
    y = bursts(&mut content, a, &time, y);
    let top = y;
    let bottom = y + LANE * (lanes.len() + 1) as f64;
    for pod in &lanes {
        lane(&mut content, pod, &time, y + LANE / 2.0);
        y += LANE;
    }
    content.label(
        [LEFT - 10.0, y + LANE / 2.0],
        "not tied to one pod",
        Anchor::End,
    );
    marks(&mut content, a, recording, &time, (&lanes, top));
    // The grid lies under everything.
    time.along_bottom(&mut drawing, Drawing::TOP + 20.0, bottom, "run time, s");
    drawing.shapes.extend(content.shapes);
    legend(&mut drawing, a, bottom + 44.0);
    drawing
}

/// The pods that are drawn: those that were deleted or failed requests first to be kept, in their own order.
fn lanes(a: &Analysis) -> Vec<&PodReport> {
    let matters = |p: &PodReport| p.deletion_requested_ms.is_some() || p.failed > 0;
    let mut ranked: Vec<_> = a.pods.iter().enumerate().collect();
    ranked.sort_by_key(|(n, pod)| (!matters(pod), *n));
    ranked.truncate(MOST_PODS);
    ranked.sort_by_key(|(n, _)| *n);
    ranked.into_iter().map(|(_, pod)| pod).collect()
}

fn stages(drawing: &mut Drawing, a: &Analysis, time: &Axis, y: f64) -> f64 {
    drawing.label([LEFT - 10.0, y + 9.0], "stages", Anchor::End);
    for (n, stage) in a.stages.iter().enumerate() {
        let from = time.at(stage.from_ms.0.nanos() as f64 / 1e9);
        let to = stage
            .to_ms
            .map_or(RIGHT, |to| time.at(to.0.nanos() as f64 / 1e9));
        let colour = if n % 2 == 0 {
            Colour::BAND
        } else {
            Colour::GRID
        };
        drawing.rectangle([from, y], [to, y + 18.0], colour);
        let room = ((to - from - 8.0) / estimated_width("x", TEXT)).max(0.0) as usize;
        if room >= 3 {
            let name = shortened(&stage.kind, room);
            drawing.label([from + 5.0, y + 9.0], &name, Anchor::Start);
        }
    }
    y + 28.0
}

/// Failed requests a second, as bars.
fn failures(drawing: &mut Drawing, recording: &Recording, time: &Axis, y: f64) -> f64 {
    let seconds = Seconds::of(&recording.requests);
    let most = seconds
        .each
        .iter()
        .map(crate::series::Second::failed)
        .max()
        .unwrap_or(0);
    let bottom = y + BARS;
    let label = format!("failed/s (most {})", count(most));
    drawing.label([LEFT - 10.0, y + BARS / 2.0], &label, Anchor::End);
    let scale = Axis::new(0.0, most as f64, [bottom, y]);
    for (n, second) in seconds.each.iter().enumerate() {
        let from = seconds.first as f64 + n as f64;
        let mut below = 0;
        for kind in &Kind::ALL[..5] {
            let n = second.of(*kind);
            if n > 0 {
                let heights = [scale.at(below as f64), scale.at((below + n) as f64)];
                let to = time.at(from + 1.0).max(time.at(from) + 1.0);
                drawing.rectangle([time.at(from), heights[1]], [to, heights[0]], colour(*kind));
            }
            below += n;
        }
    }
    drawing.line(vec![[LEFT, bottom], [RIGHT, bottom]], Colour::GREY, 1.0);
    bottom + 10.0
}

/// Brackets with the causes; a row each as long as they are few, for they may overlap.
fn bursts(drawing: &mut Drawing, a: &Analysis, time: &Axis, y: f64) -> f64 {
    if a.bursts.is_empty() {
        return y;
    }
    let named = a.bursts.len() <= MOST_NAMES;
    drawing.label([LEFT - 10.0, y + 8.0], "bursts", Anchor::End);
    for (n, burst) in a.bursts.iter().enumerate() {
        let row = if named { y + 18.0 * n as f64 } else { y };
        let from = time.at(burst.from_ms.0.nanos() as f64 / 1e9);
        let to = time.at(burst.to_ms.0.nanos() as f64 / 1e9).max(from + 3.0);
        let bracket = vec![
            [from, row + 14.0],
            [from, row + 8.0],
            [to, row + 8.0],
            [to, row + 14.0],
        ];
        drawing.line(bracket, Colour::INK, 2.0);
        if named {
            let code = cause_code(&burst.cause, burst.detail.as_deref());
            let text = shortened(&format!("{} {code}, {} failed", burst.id, burst.failed), 60);
            let width = estimated_width(&text, TEXT);
            let (x, anchor) = if to + 6.0 + width < RIGHT {
                (to + 6.0, Anchor::Start)
            } else {
                (from - 6.0, Anchor::End)
            };
            drawing.label([x, row + 9.0], &text, anchor);
        }
    }
    let rows = if named { a.bursts.len() } else { 1 };
    y + 18.0 * rows as f64 + 8.0
}

fn lane(drawing: &mut Drawing, pod: &PodReport, time: &Axis, y: f64) {
    let name = name_end(&pod.name, 26);
    drawing.label([LEFT - 10.0, y], &name, Anchor::End);
    for phase in &pod.phases {
        let Some(colour) = phase_colour(phase.phase) else {
            continue;
        };
        let from = time.at(phase.from_ms.0.nanos() as f64 / 1e9);
        let to = phase
            .to_ms
            .map_or(RIGHT, |to| time.at(to.0.nanos() as f64 / 1e9));
        drawing.rectangle([from, y - 8.0], [to, y + 8.0], colour);
    }
    if let Some(deadline) = pod.deadline_ms {
        let at = deadline.0.hi.nanos() as f64 / 1e9;
        let x = time.at(at);
        if x < RIGHT {
            drawing.line(vec![[x, y - 10.0], [x, y + 10.0]], Colour::INK, 2.0);
        }
    }
    if let (Some(exit), Some(end)) = (&pod.exit, end_of(pod)) {
        let x = time.at(end.nanos() as f64 / 1e9);
        let text = format!("exit {}", exit.code);
        let room = x + 8.0 + estimated_width(&text, TEXT) < RIGHT;
        let (x, anchor) = if room {
            (x + 8.0, Anchor::Start)
        } else {
            (RIGHT - 4.0, Anchor::End)
        };
        drawing.label([x, y], &text, anchor);
    }
}

const fn phase_colour(phase: &str) -> Option<Colour> {
    match phase.as_bytes() {
        b"pending" => Some(Colour::BAND),
        b"starting" => Some(Colour::GRID),
        b"not_ready" => Some(Colour::YELLOW),
        b"ready" => Some(Colour::GREEN),
        b"terminating" => Some(Colour::SKY),
        _ => None,
    }
}

/// A mark for each failed request, on its pod's lane where it is tied to one, else in the last lane. Marks that fall on one pixel are drawn once.
fn marks(
    drawing: &mut Drawing,
    a: &Analysis,
    recording: &Recording,
    time: &Axis,
    (lanes, top): (&[&PodReport], f64),
) {
    let placement = Placement::new(a);
    let mut drawn = std::collections::BTreeSet::new();
    for r in recording.requests.iter().filter(|r| r.outcome.is_failure()) {
        let pod = placement.of(&r).pod.map(|index| &a.pods[index]);
        let lane = lanes
            .iter()
            .position(|p| pod.is_some_and(|pod| std::ptr::eq(*p, pod)));
        let lane = lane.unwrap_or(lanes.len());
        let x = time.at(r.scheduled.nanos() as f64 / 1e9);
        if drawn.insert((lane, x.round() as i64, Kind::of(r.outcome))) {
            let y = top + LANE * (lane as f64 + 0.5);
            let line = vec![[x, y - 8.0], [x, y + 8.0]];
            drawing.line(line, colour(Kind::of(r.outcome)), 1.5);
        }
    }
}

fn legend(drawing: &mut Drawing, a: &Analysis, y: f64) {
    let mut items = vec![
        (Colour::YELLOW, "not ready"),
        (Colour::GREEN, "ready"),
        (Colour::SKY, "terminating"),
        (Colour::INK, "deadline"),
    ];
    let occurs = |kind: &Kind| {
        let outcomes = a.requests.by_outcome.iter().filter(|(_, n)| **n > 0);
        let outcomes = outcomes.filter_map(|(name, _)| rollscope_records::Outcome::from_name(name));
        outcomes.map(Kind::of).any(|k| k == *kind)
    };
    let kinds = Kind::ALL[..5].iter().filter(|kind| occurs(kind));
    items.extend(kinds.map(|kind| (colour(*kind), kind.words())));
    drawing.legend([12.0, y], &items);
}
