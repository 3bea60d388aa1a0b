//! What happened to a failed request, as far as the client can tell; and who emitted a status.

use rollscope_records::{Outcome, Request};

/// What happened on the wire, without a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// A connection that nobody accepted (`ECONNREFUSED`; a balancer's quick 502).
    Refused,
    /// An established connection that ended under the request (EOF, reset, truncated body; a balancer's late 502).
    Cut,
    /// An address that nobody answers for (connect timeout, no route; a balancer's 504).
    Vanished,
    /// A balancer without an endpoint (503).
    NoBackend,
    /// A status of the application itself.
    AppStatus(u16),
    /// No answer within the request's own deadline.
    Deadline,
    /// A reason of the generator's own host (DNS, ports).
    Local,
    /// Anything else (TLS, not HTTP, GOAWAY).
    Other,
    /// No request at all: the end of a pod or container is judged by itself.
    PodEnd,
}

/// Who made a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emitter {
    /// The application in a pod.
    Application,
    /// A balancer, ingress or sidecar between.
    Balancer,
}

/// A balancer's error that came sooner than this was a refused connection, a later one a cut request, ns.
const QUICK: i64 = 100_000_000;

impl Kind {
    /// The kind of a failed request; `pods_named`: whether this run's pods name themselves in a header.
    pub(crate) fn of(r: &Request<'_>, pods_named: bool) -> Self {
        match r.outcome {
            Outcome::ConnectRefused | Outcome::ConnectReset => Self::Refused,
            Outcome::ConnectTimeout | Outcome::ConnectUnreachable => Self::Vanished,
            Outcome::EofBeforeHeaders
            | Outcome::ResetBeforeHeaders
            | Outcome::TruncatedBody
            | Outcome::ResetInBody
            | Outcome::WriteFailed
            | Outcome::ClosedBeforeSend
            | Outcome::StreamReset
            | Outcome::EndedEarly => Self::Cut,
            Outcome::Dns | Outcome::ConnectLocal => Self::Local,
            Outcome::DeadlineExceeded => Self::Deadline,
            Outcome::Status => Self::of_status(r, pods_named),
            Outcome::Tls
            | Outcome::Protocol
            | Outcome::Goaway
            | Outcome::RefusedStream
            | Outcome::Ok
            | Outcome::Dropped
            | Outcome::BodyMismatch
            | Outcome::Aborted
            | Outcome::GaveUp
            | Outcome::Unrouted
            | Outcome::CloseCode => Self::Other,
        }
    }

    fn of_status(r: &Request<'_>, pods_named: bool) -> Self {
        let status = r.status.unwrap_or(0);
        if emitter(r, pods_named) == Emitter::Application {
            return Self::AppStatus(status);
        }
        match status {
            // Some answer 503 as well where an endpoint refused: what cannot be told apart is left to the evidence.
            503 if says_503_for_refusals(r.emitted_by) => Self::Refused,
            503 => Self::NoBackend,
            504 => Self::Vanished,
            _ if duration(r) < QUICK => Self::Refused,
            _ => Self::Cut,
        }
    }

    /// In words, for `n` requests: `refused`, `cut`.
    pub(crate) const fn verb(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Cut => "cut",
            Self::Vanished => "left without an answer",
            Self::NoBackend => "answered 503 by the balancer",
            Self::AppStatus(_) => "answered with an error",
            Self::Deadline => "not answered in time",
            Self::Local => "not sent for a local reason",
            Self::Other => "failed",
            Self::PodEnd => "unharmed",
        }
    }
}

/// Who emitted the status of `r`: a pod that named itself, or something in front that spoke for it.
pub(crate) fn emitter(r: &Request<'_>, pods_named: bool) -> Emitter {
    if r.pod.is_some() {
        return Emitter::Application;
    }
    let status = r.status.unwrap_or(0);
    let gateway = matches!(status, 502..=504);
    if hints_at_balancer(r.emitted_by) && (gateway || pods_named) {
        return Emitter::Balancer;
    }
    match status {
        502 | 504 => Emitter::Balancer,
        503 if pods_named => Emitter::Balancer,
        _ => Emitter::Application,
    }
}

fn says_503_for_refusals(hints: Option<&str>) -> bool {
    hints.map(str::to_lowercase).is_some_and(|h| {
        ["envoy", "haproxy", "l5d-proxy-error"]
            .iter()
            .any(|name| h.contains(name))
    })
}

fn hints_at_balancer(hints: Option<&str>) -> bool {
    let Some(hints) = hints.map(str::to_lowercase) else {
        return false;
    };
    [
        "l5d-proxy-error",
        "server=ingress",
        "server=nginx",
        "server=envoy",
        "server=istio-envoy",
        "server=awselb",
        "server=haproxy",
        "server=cloudflare",
        "x-envoy",
    ]
    .iter()
    .any(|h| hints.contains(h))
}

/// From dispatch to the end, ns.
pub(crate) fn duration(r: &Request<'_>) -> i64 {
    let from = r.dispatched.unwrap_or(r.scheduled);
    r.ended.map_or(0, |e| e.nanos_since(from))
}

#[cfg(test)]
mod tests {
    use rollscope_records::{Lane, RequestRecord, RunOffset};

    use super::*;

    fn answered(status: u16, after_ms: i64) -> RequestRecord {
        let mut r = RequestRecord::scheduled(0, Lane::New, "list", RunOffset::ZERO);
        r.dispatched = Some(RunOffset::ZERO);
        r.ended = Some(RunOffset::from_millis(after_ms));
        r.status = Some(status);
        r.outcome = Outcome::Status;
        r
    }

    #[test]
    fn a_status_of_a_pod_that_names_itself_is_the_applications() {
        let mut r = answered(503, 1);
        r.pod = Some("web-1".to_owned());
        assert_eq!(Kind::of(&r.view(), true), Kind::AppStatus(503));
    }

    #[test]
    fn a_quick_502_of_a_balancer_is_a_refused_connection_and_a_late_one_a_cut() {
        let mut r = answered(502, 3);
        r.emitted_by = Some("server=ingress".to_owned());
        assert_eq!(Kind::of(&r.view(), true), Kind::Refused);
        assert_eq!(Kind::of(&answered(502, 900).view(), true), Kind::Cut);
    }

    #[test]
    fn a_503_without_pod_in_a_run_whose_pods_name_themselves_is_a_balancer_without_endpoints() {
        assert_eq!(Kind::of(&answered(503, 3).view(), true), Kind::NoBackend);
        assert_eq!(
            Kind::of(&answered(503, 3).view(), false),
            Kind::AppStatus(503)
        );
    }

    #[test]
    fn a_500_without_pod_is_never_a_balancers_own() {
        assert_eq!(
            Kind::of(&answered(500, 3).view(), false),
            Kind::AppStatus(500)
        );
    }
}
