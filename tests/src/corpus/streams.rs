//! Connections that a case holds open beside its requests.

use std::fmt::Write;

use rand::RngExt;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};

use super::draw::{Server, log_uniform, pick};

/// Streams without an end of their own, all of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Streams {
    /// `sse`, `chunked` or `websocket`.
    pub(crate) kind: String,
    /// How many are held at once.
    pub(crate) count: u32,
    /// A message is due this often, milliseconds.
    pub(crate) cadence_ms: u64,
}

/// Draws them, for those servers more often whose drain waits for them without telling them to go.
pub(super) fn streams(rng: &mut StdRng, server: Server, front_end: &str) -> Option<Streams> {
    let one_in = if server.waits_for_streams() { 5 } else { 10 };
    if !rng.random_ratio(1, one_in) {
        return None;
    }
    // The ingress relays no upgrade.
    let kinds: &[&str] = match front_end {
        "http" => &["sse", "chunked"],
        _ => &["sse", "chunked", "websocket"],
    };
    Some(Streams {
        kind: pick(rng, kinds).to_owned(),
        count: log_uniform(rng, 2.0, 12.0).round() as u32,
        cadence_ms: pick(rng, &[200, 500, 1000]),
    })
}

impl Streams {
    /// Their section of the scenario.
    pub(super) fn write(&self, scenario: &mut String) {
        let path = match self.kind.as_str() {
            "websocket" => "/ws".to_owned(),
            _ => format!("/events?ms={}", self.cadence_ms),
        };
        let _ = writeln!(
            scenario,
            "  streams:\n    - {{ name: held, {}: {path:?}, count: {}, cadence: {}ms }}",
            self.kind, self.count, self.cadence_ms
        );
    }
}
