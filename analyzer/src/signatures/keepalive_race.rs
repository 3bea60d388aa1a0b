//! `keepalive_race`: a healthy server closes an idle kept connection just as the next request is written on it. With the
//! detail *by_the_balancer* where the connection was to a balancer that answers for its pods: then it was that one, at its
//! own idle timeout or at a reload (nginx closes the idle connections of its clients then).

use rollscope_records::Request;

use super::facts::{self, MS, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::analysis::Advice;
use crate::context::{Context, general};
use crate::traffic::{Failure, Kind};
use crate::words::span;

const NAME: &str = "keepalive_race";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// The balancer closed the connection, and no pod did.
const BY_THE_BALANCER: &str = "by_the_balancer";

/// A request on a closed connection breaks within this time, ns.
const AT_ONCE: i64 = 150 * MS;

/// Whether the connection broke as the request was written on it.
pub(super) fn broke_at_once(r: &Request<'_>, f: &Failure) -> bool {
    r.reused && f.age() < AT_ONCE && r.bytes_received == 0
}

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if case.kind != Kind::Cut {
        return Vec::new();
    }
    let (detail, whose) = match balancers_own(case, cx) {
        own @ Check::Yes(_) => (Some(BY_THE_BALANCER), own),
        _ => (None, nothing_changed(case, cx)),
    };
    let by_balancer = detail.is_some();
    vec![
        Hypothesis::of(NAME, detail)
            .require(1.0, on_idle_connections(case, cx))
            .require(1.5, whose)
            .weigh(
                2.0,
                if by_balancer { 0.0 } else { 0.5 },
                at_a_limit(case, cx),
            ),
    ]
}

/// What fails behind such a balancer, it answers with a status of its own: a connection without one was its own.
pub(super) fn balancers_own(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let name = cx.traffic.front_end.as_deref().unwrap_or_default();
    let without_status = case.requests(cx).all(|r| r.status.is_none());
    Check::when(
        cx.traffic.is_answered_for() && without_status,
        || {
            let text = format!(
                "the connections were those of the balancer ({name}), which answers what its pods fail with a status of its own"
            );
            general("balancers_own", None, text)
        },
        "",
    )
}

fn on_idle_connections(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let all = case
        .requests(cx)
        .zip(case.failures(cx))
        .all(|(r, f)| broke_at_once(&r, f));
    Check::when(
        all,
        || {
            general(
                "broke_as_written",
                None,
                "kept connections broke as the next request was written on them, before any answer",
            )
        },
        "the requests were not on idle kept connections",
    )
}

/// The pods were healthy: not being deleted, no container ended then.
fn nothing_changed(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let (first, last) = (case.first(cx), case.last(cx));
    for p in &case.suspects {
        let pod = cx.pod(*p);
        let leaving = pod
            .deletion_seen()
            .is_some_and(|d| d.plus_nanos(-facts::BEFORE_SEEN) <= last);
        let ended = pod.ends().any(|e| {
            e.at.lo.plus_nanos(-SECOND / 2) <= last && first <= e.at.hi.plus_nanos(SECOND / 2)
        });
        if leaving || ended {
            return Check::No(format!("{} was ending then", pod.name));
        }
    }
    if case.suspects.is_empty() && cx.timeline.pods.is_empty() {
        return Check::Unseen;
    }
    Check::Yes(general(
        "pod_healthy",
        Some(first),
        "the pods behind these connections were healthy: no deletion, no end of a container then",
    ))
}

/// The idle times lie together, at or above what most answered requests had; or the server closed other idle
/// connections at such an age.
fn at_a_limit(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let idle: Vec<i64> = case.requests(cx).filter_map(|r| r.idle).collect();
    let (Some(lo), Some(hi)) = (idle.iter().min(), idle.iter().max()) else {
        return Check::Unseen;
    };
    if *lo < 500 * MS {
        return Check::No("the connections had hardly been idle".to_owned());
    }
    let survived = cx
        .traffic
        .survived_longer_idle(hi.saturating_add(SECOND / 2));
    Check::when(
        survived <= case.failures.len() / 10 && hi - lo <= (*lo / 2).max(SECOND),
        || {
            general(
                "idle_at_a_limit",
                None,
                format!(
                    "the connections had been idle for {} to {}, and none that was idle for longer survived: the server's keep-alive timeout lies there",
                    span(*lo),
                    span(*hi)
                ),
            )
        },
        "other connections survived longer idle times",
    )
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    if group.detail == Some(BY_THE_BALANCER) {
        return format!(
            "{}: the balancer closed idle kept connections of its clients just as the next request was written on them",
            facts::harm(group, cx)
        );
    }
    format!(
        "{}: healthy pods closed idle kept connections just as the next request was written on them",
        facts::harm(group, cx)
    )
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    if group.detail == Some(BY_THE_BALANCER) {
        return vec![Advice {
            field: "the balancer's reload".to_owned(),
            text: "let it take changes of the endpoints without a reload, which closes idle connections of its clients; clients should send what is safe to repeat again on a fresh connection".to_owned(),
        }];
    }
    let idle = group
        .failures
        .iter()
        .filter_map(|i| cx.traffic.request(&cx.traffic.failures[*i]).idle)
        .min();
    let now = idle
        .map(|i| format!("; it seems to be about {}", span(i)))
        .unwrap_or_default();
    vec![Advice {
        field: "the server's keep-alive timeout".to_owned(),
        text: format!(
            "make it longer than the idle timeout of every client and balancer in front{now}"
        ),
    }]
}
