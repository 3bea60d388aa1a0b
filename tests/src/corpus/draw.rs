//! What a case is made of, drawn at random over fixed ranges.

use std::fmt::Write;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::aimed::{WORDS as AIMED, aim};
use super::evictions::evictions;
use super::mix::{Mix, mix, race};
use super::streams::{Streams, streams};

/// The ranges of the draw in words, as `ACCURACY.md` tells them.
pub(crate) const RANGES: &[(&str, &str)] = &[
    (
        "server",
        "graceful (a third of the cases become double-owner), early-close, exit-now, no-handler, overrun, same-deadline, keepalive-hang, pool-first, forced-exit, \
         unawaited-cleanup, short-keepalive, ready-too-early, slow-start, crash; graceful in a shell that does not \
         forward, in one that dies of the signal as npm does, and in one that forwards it",
    ),
    ("front end", "l4, http"),
    ("replicas", "1 to 8"),
    (
        "strategy",
        "RollingUpdate with maxSurge 0, 1, 2 or 25% and maxUnavailable 0, 1, 50% or 100%; Recreate (1 in 12)",
    ),
    ("rate", "5 to 500 requests/s, log-uniform"),
    (
        "requests",
        "fast ones on kept and on new connections; 20 to 1,000 ms; in half of the runs 0.2 to 1.6 times the grace; \
         streamed bodies; jobs",
    ),
    ("grace", "2 to 30 s, log-uniform"),
    (
        "preStop",
        "none (half), sleep, exec; 1 to 6 s, or up to 3 s more than the grace",
    ),
    ("endpoint lag", "two ends between 0 and 5 s"),
    (
        "readiness",
        "none (1 in 8), period 1, 2, 5 or 10 s, threshold 1, 2 or 3",
    ),
    (
        "keep-alive of the server",
        "1 to 65 s; for most of short-keepalive just below the time between two requests, 5 to 12 requests/s, and its \
         close 20 to 150 ms on the way",
    ),
    (
        "drain",
        "delay 0 to 8 s or just over the lag, deadline 0.3 to 20 s or what the grace leaves",
    ),
    (
        "background errors",
        "none (3 in 4), 404, 500 or a missed deadline in 0.3 to 5 of 100 requests",
    ),
    (
        "confounders",
        "a pod's process killed in the rollout (1 in 6, half of them with a memory limit: an OOM kill), a liveness probe that always fails (1 in 15)",
    ),
    (
        "proxy",
        "half of the graceful cases that are left have a second container, through which the traffic goes and which ends \
         at the signal",
    ),
    (
        "connections held open",
        "none, but in 1 of 10 cases (1 of 5 where the server's drain waits for them without an end: early-close, overrun, \
         keepalive-hang) 2 to 12 of server-sent events, chunks or, behind l4, WebSockets, with a message each 0.2, 0.5 or 1 s",
    ),
    (
        "evictions",
        "in 1 of 12 cases each pod is evicted instead of the restart: all at once (1 in 4), else 1 to 8 s apart",
    ),
    ("aimed", AIMED),
    (
        "observation",
        "half of the runs without logs, a third without pod header",
    ),
];

/// What the containers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    /// The subject of that name as PID 1.
    Subject(&'static str),
    /// `sh -c "server; true"`.
    ShellWrapped,
    /// A shell that dies of the signal and takes the server along, as npm's does.
    HalfForwarded,
    /// A shell that forwards the signal.
    ShellForwards,
}

const SERVERS: &[Server] = &[
    Server::Subject("graceful"),
    Server::Subject("graceful"),
    Server::Subject("early-close"),
    Server::Subject("early-close"),
    Server::Subject("exit-now"),
    Server::Subject("no-handler"),
    Server::Subject("overrun"),
    Server::Subject("overrun"),
    Server::Subject("same-deadline"),
    Server::Subject("keepalive-hang"),
    Server::Subject("keepalive-hang"),
    Server::Subject("pool-first"),
    Server::Subject("forced-exit"),
    Server::Subject("unawaited-cleanup"),
    Server::Subject("short-keepalive"),
    Server::Subject("ready-too-early"),
    Server::Subject("slow-start"),
    Server::Subject("crash"),
    Server::ShellWrapped,
    Server::HalfForwarded,
    Server::ShellForwards,
];

impl Serialize for Server {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Server {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let name = String::deserialize(d)?;
        let found = SERVERS
            .iter()
            .chain([&DOUBLE_OWNER])
            .find(|s| s.as_str() == name);
        found
            .copied()
            .ok_or_else(|| D::Error::custom(format!("{name:?} is not a server")))
    }
}

/// What a part of the `graceful` cases is made: two owners of the same drain.
const DOUBLE_OWNER: Server = Server::Subject("double-owner");

impl Server {
    /// Its name in tables.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Subject(name) => name,
            Self::ShellWrapped => "shell-wrapped",
            Self::HalfForwarded => "half-forwarded",
            Self::ShellForwards => "shell-forwards",
        }
    }

    /// The subject that serves.
    pub(crate) const fn subject(self) -> &'static str {
        match self {
            Self::Subject(name) => name,
            _ => "graceful",
        }
    }

    /// Whether its drain waits for a connection that is held open, and never tells it to go.
    pub(crate) fn waits_for_streams(self) -> bool {
        matches!(
            self,
            Self::Subject("early-close" | "overrun" | "keepalive-hang")
        )
    }

    fn is(self, name: &str) -> bool {
        self.as_str() == name
    }
}

/// A preStop hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PreStop {
    /// `exec` of `sleep`, not the `sleep` action.
    pub(crate) exec: bool,
    /// How long it takes.
    pub(crate) seconds: u64,
}

/// One drawn case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Case {
    /// The seed of the draw.
    pub(crate) seed: u64,
    /// Its number in the draw.
    pub(crate) index: u64,
    /// What the containers run.
    pub(crate) server: Server,
    /// `l4` or `http`.
    pub(crate) front_end: String,
    /// Replicas.
    pub(crate) replicas: u32,
    /// `None` is Recreate, else maxSurge and maxUnavailable.
    pub(crate) rolling: Option<(String, String)>,
    /// Requests per second.
    pub(crate) rate: u32,
    /// The requests.
    pub(crate) mix: Mix,
    /// `terminationGracePeriodSeconds`.
    pub(crate) grace: u64,
    /// The preStop hook.
    pub(crate) pre_stop: Option<PreStop>,
    /// Both ends of the endpoint lag, milliseconds.
    pub(crate) lag_ms: (u64, u64),
    /// Period in seconds and threshold of the readiness probe.
    pub(crate) readiness: Option<(u64, u64)>,
    /// The server's keep-alive timeout, milliseconds.
    pub(crate) keep_alive_ms: u64,
    /// From the signal to the close of the listener, milliseconds.
    pub(crate) drain_delay_ms: u64,
    /// From there until what is in flight is cut, milliseconds.
    pub(crate) drain_deadline_ms: u64,
    /// After this much of the rollout some pod's process is killed.
    pub(crate) kill_after: Option<Duration>,
    /// Whether the containers have a memory limit, so that such a kill is one for want of memory.
    pub(crate) memory_limit: bool,
    /// How long the close of an idle connection is on its way, milliseconds.
    pub(crate) close_travel_ms: u64,
    /// From the signal to the safety timer, milliseconds, where it is not the usual one.
    pub(crate) safety_ms: Option<u64>,
    /// From the start of `ready-too-early` to its listener, milliseconds.
    pub(crate) listen_delay_ms: u64,
    /// The liveness probe asks for a path that is not there.
    pub(crate) broken_liveness: bool,
    /// Whether the analyzer may see the logs.
    pub(crate) logs: bool,
    /// Whether responses name their pod.
    pub(crate) pod_header: bool,
    /// Connections that are held open.
    #[serde(default)]
    pub(crate) streams: Option<Streams>,
    /// The time between two evictions, which are made instead of the restart, milliseconds.
    #[serde(default)]
    pub(crate) evict_ms: Option<u64>,
    /// Whether the traffic goes through a proxy beside the application, which ends at the signal.
    #[serde(default)]
    pub(crate) sidecar: bool,
}

impl Case {
    /// Draws case `index` of `seed`; independent of all others.
    pub(crate) fn draw(seed: u64, index: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index);
        let rng = &mut rng;
        let server = pick(rng, SERVERS);
        let grace = log_uniform(rng, 2.0, 30.0).round() as u64;
        let rate = log_uniform(rng, 5.0, 500.0).round() as u32;
        let replicas = rng.random_range(1..=8);
        let front_end = pick(rng, &["l4", "http"]);
        let race = race(rng, server, front_end, replicas);
        let rate = race.as_ref().map_or(rate, |r| r.rate);
        let lag_ms = lag(rng);
        let drain_delay_ms = drain_delay(rng, lag_ms.1);
        let readiness = readiness(rng, server);
        let mut case = Self {
            seed,
            index,
            server,
            front_end: front_end.to_owned(),
            replicas,
            rolling: rolling(rng),
            rate,
            mix: match &race {
                Some(race) => race.mix.clone(),
                None => mix(rng, server.as_str(), rate, grace),
            },
            grace,
            pre_stop: pre_stop(rng, grace),
            lag_ms,
            readiness,
            keep_alive_ms: race
                .as_ref()
                .map_or_else(|| keep_alive(rng, server), |r| r.keep_alive_ms),
            close_travel_ms: race.map_or(0, |r| r.close_travel_ms),
            drain_delay_ms,
            drain_deadline_ms: drain_deadline(rng, server, grace, drain_delay_ms),
            kill_after: rng
                .random_ratio(1, 6)
                .then(|| Duration::from_millis(rng.random_range(0..12_000))),
            memory_limit: rng.random_bool(0.5),
            safety_ms: (server.is("forced-exit") && rng.random_bool(0.7))
                .then(|| (grace as f64 * 1000.0 * rng.random_range(0.2..0.9)) as u64),
            listen_delay_ms: rng.random_range(500..6000),
            broken_liveness: rng.random_ratio(1, 15),
            logs: rng.random_bool(0.5),
            pod_header: !rng.random_ratio(1, 3),
            streams: None,
            evict_ms: None,
            sidecar: false,
        };
        case.draw_newer(rng);
        case
    }

    /// What is drawn since the ranges have grown: after all others, so that these stay what they were.
    fn draw_newer(&mut self, rng: &mut StdRng) {
        if self.server.is("graceful") && rng.random_ratio(1, 3) {
            self.server = DOUBLE_OWNER;
        }
        self.streams = streams(rng, self.server, &self.front_end);
        self.evict_ms = evictions(rng);
        if self.server.is("graceful") && rng.random_bool(0.5) {
            self.sidecar = true;
            // The proxy accepts before the application does: only the probe keeps clients away.
            self.readiness.get_or_insert((1, 1));
        }
        aim(self, rng);
    }

    /// The name of its folder.
    pub(crate) fn folder(&self) -> String {
        format!("{}-{}", self.seed, self.index)
    }

    /// What was drawn, in a line.
    pub(crate) fn words(&self) -> String {
        let pre_stop = self.pre_stop.map_or("none".to_owned(), |p| {
            format!("{} {} s", if p.exec { "exec" } else { "sleep" }, p.seconds)
        });
        let readiness = self
            .readiness
            .map_or("none".to_owned(), |(p, t)| format!("{p}x{t}"));
        let rolling = self
            .rolling
            .as_ref()
            .map_or("Recreate".to_owned(), |(s, u)| {
                format!("surge {s} unavailable {u}")
            });
        let mut words = format!(
            "{} {} x{} {rolling} {}/s grace {} preStop {pre_stop} lag {}..{} readiness {readiness} keep-alive {} drain {}+{}",
            self.server.as_str(),
            self.front_end,
            self.replicas,
            self.rate,
            self.grace,
            self.lag_ms.0,
            self.lag_ms.1,
            self.keep_alive_ms,
            self.drain_delay_ms,
            self.drain_deadline_ms
        );
        if let Some(streams) = &self.streams {
            let _ = write!(words, " {} {}", streams.count, streams.kind);
        }
        for (said, is) in [
            (" background", self.mix.has_background()),
            (" kill", self.kill_after.is_some()),
            (
                " memory-limit",
                self.kill_after.is_some() && self.memory_limit,
            ),
            (" sidecar", self.sidecar),
            (" evicted", self.evict_ms.is_some()),
            (" race", self.close_travel_ms > 0),
            (" broken-liveness", self.broken_liveness),
            (" no-logs", !self.logs),
            (" no-header", !self.pod_header),
        ] {
            if is {
                words += said;
            }
        }
        words
    }
}

pub(super) fn pick<T: Copy>(rng: &mut StdRng, from: &[T]) -> T {
    *from.choose(rng).unwrap()
}

pub(super) fn log_uniform(rng: &mut StdRng, from: f64, to: f64) -> f64 {
    rng.random_range(from.ln()..=to.ln()).exp()
}

fn lag(rng: &mut StdRng) -> (u64, u64) {
    let ends = if rng.random_ratio(1, 4) {
        (0, rng.random_range(0..200))
    } else {
        (rng.random_range(0..=5000), rng.random_range(0..=5000))
    };
    (ends.0.min(ends.1), ends.0.max(ends.1))
}

fn rolling(rng: &mut StdRng) -> Option<(String, String)> {
    if rng.random_ratio(1, 12) {
        return None;
    }
    let surge = pick(rng, &["1", "1", "25%", "2", "0"]);
    let unavailable = match (surge, rng.random_range(0..10)) {
        ("0", _) => "1",
        (_, 0..6) => "0",
        (_, 6..8) => "1",
        (_, 8) => "50%",
        _ => "100%",
    };
    Some((surge.to_owned(), unavailable.to_owned()))
}

fn readiness(rng: &mut StdRng, server: Server) -> Option<(u64, u64)> {
    if rng.random_ratio(1, 8) && !server.is("ready-too-early") {
        return None;
    }
    Some((pick(rng, &[1, 1, 1, 2, 2, 5, 10]), pick(rng, &[1, 1, 2, 3])))
}

fn pre_stop(rng: &mut StdRng, grace: u64) -> Option<PreStop> {
    if rng.random_bool(0.5) {
        return None;
    }
    let seconds = if rng.random_ratio(1, 3) {
        rng.random_range(grace.saturating_sub(2).max(1)..=grace + 3)
    } else {
        rng.random_range(1..=6)
    };
    Some(PreStop {
        exec: rng.random_bool(0.5),
        seconds,
    })
}

fn keep_alive(rng: &mut StdRng, server: Server) -> u64 {
    if server.is("short-keepalive") {
        return rng.random_range(1000..3000);
    }
    if rng.random_ratio(1, 4) {
        return rng.random_range(1000..20_000);
    }
    65_000
}

fn drain_delay(rng: &mut StdRng, lag: u64) -> u64 {
    match rng.random_range(0..10) {
        0..5 => lag + 500,
        5..7 => 0,
        _ => rng.random_range(0..8000),
    }
}

fn drain_deadline(rng: &mut StdRng, server: Server, grace: u64, delay: u64) -> u64 {
    let left = (grace * 1000).saturating_sub(delay);
    if server.is("same-deadline") {
        return left.max(500);
    }
    if rng.random_ratio(1, 3) {
        return rng.random_range(300..20_000);
    }
    left.saturating_sub(1500).max(500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_the_same_whenever_it_is_drawn() {
        assert_eq!(Case::draw(7, 42), Case::draw(7, 42));
        assert_ne!(Case::draw(7, 42).words(), Case::draw(7, 43).words());
    }

    #[test]
    fn every_drawn_scenario_and_manifest_is_accepted() {
        let dir = tempfile::tempdir().unwrap();
        for index in 0..300 {
            let case = Case::draw(1, index);
            let manifest = super::super::manifest::manifest(&case, dir.path());
            std::fs::write(dir.path().join("manifest.yaml"), manifest).unwrap();
            let file = dir.path().join("scenario.yaml");
            std::fs::write(&file, super::super::manifest::scenario(&case)).unwrap();
            let loaded = rollscope_scenarios::Scenario::load(&file);
            assert!(loaded.is_ok(), "{}: {:?}", case.words(), loaded.err());
        }
    }

    #[test]
    fn the_draw_covers_every_server_and_front_end() {
        let cases: Vec<Case> = (0..300).map(|index| Case::draw(1, index)).collect();
        for server in SERVERS.iter().chain([&DOUBLE_OWNER]) {
            for front_end in ["l4", "http"] {
                let of = |c: &&Case| c.server == *server && c.front_end == front_end;
                assert!(
                    cases.iter().filter(of).count() >= 2,
                    "{server:?} {front_end}"
                );
            }
        }
    }
}
