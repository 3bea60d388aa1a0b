//! What the two processes say to each other: a JSON line for each thing.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rollscope_records::{JourneysRecord, RequestRecord, RunOffset};
use rollscope_scenarios::{BodyCheck, TlsSpec};
use serde::{Deserialize, Serialize};

use crate::body::Body;

/// The first line to the journeys' process: all that it needs to know. It may hold secrets.
#[derive(Serialize, Deserialize)]
pub(super) struct JourneysPlan {
    /// `CLOCK_MONOTONIC` at the start of the run, ns.
    pub(super) zero_nanos: i64,
    /// When the load begins.
    pub(super) starts: RunOffset,
    pub(super) users: u32,
    pub(super) target: TargetPlan,
    /// The response header that names the pod.
    pub(super) pod_header: Option<String>,
    pub(super) journeys: Vec<JourneyPlan>,
}

/// Where the steps go.
#[derive(Serialize, Deserialize)]
pub(super) struct TargetPlan {
    pub(super) host: String,
    pub(super) port: u16,
    /// The addresses, where there is nothing to resolve.
    pub(super) known: Vec<SocketAddr>,
    /// Whether the parent says for each connection where it goes.
    pub(super) dialled: bool,
    /// TLS, for an https target.
    pub(super) tls: Option<TlsPlan>,
}

/// TLS as the scenario has it.
#[derive(Serialize, Deserialize)]
pub(super) struct TlsPlan {
    ca: Option<PathBuf>,
    client_cert: Option<PathBuf>,
    client_key: Option<PathBuf>,
    pub(super) server_name: Option<String>,
    insecure: bool,
}

impl From<&TlsSpec> for TlsPlan {
    fn from(spec: &TlsSpec) -> Self {
        Self {
            ca: spec.ca.clone(),
            client_cert: spec.client_cert.clone(),
            client_key: spec.client_key.clone(),
            server_name: spec.server_name.clone(),
            insecure: spec.insecure,
        }
    }
}

impl TlsPlan {
    pub(super) fn spec(&self) -> TlsSpec {
        TlsSpec {
            ca: self.ca.clone(),
            client_cert: self.client_cert.clone(),
            client_key: self.client_key.clone(),
            server_name: self.server_name.clone(),
            insecure: self.insecure,
        }
    }
}

/// One journey.
#[derive(Serialize, Deserialize)]
pub(super) struct JourneyPlan {
    pub(super) name: String,
    pub(super) weight: u32,
    /// The shortest and the longest time between two steps.
    pub(super) think: (Duration, Duration),
    pub(super) steps: Vec<StepPlan>,
}

/// One step, ready to be sent.
#[derive(Serialize, Deserialize)]
pub(crate) struct StepPlan {
    /// As `journey/step`.
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Body,
    pub(crate) deadline: Duration,
    pub(crate) abort_after: Option<Duration>,
    /// Statuses that are a success: ranges with both ends.
    pub(crate) expect: Vec<(u16, u16)>,
    pub(crate) check: Option<CheckPlan>,
    pub(crate) close_requested: bool,
}

/// What the body of a response must be like.
#[derive(Serialize, Deserialize)]
pub(crate) struct CheckPlan {
    contains: Option<String>,
    json_pointer: Option<String>,
    equals: Option<String>,
}

impl From<&BodyCheck> for CheckPlan {
    fn from(check: &BodyCheck) -> Self {
        Self {
            contains: check.contains.clone(),
            json_pointer: check.json_pointer.clone(),
            equals: check.equals.clone(),
        }
    }
}

impl CheckPlan {
    pub(super) fn check(&self) -> BodyCheck {
        BodyCheck {
            contains: self.contains.clone(),
            json_pointer: self.json_pointer.clone(),
            equals: self.equals.clone(),
        }
    }
}

/// A line to the journeys' process after the plan.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Let every user end its step, and end.
    Stop,
    /// Record what is in flight as aborted, and end.
    Abort,
    /// Where the connection with that number goes, or the error number that it gets instead.
    Dialled(u64, Result<SocketAddr, i32>),
}

/// A line from the journeys' process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Said {
    /// A step is over.
    Step(Box<RequestRecord>),
    /// A connection is to be made: where to?
    Dial(u64),
    /// It is over; the last line.
    Over(JourneysRecord),
}
