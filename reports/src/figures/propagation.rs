//! How long requests went on to come to each pod after its deletion.

use rollscope_analyzer::{Analysis, PodReport};

use super::axis::Axis;
use super::drawing::{Anchor, Colour, Drawing, WIDTH, name_end};
use super::{deleted, left_out};
use crate::text::{length, millis};

const LEFT: f64 = 230.0;
const RIGHT: f64 = WIDTH - 80.0;
const ROW: f64 = 30.0;

pub(super) fn drawing(a: &Analysis) -> Drawing {
    let (all, pods) = deleted(a);
    let longest = pods.iter().filter_map(|p| p.propagation_lag_ms).max();
    let longest = longest.map_or("none was seen".to_owned(), |lag| {
        format!("the longest is {}", length(lag))
    });
    let under = format!(
        "From the deletion to the last new connection; {longest}.{}",
        left_out(all, pods.len())
    );
    let mut drawing = Drawing::titled("Propagation lag of each pod", &under);
    if pods.is_empty() {
        drawing.label(
            [12.0, Drawing::TOP + 10.0],
            "No pod was seen terminating.",
            Anchor::Start,
        );
        drawing.height = Drawing::TOP + 30.0;
        return drawing;
    }
    let rows: Vec<_> = pods.iter().map(|pod| (lag(pod), reused(pod))).collect();
    let most = rows
        .iter()
        .flat_map(|(new, reused)| [*new, *reused])
        .flatten();
    let most = most.fold(0.0, f64::max);
    let time = Axis::new(0.0, most, [LEFT, RIGHT]);
    let bottom = Drawing::TOP + ROW * rows.len() as f64;
    time.along_bottom(&mut drawing, Drawing::TOP, bottom, "after the deletion, s");
    for (n, (pod, (new, reused))) in pods.iter().zip(rows).enumerate() {
        let y = Drawing::TOP + ROW * (n as f64 + 0.5);
        drawing.label([LEFT - 10.0, y], &name_end(&pod.name, 28), Anchor::End);
        bar(
            &mut drawing,
            &time,
            new,
            [y - 10.0, y + 1.0],
            Colour::RED,
            "no new connection",
        );
        bar(
            &mut drawing,
            &time,
            reused,
            [y + 3.0, y + 9.0],
            Colour::SKY,
            "",
        );
    }
    let items = [
        (Colour::RED, "last new connection"),
        (Colour::SKY, "last answer on an established connection"),
    ];
    drawing.legend([LEFT, bottom + 44.0], &items);
    drawing
}

fn lag(pod: &PodReport) -> Option<f64> {
    pod.propagation_lag_ms.map(|lag| lag.0 as f64 / 1e9)
}

fn reused(pod: &PodReport) -> Option<f64> {
    let requested = pod.deletion_requested_ms?.0.hi;
    let last = pod.last_reused_request_ms?.0;
    Some(last.nanos_since(requested) as f64 / 1e9)
}

fn bar(
    drawing: &mut Drawing,
    time: &Axis,
    seconds: Option<f64>,
    [top, bottom]: [f64; 2],
    colour: Colour,
    without: &str,
) {
    let middle = f64::midpoint(top, bottom);
    let Some(seconds) = seconds else {
        drawing.label([LEFT + 6.0, middle], without, Anchor::Start);
        return;
    };
    let end = time.at(seconds).max(LEFT + 1.0);
    drawing.rectangle([LEFT, top], [end, bottom], colour);
    if !without.is_empty() {
        drawing.label([end + 6.0, middle], &millis(seconds * 1e3), Anchor::Start);
    }
}
