//! The requests of a case.

use rand::RngExt;
use rand::rngs::StdRng;

use serde::{Deserialize, Serialize};

use super::draw::{Server, log_uniform};

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// Its name in the scenario.
    pub(crate) name: String,
    /// `get` or `post`.
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    /// Its share.
    pub(crate) weight: u32,
    /// `reused` or `new`.
    pub(crate) connections: String,
    /// Its deadline, milliseconds.
    pub(crate) deadline_ms: u64,
    /// The statuses that it expects.
    pub(crate) expect: String,
    /// What always goes wrong with it.
    pub(crate) background: Option<Background>,
}

/// An error that is there without any rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Background {
    /// This status.
    Status(u16),
    /// Its own deadline is too short.
    Deadline,
}

/// The requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mix(pub(crate) Vec<Asked>);

impl Mix {
    /// Whether errors were drawn that are there without any rollout.
    pub(crate) fn has_background(&self) -> bool {
        self.0.iter().any(|a| a.background.is_some())
    }

    /// The request of that name.
    pub(crate) fn named(&self, name: &str) -> Option<&Asked> {
        self.0.iter().find(|a| a.name == name)
    }
}

/// Requests of the long kind in flight at once, at most on average.
const LONG_IN_FLIGHT: f64 = 40.0;

/// Draws the requests.
pub(super) fn mix(rng: &mut StdRng, server: &str, rate: u32, grace: u64) -> Mix {
    let fast_deadline = if server == "slow-start" && rng.random_bool(0.6) {
        500
    } else {
        10_000
    };
    let work = log_uniform(rng, 20.0, 1000.0) as u64;
    let mut all = vec![
        asked("home", "/", 10, "reused", fast_deadline),
        asked("fresh", "/", rng.random_range(1..=8), "new", fast_deadline),
        asked(
            "work",
            &format!("/work?ms={work}"),
            4,
            "reused",
            work + 10_000,
        ),
    ];
    if rng.random_bool(0.3) {
        let path = format!("/stream?ms={}", work * 2);
        all.push(asked("stream", &path, 2, "reused", work * 2 + 10_000));
    }
    if rng.random_bool(0.3) {
        let mut jobs = asked("jobs", "/jobs?ms=5", 1, "reused", 10_000);
        (jobs.method, jobs.expect) = ("post".to_owned(), "202".to_owned());
        all.push(jobs);
    }
    let needed = matches!(server, "overrun" | "same-deadline");
    if needed || rng.random_bool(0.5) {
        long(rng, server, rate, grace, &mut all);
    }
    if rng.random_ratio(1, 4) {
        background(rng, &mut all);
    }
    Mix(all)
}

/// A load under which the server's keep-alive timeout and the client's next request race each other.
#[derive(Debug, Clone)]
pub(super) struct Race {
    pub(super) mix: Mix,
    pub(super) rate: u32,
    pub(super) keep_alive_ms: u64,
    pub(super) close_travel_ms: u64,
}

/// Draws one, for most of `short-keepalive`.
pub(super) fn race(
    rng: &mut StdRng,
    server: Server,
    front_end: &str,
    replicas: u32,
) -> Option<Race> {
    if server.as_str() != "short-keepalive" || rng.random_ratio(1, 4) {
        return None;
    }
    let rate = rng.random_range(5..=12);
    let fresh = rng.random_range(2 * rate..4 * rate);
    let all = vec![
        asked("home", "/", 1, "reused", 10_000),
        asked("fresh", "/", fresh, "new", 10_000),
        asked("work", "/work?ms=200", 1, "reused", 10_000),
    ];
    // Slots between two requests on one connection: every second of the kept ones, or every turn of the ingress.
    let slots = match front_end {
        "http" => replicas,
        _ => (fresh + 2) / 2,
    };
    let gap_ms = u64::from(slots) * 1000 / u64::from(rate);
    let close_travel_ms = rng.random_range(20..=150);
    Some(Race {
        mix: Mix(all),
        rate,
        keep_alive_ms: gap_ms.saturating_sub(close_travel_ms / 2).max(100),
        close_travel_ms,
    })
}

fn asked(name: &str, path: &str, weight: u32, connections: &str, deadline_ms: u64) -> Asked {
    Asked {
        name: name.to_owned(),
        method: "get".to_owned(),
        path: path.to_owned(),
        weight,
        connections: connections.to_owned(),
        deadline_ms,
        expect: "200".to_owned(),
        background: None,
    }
}

/// A request that may not fit in the grace. The others' weights grow so that not too many are in flight.
fn long(rng: &mut StdRng, server: &str, rate: u32, grace: u64, all: &mut Vec<Asked>) {
    let least = if server == "overrun" { 1.05 } else { 0.2 };
    let seconds = grace as f64 * rng.random_range(least..1.6);
    let total: u32 = all.iter().map(|a| a.weight).sum();
    let in_flight = f64::from(rate) * seconds / f64::from(total + 1);
    let factor = (in_flight / LONG_IN_FLIGHT).ceil().max(1.0) as u32;
    for other in all.iter_mut() {
        other.weight *= factor;
    }
    let ms = (seconds * 1000.0) as u64;
    let (path, connections) = if rng.random_bool(0.25) {
        (format!("/stream?ms={ms}"), "new")
    } else {
        (format!("/work?ms={ms}"), "reused")
    };
    all.push(asked("long", &path, 1, connections, ms + 8000));
}

fn background(rng: &mut StdRng, all: &mut Vec<Asked>) {
    let total: u32 = all.iter().map(|a| a.weight).sum();
    let share = log_uniform(rng, 0.003, 0.05);
    let weight = ((f64::from(total) * share).round() as u32).max(1);
    let (path, what, deadline) = match rng.random_range(0..3) {
        0 => ("/missing", Background::Status(404), 10_000),
        1 => ("/fail", Background::Status(500), 10_000),
        _ => ("/work?ms=3000", Background::Deadline, 1000),
    };
    let mut wrong = asked("odd", path, weight, "reused", deadline);
    wrong.background = Some(what);
    all.push(wrong);
}
