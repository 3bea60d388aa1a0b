//! What the terminal shows while a run goes on: a progress bar, or a line at each change where there is no terminal.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rollscope_collector::Progress;
use rollscope_loadgen::LoadStats;
use rollscope_records::RunClock;
use tokio::sync::watch;

use crate::terminal;

/// How often the bar moves.
const REDRAW_EVERY: Duration = Duration::from_millis(200);
/// Without a terminal: a line at least this often.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The display of one run.
pub(super) struct Display {
    clock: RunClock,
    planned_rate: f64,
    bar: Option<ProgressBar>,
    last_line: RefCell<(String, Duration)>,
}

impl Display {
    /// A display for a run at `planned_rate` requests a second.
    pub(super) fn new(clock: RunClock, planned_rate: f64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(1);
            if let Ok(style) = ProgressStyle::with_template("{bar:20} {prefix}\n{wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self {
            clock,
            planned_rate,
            bar,
            last_line: RefCell::default(),
        }
    }

    /// Shows the run until the future is dropped.
    pub(super) async fn show(
        &self,
        progress: &watch::Receiver<Progress>,
        stats: impl Fn() -> LoadStats,
    ) {
        loop {
            let shown = progress.borrow().clone();
            self.draw(&shown, &stats());
            tokio::time::sleep(REDRAW_EVERY).await;
        }
    }

    /// Takes the bar away.
    pub(super) fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn draw(&self, progress: &Progress, stats: &LoadStats) {
        if progress.stages == 0 {
            return; // The walk has not begun.
        }
        let now = self.clock.now();
        let elapsed = progress.elapsed(now);
        let (stage, traffic) = (
            stage(progress, elapsed),
            traffic(progress, stats, self.planned_rate),
        );
        match &self.bar {
            Some(bar) => {
                bar.set_length(
                    u64::try_from(progress.planned.as_millis())
                        .unwrap_or(1)
                        .max(1),
                );
                bar.set_position(u64::try_from(elapsed.as_millis()).unwrap_or(0));
                bar.set_prefix(stage);
                bar.set_message(traffic);
            }
            None => {
                self.draw_line(progress, stats, &format!("{stage} | {traffic}"), elapsed);
            }
        }
    }

    fn draw_line(&self, progress: &Progress, stats: &LoadStats, text: &str, elapsed: Duration) {
        let state = format!(
            "{} {:?} {:?}",
            progress.stage, progress.last_mark, progress.pods
        );
        let state = format!("{state} {}", stats.failed > 0);
        let mut last = self.last_line.borrow_mut();
        if last.0 != state || elapsed.saturating_sub(last.1) >= LINE_EVERY {
            terminal::note(text);
            *last = (state, elapsed);
        }
    }
}

fn stage(progress: &Progress, elapsed: Duration) -> String {
    let mark = progress
        .last_mark
        .as_deref()
        .map_or_else(String::new, |m| format!(" ({m})"));
    format!(
        "{:>5.1}s of at most {:.0}s | {} {}/{}{mark}",
        elapsed.as_secs_f64(),
        progress.planned.as_secs_f64(),
        progress.kind,
        progress.stage + 1,
        progress.stages,
    )
}

/// What a narrow terminal must not cut comes first.
fn traffic(progress: &Progress, stats: &LoadStats, planned_rate: f64) -> String {
    let pods = progress.pods.map_or_else(String::new, |p| {
        format!(
            " | pods {} old, {} new, {} terminating",
            p.old, p.new, p.terminating
        )
    });
    format!(
        "{} failed{pods} | {:.0} of {planned_rate}/s | {} in flight",
        stats.failed, stats.achieved_per_second, stats.in_flight,
    )
}
