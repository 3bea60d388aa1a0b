//! What the terminal shows while a run goes on: a progress bar, with `--tui` the whole screen, or a line at each change
//! where there is no terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rollscope_collector::{ClusterState, Collector, Progress};
use rollscope_loadgen::LoadStats;
use rollscope_records::RunClock;
use rollscope_scenarios::Scenario;
use tokio::sync::watch;

use super::interrupt::Interrupt;
use super::live::{Events, Keys, Screen, View};
use crate::terminal;

/// How often the bar moves.
const REDRAW_EVERY: Duration = Duration::from_millis(200);
/// Without a terminal: a line at least this often.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The display of one run.
pub(super) struct Display {
    name: String,
    clock: RunClock,
    planned_rate: f64,
    shown: Shown,
}

/// Where it is shown.
enum Shown {
    Screen(Box<Screen>, Keys, Events),
    Bar(ProgressBar),
    /// Lines, with the state and the time of the last one.
    Lines(String, Duration),
}

impl Display {
    /// A display for a run of `scenario` that so many generators share; with `tui` on the whole screen, if there is one.
    pub(super) fn new(scenario: &Scenario, generators: u64, clock: RunClock, tui: bool) -> Self {
        Self {
            name: scenario.name.clone(),
            clock,
            planned_rate: scenario.load.highest_rate() / generators as f64,
            shown: Shown::new(tui),
        }
    }

    /// Shows the run until the future is dropped.
    pub(super) async fn show(
        &mut self,
        progress: &watch::Receiver<Progress>,
        stats: impl Fn() -> LoadStats,
        collector: Option<&Collector>,
        interrupt: &Interrupt,
    ) {
        let state = collector.map(Collector::state);
        loop {
            let seen = progress.borrow().clone();
            let stopping = *interrupt.stopped().borrow();
            // The guard must not live on: while it does, the collector cannot write.
            self.draw(&seen, &stats(), state.as_ref(), stopping);
            tokio::select! {
                () = tokio::time::sleep(REDRAW_EVERY) => {}
                () = self.shown.stop_key() => interrupt.press(),
            }
        }
    }

    /// Takes the bar or the screen away.
    pub(super) fn close(self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }

    fn draw(
        &mut self,
        progress: &Progress,
        stats: &LoadStats,
        state: Option<&watch::Receiver<ClusterState>>,
        stopping: bool,
    ) {
        if progress.stages == 0 {
            return; // The walk has not begun.
        }
        let now = self.clock.now();
        let elapsed = progress.elapsed(now);
        let (stage, traffic) = (
            stage(progress, elapsed),
            traffic(progress, stats, self.planned_rate),
        );
        match &mut self.shown {
            Shown::Screen(screen, _, events) => {
                let view = {
                    let state = state.map(watch::Receiver::borrow);
                    let run = (self.name.as_str(), self.planned_rate);
                    events.update(elapsed, progress, state.as_deref());
                    View::of(run, now, progress, stats, state.as_deref())
                };
                screen.show(&view.with(events.lines(), stopping));
            }
            Shown::Bar(bar) => {
                let millis = |of: Duration| u64::try_from(of.as_millis());
                bar.set_length(millis(progress.planned).unwrap_or(1).max(1));
                bar.set_position(millis(elapsed).unwrap_or(0));
                bar.set_prefix(stage);
                bar.set_message(traffic);
            }
            Shown::Lines(last, at) => {
                let state = state_of(progress, stats);
                if *last != state || elapsed.saturating_sub(*at) >= LINE_EVERY {
                    terminal::note(&format!("{stage} | {traffic}"));
                    (*last, *at) = (state, elapsed);
                }
            }
        }
    }
}

impl Shown {
    fn new(tui: bool) -> Self {
        if !io::stderr().is_terminal() {
            if tui {
                terminal::note("note: --tui needs a terminal; a line at each change instead");
            }
            return Self::lines();
        }
        if tui {
            match Self::screen() {
                Ok(screen) => return screen,
                Err(error) => {
                    terminal::note(&format!(
                        "note: --tui cannot use this terminal ({error}); a line at each change instead"
                    ));
                    return Self::lines();
                }
            }
        }
        let bar = ProgressBar::new(1);
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {prefix}\n{wide_msg}") {
            bar.set_style(style);
        }
        Self::Bar(bar)
    }

    fn screen() -> io::Result<Self> {
        let keys = Keys::open()?;
        Ok(Self::Screen(
            Box::new(Screen::take()?),
            keys,
            Events::default(),
        ))
    }

    fn lines() -> Self {
        Self::Lines(String::new(), Duration::ZERO)
    }

    /// Waits for the key that stops the run; where it makes a signal by itself, for ever.
    async fn stop_key(&self) {
        match self {
            Self::Screen(_, keys, _) => keys.stop().await,
            Self::Bar(_) | Self::Lines(..) => std::future::pending().await,
        }
    }
}

/// What a line is written at each change of.
fn state_of(progress: &Progress, stats: &LoadStats) -> String {
    format!(
        "{} {:?} {:?} {}",
        progress.stage,
        progress.last_mark,
        progress.pods,
        stats.failed > 0
    )
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
