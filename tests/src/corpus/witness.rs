//! What really happened to each failed request: which pod had it, and how it failed there.

use std::collections::{BTreeMap, HashMap};

use rollscope_records::{Connection, Outcome, Recording, Request, RunOffset};

use super::truth::{Dialled, Proxied, Truth};

/// How a request failed, seen from the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The front end had no endpoint for it.
    NoEndpoint,
    /// The pod refused the connection.
    Refused,
    /// The connection ended before the response did.
    Cut,
    /// The application answered with this status.
    Answered(u16),
    /// The deadline passed.
    Late,
    /// It cannot be told.
    Unclear(&'static str),
}

/// What the witnesses know of a failed request.
#[derive(Debug, Clone)]
pub(crate) struct Met<'a> {
    /// The request.
    pub(crate) request: Request<'a>,
    /// How it failed.
    pub(crate) how: How,
    /// The pod that had it.
    pub(crate) pod: Option<String>,
    /// When it failed.
    pub(crate) at: RunOffset,
    /// When its way to the pod was chosen or its connection made.
    pub(crate) connected: RunOffset,
    /// Whether the front end knew no ready endpoint.
    pub(crate) fallback: bool,
    /// Whether the pod's server accepted its connection; `None` where that is not known.
    pub(crate) accepted: Option<bool>,
    /// When the server read its head.
    pub(crate) received: Option<RunOffset>,
    /// Whether the connection to the pod had been used before.
    pub(crate) reused: bool,
}

/// The witnesses of a run.
#[derive(Debug)]
pub(crate) struct Witness<'a> {
    truth: &'a Truth,
    connections: HashMap<u64, (Connection<'a>, Option<&'a Dialled>)>,
    by_client: BTreeMap<u16, Vec<&'a Proxied>>,
}

const MS: i64 = 1_000_000;

impl<'a> Witness<'a> {
    /// Brings the recording's connections together with the front end's decisions, which were made one for each, in
    /// the same order.
    pub(crate) fn of(recording: &'a Recording, truth: &'a Truth) -> Self {
        let mut in_order: Vec<_> = recording.connections.iter().collect();
        in_order.sort_by_key(|c| (c.started, c.id));
        let whole = in_order.len() == truth.dialled.len();
        let connections = in_order.iter().enumerate().map(|(i, c)| {
            let dialled = truth
                .dialled
                .get(i)
                .filter(|d| whole && d.at.nanos_since(c.started).abs() < 100 * MS);
            (c.id, (*c, dialled))
        });
        let mut by_client: BTreeMap<u16, Vec<&Proxied>> = BTreeMap::new();
        for proxied in &truth.proxied {
            by_client.entry(proxied.client).or_default().push(proxied);
        }
        Self {
            truth,
            connections: connections.collect(),
            by_client,
        }
    }

    /// What became of a failed request.
    pub(crate) fn met(&self, request: Request<'a>) -> Met<'a> {
        let at = request.ended.unwrap_or(request.scheduled);
        let connection = request.connection.and_then(|id| self.connections.get(&id));
        let mut met = Met {
            request,
            how: How::Unclear("no connection"),
            pod: None,
            at,
            connected: connection.map_or(request.scheduled, |(c, _)| c.started),
            fallback: false,
            accepted: None,
            received: None,
            reused: request.reused,
        };
        let Some((connection, dialled)) = connection else {
            return met;
        };
        if self.truth.proxied.is_empty() {
            match dialled {
                Some(dialled) => self.through_l4(connection, dialled, &mut met),
                None => met.how = How::Unclear("its connection is not in the front end's log"),
            }
        } else {
            self.through_http(connection, &mut met);
        }
        met
    }

    fn through_l4(&self, connection: &Connection<'_>, dialled: &Dialled, met: &mut Met<'a>) {
        met.fallback = dialled.fallback;
        met.pod.clone_from(&dialled.pod);
        let Some(pod) = &dialled.pod else {
            met.how = How::NoEndpoint;
            return;
        };
        met.how = how(&met.request);
        if met.how == How::Refused {
            met.at = connection.started;
        }
        let run = self
            .truth
            .pods
            .get(pod)
            .and_then(|p| p.run_at(met.connected));
        let (Some((_, run)), Some(port), Some(made)) =
            (run, connection.local_port, connection.established)
        else {
            return;
        };
        let conn = run
            .ledger
            .connection(port, made.plus_nanos(-50 * MS), met.at.plus_nanos(MS));
        met.accepted = Some(conn.is_some());
        met.received = conn.and_then(|conn| {
            let n = u64::from(met.request.ordinal.unwrap_or(0)) + 1;
            run.ledger.received.get(&(conn, n)).copied()
        });
    }

    fn through_http(&self, connection: &Connection<'_>, met: &mut Met<'a>) {
        let request = &met.request;
        let sent = request.dispatched.unwrap_or(request.scheduled);
        let proxied = connection.local_port.and_then(|port| {
            let of_port = self.by_client.get(&port)?;
            of_port
                .iter()
                .find(|p| p.from >= sent.plus_nanos(-2 * MS) && p.from <= met.at.plus_nanos(2 * MS))
        });
        let Some(proxied) = proxied else {
            met.how = match how(request) {
                How::Late => How::Late,
                _ => How::Unclear("the front end never got it"),
            };
            return;
        };
        met.fallback = proxied.fallback;
        met.pod.clone_from(&proxied.pod);
        met.connected = proxied.from;
        met.reused = proxied.reused;
        met.how = match (proxied.how.as_str(), request.status) {
            ("none", _) => How::NoEndpoint,
            _ if request.outcome == Outcome::DeadlineExceeded => How::Late,
            ("refused", _) => How::Refused,
            ("cut", _) => How::Cut,
            ("timed_out", _) => How::Unclear("the front end's own timeout"),
            ("status", Some(status)) if request.outcome == Outcome::Status => How::Answered(status),
            _ => how(request),
        };
        // Sent on a connection that broke only later: the pod had it.
        let waited = proxied.to.nanos_since(proxied.from) > 20 * MS;
        met.received = (proxied.how == "status" || waited).then_some(proxied.from);
        met.at = match met.how {
            How::Refused => proxied.from,
            How::Cut if proxied.how == "cut" => proxied.to.min(met.at),
            _ => met.at,
        };
    }
}

/// How it failed as far as the client can tell, on a direct way to the pod.
fn how(request: &Request<'_>) -> How {
    match request.outcome {
        Outcome::ConnectRefused | Outcome::ConnectReset => How::Refused,
        Outcome::ClosedBeforeSend
        | Outcome::WriteFailed
        | Outcome::EofBeforeHeaders
        | Outcome::ResetBeforeHeaders
        | Outcome::TruncatedBody
        | Outcome::ResetInBody => How::Cut,
        Outcome::DeadlineExceeded => How::Late,
        Outcome::Status => How::Answered(request.status.unwrap_or(0)),
        _ => How::Unclear("a cause on the generator's side"),
    }
}
