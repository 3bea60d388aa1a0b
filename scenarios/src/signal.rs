//! A scenario for one program and one signal: what the flags of `rollscope signal` ask for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;
use rollscope_records::Lane;

use crate::flags::{in_flight_cap, problem, read};
use crate::keys::Shape;
use crate::model::{
    DurationRange, FrontEnd, Gate, HealthCheck, Load, PreflightSpec, Rate, RateStep, RequestSpec,
    SandboxTarget, Scenario, Stage, StageKind, Target,
};
use crate::problem::{Problem, ScenarioErrors};
use crate::{units, words};

/// Beyond its grace a program may take this long: SIGKILL does not always end a process at once.
const BEYOND_GRACE: Duration = Duration::from_secs(15);
/// The load rests this long before the signal, and this long after it, where it is to come between requests.
const REST: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(700)];
/// From the first stop signal to the second.
const AGAIN: Duration = Duration::from_millis(300);

/// The flags of `rollscope signal`, as they were written; everything else as when it is left out.
#[derive(Debug, Clone, Default)]
pub struct SignalFlags {
    /// The run's name.
    pub name: String,
    /// The manifest's file, for the record.
    pub manifest: Option<PathBuf>,
    /// `--path`: `/` when left out.
    pub path: Option<String>,
    /// `--slow-path`.
    pub slow_path: Option<String>,
    /// `--rate`: 50/s when left out.
    pub rate: Option<String>,
    /// `--deadline` of each request: 30 s when left out.
    pub deadline: Option<String>,
    /// `--warmup`: 2 s when left out.
    pub warmup: Option<String>,
    /// `--settle`: 500 ms when left out.
    pub settle: Option<String>,
    /// `--ready`: a path, `port`, or `log:REGEX`.
    pub ready: Option<String>,
    /// `--ready-within`: a minute when left out.
    pub ready_within: Option<String>,
    /// `--signal`: its name, with or without `SIG`.
    pub signal: Option<String>,
    /// `--grace`, whole seconds.
    pub grace: Option<String>,
    /// `--pre-stop`, whole seconds.
    pub pre_stop: Option<String>,
    /// `--endpoint-lag`: a second when left out.
    pub endpoint_lag: Option<String>,
    /// `--in-time`: 250 ms when left out.
    pub in_time: Option<String>,
    /// `--max-failed`.
    pub max_failed: u64,
    /// `--assertions`: whether a failed one is only told.
    pub assertions_warn: bool,
    /// `--pod-header`.
    pub pod_header: Option<String>,
}

/// How a program is known to be ready.
#[derive(Debug, Clone)]
pub enum Ready {
    /// It accepts connections on its port (or as its manifest says).
    Port,
    /// It answers a GET of this path with 2xx or 3xx.
    Path(String),
    /// It writes a line that matches.
    Log(Regex),
}

/// The moment of the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Under a steady load.
    Steady,
    /// Before the first request.
    BeforeFirstRequest,
    /// Between requests on connections that are kept open.
    BetweenRequests,
    /// While bodies are on their way: every request is a slow one.
    MidBody,
    /// Under a steady load, and a second time soon after.
    Twice,
}

impl Moment {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steady => "steady load",
            Self::BeforeFirstRequest => "before the first request",
            Self::BetweenRequests => "between requests",
            Self::MidBody => "in mid-body",
            Self::Twice => "twice",
        }
    }

    /// The moment of run `index` (from 0) of several: the first is a steady load, then one after the other. Without a
    /// slow path no body is long enough to be met.
    pub fn of_run(index: usize, slow: bool) -> Self {
        let all = [
            Self::Steady,
            Self::BeforeFirstRequest,
            Self::BetweenRequests,
            Self::Twice,
            Self::MidBody,
        ];
        let count = if slow { all.len() } else { all.len() - 1 };
        all[index % count]
    }
}

/// A checked run of one program.
#[derive(Debug, Clone)]
pub struct SignalPlan {
    /// Its load, stages and gate. The target's manifest is only a name.
    pub scenario: Scenario,
    /// How it is known to be ready; `None` where the manifest (or else its port) says so.
    pub ready: Option<Ready>,
    /// How long that may take.
    pub ready_within: Duration,
    /// The stop signal's name (`SIGTERM`), where one is asked for.
    pub signal: Option<String>,
    /// The grace, where one is asked for.
    pub grace: Option<Duration>,
    /// The preStop sleep, where one is asked for.
    pub pre_stop: Option<Duration>,
}

impl SignalPlan {
    /// Reads the flags.
    ///
    /// # Errors
    ///
    /// Every flag that is wrong, by its name.
    pub fn from_flags(flags: &SignalFlags) -> Result<Self, ScenarioErrors> {
        let mut problems = Vec::new();
        let p = &mut problems;
        let path = path(flags.path.as_deref().unwrap_or("/"), "--path", p);
        let slow = flags.slow_path.as_deref();
        let slow = slow.map(|s| self::path(s, "--slow-path", p));
        let rate = rate(flags.rate.as_ref(), p);
        let positive = |t: &str| units::duration(t).filter(|d| !d.is_zero());
        let times = [
            (&flags.deadline, "--deadline", 30_000),
            (&flags.warmup, "--warmup", 2_000),
            (&flags.settle, "--settle", 500),
            (&flags.ready_within, "--ready-within", 60_000),
            (&flags.in_time, "--in-time", 250),
        ];
        let [deadline, warmup, settle, ready_within, in_time] =
            times.map(|(value, flag, default)| {
                let default = Some(Duration::from_millis(default));
                let parse = |t: &str| positive(t);
                match value {
                    Some(_) => read(value.as_ref(), flag, &Shape::Duration, parse, p),
                    None => default,
                }
            });
        let grace = whole_seconds(flags.grace.as_deref(), "--grace", p);
        let pre_stop = whole_seconds(flags.pre_stop.as_deref(), "--pre-stop", p);
        let lag = lag(flags.endpoint_lag.as_ref(), p);
        let signal = flags.signal.as_deref().map(|s| signal(s, p));
        let ready = flags.ready.as_deref().map(|r| self::ready(r, p));
        let times = (deadline, warmup, settle, ready_within, in_time);
        let found = (path, rate, times, lag);
        let (
            Some(path),
            Some(rate),
            (Some(deadline), Some(warmup), Some(settle), Some(ready_within), Some(in_time)),
            Some(lag),
        ) = found
        else {
            return Err(ScenarioErrors::new("command line", problems));
        };
        if !problems.is_empty() {
            return Err(ScenarioErrors::new("command line", problems));
        }
        let mut load = load(&path, slow.flatten().as_deref(), rate, deadline);
        load.limits.in_time = in_time;
        load.pod_header = flags.pod_header.as_ref().map(|h| h.to_ascii_lowercase());
        Ok(Self {
            scenario: Scenario {
                name: flags.name.clone(),
                target: target(flags, lag),
                load,
                stages: stages(warmup, settle),
                gate: Gate {
                    max_failed: flags.max_failed,
                    assertions_fail: !flags.assertions_warn,
                },
                log_marks: BTreeMap::new(),
                jobs: None,
                balancers: Vec::new(),
                preflight: PreflightSpec::default(),
            },
            ready: ready.flatten(),
            ready_within,
            signal: signal.flatten(),
            grace: grace.flatten(),
            pre_stop: pre_stop.flatten(),
        })
    }

    /// The same plan for one of several runs, with the times that the workload itself gives: the stop may take all of
    /// `grace`, and the signal comes `pre_stop` after the deletion.
    pub fn at(&self, moment: Moment, run: usize, grace: Duration, pre_stop: Duration) -> RunPlan {
        let mut scenario = self.scenario.clone();
        // A few milliseconds more in each run: the signal meets another phase of the load.
        let jitter = Duration::from_millis(37 * run as u64 % 400);
        for stage in &mut scenario.stages {
            match &mut stage.kind {
                StageKind::Warmup(length) => {
                    *length += jitter;
                    stage.complete_within = *length;
                }
                StageKind::Signal => stage.complete_within = grace + BEYOND_GRACE,
                _ => {}
            }
        }
        match moment {
            Moment::BeforeFirstRequest => scenario
                .stages
                .retain(|s| !matches!(s.kind, StageKind::Warmup(_))),
            Moment::BetweenRequests => rest(&mut scenario, pre_stop),
            Moment::MidBody => only_slow(&mut scenario.load),
            Moment::Steady | Moment::Twice => {}
        }
        RunPlan {
            scenario,
            after_signal: moment == Moment::BeforeFirstRequest,
            again_after: (moment == Moment::Twice).then_some(AGAIN),
        }
    }

    /// Whether there is a slow path.
    pub fn is_slow(&self) -> bool {
        self.scenario
            .load
            .requests
            .iter()
            .any(|r| r.name.starts_with(SLOW))
    }
}

/// What the slow requests' names begin with.
const SLOW: &str = "slow";

/// One run.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// Its scenario.
    pub scenario: Scenario,
    /// The load begins when the signal has been sent.
    pub after_signal: bool,
    /// The stop signal is sent a second time so long after the first.
    pub again_after: Option<Duration>,
}

/// Only the slow requests, as many of them as with the others.
fn only_slow(load: &mut Load) {
    let weight = |requests: &[RequestSpec]| requests.iter().map(|r| r.weight).sum::<u32>();
    let all = weight(&load.requests);
    load.requests.retain(|r| r.name.starts_with(SLOW));
    if let Rate::Constant(rate) = &mut load.rate {
        *rate *= f64::from(weight(&load.requests)) / f64::from(all.max(1));
    }
}

/// No slot is due from shortly before the signal until shortly after it, and none of the slow requests at all.
fn rest(scenario: &mut Scenario, pre_stop: Duration) {
    let Rate::Constant(rate) = scenario.load.rate else {
        return;
    };
    let warmup = scenario.stages.iter().find_map(|s| match s.kind {
        StageKind::Warmup(length) => Some(length),
        _ => None,
    });
    // A slow request that is under way would go on through the rest.
    let load = &mut scenario.load;
    load.requests.retain(|r| !r.name.starts_with(SLOW));
    // The first step lasts whole slots, so that the next one is due at its end and the one after it when half of the
    // slow step's slot has come.
    let [before, after] = REST;
    let busy = warmup.unwrap_or_default().saturating_sub(before);
    let slots = (busy.as_secs_f64() * rate).floor().max(1.0);
    let busy = Duration::from_secs_f64(slots / rate);
    let quiet = before + pre_stop + after;
    scenario.load.rate = Rate::Steps(vec![
        RateStep {
            per_second: rate,
            lasts: Some(busy),
        },
        RateStep {
            per_second: 0.5 / quiet.as_secs_f64(),
            lasts: Some(quiet),
        },
        RateStep {
            per_second: rate,
            lasts: None,
        },
    ]);
}

fn target(flags: &SignalFlags, lag: Duration) -> Target {
    let command_line = || PathBuf::from("(command line)");
    Target::Sandbox(SandboxTarget {
        manifest: flags.manifest.clone().unwrap_or_else(command_line),
        front_end: FrontEnd::Direct,
        endpoint_lag: DurationRange { min: lag, max: lag },
        seed: 1,
        retries: 0,
        health_check: HealthCheck::default(),
    })
}

/// `complete_within` of the signal is set when the grace is known.
fn stages(warmup: Duration, settle: Duration) -> Vec<Stage> {
    let stage = |kind, complete_within| Stage {
        kind,
        complete_within,
    };
    vec![
        stage(StageKind::Warmup(warmup), warmup),
        stage(StageKind::Signal, BEYOND_GRACE),
        stage(StageKind::Settle(settle), settle),
    ]
}

/// Both lanes; with a slow path one request in five is slow.
fn load(path: &str, slow: Option<&str>, rate: f64, deadline: Duration) -> Load {
    let request = |name: &str, path: &str, connections: Lane, weight: u32| RequestSpec {
        deadline,
        connections,
        weight,
        ..RequestSpec::new(name, "GET", path)
    };
    let mut requests = vec![
        request("reused", path, Lane::Reused, 4),
        request("new", path, Lane::New, 4),
    ];
    if let Some(slow) = slow {
        requests.push(request("slow-reused", slow, Lane::Reused, 1));
        requests.push(request("slow-new", slow, Lane::New, 1));
    }
    Load {
        max_in_flight: in_flight_cap(rate, deadline),
        ..Load::new(Rate::Constant(rate), requests)
    }
}

fn rate(value: Option<&String>, problems: &mut Vec<Problem>) -> Option<f64> {
    match value {
        Some(_) => read(value, "--rate", &Shape::Rate, units::rate, problems),
        None => Some(50.0),
    }
}

fn lag(value: Option<&String>, problems: &mut Vec<Problem>) -> Option<Duration> {
    match value {
        Some(_) => read(
            value,
            "--endpoint-lag",
            &Shape::Duration,
            units::duration,
            problems,
        ),
        None => Some(Duration::from_secs(1)),
    }
}

fn path(text: &str, flag: &'static str, problems: &mut Vec<Problem>) -> Option<String> {
    if words::is_path(text) {
        return Some(text.to_owned());
    }
    let found = format!("`{}`", text.escape_debug());
    problems.push(problem(flag, &found, "a path such as `/health?deep=1`"));
    None
}

/// A kubelet counts the grace and the preStop sleep in whole seconds.
fn whole_seconds(
    value: Option<&str>,
    flag: &'static str,
    problems: &mut Vec<Problem>,
) -> Option<Option<Duration>> {
    let text = value?;
    let parsed = units::duration(text).filter(|d| d.subsec_nanos() == 0);
    if parsed.is_none() {
        let found = format!("`{}`", text.escape_debug());
        problems.push(problem(
            flag,
            &found,
            "whole seconds, such as `30s`, as a kubelet counts them",
        ));
    }
    Some(parsed)
}

/// Signals that a container can be stopped with: SIGKILL is none, and those that the kernel answers itself.
const SIGNALS: [&str; 14] = [
    "SIGTERM",
    "SIGINT",
    "SIGQUIT",
    "SIGHUP",
    "SIGUSR1",
    "SIGUSR2",
    "SIGABRT",
    "SIGALRM",
    "SIGPIPE",
    "SIGIO",
    "SIGPWR",
    "SIGWINCH",
    "SIGXCPU",
    "SIGVTALRM",
];

/// The name (`SIGTERM`) of a signal that a container can be stopped with, from its name with or without `SIG`.
pub fn stop_signal(text: &str) -> Option<String> {
    let upper = text.to_ascii_uppercase();
    let name = if upper.starts_with("SIG") {
        upper
    } else {
        format!("SIG{upper}")
    };
    SIGNALS.contains(&name.as_str()).then_some(name)
}

fn signal(text: &str, problems: &mut Vec<Problem>) -> Option<String> {
    let name = stop_signal(text);
    if name.is_some() {
        return name;
    }
    let found = format!("`{}`", text.escape_debug());
    problems.push(problem(
        "--signal",
        &found,
        "a stop signal by its name, such as `TERM`, `INT` or `QUIT`",
    ));
    None
}

fn ready(text: &str, problems: &mut Vec<Problem>) -> Option<Ready> {
    let mut wrong = |found: String| {
        let expected = "`port`, a path such as `/healthz/ready`, or `log:REGEX`";
        problems.push(problem("--ready", &found, expected));
        None
    };
    if text == "port" {
        return Some(Ready::Port);
    }
    if let Some(pattern) = text.strip_prefix("log:") {
        return match Regex::new(pattern) {
            Ok(regex) => Some(Ready::Log(regex)),
            Err(_) => wrong(format!(
                "`{}`, which is no regular expression",
                text.escape_debug()
            )),
        };
    }
    if words::is_path(text) {
        return Some(Ready::Path(text.to_owned()));
    }
    wrong(format!("`{}`", text.escape_debug()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn flags() -> SignalFlags {
        SignalFlags {
            name: "web".to_owned(),
            ..SignalFlags::default()
        }
    }

    const GRACE: Duration = Duration::from_secs(30);

    #[test]
    fn the_default_load_has_both_lanes_and_its_assertions_fail_the_gate() {
        let plan = SignalPlan::from_flags(&flags()).unwrap();
        let lanes: Vec<Lane> = plan
            .scenario
            .load
            .requests
            .iter()
            .map(|r| r.connections)
            .collect();
        assert_eq!(lanes, [Lane::Reused, Lane::New]);
        assert!(plan.scenario.gate.assertions_fail);
        let kinds: Vec<_> = plan
            .scenario
            .stages
            .iter()
            .map(|s| s.kind.as_str())
            .collect();
        assert_eq!(kinds, ["warmup", "signal", "settle"]);
    }

    #[test]
    fn every_wrong_flag_is_named() {
        let mut flags = flags();
        flags.path = Some("health".to_owned());
        flags.grace = Some("1500ms".to_owned());
        flags.signal = Some("KILL".to_owned());
        flags.ready = Some("log:(".to_owned());
        flags.rate = Some("100".to_owned());
        flags.in_time = Some("soon".to_owned());
        let said = SignalPlan::from_flags(&flags).unwrap_err().to_string();
        for flag in [
            "--path",
            "--grace",
            "--signal",
            "--ready",
            "--rate",
            "--in-time",
        ] {
            assert!(said.contains(flag), "{flag} in {said}");
        }
        assert!(said.contains("6 problems"), "{said}");
    }

    #[test]
    fn a_signal_is_named_with_or_without_sig() {
        for text in ["term", "SIGTERM", "TERM"] {
            assert_eq!(signal(text, &mut Vec::new()).as_deref(), Some("SIGTERM"));
        }
    }

    #[test]
    fn several_runs_begin_with_a_steady_load_and_meet_bodies_only_on_a_slow_path() {
        let of = |slow| (0..5).map(|i| Moment::of_run(i, slow)).collect::<Vec<_>>();
        assert_eq!(of(true)[0], Moment::Steady);
        assert!(of(true).contains(&Moment::MidBody));
        assert!(!of(false).contains(&Moment::MidBody));
    }

    #[test]
    fn in_mid_body_there_are_as_many_slow_requests_as_under_a_steady_load() {
        let mut flags = flags();
        flags.slow_path = Some("/export".to_owned());
        let plan = SignalPlan::from_flags(&flags).unwrap();
        let run = plan.at(Moment::MidBody, 4, GRACE, Duration::ZERO);
        assert_eq!(run.scenario.load.rate, Rate::Constant(10.0));
        assert!(
            run.scenario
                .load
                .requests
                .iter()
                .all(|r| r.path == "/export")
        );
    }

    #[test]
    fn between_requests_no_slot_is_due_around_the_signal() {
        let plan = SignalPlan::from_flags(&flags()).unwrap();
        let pre_stop = Duration::from_secs(2);
        let run = plan.at(Moment::BetweenRequests, 3, GRACE, pre_stop);
        let Rate::Steps(steps) = &run.scenario.load.rate else {
            panic!("{:?}", run.scenario.load.rate);
        };
        let warmup = run.scenario.stages[0].complete_within;
        let signal = warmup + pre_stop;
        let (busy, quiet) = (steps[0].lasts.unwrap(), steps[1].lasts.unwrap());
        assert!(
            busy < signal && signal < busy + quiet,
            "{busy:?} {signal:?} {quiet:?}"
        );
        assert!(steps[1].per_second * quiet.as_secs_f64() < 1.0);
    }
}
