//! `no_endpoints`: nothing was ready to route to.

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::analysis::Advice;
use crate::context::{Context, general};
use crate::traffic::Kind;
use crate::words::span;

const NAME: &str = "no_endpoints";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// Routing follows the endpoints this late, ns.
const ROUTING_LAG: i64 = SECOND;

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
    let hypothesis = Hypothesis::of(NAME, None)
        .require(3.5, none_ready(case, cx))
        .weigh(1.0, 0.0, said)
        .weigh(1.0, 0.0, every_lane(case, cx));
    vec![hypothesis]
}

/// No endpoint was ready at some moment from a little before the first failure to the last.
pub(super) fn none_ready(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let (first, last) = (case.first(cx), case.last(cx));
    match cx
        .timeline
        .fewest_ready(first.plus_nanos(-ROUTING_LAG), last)
    {
        Some(0) => Check::Yes(general(
            "none_ready",
            Some(first),
            "no endpoint of the service was ready at that time",
        )),
        Some(n) => Check::No(format!(
            "{} ready at that time",
            crate::words::count(n as u64, "endpoint")
        )),
        None => Check::No("the endpoints were not observed".to_owned()),
    }
}

/// Nothing that was sent meanwhile on a new connection was answered.
fn every_lane(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let (first, last) = (case.first(cx), case.last(cx));
    let from = cx.traffic.requests.partition_point(|r| r.scheduled < first);
    let answered = cx.traffic.requests[from..]
        .iter()
        .take_while(|r| r.scheduled <= last)
        .filter(|r| !r.reused && !r.outcome.is_failure() && r.ended.is_some())
        .count();
    Check::when(
        answered == 0 && case.len() > 1,
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
