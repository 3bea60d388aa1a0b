//! `sigkill_overrun`: the drain began but did not fit in the grace.

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::timeline::PodIx;
use crate::traffic::{Failure, Kind};
use crate::words::span;

const NAME: &str = "sigkill_overrun";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    let behind_balancer = facts::cut_behind_balancer(case, cx);
    if !matches!(case.kind, Kind::Cut | Kind::PodEnd) && !behind_balancer {
        return Vec::new();
    }
    facts::best(case, |p| Some(overrun(case, p, cx)))
        .into_iter()
        .collect()
}

fn overrun(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Hypothesis {
    let detail = face(case, pod, cx);
    let held = detail == "keep_alive_held";
    Hypothesis::of(NAME, Some(detail))
        .on(pod)
        .require(1.0, facts::after_deletion(case, pod, cx))
        .forbid(facts::killed_by_probe(case, pod, cx))
        .require(1.5, facts::killed_at_deadline(pod, cx))
        .require(1.0, facts::cut_by_end(case, pod, cx))
        .forbid(facts::oom(case, pod, cx))
        .require(2.0, facts::drain_sign(pod, cx))
        .weigh(1.5, 0.0, facts::siblings_drained(pod, cx))
        .weigh(
            0.5,
            0.0,
            if held {
                super::unforwarded_signal::served_to_the_end(pod, cx)
            } else {
                old_requests(case, pod, cx)
            },
        )
}

/// Which of the three: by what most of the cut requests were; without any, by what the pod did last.
fn face(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> &'static str {
    let (Some(drain), Some(end)) = (cx.drain(pod), cx.pod(pod).end_at()) else {
        return "stuck";
    };
    let halfway = drain
        .signal
        .hi
        .plus_nanos(end.lo.nanos_since(drain.signal.hi).max(0) / 2);
    let old = |f: &Failure| f.began <= halfway;
    let long = case.failures(cx).filter(|f| old(f)).count();
    if long * 2 > case.failures.len() {
        return "long_request";
    }
    if !case.failures.is_empty() {
        return "keep_alive_held";
    }
    match super::unforwarded_signal::served_to_the_end(pod, cx) {
        Check::Yes(_) => "keep_alive_held",
        _ => "stuck",
    }
}

fn old_requests(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let oldest = case.failures(cx).map(Failure::age).max();
    match oldest {
        Some(age) => Check::Yes(cx.fact(
            "request_age",
            pod,
            None,
            format!("the oldest request was {} old when it was cut", span(age)),
        )),
        None => Check::No(String::new()),
    }
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    let harm = facts::harm(group, cx);
    let who = facts::who(group, cx);
    let grace = group
        .pods
        .iter()
        .filter_map(|p| cx.pod(*p).grace_seconds())
        .max()
        .unwrap_or(0);
    let why = match group.detail {
        Some("long_request") => format!(
            "the drain waited for requests that take longer than it had (the oldest was {} old)",
            span(oldest(group, cx))
        ),
        Some("keep_alive_held") => {
            "the drain waited for kept connections that nobody told to close, and they were used to the end".to_owned()
        }
        _ => "the shutdown began and hung with nothing in flight".to_owned(),
    };
    format!("{harm} on {who} when SIGKILL came after {grace} s: {why}")
}

fn oldest(group: &Group<'_>, cx: &Context<'_>) -> i64 {
    group
        .failures
        .iter()
        .map(|i| cx.traffic.failures[*i].age())
        .max()
        .unwrap_or(0)
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    let mut all = Vec::new();
    match group.detail {
        Some("long_request") => {
            all.push(advice::grace_for(group.pods, oldest(group, cx), cx));
            all.push(advice::program(&format!(
                "give the drain a deadline of its own below what the grace leaves it ({}) and cut what is left with a definite answer",
                span(advice::left_for_drain(group.pods, cx) - 2 * SECOND)
            )));
        }
        Some("keep_alive_held") => all.push(advice::program(
            "answer with `Connection: close` from SIGTERM on (and close connections as they become idle), so that clients let go of their connections",
        )),
        _ => all.push(advice::program(
            "give every stage of the shutdown a deadline, and the whole of it one below the grace: a stage hung with nothing in flight",
        )),
    }
    all
}
