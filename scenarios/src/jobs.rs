//! Background jobs of a scenario: who submits them, and where their events are read.

use std::path::PathBuf;
use std::time::Duration;

use crate::model::HeaderSource;

/// Background jobs that the load submits.
#[derive(Debug, Clone, PartialEq)]
pub struct JobsSpec {
    /// The name of the request that submits one each time.
    pub submit: String,
    /// How many it submits a second, beside the load's other requests; `None`: its share of the load's rate.
    pub rate: Option<f64>,
    /// The header in which it carries the job's key, lower case.
    pub key_header: String,
    /// Where their events are read.
    pub source: JobSource,
    /// How often the source is asked.
    pub poll: Duration,
    /// A job that is not done so long after its acceptance is lost.
    pub complete_within: Duration,
    /// How often a job may be done beyond once.
    pub max_repeats: u64,
    /// For how long an instance may hold a job without a sign of life.
    pub lease: Option<Duration>,
}

impl JobsSpec {
    /// The request that submits them, where it has a rate of its own.
    pub(crate) fn own_rate(&self) -> Option<OwnRate> {
        self.rate.map(|per_second| OwnRate {
            request: self.submit.clone(),
            per_second,
        })
    }
}

/// Where the events of jobs are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobSource {
    /// A list in Redis.
    Redis {
        /// `host:port`.
        address: String,
        /// The list's key.
        list: String,
    },
    /// A JSON document that is asked for again and again.
    Http(HttpJobs),
    /// A query of a PostgreSQL database that is made again and again.
    Postgresql(PostgresqlJobs),
    /// The containers' log lines: a regular expression with the groups `job` and perhaps `event`.
    Logs(String),
}

impl JobSource {
    /// The source's key in scenarios.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Redis { .. } => "redis",
            Self::Http(_) => "http",
            Self::Postgresql(_) => "postgresql",
            Self::Logs(_) => "logs",
        }
    }
}

/// Jobs' events in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpJobs {
    /// Where it is: a URL, or a path of the load's own target.
    pub url: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, HeaderSource)>,
    /// JSON pointer to the list of events in it.
    pub list: String,
    /// Where an element has what.
    pub fields: JobFields,
}

/// JSON pointers into an element of a list of jobs' events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFields {
    /// To the job's key.
    pub job: String,
    /// To what happened to it.
    pub event: String,
    /// To the instance.
    pub pod: String,
    /// To when it happened.
    pub t: String,
}

/// Jobs' events in a PostgreSQL database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresqlJobs {
    /// `postgresql://user@host:port/database`, without a password.
    pub url: String,
    /// The password.
    pub password: Option<HeaderSource>,
    /// PEM file of the authority that the server's certificate must be from.
    pub ca: Option<PathBuf>,
    /// The query; its columns are `job`, `event`, `pod` and `t`.
    pub query: String,
}

impl PostgresqlJobs {
    /// Whether the connection has TLS.
    pub fn is_secured(&self) -> bool {
        self.ca.is_some() || self.url.contains("sslmode=require")
    }
}

/// A request that comes at a constant rate of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnRate {
    /// The request's name.
    pub request: String,
    /// Slots per second.
    pub per_second: f64,
}

/// How a request carries the key of the job that it submits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobKey {
    /// The request's name.
    pub request: String,
    /// The header, lower case.
    pub header: String,
    /// What the key begins with; the slot's number follows.
    pub prefix: String,
}
