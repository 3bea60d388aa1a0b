//! `node_drain`: the pods were evicted, not replaced by the rollout: by a drain of their node, a taint, a preemption or
//! the node's own shutdown.

use rollscope_records::Interval;

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, background, early_close};
use crate::advice;
use crate::analysis::Advice;
use crate::context::{Context, general};
use crate::timeline::PodIx;
use crate::traffic::Kind;
use crate::words::{count, names, span};

const NAME: &str = "node_drain";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// Pods that are evicted within this time of each other are evicted by one drain, ns.
const ONE_DRAIN: i64 = 60 * SECOND;

/// An eviction says why the pod went, however it then shut down: more than all that speaks for how it did, nats.
const DECIDES: f64 = 14.0;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    let kinds = matches!(
        case.kind,
        Kind::Refused | Kind::Vanished | Kind::Cut | Kind::NoBackend | Kind::AppStatus(500..=599)
    );
    if !kinds
        || case
            .suspects
            .iter()
            .all(|p| cx.pod(*p).disruption.is_none())
    {
        return Vec::new();
    }
    facts::best(case, |p| {
        Some(
            Hypothesis::of(NAME, None)
                .on(p)
                .require(1.5, facts::after_deletion(case, p, cx))
                .require(DECIDES, evicted(p, cx))
                .forbid(facts::oom(case, p, cx))
                .forbid(answered_as_before(case, cx))
                .forbid(out_of_routes(case, p, cx))
                .oppose(DECIDES, early_close::a_new_pod_as_at_first(case, cx))
                .weigh(1.0, 0.0, cordoned(p, cx))
                .weigh(0.5, 0.0, others_too(p, cx)),
        )
    })
    .into_iter()
    .collect()
}

/// It had refused for so long without being asked that nothing was routed to it any more.
fn out_of_routes(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    match facts::quiet_since_it_refuses(case, pod, cx) {
        (counts, fact) if counts >= facts::QUIET_AT_MOST => fact,
        _ => Check::Unseen,
    }
}

/// The application has answered like this all along.
fn answered_as_before(case: &Case<'_>, cx: &Context<'_>) -> Check {
    match case.kind {
        Kind::AppStatus(_) => background::same_rate_before(case, cx),
        _ => Check::Unseen,
    }
}

/// The pod was deleted by an eviction.
pub(super) fn evicted(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    match &p.disruption {
        Some(d) => Check::Yes(cx.fact(
            "evicted",
            pod,
            Some(Interval::at(d.seen)),
            format!(
                "it was not replaced by the rollout but disrupted (DisruptionTarget, {})",
                d.reason
            ),
        )),
        None => Check::No(format!("{} was not evicted", p.name)),
    }
}

fn cordoned(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let at = p.node.as_ref().and_then(|n| cx.timeline.cordoned.get(n));
    match (at, p.deletion_seen()) {
        (Some(at), Some(deleted)) if *at <= deleted.plus_nanos(SECOND) => Check::Yes(cx.fact(
            "node_cordoned",
            pod,
            Some(Interval::at(*at)),
            format!(
                "its node was cordoned (unschedulable) {} before its deletion",
                span(deleted.nanos_since(*at).max(0))
            ),
        )),
        _ => Check::No(String::new()),
    }
}

/// Other pods were evicted at about the same time: of the same node, or of several workloads.
fn others_too(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let Some(at) = p.deletion_seen() else {
        return Check::No(String::new());
    };
    let with: Vec<_> = cx
        .timeline
        .terminating()
        .filter(|(ix, other, d)| {
            *ix != pod
                && other.disruption.is_some()
                && d.seen.nanos_since(at).abs() <= ONE_DRAIN
                && (other.node == p.node || other.owner != p.owner)
        })
        .collect();
    if with.is_empty() {
        return Check::No(String::new());
    }
    let mut workloads: Vec<String> = with
        .iter()
        .filter_map(|(_, o, _)| o.owner.clone())
        .collect();
    workloads.extend(p.owner.clone());
    workloads.sort();
    workloads.dedup();
    let of = match workloads.len() {
        0 | 1 => String::new(),
        _ => format!(", of the workloads {}", names(&workloads)),
    };
    Check::Yes(general(
        "evicted_together",
        Some(at),
        format!(
            "{} evicted within {} of it{of}",
            count(with.len() as u64, "other pod"),
            span(ONE_DRAIN)
        ),
    ))
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    let nodes = group.pods.iter().filter_map(|p| cx.pod(*p).node.clone());
    let mut nodes: Vec<String> = nodes.collect();
    nodes.sort();
    nodes.dedup();
    let from = match nodes.as_slice() {
        [] => String::new(),
        all => format!(" from {}", names(all)),
    };
    let reason = group
        .pods
        .iter()
        .find_map(|p| cx.pod(*p).disruption.as_ref());
    format!(
        "{} on {}: evicted{from} ({}), not replaced by the rollout",
        facts::harm(group, cx),
        facts::who(group, cx),
        reason.map_or("DisruptionTarget", |d| d.reason.as_str())
    )
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    let evicted = cx
        .timeline
        .terminating()
        .filter(|(_, p, _)| p.disruption.is_some())
        .count() as u64;
    let first = group
        .pods
        .iter()
        .filter_map(|p| cx.pod(*p).deletion_seen())
        .min();
    let left = first.and_then(|at| cx.timeline.fewest_ready(at, at.plus_nanos(ONE_DRAIN)));
    let ready = left.map_or_else(String::new, |n| {
        format!(", at the fewest {} ready", count(n as u64, "endpoint"))
    });
    vec![
        Advice {
            field: "PodDisruptionBudget spec.maxUnavailable".to_owned(),
            text: format!(
                "a PodDisruptionBudget with maxUnavailable 1, and replicas spread over nodes (topologySpreadConstraints): {} evicted in this run{ready}",
                count(evicted, "pod")
            ),
        },
        advice::pre_stop(cx),
    ]
}
