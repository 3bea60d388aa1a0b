//! Runs of the shipped scenarios, with less time before and after the rollout.

use std::sync::Mutex;
use std::thread;

use rollscope_records::Recording;
use rollscope_tests::Workdir;

/// How many run at a time: each has a load and six processes.
const AT_A_TIME: usize = 2;

/// A run of a shipped scenario.
pub(crate) struct ShippedRun {
    /// The scenario's name.
    pub(crate) name: &'static str,
    /// The cause that the scenario shows.
    pub(crate) cause: Option<&'static str>,
    pub(crate) recording: Recording,
}

/// The shipped scenarios besides early-close, and the cause that each shows.
const SCENARIOS: [(&str, Option<&str>); 6] = [
    ("sigkill-overrun", Some("sigkill_overrun")),
    ("keepalive-hang", Some("sigkill_overrun")),
    ("unforwarded-signal", Some("unforwarded_signal")),
    ("shell-wrapped", Some("unforwarded_signal")),
    ("graceful-l4", None),
    ("graceful", None),
];

/// Runs and records them all.
pub(crate) fn run_all(program: &str) -> Vec<ShippedRun> {
    let waiting = Mutex::new(SCENARIOS.into_iter());
    let one_after_another = || {
        let next = || waiting.lock().unwrap().next();
        std::iter::from_fn(next)
            .map(|(name, cause)| run(program, name, cause))
            .collect::<Vec<_>>()
    };
    let mut runs: Vec<ShippedRun> = thread::scope(|scope| {
        let lines = [(); AT_A_TIME].map(|()| scope.spawn(one_after_another));
        let ended = lines.into_iter().map(|line| line.join().unwrap());
        ended.flatten().collect()
    });
    runs.sort_by_key(|run| run.name);
    runs
}

fn run(program: &str, name: &'static str, cause: Option<&'static str>) -> ShippedRun {
    let workdir = Workdir::new(program);
    let changes = [("warmup: 4s", "warmup: 1s"), ("settle: 3s", "settle: 1s")];
    workdir.variant(name, "short", &changes);
    let short = "scenarios/short.yaml";
    let ended = workdir.rollscope(&["run", short, "--out", "out", "--record-only"]);
    ShippedRun {
        name,
        cause,
        recording: ended.recording(),
    }
}
