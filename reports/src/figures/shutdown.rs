//! The stages of each pod's shutdown against its deadline.

use rollscope_analyzer::{Analysis, MsInterval, PodReport};
use rollscope_records::RunOffset;

use super::axis::Axis;
use super::drawing::{Anchor, Colour, Drawing, WIDTH, name_end, shortened};
use super::{deleted, end_of, left_out};

const LEFT: f64 = 230.0;
const RIGHT: f64 = WIDTH - 90.0;
const ROW: f64 = 28.0;

pub(super) fn drawing(a: &Analysis) -> Drawing {
    let (all, pods) = deleted(a);
    let under = format!(
        "Seconds after the request of deletion; the black bar is the deadline.{}",
        left_out(all, pods.len())
    );
    let mut drawing = Drawing::titled("Shutdown of each pod", &under);
    if pods.is_empty() {
        drawing.label(
            [12.0, Drawing::TOP + 10.0],
            "No pod was seen terminating.",
            Anchor::Start,
        );
        drawing.height = Drawing::TOP + 30.0;
        return drawing;
    }
    let rows: Vec<_> = pods.iter().map(|pod| Shutdown::of(pod)).collect();
    let most = rows.iter().flat_map(|s| [s.exit, s.deadline]).flatten();
    let most = most.fold(0.0, f64::max);
    let time = Axis::new(0.0, most * 1.02, [LEFT, RIGHT]);
    let bottom = Drawing::TOP + ROW * rows.len() as f64;
    time.along_bottom(&mut drawing, Drawing::TOP, bottom, "after the deletion, s");
    for (n, (pod, row)) in pods.iter().zip(&rows).enumerate() {
        let y = Drawing::TOP + ROW * (n as f64 + 0.5);
        drawing.label([LEFT - 10.0, y], &name_end(&pod.name, 28), Anchor::End);
        row.draw(&mut drawing, &time, y, pod);
    }
    let mut legend = vec![
        (Colour::SKY, "before the signal (preStop)"),
        (Colour::GREY, "signal sent, no sign of a drain"),
    ];
    if rows.iter().any(|row| row.stages.is_empty()) {
        legend.push((Colour::GREEN, "from the first sign of the drain"));
    }
    legend.extend(STAGES.into_iter().filter_map(|(stage, colour, words)| {
        let drawn = |row: &Shutdown| row.stages.iter().any(|(told, _)| *told == stage);
        rows.iter().any(drawn).then_some((colour, words))
    }));
    legend.push((Colour::INK, "deadline"));
    drawing.legend([LEFT - 200.0, bottom + 44.0], &legend);
    drawing
}

/// The stages that a log tells of: the colour of the time until each, and what it is.
const STAGES: [(&str, Colour, &str); 6] = [
    ("readiness_off", Colour::BAND, "until readiness is off"),
    (
        "listener_closed",
        Colour::YELLOW,
        "until the listener is closed",
    ),
    (
        "drained",
        Colour::GREEN,
        "until what is in flight is drained",
    ),
    ("jobs_returned", Colour::BLUE, "until jobs are returned"),
    ("pool_closed", Colour::PURPLE, "until the pool is closed"),
    ("exit", Colour::ORANGE, "until the exit"),
];

/// Moments of a shutdown, seconds after the deletion.
struct Shutdown {
    signal: Option<f64>,
    sign: Option<f64>,
    exit: Option<f64>,
    deadline: Option<f64>,
    /// The stages that its log tells of, with the moment of each, in order.
    stages: Vec<(&'static str, f64)>,
}

impl Shutdown {
    fn of(pod: &PodReport) -> Self {
        // The latest moments are those that were witnessed on the run's own clock.
        let requested = pod
            .deletion_requested_ms
            .map(|at| at.0.hi)
            .unwrap_or_default();
        let after = |at: RunOffset| at.nanos_since(requested) as f64 / 1e9;
        let latest = |at: MsInterval| after(at.0.hi);
        Self {
            signal: pod.signal_ms.map(latest),
            sign: pod.first_drain_sign.as_ref().map(|sign| latest(sign.at_ms)),
            exit: end_of(pod).map(after),
            deadline: pod.deadline_ms.map(latest),
            stages: pod
                .shutdown
                .iter()
                .flat_map(|s| &s.stages)
                .map(|s| (s.stage, after(s.at_ms.0)))
                .collect(),
        }
    }

    /// What is drawn: from, to and the colour of each part.
    fn parts(&self, end: f64) -> Vec<(f64, f64, Colour)> {
        let signal = self.signal.unwrap_or(0.0).clamp(0.0, end);
        let mut parts = vec![(0.0, signal, Colour::SKY)];
        if self.stages.is_empty() {
            let sign = self.sign.map_or(end, |sign| sign.clamp(signal, end));
            parts.extend([(signal, sign, Colour::GREY), (sign, end, Colour::GREEN)]);
            return parts;
        }
        let mut from = signal;
        for (stage, at) in &self.stages {
            let colour = STAGES.iter().find(|(name, ..)| name == stage);
            let to = at.clamp(from, end);
            parts.push((from, to, colour.map_or(Colour::GREY, |(_, c, _)| *c)));
            from = to;
        }
        parts.push((from, end, Colour::ORANGE));
        parts
    }

    fn draw(&self, drawing: &mut Drawing, time: &Axis, y: f64, pod: &PodReport) {
        let end = self.exit.or(self.deadline).unwrap_or(0.0);
        for (from, to, colour) in self.parts(end) {
            if to > from {
                drawing.rectangle([time.at(from), y - 8.0], [time.at(to), y + 8.0], colour);
            }
        }
        if let Some(deadline) = self.deadline {
            let x = time.at(deadline);
            drawing.line(vec![[x, y - 11.0], [x, y + 11.0]], Colour::INK, 3.0);
        }
        let exit = pod.exit.as_ref();
        let words = exit.map_or("no end seen".to_owned(), |e| {
            format!("{} {}", e.code, shortened(&e.reason, 10))
        });
        let x = time.at(end).max(LEFT) + 8.0;
        drawing.label([x, y], &words, Anchor::Start);
    }
}
