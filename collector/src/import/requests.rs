//! `requests.jsonl`: one finished request a line, in order of completion.

use std::collections::BTreeMap;
use std::path::Path;

use rollscope_records::{
    ClosedBy, ConnectionRecord, Lane, Outcome, Phase, RequestRecord, RunOffset,
};
use serde::Deserialize;
use serde_json::Value;

use super::{ImportError, files};

/// A row as it stands in the file. Only `t`, `ms` and `out` are always there.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Row {
    /// Start, ms since the epoch.
    t: f64,
    /// Latency, ms.
    ms: f64,
    #[serde(default)]
    path: Option<String>,
    /// Status, or what went wrong.
    out: Value,
    #[serde(default)]
    phase: Option<String>,
    #[serde(default)]
    pod: Option<String>,
    #[serde(default)]
    reused: Option<bool>,
    #[serde(default)]
    conn: Option<u64>,
    #[serde(default)]
    n: Option<u32>,
    #[serde(default)]
    lport: Option<u16>,
    #[serde(default)]
    fresh: Option<bool>,
    #[serde(default)]
    close: Option<bool>,
    #[serde(default)]
    connect_ms: Option<f64>,
    /// Bytes of the response before it broke off.
    #[serde(default)]
    partial: Option<u64>,
}

/// What the rows mean beside themselves.
#[derive(Debug, Default)]
pub(super) struct Context<'a> {
    /// Paths whose status, whatever it is, was expected.
    pub(super) hits: &'a [String],
    /// The address that the load went to.
    pub(super) peer: Option<String>,
    /// Run time zero, ns since the epoch.
    pub(super) zero: i64,
}

impl Row {
    /// Start, ns since the epoch.
    pub(super) fn start_nanos(&self) -> i64 {
        nanos(self.t)
    }
}

fn nanos(ms: f64) -> i64 {
    (ms * 1e6).round() as i64
}

/// The rows in order of their start; `None` when there is no file.
pub(super) fn read(
    dir: &Path,
    warnings: &mut Vec<String>,
) -> Result<Option<Vec<Row>>, ImportError> {
    let Some((path, text)) = files::read(dir, "requests.jsonl")? else {
        return Ok(None);
    };
    let expected = "an object with `t`, `ms` and `out`";
    let mut rows = files::lines(&path, &text, expected, warnings, |line| {
        serde_json::from_str::<Row>(line).map_err(|e| e.to_string())
    })?;
    rows.sort_by(|a, b| a.t.total_cmp(&b.t));
    Ok(Some(rows))
}

/// The records of the rows, numbered in order of their start.
pub(super) fn to_records(
    rows: &[Row],
    context: &Context<'_>,
    warnings: &mut Vec<String>,
) -> Vec<RequestRecord> {
    let mut records: Vec<RequestRecord> = rows
        .iter()
        .zip(0..)
        .map(|(row, seq)| to_record(row, seq, context, warnings))
        .collect();
    fill_ages(&mut records);
    records
}

fn to_record(
    row: &Row,
    seq: u64,
    context: &Context<'_>,
    warnings: &mut Vec<String>,
) -> RequestRecord {
    let start = RunOffset(row.start_nanos() - context.zero);
    // A request without a connection says nothing of its lane: all that fail to connect need a new one.
    let fresh = row.fresh.unwrap_or(row.conn.is_none());
    let lane = if fresh { Lane::New } else { Lane::Reused };
    let name = row.path.clone().unwrap_or_else(|| "/".to_owned());
    let ended = start.plus_nanos(nanos(row.ms));
    let how = how_it_ended(row, context.hits.contains(&name), warnings);
    let mut record = RequestRecord::scheduled(seq, lane, &name, start);
    record.dispatched = Some(start);
    record.connected = row.connect_ms.map(|ms| start.plus_nanos(nanos(ms)));
    record.ended = Some(ended);
    record.connection = row.conn;
    record.ordinal = row.n;
    record.reused = row.reused.unwrap_or(false);
    record.local_port = row.lport;
    record.peer = context.peer.clone();
    record.status = how.status;
    record.outcome = how.outcome;
    record.phase = how.phase;
    record.errno = how.errno;
    record.bytes_received = row.partial.unwrap_or(0);
    record.close_requested = row.fresh.unwrap_or(false);
    record.close_received = row.close.unwrap_or(false);
    record.pod = row.pod.clone();
    record.maskable = record.reused && record.bytes_received == 0 && before_a_response(how.outcome);
    record
}

const fn before_a_response(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::EofBeforeHeaders
            | Outcome::ResetBeforeHeaders
            | Outcome::WriteFailed
            | Outcome::ClosedBeforeSend
    )
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct How {
    outcome: Outcome,
    phase: Phase,
    status: Option<u16>,
    errno: Option<i32>,
}

fn how_it_ended(row: &Row, any_status: bool, warnings: &mut Vec<String>) -> How {
    if let Some(status) = status(&row.out) {
        let expected = any_status || (200..300).contains(&status);
        return How {
            outcome: if expected {
                Outcome::Ok
            } else {
                Outcome::Status
            },
            phase: Phase::Done,
            status: Some(status),
            errno: None,
        };
    }
    let phase = phase(row.phase.as_deref());
    let out = row.out.as_str().unwrap_or_default();
    let (outcome, errno) = failure(out, phase).unwrap_or_else(|| {
        let warning = format!(
            "requests.jsonl: unknown outcome {} counts as a protocol error",
            row.out
        );
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
        (Outcome::Protocol, None)
    });
    How {
        outcome,
        phase,
        status: None,
        errno,
    }
}

fn status(out: &Value) -> Option<u16> {
    let number = out.as_u64().or_else(|| out.as_str()?.parse().ok())?;
    u16::try_from(number)
        .ok()
        .filter(|s| (100..600).contains(s))
}

fn phase(name: Option<&str>) -> Phase {
    match name {
        Some("resolve" | "dns") => Phase::Resolve,
        Some("connect") => Phase::Connect,
        Some("tls") => Phase::Tls,
        Some("send" | "write") => Phase::Send,
        Some("body") => Phase::Body,
        _ => Phase::Head,
    }
}

/// The outcome and the error number of a failure. `None` when its name is not known.
fn failure(out: &str, phase: Phase) -> Option<(Outcome, Option<i32>)> {
    use Outcome as O;
    let by_phase = |connect, head, body| match phase {
        Phase::Queue | Phase::Resolve | Phase::Connect | Phase::Tls => connect,
        Phase::Send | Phase::Head | Phase::Done => head,
        Phase::Body => body,
    };
    Some(match out {
        "ECONNREFUSED" => (O::ConnectRefused, Some(111)),
        "ECONNRESET" => (
            by_phase(O::ConnectReset, O::ResetBeforeHeaders, O::ResetInBody),
            Some(104),
        ),
        "EOF" => (
            by_phase(O::ConnectReset, O::EofBeforeHeaders, O::TruncatedBody),
            None,
        ),
        "EPIPE" => (
            by_phase(O::ConnectReset, O::WriteFailed, O::ResetInBody),
            Some(32),
        ),
        "TIMEOUT" => (
            by_phase(O::ConnectTimeout, O::DeadlineExceeded, O::DeadlineExceeded),
            None,
        ),
        "ETIMEDOUT" => (
            by_phase(O::ConnectTimeout, O::ResetBeforeHeaders, O::ResetInBody),
            Some(110),
        ),
        "EHOSTUNREACH" => (
            by_phase(O::ConnectUnreachable, O::ResetBeforeHeaders, O::ResetInBody),
            Some(113),
        ),
        "ENETUNREACH" => (
            by_phase(O::ConnectUnreachable, O::ResetBeforeHeaders, O::ResetInBody),
            Some(101),
        ),
        "EADDRNOTAVAIL" => (O::ConnectLocal, Some(99)),
        "EMFILE" => (O::ConnectLocal, Some(24)),
        "ENOTFOUND" | "EAI_AGAIN" | "EAI_NONAME" => (O::Dns, None),
        _ => return None,
    })
}

/// Age and idle time of the connections, from the requests before on each.
fn fill_ages(records: &mut [RequestRecord]) {
    let mut established: BTreeMap<u64, RunOffset> = BTreeMap::new();
    let mut last_end: BTreeMap<u64, RunOffset> = BTreeMap::new();
    for record in records {
        let (Some(id), Some(sent)) = (record.connection, record.dispatched) else {
            continue;
        };
        if let Some(connected) = record.connected {
            established.entry(id).or_insert(connected);
        }
        if record.reused {
            record.connection_age = established.get(&id).map(|e| sent.nanos_since(*e));
            record.idle = last_end.get(&id).map(|e| sent.nanos_since(*e));
        }
        if let Some(ended) = record.ended {
            last_end.insert(id, ended);
        }
    }
}

/// The connections, as far as their requests show them. A kept connection's end is not in the files.
pub(super) fn connections(requests: &[RequestRecord]) -> Vec<ConnectionRecord> {
    let mut connections: BTreeMap<u64, ConnectionRecord> = BTreeMap::new();
    for request in requests {
        let (Some(id), Some(sent)) = (request.connection, request.dispatched) else {
            continue;
        };
        let connection = connections.entry(id).or_insert_with(|| ConnectionRecord {
            established: request.connected,
            local_port: request.local_port,
            peer: request.peer.clone(),
            ..ConnectionRecord::attempt(id, request.lane, sent)
        });
        connection.requests += 1;
        let closed_by = match request.outcome {
            Outcome::EofBeforeHeaders | Outcome::TruncatedBody => Some(ClosedBy::PeerFin),
            Outcome::ResetBeforeHeaders | Outcome::ResetInBody => Some(ClosedBy::PeerReset),
            _ if request.lane == Lane::New => Some(ClosedBy::Client),
            _ => None,
        };
        if closed_by.is_some() {
            (connection.closed, connection.closed_by) = (request.ended, closed_by);
        }
    }
    connections.into_values().collect()
}

#[cfg(test)]
#[path = "requests/tests.rs"]
mod tests;
