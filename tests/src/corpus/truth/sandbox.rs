//! The sandbox's own log.

use rollscope_records::RunOffset;
use serde::Deserialize;

/// Where a new connection was sent (`l4`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dialled {
    /// When.
    pub(crate) at: RunOffset,
    /// To which pod; `None` without an endpoint.
    pub(crate) pod: Option<String>,
    /// Whether no endpoint was ready.
    pub(crate) fallback: bool,
}

/// What became of a request (`http`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proxied {
    /// When it was received.
    pub(crate) from: RunOffset,
    /// When its head was answered, or it was given up.
    pub(crate) to: RunOffset,
    /// The client's port.
    pub(crate) client: u16,
    /// The pod whose turn it was.
    pub(crate) pod: Option<String>,
    /// `none`, `refused`, `timed_out`, `cut`, `status`, `client_left`.
    pub(crate) how: String,
    /// Whether no endpoint was ready.
    pub(crate) fallback: bool,
    /// Whether the connection to the pod had been used before.
    pub(crate) reused: bool,
}

/// One line of the log.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Line {
    pub(super) t: i64,
    pub(super) ev: String,
    pub(super) pod: Option<String>,
    #[serde(default)]
    pub(super) container: String,
    #[serde(default)]
    pub(super) grace: i64,
    #[serde(default)]
    pub(super) pid: i32,
    #[serde(default)]
    pub(super) why: String,
    #[serde(default)]
    pub(super) signal: String,
    #[serde(default)]
    pub(super) code: i32,
    #[serde(default)]
    pub(super) ready: u64,
    #[serde(default)]
    pub(super) fallback: bool,
    #[serde(default)]
    pub(super) client: u16,
    #[serde(default)]
    pub(super) from: i64,
    #[serde(default)]
    pub(super) how: String,
    #[serde(default)]
    pub(super) reused: bool,
}

impl Line {
    /// The lines of a log; one that is cut is left out.
    pub(super) fn all(text: &str) -> impl Iterator<Item = Self> {
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
    }
}
