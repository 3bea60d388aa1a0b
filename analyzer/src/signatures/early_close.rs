//! `early_close`: the process closes its listener, its idle connections, or itself at the signal while traffic is
//! still routed to it.

use super::facts::{self, AT_SIGNAL, BEFORE_SEEN, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use rollscope_records::RunOffset;

use crate::advice;
use crate::analysis::Advice;
use crate::context::{Context, general};
use crate::drain::EndedAt;
use crate::timeline::{Pod, PodIx};
use crate::traffic::{Failure, Kind, open_after, starts};
use crate::words::span;

const NAME: &str = "early_close";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// A server that serves new connections for this long after its signal has waited for routing, ns.
pub(super) const WAITED: i64 = 5 * SECOND;

/// A server that answers new connections for this long after its signal does not close at it, ns.
const ACCEPTS_ON: i64 = 300 * facts::MS;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    match case.kind {
        Kind::Refused | Kind::Vanished => facts::best(case, |p| Some(refused(case, p, cx)))
            .into_iter()
            .collect(),
        Kind::Cut => facts::best(case, |p| Some(in_flight_cut(case, p, cx)))
            .into_iter()
            .chain(facts::best(case, |p| Some(idle_close(case, p, cx))))
            .collect(),
        _ => Vec::new(),
    }
}

fn refused(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Hypothesis {
    Hypothesis::of(NAME, Some("refused"))
        .on(pod)
        .require(1.5, facts::after_deletion(case, pod, cx))
        .forbid(facts::killed_by_probe(case, pod, cx))
        .require(1.0, not_before_the_signal(case, pod, cx))
        .forbid(ended_before_its_signal(pod, cx))
        .forbid(crashed(case, pod, cx))
        .forbid(open_afterwards(case, pod, cx))
        .forbid(after_the_sigkill(case, pod, cx))
        .weigh(2.0, 0.0, said_closed(case, pod, cx))
        .weigh(1.0, 0.0, template_closes(pod, cx))
        .weigh(1.5, 0.25, closed_early(pod, cx))
        .weigh(1.0, 0.5, facts::app_said(pod, cx))
        .weigh(1.0, 0.0, no_new_pod(case, cx))
        .weigh(1.5, 0.0, refused_alone(case, pod, cx))
        .oppose(2.0, waited(case, pod, cx))
        .oppose_by(quiet_since_its_signal(case, pod, cx))
        .oppose_by(open_to_the_end(case, pod, cx))
        .oppose(1.5, goes_on_accepting(case, pod, cx))
        .oppose(1.0, said_closed_later(case, pod, cx))
        .oppose(2.0, forced_out(case, pod, cx))
        .oppose(3.0, nowhere_else(case, cx))
        .oppose(2.0, a_new_pod_as_at_first(case, cx))
        .oppose(5.0, facts::proxy_ended_first(case, pod, cx))
        .oppose(2.5, super::unforwarded_signal::wrapper_spoke(pod, cx))
        .oppose(2.0, super::unforwarded_signal::wrapper_ended(pod, cx))
}

fn in_flight_cut(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Hypothesis {
    Hypothesis::of(NAME, Some("in_flight_cut"))
        .on(pod)
        .require(1.0, facts::after_deletion(case, pod, cx))
        .forbid(facts::killed_by_probe(case, pod, cx))
        .require(1.5, facts::cut_by_end(case, pod, cx))
        .require(1.0, facts::ended_at_signal(pod, AT_SIGNAL, cx))
        .forbid(facts::oom(case, pod, cx))
        .weigh(1.0, 1.0, deliberate_code(pod, cx))
        .oppose(2.5, waited_for_requests(case, pod, cx))
        .oppose(2.0, lived_on_closed(case, pod, cx))
        .weigh(1.5, 0.5, facts::app_said(pod, cx))
        .oppose(2.5, super::unforwarded_signal::wrapper_spoke(pod, cx))
        .oppose(2.0, super::unforwarded_signal::wrapper_ended(pod, cx))
}

fn idle_close(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Hypothesis {
    Hypothesis::of(NAME, Some("idle_close"))
        .on(pod)
        .require(1.0, facts::after_deletion(case, pod, cx))
        .forbid(facts::killed_by_probe(case, pod, cx))
        .require(1.5, cut_while_it_lived_on(case, pod, cx))
        .forbid(super::keepalive_race::balancers_own(case, cx))
        .require(0.5, not_before_the_signal(case, pod, cx))
        .weigh(1.0, 0.5, facts::drain_sign(pod, cx))
}

/// Requests that were in flight at the signal were cut a while after it: something had waited for them.
fn waited_for_requests(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let Some(drain) = cx.drain(pod) else {
        return Check::No(String::new());
    };
    let after = case.first(cx).nanos_since(drain.signal_at);
    Check::when(
        after > 3 * SECOND / 4 && case.first(cx) > drain.signal.hi,
        || {
            cx.fact(
                "waited_for_requests",
                pod,
                None,
                format!("the first request was cut {} after its signal", span(after)),
            )
        },
        "",
    )
}

/// It had refused for a while when it cut what it had: something had waited for that.
fn lived_on_closed(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let drain = cx.drain(pod).filter(|d| d.closed_alive);
    let closed = drain.and_then(|d| d.listener_closed);
    let lived = closed.map_or(0, |at| case.first(cx).nanos_since(at));
    Check::when(
        lived >= SECOND / 4,
        || {
            let text = format!(
                "it had closed its listener {} before the first request was cut",
                span(lived)
            );
            cx.fact("lived_on_closed", pod, None, text)
        },
        "",
    )
}

/// Pods of its template do not close before they end; what its own log says of a close is worth more.
fn open_to_the_end(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> (f64, Check) {
    match said_closed(case, pod, cx) {
        Check::Yes(_) => (0.0, Check::No(String::new())),
        _ => facts::open_to_the_end(pod, cx),
    }
}

fn quiet_since_its_signal(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> (f64, Check) {
    match cx.drain(pod) {
        Some(drain) => {
            let closed = facts::logged_close(pod, cx).unwrap_or(drain.signal.hi);
            facts::quiet_since(case, pod, closed, cx)
        }
        None => (0.0, Check::No(String::new())),
    }
}

/// With a preStop hook of known length, nothing before its end is the application's doing.
fn not_before_the_signal(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let Some(drain) = cx.drain(pod) else {
        return Check::No(format!("{} got no signal", cx.pod(pod).name));
    };
    let first = case.first(cx);
    if first < drain.signal.lo.plus_nanos(-BEFORE_SEEN) {
        return Check::No(format!(
            "the failures began {} before the signal of {}",
            span(drain.signal.lo.nanos_since(first)),
            cx.pod(pod).name
        ));
    }
    let after = first.nanos_since(drain.signal.hi).max(0);
    Check::Yes(cx.fact(
        "closed_after_signal",
        pod,
        Some(drain.signal),
        format!(
            "the first failure came {} after its signal",
            if after == 0 {
                "within moments".to_owned()
            } else {
                span(after)
            }
        ),
    ))
}

/// Its container had ended before the signal was sent: whatever ended it, the signal did not.
fn ended_before_its_signal(pod: PodIx, cx: &Context<'_>) -> Check {
    match (cx.drain(pod), cx.pod(pod).end_at()) {
        (Some(drain), Some(end)) if drain.unsignalled => Check::Yes(cx.fact(
            "ended_before_its_signal",
            pod,
            Some(end),
            "its container had ended before its signal was due",
        )),
        _ => Check::No(String::new()),
    }
}

/// An error of its own had ended it: what came later met that, and not the close of its listener.
fn crashed(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let ended = cx.pod(pod).end_at();
    let closed = matches!(said_closed(case, pod, cx), Check::Yes(_));
    match ended {
        Some(end) if !closed && case.first(cx) >= end.lo.plus_nanos(-SECOND / 10) => {
            super::crash::said_why(pod, cx)
        }
        _ => Check::Unseen,
    }
}

fn open_afterwards(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    match open_after(cx.traffic, pod, case.last(cx)) {
        Some(at) => Check::Yes(general(
            "open_afterwards",
            Some(at),
            format!(
                "{} answered a new connection after the failures: its listener was open",
                cx.pod(pod).name
            ),
        )),
        None => Check::No(String::new()),
    }
}

fn after_the_sigkill(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    if matches!(template_closes(pod, cx), Check::Yes(_))
        || matches!(said_closed(case, pod, cx), Check::Yes(_))
    {
        return Check::No(String::new());
    }
    let killed = facts::killed_at_deadline(pod, cx);
    let end = cx.pod(pod).end_at();
    match (killed, end) {
        (Check::Yes(_), Some(end)) if case.first(cx) >= end.lo.plus_nanos(-SECOND / 10) => {
            Check::Yes(general(
                "at_the_deadline",
                Some(end.mid()),
                format!(
                    "the failures lie at or after the deadline of {}, not at its signal",
                    cx.pod(pod).name
                ),
            ))
        }
        _ => Check::No(String::new()),
    }
}

/// Its log says that it closed its listener before the failures and soon after its signal.
fn said_closed(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let (Some(closed), Some(drain)) = (facts::logged_close(pod, cx), cx.drain(pod)) else {
        return Check::Unseen;
    };
    let after = closed.nanos_since(drain.signal_at).max(0);
    Check::when(
        closed.plus_nanos(-SECOND / 10) <= case.first(cx) && after < WAITED,
        || {
            cx.fact(
                "said_closed",
                pod,
                Some(rollscope_records::Interval::at(closed)),
                format!(
                    "its log says that it closed its listener {} after its signal",
                    span(after)
                ),
            )
        },
        "",
    )
}

/// Its log says that it closed its listener only after the failures. Some say so when the last connection is gone, which
/// is why this is not much.
fn said_closed_later(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let closed = facts::logged_close(pod, cx);
    match closed.filter(|at| case.last(cx) < at.plus_nanos(-SECOND / 5)) {
        Some(at) => Check::Yes(cx.fact(
            "said_closed_later",
            pod,
            Some(rollscope_records::Interval::at(at)),
            "its log says that it closed its listener only after the last failure",
        )),
        None => Check::Unseen,
    }
}

/// The failures came with its end, and its log says that it was forced to it.
fn forced_out(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    match cx.pod(pod).end_at() {
        Some(end) if facts::began_with(end, case, cx) => super::app_deadline::said_forced(pod, cx),
        _ => Check::Unseen,
    }
}

/// It, or a pod of the same template, certainly refused soon after its signal while it lived: they close at it.
pub(super) fn template_closes(pod: PodIx, cx: &Context<'_>) -> Check {
    let template = &cx.pod(pod).template_hash;
    let closed = cx.drains.iter().find_map(|(ix, drain)| {
        let same = cx.pod(*ix).template_hash == *template;
        let at = drain
            .listener_closed
            .filter(|_| drain.closed_alive && same)?;
        let after = at.nanos_since(drain.signal_at).max(0);
        (after < SECOND).then_some((*ix, at, after))
    });
    match closed {
        Some((ix, at, after)) => Check::Yes(cx.fact(
            "template_closes",
            ix,
            Some(rollscope_records::Interval::at(at)),
            format!(
                "of the same template, it refused {} after its signal while it lived",
                span(after)
            ),
        )),
        None => one_of_them_closed(template, cx),
    }
}

/// Only leaving pods of the template can have refused a connection, and all of them lived: one of them had closed.
/// Not shortly after a time without an endpoint: what routes may not have heard of the new ones yet.
fn one_of_them_closed(template: &str, cx: &Context<'_>) -> Check {
    let closed_soon = |pod: PodIx, t: RunOffset| {
        let p = cx.pod(pod);
        let alive = p.end_at().is_none_or(|e| t < e.lo.plus_nanos(-SECOND / 20));
        let drain = cx.drain(pod);
        p.template_hash == template
            && alive
            && drain.is_some_and(|d| (-BEFORE_SEEN..WAITED).contains(&t.nanos_since(d.signal.lo)))
    };
    let shows = |f: &Failure| {
        f.kind == Kind::Refused
            && !f.suspects.is_empty()
            && f.suspects.iter().all(|p| closed_soon(*p, f.at))
            && !super::no_endpoints::was_empty_of_late(f.at, cx)
    };
    let failures = &cx.traffic.failures;
    let find = || failures.iter().position(shows);
    match cx
        .memo
        .template_closes(template, find)
        .map(|i| &failures[i])
    {
        Some(f) => Check::Yes(cx.fact(
            "template_closes",
            f.suspects[0],
            Some(rollscope_records::Interval::at(f.at)),
            "it or another of the same template refused while each of them lived",
        )),
        None => Check::No(String::new()),
    }
}

fn closed_early(pod: PodIx, cx: &Context<'_>) -> Check {
    let (Some(drain), p) = (cx.drain(pod), cx.pod(pod)) else {
        return Check::No("no termination".to_owned());
    };
    if let (Some(end), Some(d)) = (&p.end, &p.deletion)
        && (drain.ended == EndedAt::Before || end.code != 137)
    {
        return Check::Yes(cx.fact(
            "ended_early",
            pod,
            Some(end.at),
            format!(
                "it ended by itself ({}) {} after its deletion, its grace was {} s",
                end.words(),
                span(end.point().nanos_since(d.seen)),
                d.grace
            ),
        ));
    }
    match drain.first_sign() {
        Some(sign) => Check::Yes(cx.fact("drain_sign", pod, Some(sign.at), &sign.what)),
        None => Check::No(format!("{} neither ended early nor showed a drain", p.name)),
    }
}

fn deliberate_code(pod: PodIx, cx: &Context<'_>) -> Check {
    let name = &cx.pod(pod).name;
    match cx.pod(pod).end.as_ref() {
        Some(e) if e.code == 0 => Check::Yes(cx.fact(
            "exit_code_0",
            pod,
            Some(e.at),
            "it ended with code 0: of its own will, at once",
        )),
        // Death by the signal's default action: neither for nor against.
        Some(e) if e.code == 143 => Check::Unseen,
        Some(e) => Check::No(format!("{name} ended with {}", e.words())),
        None => Check::Unseen,
    }
}

/// A new pod can have refused, and pods of this workload did so before the rollout when they had started.
pub(super) fn a_new_pod_as_at_first(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let beside = case
        .failures(cx)
        .all(|f| f.suspects.iter().any(|p| starts(cx.pod(*p), f.at)));
    match beside {
        true => super::ready_too_early::refused_at_first(case, cx),
        false => Check::No(String::new()),
    }
}

/// No new pod can have refused: none was in the endpoints without having answered.
fn no_new_pod(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let new = case
        .failures(cx)
        .any(|f| f.suspects.iter().any(|p| starts(cx.pod(*p), f.at)));
    if new {
        return Check::No(String::new());
    }
    Check::Yes(general(
        "no_new_pod",
        None,
        "no new pod can have refused: each had answered new connections before or was not in the endpoints",
    ))
}

/// Where a new pod can have refused as well: an old pod of the same template refused when no new one could have.
fn refused_alone(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    if !matches!(no_new_pod(case, cx), Check::No(_)) {
        return Check::Unseen;
    }
    let template = &cx.pod(pod).template_hash;
    let alone = cx.traffic.failures.iter().find(|f| {
        f.kind == Kind::Refused
            && !f.suspects.is_empty()
            && f.suspects.iter().all(|p| {
                let p = cx.pod(*p);
                p.deletion_seen().is_some_and(|d| d <= f.at) && p.template_hash == *template
            })
    });
    match alone {
        Some(f) => Check::Yes(cx.fact(
            "old_pods_alone",
            f.suspects[0],
            Some(rollscope_records::Interval::at(f.at)),
            "of the same template, it refused when no new pod can have",
        )),
        None => Check::No(String::new()),
    }
}

/// It served new connections long after its signal, or was there long after it: it did wait for routing.
pub(super) fn waited(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let first = case.first(cx);
    let served_for = match (facts::logged_close(pod, cx), cx.drain(pod)) {
        (Some(closed), Some(d)) => closed.nanos_since(d.signal.hi),
        _ => served_after_signal(pod, first, cx),
    };
    let lived = match (cx.drain(pod), cx.pod(pod).end_at()) {
        (Some(d), Some(end))
            if end.lo.plus_nanos(-SECOND / 10) <= first
                && !d.closed_alive
                && facts::logged_close(pod, cx).is_none() =>
        {
            end.lo.nanos_since(d.signal.hi)
        }
        _ => 0,
    };
    let stayed = served_for.max(lived);
    Check::when(
        stayed >= WAITED,
        || {
            let text = format!("it stayed for {} after its signal", span(stayed));
            cx.fact("waited", pod, None, text)
        },
        "",
    )
}

/// How long after its signal the pod still answered new connections before `t`, ns.
fn served_after_signal(pod: PodIx, t: RunOffset, cx: &Context<'_>) -> i64 {
    let (Some(drain), Some(traffic)) = (cx.drain(pod), cx.traffic.pod(pod)) else {
        return 0;
    };
    // Behind a balancer requests travel on connections that it keeps: an answer proves no open listener.
    if !cx.traffic.pinned {
        return 0;
    }
    let before = traffic.answered_new.partition_point(|a| *a < t);
    let last = before.checked_sub(1).map(|i| traffic.answered_new[i]);
    last.map_or(0, |a| a.nanos_since(drain.signal.hi)).max(0)
}

/// It, or a pod of the same template, went on accepting well after its signal: they do not close at it.
fn goes_on_accepting(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    if matches!(said_closed(case, pod, cx), Check::Yes(_)) {
        return Check::No(String::new());
    }
    let template = &cx.pod(pod).template_hash;
    let after = cx
        .timeline
        .terminating()
        .filter(|(_, p, _)| p.template_hash == *template)
        .map(|(ix, ..)| {
            let until = if ix == pod {
                case.first(cx)
            } else {
                RunOffset(i64::MAX)
            };
            (served_after_signal(ix, until, cx), ix)
        })
        .max();
    match after {
        Some((n, ix)) if n >= ACCEPTS_ON => Check::Yes(cx.fact(
            "accepts_on",
            ix,
            None,
            format!(
                "it answered new connections for {} after its signal",
                span(n)
            ),
        )),
        _ => Check::No(String::new()),
    }
}

/// No endpoint was ready: nothing could have been routed elsewhere. A balancer that answered 502 had one to ask.
fn nowhere_else(case: &Case<'_>, cx: &Context<'_>) -> Check {
    if super::no_endpoints::asked_one(case, cx) {
        return Check::No(String::new());
    }
    super::no_endpoints::none_ready(case, cx)
}

/// Connections that broke as the next request was written, on a pod that lived on.
fn cut_while_it_lived_on(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let name = &cx.pod(pod).name;
    let last = case.last(cx);
    let lived_on = cx
        .pod(pod)
        .end_at()
        .is_none_or(|e| last < e.lo.plus_nanos(-SECOND / 10));
    if !lived_on {
        return Check::No(format!("{name} ended at the moment of the cuts"));
    }
    if !case
        .requests(cx)
        .zip(case.failures(cx))
        .all(|(r, f)| super::keepalive_race::broke_at_once(&r, f))
    {
        return Check::No(
            "the requests were in flight, not on connections that broke as they were written"
                .to_owned(),
        );
    }
    Check::Yes(cx.fact(
        "idle_connections_closed",
        pod,
        None,
        "kept connections broke as the next request was written on them, while it lived on",
    ))
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    let harm = facts::harm(group, cx);
    let who = facts::who(group, cx);
    let they = if facts::plural(group) { "they" } else { "it" };
    match group.detail {
        Some("in_flight_cut") => {
            format!(
                "{harm} on {who}: {they} ended at SIGTERM without waiting for what was in flight"
            )
        }
        Some("idle_close") => format!(
            "{harm} on {who}: {they} closed kept connections at SIGTERM as the next request was written on them"
        ),
        _ => {
            let lag = advice::longest_lag(group.pods, cx)
                .map(|l| {
                    format!(
                        " and new connections came for {} after the deletion",
                        span(l.nanos)
                    )
                })
                .unwrap_or_default();
            let closed = group
                .pods
                .iter()
                .filter_map(|p| closed_after(*p, cx))
                .min()
                .filter(|n| *n > facts::MS)
                .map(|n| format!(" within {} of SIGTERM", span(n)))
                .unwrap_or_else(|| " at SIGTERM".to_owned());
            format!("{harm} by {who}: {they} closed the listener{closed}{lag}")
        }
    }
}

/// From the earliest moment of the signal to the first refusal, ns.
fn closed_after(pod: PodIx, cx: &Context<'_>) -> Option<i64> {
    let drain = cx.drain(pod)?;
    let closed = drain.listener_closed?;
    Some(closed.nanos_since(drain.signal_at).max(0))
}

/// No pod of the group was seen not Ready while it drained. A probe may meet a closed listener before a request does.
fn ready_to_the_end(group: &Group<'_>, cx: &Context<'_>) -> bool {
    group.pods.iter().all(|p| {
        let refused = cx.drain(*p).and_then(|d| d.listener_closed);
        let refused = refused.map(|at| at.plus_nanos(-SECOND / 5));
        let closed = facts::logged_close(*p, cx).into_iter().chain(refused).min();
        let turned = |pod: &Pod| {
            let deleted = pod.deletion.as_ref().map(|d| d.seen);
            let off = pod
                .ready
                .iter()
                .find(|(at, ready)| !ready && Some(*at) > deleted);
            off.map(|(at, _)| *at)
        };
        turned(cx.pod(*p)).is_none_or(|off| closed.is_some_and(|closed| closed < off))
    })
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    let mut all = vec![advice::pre_stop(cx)];
    match group.detail {
        Some("in_flight_cut") => all.push(advice::program(
            "on SIGTERM, stop accepting only after the propagation delay, then wait for the requests in flight before the process ends",
        )),
        Some("idle_close") => all.push(advice::program(
            "on SIGTERM, answer with `Connection: close` for the propagation delay before idle connections are closed",
        )),
        _ if cx.traffic.is_routed_by_health() && ready_to_the_end(group, cx) => {
            all.push(advice::program(
                "flip readiness at SIGTERM: answer the readiness path with 503 at once and keep the listener open until the front end has noticed; it looks at nothing but its own health check, and these pods answered 200 until they closed",
            ));
        }
        _ => all.push(advice::program(
            "on SIGTERM, keep the listener open for the propagation delay, then close it",
        )),
    }
    all.extend(advice::grace(cx));
    all
}
