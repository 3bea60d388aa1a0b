//! The requests of a case.

use rand::RngExt;
use rand::rngs::StdRng;

use super::draw::log_uniform;

/// One kind of request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Its name in the scenario.
    pub(crate) name: &'static str,
    /// `get` or `post`.
    pub(crate) method: &'static str,
    /// Path and query.
    pub(crate) path: String,
    /// Its share.
    pub(crate) weight: u32,
    /// `reused` or `new`.
    pub(crate) connections: &'static str,
    /// Its deadline, milliseconds.
    pub(crate) deadline_ms: u64,
    /// The statuses that it expects.
    pub(crate) expect: &'static str,
    /// What always goes wrong with it.
    pub(crate) background: Option<Background>,
}

/// An error that is there without any rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Background {
    /// This status.
    Status(u16),
    /// Its own deadline is too short.
    Deadline,
}

/// The requests.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        (jobs.method, jobs.expect) = ("post", "202");
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

fn asked(
    name: &'static str,
    path: &str,
    weight: u32,
    connections: &'static str,
    deadline_ms: u64,
) -> Asked {
    Asked {
        name,
        method: "get",
        path: path.to_owned(),
        weight,
        connections,
        deadline_ms,
        expect: "200",
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
