//! `unforwarded_signal`: the signal never reaches the server. *swallowed*: PID 1 neither handles nor forwards it, the
//! server serves until SIGKILL. *half_forwarded*: the wrapper ends at the signal and takes the server with it.

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::timeline::{PodIx, Voice};
use crate::traffic::Kind;
use crate::words::span;

const NAME: &str = "unforwarded_signal";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// A wrapper that ends at the signal may need this long to do so, ns.
pub(super) const WRAPPER_TAKES: i64 = 3 * SECOND / 2;

/// ... and hardly ever this long, ns.
const LIVED_ON: i64 = 600 * facts::MS;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    let behind_balancer = facts::cut_behind_balancer(case, cx);
    let cut = matches!(case.kind, Kind::Cut | Kind::PodEnd) || behind_balancer;
    let cut = cut || refused_by_health(case, cx);
    let swallowed = cut
        .then(|| facts::best(case, |p| Some(swallowed(case, p, cx))))
        .flatten();
    let half = matches!(case.kind, Kind::Cut | Kind::Refused | Kind::Vanished)
        .then(|| facts::best(case, |p| Some(half_forwarded(case, p, cx))))
        .flatten();
    swallowed.into_iter().chain(half).collect()
}

fn swallowed(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Hypothesis {
    Hypothesis::of(NAME, Some("swallowed"))
        .on(pod)
        .require(1.0, facts::after_deletion(case, pod, cx))
        .forbid(facts::killed_by_probe(case, pod, cx))
        .require(1.5, facts::killed_at_deadline(pod, cx))
        .require(1.0, by_its_end(case, pod, cx))
        .forbid(facts::oom(case, pod, cx))
        .forbid(facts::drain_sign(pod, cx))
        .weigh(2.0, 0.0, stayed_ready(pod, cx))
        .weigh(1.5, 0.0, log_silent(pod, cx))
        .weigh(0.5, 0.0, served_to_the_end(pod, cx))
        .oppose(1.5, facts::siblings_drained(pod, cx))
}

/// A balancer that knows only its own health check goes on to a pod that was killed, until the check fails.
fn refused_by_health(case: &Case<'_>, cx: &Context<'_>) -> bool {
    case.kind == Kind::Refused && cx.traffic.is_routed_by_health()
}

/// It cut what was in flight, or refused what came after.
fn by_its_end(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    if refused_by_health(case, cx) {
        return at_or_after_end(case, pod, cx);
    }
    facts::cut_by_end(case, pod, cx)
}

fn half_forwarded(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Hypothesis {
    // How a pod ended says less where it is not certain that it was this pod.
    let share = if case.suspects.len() > 1 { 0.5 } else { 1.0 };
    Hypothesis::of(NAME, Some("half_forwarded"))
        .on(pod)
        .require(1.0, facts::after_deletion(case, pod, cx))
        .forbid(facts::killed_by_probe(case, pod, cx))
        .require(1.0, facts::ended_at_signal(pod, WRAPPER_TAKES, cx))
        .require(1.0, at_or_after_end(case, pod, cx))
        .forbid(facts::oom(case, pod, cx))
        .forbid(facts::reacted(pod, cx))
        .weigh(3.0 * share, 2.0 * share, wrapper_lines(pod, cx))
        .weigh(0.5, 1.5, not_zero(pod, cx))
        .weigh(2.0 * share, 0.0, wrapper_ended(pod, cx))
        .oppose(2.0, lived_on(pod, cx))
        .oppose_by(facts::quiet_since_its_end(case, pod, cx))
}

/// It stayed ready although a failing probe would have shown.
fn stayed_ready(pod: PodIx, cx: &Context<'_>) -> Check {
    match cx.drain(pod) {
        Some(d) if d.readiness.watched() => Check::Yes(cx.fact(
            "stayed_ready",
            pod,
            None,
            format!("it stayed Ready to the end although {}", d.readiness.why()),
        )),
        _ => Check::Unseen,
    }
}

fn log_silent(pod: PodIx, cx: &Context<'_>) -> Check {
    match cx.drain(pod) {
        Some(d) if d.log.watched() => Check::Yes(cx.fact(
            "log_silent",
            pod,
            None,
            format!("{} and has no line about a shutdown", d.log.why()),
        )),
        _ => Check::Unseen,
    }
}

/// It answered requests on established connections in the last seconds, and told none of them to close.
pub(super) fn served_to_the_end(pod: PodIx, cx: &Context<'_>) -> Check {
    let (Some(end), Some(d), Some(traffic)) = (
        cx.pod(pod).end_at(),
        cx.pod(pod).deletion.as_ref(),
        cx.traffic.pod(pod),
    ) else {
        return Check::Unseen;
    };
    let late = (end.hi.nanos_since(d.seen) / 4).min(3 * SECOND);
    let n = traffic.reused_between(end.lo.plus_nanos(-late), end.hi);
    if n == 0 {
        return Check::No(String::new());
    }
    Check::Yes(cx.fact(
        "served_to_the_end",
        pod,
        Some(end),
        format!(
            "it answered {} on established connections in its last {}",
            crate::words::count(n as u64, "request"),
            span(late)
        ),
    ))
}

/// npm (or its like) reported the end of its child.
fn wrapper_lines(pod: PodIx, cx: &Context<'_>) -> Check {
    match wrapper_spoke(pod, cx) {
        Check::No(_) if cx.drain(pod).is_some_and(|d| d.log.watched()) => Check::No(format!(
            "the log of {} has no line of npm or its like",
            cx.pod(pod).name
        )),
        Check::No(_) => Check::Unseen,
        other => other,
    }
}

/// A wrapper takes its server along within moments.
fn lived_on(pod: PodIx, cx: &Context<'_>) -> Check {
    let end = cx.pod(pod).end.as_ref();
    let lived = end.map_or(0, |e| facts::likely_after_signal(pod, e.point(), cx));
    Check::when(
        lived >= LIVED_ON,
        || {
            let text = format!("it lived on for {} after its signal", span(lived));
            cx.fact("lived_on", pod, end.map(|e| e.at), text)
        },
        "",
    )
}

/// A line of a package manager after the deletion.
pub(super) fn wrapper_spoke(pod: PodIx, cx: &Context<'_>) -> Check {
    let what = "a wrapper around the server reports its end";
    facts::said(pod, &Voice::PackageManager, "wrapper_line", what, cx)
}

/// Its command is a wrapper around the server, and the wrapper ended at the signal as wrappers do.
pub(super) fn wrapper_ended(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let by_signal = p.end.as_ref().is_some_and(|e| matches!(e.code, 130 | 143));
    let at_signal = matches!(
        facts::ended_at_signal(pod, WRAPPER_TAKES, cx),
        Check::Yes(_)
    );
    let silent = matches!(facts::reacted(pod, cx), Check::No(_));
    Check::when(
        p.wrapped && by_signal && at_signal && silent,
        || {
            cx.fact(
                "wrapped_command",
                pod,
                p.end_at(),
                "its command is a shell or a package manager around the server, and it ended with the signal's own code at the signal",
            )
        },
        "",
    )
}

fn at_or_after_end(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let Some(end) = cx.pod(pod).end.as_ref() else {
        return Check::No(format!("no end of {} was seen", cx.pod(pod).name));
    };
    if case.kind == Kind::Cut {
        return facts::cut_by_end(case, pod, cx);
    }
    Check::when(
        facts::began_with(end.at, case, cx),
        || facts::refused_after(end.at, pod, cx),
        "the failures began while it lived",
    )
}

fn not_zero(pod: PodIx, cx: &Context<'_>) -> Check {
    match cx.pod(pod).end.as_ref() {
        Some(e) if e.code == 0 => Check::No(format!(
            "{} ended with code 0: the program that got the signal ended of its own will",
            cx.pod(pod).name
        )),
        Some(e) if e.code == 137 => Check::No(format!(
            "{} was killed, not ended by a signal that asks",
            cx.pod(pod).name
        )),
        Some(e) => Check::Yes(cx.fact(
            "exit_code",
            pod,
            Some(e.at),
            format!("it ended with {}", e.words()),
        )),
        None => Check::Unseen,
    }
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    let harm = facts::harm(group, cx);
    let who = facts::who(group, cx);
    let plural = facts::plural(group);
    if group.detail == Some("half_forwarded") {
        let it = if plural {
            "their servers"
        } else {
            "its server"
        };
        return format!(
            "{harm} on {who}: SIGTERM ended the wrapper that runs as PID 1, and {it} died with it instead of draining"
        );
    }
    let grace = group
        .pods
        .iter()
        .filter_map(|p| cx.pod(*p).grace_seconds())
        .max()
        .unwrap_or(0);
    let (they, their) = if plural {
        ("they", "their")
    } else {
        ("it", "its")
    };
    format!(
        "{harm} on {who}: SIGTERM never reached the server, {they} served on for {their} whole grace of {grace} s and died of SIGKILL"
    )
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    let exec_form = Advice {
        field: "spec.template.spec.containers[].command".to_owned(),
        text: "run the server itself as PID 1: exec form (`[\"node\", \"server.js\"]`), `exec` in the shell's last command, or an init (tini) that forwards signals; not `sh -c` or `npm start`".to_owned(),
    };
    let handler = advice::program(
        "install a SIGTERM handler: PID 1 has no default action for signals, so without one it never hears of them (or run it under an init such as tini)",
    );
    // The manifest tells which is likelier; of a command that is in the image nothing is seen, and a shell is usual.
    let in_front = group
        .pods
        .iter()
        .any(|p| cx.pod(*p).wrapped || !cx.pod(*p).commanded);
    let mut all = if in_front {
        vec![exec_form, handler]
    } else {
        vec![handler, exec_form]
    };
    if group.detail == Some("half_forwarded") {
        all.push(advice::pre_stop(cx));
    }
    all
}
