//! A view on a frame of any size. What a small terminal must not lose comes first.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthChar;

use super::events::EventLine;
use super::pods::PodLine;
use super::view::View;

/// From this width on, a line holds what two lines hold on a narrower terminal.
const WIDE: u16 = 70;
/// From this height on, there is room for empty lines between the parts.
const HIGH: u16 = 20;
/// Events that are shown beside the pods: at most a third of what is left, and this many where there is more room.
const MOST_EVENTS: u16 = 12;

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BAD: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
const WARNING: Style = Style::new().fg(Color::Yellow);

/// Draws the whole frame.
pub(super) fn draw(frame: &mut Frame, view: &View) {
    let area = frame.area();
    let gap = u16::from(area.height >= HIGH);
    let head = head(view, area.width);
    let below = area.height.saturating_sub(lines(head.len()) + 1 + 2 * gap);
    let [events, pods] = shares(view, below, gap);
    let [top, _, middle, _, lower, foot] = Layout::vertical([
        Constraint::Length(lines(head.len())),
        Constraint::Length(gap),
        Constraint::Length(pods),
        Constraint::Length(if events > 0 { gap } else { 0 }),
        Constraint::Length(events),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(head), top);
    frame.render_widget(Paragraph::new(pod_lines(view, middle)), middle);
    frame.render_widget(Paragraph::new(event_lines(view, lower)), lower);
    let foot = Rect {
        y: area.bottom().saturating_sub(1),
        ..foot
    };
    frame.render_widget(Paragraph::new(footer(view)), foot);
}

/// Lines for the events and for the pods, titles included, of the `room` that both have.
fn shares(view: &View, room: u16, gap: u16) -> [u16; 2] {
    let wanted = view.pods.as_ref().map_or(1, |pods| lines(pods.len()) + 1);
    let least = (room / 3).min(MOST_EVENTS);
    let events = room
        .saturating_sub(wanted + gap)
        .min(MOST_EVENTS)
        .max(least)
        .min(lines(view.events.len()) + 1);
    // A title alone says nothing.
    let events = if events < 2 { 0 } else { events };
    [events, room - events]
}

fn lines(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX - 8)
}

fn head(view: &View, width: u16) -> Vec<Line<'static>> {
    let (progress, stats) = (&view.progress, &view.stats);
    let mark = progress.last_mark.as_deref();
    let mark = mark.map_or_else(String::new, |m| format!(" ({})", super::view::tame(m)));
    let stage = format!(
        "{} {}/{}",
        progress.kind,
        progress.stage + 1,
        progress.stages
    );
    let stage_time = times(view.stage_elapsed, progress.stage_planned);
    let whole = times(view.elapsed, progress.planned);
    let rate = format!(
        "rate {:.1} of {}/s",
        stats.achieved_per_second, view.planned_rate
    );
    let late = format!("sent late by p99 {}", micros(stats.lateness_p99_us));
    let failed = Span::styled(
        format!("failed {}", stats.failed),
        if stats.failed > 0 { BAD } else { BOLD },
    );
    let first = format!("  ok {}  in flight {}", stats.ok, stats.in_flight);
    let second = format!("sent {}  dropped {}", stats.sent, stats.dropped);
    let latency = stats.from_scheduled;
    let latency = format!(
        "latency p50 {}  p99 {}  max {}",
        micros(latency.p50_us),
        micros(latency.p99_us),
        micros(latency.max_us)
    );
    let stage = Span::styled(stage, BOLD);
    if width >= WIDE {
        let name = Span::styled(view.name.clone(), BOLD);
        vec![
            Line::from(vec!["rollscope  ".into(), name]),
            Line::from(vec![
                "stage ".into(),
                stage,
                format!("  {stage_time}{mark}   run {whole}").into(),
            ]),
            Line::from(format!("{rate}   {late}")),
            Line::from(vec![failed, format!("{first}  {second}").into()]),
            Line::from(format!("{latency}  (from the time due)")),
        ]
    } else {
        vec![
            Line::from(vec![stage, format!(" {stage_time}{mark}").into()]),
            Line::from(rate),
            Line::from(vec![failed, first.into()]),
            Line::from(second),
            Line::from(latency),
        ]
    }
}

fn times(elapsed: Duration, planned: Duration) -> String {
    format!(
        "{:.1}s of at most {:.0}s",
        elapsed.as_secs_f64(),
        planned.as_secs_f64()
    )
}

/// Microseconds in the unit that suits them.
fn micros(us: u64) -> String {
    match us {
        0..10_000 => format!("{:.1}ms", us as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0}ms", us as f64 / 1e3),
        _ => format!("{:.1}s", us as f64 / 1e6),
    }
}

fn pod_lines(view: &View, area: Rect) -> Vec<Line<'static>> {
    let Some(pods) = &view.pods else {
        let words = "Pods: nothing is known of them on this target";
        return vec![Line::styled(words, DIM)];
    };
    let terminating = pods.iter().filter(|p| p.terminating).count();
    let new = pods.iter().filter(|p| p.new && !p.terminating).count();
    let old = pods.len() - terminating - new;
    let title = format!("Pods: {old} old, {new} new, {terminating} terminating");
    let room = usize::from(area.height).saturating_sub(1);
    let mut shown: Vec<&PodLine> = pods.iter().collect();
    let mut more = None;
    if pods.len() > room {
        // Those in which something goes on stay in sight.
        shown.sort_by_key(|pod| pod.settled());
        shown.truncate(room.saturating_sub(1));
        let hidden = pods.len() - shown.len();
        more = Some(Line::styled(format!("and {hidden} more"), DIM));
    }
    std::iter::once(Line::styled(title, BOLD))
        .chain(shown.into_iter().map(|pod| pod_line(pod, area.width)))
        .chain(more)
        .collect()
}

fn pod_line(pod: &PodLine, width: u16) -> Line<'static> {
    let phase_width = if width >= WIDE { 20 } else { 11 };
    let age = if pod.new { "new" } else { "old" };
    let phase = padded(&pod.phase, phase_width);
    let (ready, style) = match (pod.ready, pod.terminating) {
        (_, true) => (if pod.ready { "ready" } else { "not ready" }, WARNING),
        (true, false) => ("ready", Style::new().fg(Color::Green)),
        (false, false) => ("not ready", WARNING),
    };
    let restarts = match pod.restarts {
        0 => String::new(),
        n => format!("  {n} restarts"),
    };
    let fixed = 4 + phase_width + 1 + 10 + restarts.len();
    let name = end_of(&pod.name, usize::from(width).saturating_sub(fixed));
    Line::from(vec![
        Span::raw(format!("{age} ")),
        Span::styled(format!("{phase} {ready:<9} "), style),
        Span::raw(name),
        Span::styled(restarts, WARNING),
    ])
}

fn event_lines(view: &View, area: Rect) -> Vec<Line<'static>> {
    let room = usize::from(area.height).saturating_sub(1);
    if room == 0 {
        return Vec::new();
    }
    let from = view.events.len().saturating_sub(room);
    let line = |event: &EventLine| {
        let at = format!("{:>6.1}s ", event.at.as_secs_f64());
        let style = if event.warning { WARNING } else { Style::new() };
        let warning = if event.warning { "! " } else { "" };
        Line::from(vec![
            Span::styled(at, DIM),
            Span::styled(format!("{warning}{}", event.text), style),
        ])
    };
    std::iter::once(Line::styled("Events", BOLD))
        .chain(view.events[from..].iter().map(line))
        .collect()
}

fn footer(view: &View) -> Line<'static> {
    if view.stopping {
        Line::styled("stopping; q or Ctrl-C again: at once", WARNING)
    } else {
        Line::styled("q or Ctrl-C: stop with a partial report", DIM)
    }
}

/// `text` in exactly `width` columns, its end cut off.
fn padded(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w > width {
            break;
        }
        used += w;
        out.push(c);
    }
    out + &" ".repeat(width - used)
}

/// `text` in at most `width` columns: its end, which tells pods of one workload apart.
fn end_of(text: &str, width: usize) -> String {
    let columns = |c: char| c.width().unwrap_or(0);
    if text.chars().map(columns).sum::<usize>() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let tail: Vec<char> = text
        .chars()
        .rev()
        .take_while(|c| {
            used += columns(*c);
            used <= width
        })
        .collect();
    std::iter::once('…').chain(tail.into_iter().rev()).collect()
}
