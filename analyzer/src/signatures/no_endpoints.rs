//! `no_endpoints`: nothing was ready to route to.

use rollscope_records::RunOffset;

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::analysis::Advice;
use crate::context::{Context, general};
use crate::traffic::{Failure, How, Kind, down_at, starts};
use crate::words::span;

pub(super) const NAME: &str = "no_endpoints";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// Routing follows the endpoints this late, ns.
const ROUTING_LAG: i64 = 3 * SECOND / 10;

/// ... and this late at most, ns.
const SLOWEST_LAG: i64 = 6 * SECOND;

/// What was refused while nothing was ready would have been refused by any path: more than what a pod did, nats.
const EVERY_PATH: f64 = 6.0;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if !matches!(case.kind, Kind::Refused | Kind::NoBackend | Kind::Vanished) {
        return Vec::new();
    }
    let said = Check::when(
        case.kind == Kind::NoBackend,
        || {
            general(
                "balancer_said_so",
                None,
                "the balancer answered 503, as one without an endpoint does",
            )
        },
        "",
    );
    let none = if case.kind == Kind::NoBackend {
        said
    } else {
        none_ready(case, cx)
    };
    let ready_too = if case.kind == Kind::NoBackend {
        none_ready(case, cx)
    } else {
        Check::Unseen
    };
    let of_late = empty_of_late(case, cx);
    let none = match (&none, of_late, still_out(case, cx)) {
        (Check::No(_), Check::Yes(_), Check::Yes(fact)) if case.kind == Kind::Refused => {
            (3.5, Check::Yes(fact))
        }
        (Check::No(_), Check::Yes(fact), _)
            if case.kind == Kind::Refused && !beside_a_new_pod(case, cx) =>
        {
            (1.5, Check::Yes(fact))
        }
        (Check::No(_), ..) if case.kind == Kind::Refused => match nowhere_to_go(case, cx) {
            Check::Yes(fact) => (2.0, Check::Yes(fact)),
            _ => (3.5, none),
        },
        // Others were answered meanwhile: that routes had heard of these alone is a guess.
        (Check::Yes(_), ..) if case.kind == Kind::Refused && late_news(case, cx) => (2.0, none),
        _ => (3.5, none),
    };
    let hypothesis = Hypothesis::of(NAME, None)
        .require(none.0, none.1)
        .weigh(EVERY_PATH, 0.0, none_at_all(case, cx))
        .weigh(1.0, 1.0, ready_too)
        .forbid(had_one(case, cx))
        .forbid(of_the_pod(case, cx))
        .oppose(4.0, down(case, cx))
        .weigh(1.0, 0.0, every_lane(case, cx));
    vec![hypothesis]
}

/// No endpoint was ready when most of the failures began, give or take the routing's lag.
pub(super) fn none_ready(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let first = case.first(cx);
    // Where no pod can have refused, what routes had not heard of the new endpoints yet.
    let lag = |f: &Failure| match f.suspects.is_empty() {
        true => SLOWEST_LAG,
        false => ROUTING_LAG,
    };
    let fewest = |f: &Failure| cx.timeline.fewest_ready(f.at.plus_nanos(-lag(f)), f.at);
    let without = case.failures(cx).filter(|f| fewest(f) == Some(0)).count();
    if without * 2 > case.failures.len() {
        return Check::Yes(general(
            "none_ready",
            Some(first),
            "no endpoint of the service was ready at that time",
        ));
    }
    match cx.timeline.fewest_ready(first, case.last(cx)) {
        Some(n) => Check::No(format!(
            "{} ready at that time",
            crate::words::count(n.max(1) as u64, "endpoint")
        )),
        None => Check::No("the endpoints were not observed".to_owned()),
    }
}

/// Endpoints were ready, and some of what was sent meanwhile was answered.
fn late_news(case: &Case<'_>, cx: &Context<'_>) -> bool {
    let first = case.first(cx);
    let ready = cx
        .timeline
        .fewest_ready(first.plus_nanos(-ROUTING_LAG), first)
        != Some(0);
    ready && !hardly_answered(case, cx)
}

/// No endpoint was ready at any of the failures themselves.
fn none_at_all(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let none = case
        .failures(cx)
        .all(|f| cx.timeline.fewest_ready(f.at, f.at) == Some(0));
    Check::when(
        none && case.kind == Kind::Refused,
        || {
            general(
                "none_ready_throughout",
                Some(case.first(cx)),
                "no endpoint was ready at the moment of any of them",
            )
        },
        "",
    )
}

/// No endpoint was ready shortly before: what routes may not have heard of the new ones yet.
pub(super) fn empty_of_late(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let first = case.first(cx);
    Check::when(
        was_empty_of_late(first, cx),
        || {
            general(
                "none_ready_of_late",
                Some(first),
                "no endpoint was ready shortly before: routing may not have followed yet",
            )
        },
        "",
    )
}

/// Whether there was no ready endpoint within the slowest lag of routing before `t`.
pub(super) fn was_empty_of_late(t: RunOffset, cx: &Context<'_>) -> bool {
    cx.timeline.fewest_ready(t.plus_nanos(-SLOWEST_LAG), t) == Some(0)
}

/// The last new connection before the case that was answered, where none was during it.
pub(super) fn last_answer_before(case: &Case<'_>, cx: &Context<'_>) -> Option<RunOffset> {
    let (first, last) = (case.first(cx), case.last(cx));
    cx.traffic.last_new_answer(last).filter(|a| *a < first)
}

/// No pod can have refused, and nothing that was sent meanwhile was answered: what routes had not heard of the new
/// endpoints when it let go of the last old one.
fn nowhere_to_go(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let begun = cx
        .timeline
        .rollout
        .start
        .is_some_and(|s| s <= case.first(cx));
    let nobody = begun && case.failures(cx).all(|f| f.suspects.is_empty());
    let out = matches!(every_lane(case, cx), Check::Yes(_));
    Check::when(
        nobody && out && !cx.timeline.pods.is_empty(),
        || {
            general(
                "no_pod_can_have_refused",
                Some(case.first(cx)),
                "every pod that was routed to listened, and yet nothing was answered: routing followed the endpoints late and had none",
            )
        },
        "",
    )
}

/// Nothing that was sent on a new connection has been answered since a time at which no endpoint was ready.
fn still_out(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let first = case.first(cx);
    let out_since = last_answer_before(case, cx);
    let empty = out_since.and_then(|a| cx.timeline.fewest_ready(a, first));
    match out_since {
        Some(at) if empty == Some(0) => Check::Yes(general(
            "out_since_none_was_ready",
            Some(at),
            format!(
                "nothing was answered on a new connection in the {} before, and no endpoint was ready meanwhile",
                span(first.nanos_since(at))
            ),
        )),
        _ => Check::No(String::new()),
    }
}

/// Whether a closed port and no endpoint cannot be told apart: endpoints are ready again, nothing on a new connection
/// has been answered since none was or meanwhile, and nobody sees how far routing has followed.
pub(super) fn hides_a_closed_port(case: &Case<'_>, cx: &Context<'_>) -> bool {
    case.kind == Kind::Refused
        && !asked_one(case, cx)
        && !matches!(none_at_all(case, cx), Check::Yes(_))
        && (matches!(still_out(case, cx), Check::Yes(_))
            || (matches!(empty_of_late(case, cx), Check::Yes(_))
                && hardly_answered(case, cx)
                && !beside_a_new_pod(case, cx)))
}

/// A new pod that was not proved to listen can have refused.
fn beside_a_new_pod(case: &Case<'_>, cx: &Context<'_>) -> bool {
    case.failures(cx)
        .any(|f| f.suspects.iter().any(|p| starts(cx.pod(*p), f.at)))
}

/// The balancer answered 502: it had an endpoint to ask, and that one refused.
pub(super) fn asked_one(case: &Case<'_>, cx: &Context<'_>) -> bool {
    case.kind == Kind::Refused && case.requests(cx).all(|r| r.status == Some(502))
}

/// The connections were made to the pod's own address: whatever routes said, it was the pod that refused.
fn of_the_pod(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let own = case.failures(cx).all(|f| f.how == How::Peer);
    Check::when(
        own && !case.failures.is_empty(),
        || {
            general(
                "made_to_the_pod",
                Some(case.first(cx)),
                "the connections were made to the pod's own address, not to a service",
            )
        },
        "",
    )
}

fn had_one(case: &Case<'_>, cx: &Context<'_>) -> Check {
    Check::when(
        asked_one(case, cx),
        || {
            general(
                "answered_502",
                None,
                "the balancer answered 502: it had an endpoint to ask, which refused",
            )
        },
        "",
    )
}

/// A container that was down refused: that no endpoint was ready is the consequence of its end.
fn down(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let first = case.first(cx);
    let pod = case
        .suspects
        .iter()
        .find(|p| down_at(cx.pod(**p), first).is_some());
    match pod {
        Some(p) => Check::Yes(cx.fact(
            "container_down",
            *p,
            None,
            "its container had ended by itself: the endpoints went with it",
        )),
        None => Check::No(String::new()),
    }
}

/// For each that was answered on a new connection meanwhile, many were not.
fn hardly_answered(case: &Case<'_>, cx: &Context<'_>) -> bool {
    answered(case, cx).saturating_mul(20) <= case.failures.len()
}

/// How many were answered on a new connection while the failures went on.
fn answered(case: &Case<'_>, cx: &Context<'_>) -> usize {
    let (first, last) = (case.first(cx), case.last(cx));
    let from = cx.traffic.requests.partition_point(|r| r.scheduled < first);
    cx.traffic
        .requests
        .range(from..)
        .take_while(|r| r.scheduled <= last)
        .filter(|r| !r.reused && r.outcome.is_answered() && r.ended.is_some())
        .count()
}

/// Nothing that was sent meanwhile on a new connection was answered.
fn every_lane(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let (first, last) = (case.first(cx), case.last(cx));
    Check::when(
        answered(case, cx) == 0 && case.len() > 1,
        || {
            general(
                "nothing_answered",
                Some(first),
                format!(
                    "no new connection was answered for {}",
                    span(last.nanos_since(first))
                ),
            )
        },
        "",
    )
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{}: no endpoint of the service was ready",
        facts::harm(group, cx)
    )
}

fn advice(_: &Group<'_>, _: &Context<'_>) -> Vec<Advice> {
    vec![Advice {
        field: "spec.strategy.rollingUpdate".to_owned(),
        text: "keep at least one ready pod at all times: maxUnavailable 0 with maxSurge >= 1, two replicas or more, and a PodDisruptionBudget against node drains".to_owned(),
    }]
}
