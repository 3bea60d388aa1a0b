//! A shutdown in its own stages, as the application's log tells them: how long each took, whether they came in the
//! right order (outside in, dependencies last), and whether two owners ran them.

use std::collections::BTreeMap;

use rollscope_records::RunOffset;

use crate::timeline::{Pod, PodLog, Step, StepLine};
use crate::words::span;

/// Stages that are kept of one pod.
const MOST: usize = 40;

/// A line that comes more often than this is no owner's: it is written in a loop.
const MOST_OWNERS: usize = 3;

/// Each of these comes before the next. Jobs may be returned while requests are drained, and a preStop hook may turn
/// readiness off before the signal.
const OUTSIDE_IN: [&[Step]; 2] = [
    &[
        Step::ReadinessOff,
        Step::ListenerClosed,
        Step::Drained,
        Step::PoolClosed,
    ],
    &[Step::JobsReturned, Step::PoolClosed],
];

/// One stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) step: Step,
    pub(crate) at: RunOffset,
    /// From the stage before, ns; of the first, from the signal.
    pub(crate) took: i64,
    /// 1 for its first run, 2 when the same line came a second time.
    pub(crate) run: u64,
    /// The line that told of it; `None` for an end that only the kubelet told of.
    pub(crate) line: Option<StepLine>,
}

/// A stage that ran more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) step: Step,
    pub(crate) text: String,
    pub(crate) runs: u64,
    pub(crate) first: RunOffset,
    pub(crate) last: RunOffset,
}

/// The shutdown of one pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shutdown {
    /// In order of time; empty when its log tells of none.
    pub(crate) stages: Vec<Stage>,
    /// What came before something that it must follow, in words.
    pub(crate) disorder: Vec<String>,
    /// Whether there were stages whose order means something.
    pub(crate) ordered: bool,
    /// What shows that more than one owner ran the shutdown.
    pub(crate) again: Vec<Again>,
}

impl Shutdown {
    /// Reads the shutdown of `pod`, whose signal was sent at `signal_at`.
    pub(crate) fn of(pod: &Pod, log: Option<&PodLog>, signal_at: RunOffset) -> Self {
        let lines = log
            .map(|l| of_the_server(&l.steps, pod))
            .unwrap_or_default();
        let Some(last) = lines.last() else {
            return Self::default();
        };
        let mut told: Vec<(Step, RunOffset, u64, Option<StepLine>)> = Vec::new();
        let mut runs: BTreeMap<(Step, &str), u64> = BTreeMap::new();
        for line in lines.iter().take(MOST) {
            let run = runs.entry((line.step, &line.same)).or_insert(0);
            *run += 1;
            if *run == 1 || !line.repeats {
                told.push((line.step, line.at, *run, Some((*line).clone())));
            }
        }
        let said_exit = lines.iter().any(|l| l.step == Step::Exit);
        if let Some(end) = pod.end.as_ref().filter(|_| !said_exit) {
            told.push((Step::Exit, end.point().max(last.at), 1, None));
        }
        let mut before = signal_at;
        let mut stages = Vec::new();
        for (step, at, run, line) in told {
            let took = at.nanos_since(before).max(0);
            before = before.max(at);
            stages.push(Stage {
                step,
                at,
                took,
                run,
                line,
            });
        }
        Self {
            disorder: disorder(&stages),
            ordered: pairs()
                .any(|(a, b)| first(&stages, a).is_some() && first(&stages, b).is_some()),
            again: again(&lines),
            stages,
        }
    }

    /// How many owners ran it: 0 when no stage was told of.
    pub(crate) fn owners(&self) -> u64 {
        let most = self.again.iter().map(|a| a.runs).max();
        most.unwrap_or(u64::from(!self.stages.is_empty()))
    }
}

/// The lines of the serving container, or of the one container that tells of stages.
fn of_the_server<'l>(lines: &'l [StepLine], pod: &Pod) -> Vec<&'l StepLine> {
    let of =
        |name: &str| -> Vec<&StepLine> { lines.iter().filter(|l| l.container == name).collect() };
    let serving = pod.container.as_deref().map(of).unwrap_or_default();
    match lines.first() {
        Some(first) if serving.is_empty() => of(&first.container),
        _ => serving,
    }
}

/// Every two stages of which the first must come before the second.
fn pairs() -> impl Iterator<Item = (Step, Step)> {
    OUTSIDE_IN.into_iter().flat_map(|chain| {
        let second = |i: usize| chain.iter().skip(i + 1);
        chain
            .iter()
            .enumerate()
            .flat_map(move |(i, a)| second(i).map(|b| (*a, *b)))
    })
}

fn first(stages: &[Stage], step: Step) -> Option<RunOffset> {
    stages.iter().find(|s| s.step == step).map(|s| s.at)
}

/// For each stage that came too early, the last of those that it must follow.
fn disorder(stages: &[Stage]) -> Vec<String> {
    let mut worst: BTreeMap<Step, (Step, i64)> = BTreeMap::new();
    for (a, b) in pairs() {
        let (Some(should_lead), Some(came)) = (first(stages, a), first(stages, b)) else {
            continue;
        };
        let early = should_lead.nanos_since(came);
        if early > worst.get(&b).map_or(0, |(_, most)| *most) {
            worst.insert(b, (a, early));
        }
    }
    worst
        .into_iter()
        .map(|(b, (a, early))| format!("{} {} before {}", b.words(), span(early), a.words()))
        .collect()
}

/// The stages that ran again, where that means a second owner: the shutdown began twice, a stage came again after
/// another one, or several stages came again. One line twice in a row may be of two listeners or two pools.
fn again(lines: &[&StepLine]) -> Vec<Again> {
    let mut by_line: BTreeMap<(Step, &str), Vec<usize>> = BTreeMap::new();
    for (i, line) in lines.iter().enumerate().filter(|(_, l)| !l.repeats) {
        by_line.entry((line.step, &line.same)).or_default().push(i);
    }
    by_line.retain(|_, at| (2..=MOST_OWNERS).contains(&at.len()));
    let apart = |at: &[usize], step: Step| {
        lines[at[0]..at[at.len() - 1]]
            .iter()
            .any(|l| l.step != step)
    };
    let telling: Vec<_> = by_line
        .iter()
        .filter(|((step, _), at)| *step == Step::Signal || apart(at, *step))
        .collect();
    if telling.is_empty() && by_line.len() < 2 {
        return Vec::new();
    }
    let mut all: Vec<Again> = by_line
        .iter()
        .map(|((step, _), at)| {
            let (first, last) = (lines[at[0]], lines[at[at.len() - 1]]);
            Again {
                step: *step,
                text: first.text.clone(),
                runs: at.len() as u64,
                first: first.at,
                last: last.at,
            }
        })
        .collect();
    all.sort_by_key(|a| (a.first, a.step));
    all
}
