//! `app_deadline` and `forced_exit`: the application ends its own shutdown, with requests still in flight or by a
//! safety timer.

use super::facts::{self, MS, SECOND};
use super::unforwarded_signal::{self, WRAPPER_TAKES};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::drain::EndedAt;
use crate::timeline::{PodIx, Voice};
use crate::traffic::{Failure, Kind};
use crate::words::span;

pub(super) const APP_DEADLINE: Signature = Signature {
    name: "app_deadline",
    weigh: weigh_app_deadline,
    summary: summary_app_deadline,
    advice,
};

pub(super) const FORCED_EXIT: Signature = Signature {
    name: "forced_exit",
    weigh: weigh_forced_exit,
    summary: summary_forced_exit,
    advice,
};

/// An end is told of within this time, ns: 0.13-0.37 s, 0.65 s on a busy node.
const TOLD_WITHIN: i64 = 800 * MS;

/// A shutdown that ran for less than this was none, ns ...
const RAN: i64 = SECOND / 2;

/// ... unless its own log says that it was forced to end: then it is enough that it did not end with the signal, ns.
const MOMENT: i64 = 100 * MS;

fn weigh_app_deadline(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if case.kind != Kind::Cut {
        return Vec::new();
    }
    facts::best(case, |p| {
        Some(
            common("app_deadline", case, p, cx)
                .weigh(
                    1.0,
                    1.5,
                    code_is(p, cx, |code| code == 0 || code == 143, "gave up by itself"),
                )
                .weigh(2.5, 0.0, before_its_end(case, p, cx))
                .weigh(1.0, 0.0, said_forced(p, cx)),
        )
    })
    .into_iter()
    .collect()
}

fn weigh_forced_exit(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    match case.kind {
        Kind::Cut | Kind::PodEnd => {}
        Kind::Refused | Kind::Vanished => {
            return facts::best(case, |p| Some(refused_after_forced_exit(case, p, cx)))
                .into_iter()
                .collect();
        }
        _ => return Vec::new(),
    }
    facts::best(case, |p| {
        // Without its log, a timer's exit and a crash in the drain look the same.
        let heard = cx.drain(p).is_some_and(|d| d.log.watched());
        Some(
            common("forced_exit", case, p, cx)
                .require(if heard { 1.5 } else { 0.5 }, code_is_forced(p, cx))
                .weigh(1.5, 0.0, said_forced(p, cx))
                .forbid(super::crash::said_why(p, cx))
                .oppose(2.5, before_its_end(case, p, cx)),
        )
    })
    .into_iter()
    .collect()
}

/// What is still routed to a pod that ended its own shutdown by force is refused from that end on, not before.
fn refused_after_forced_exit(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Hypothesis {
    Hypothesis::of("forced_exit", None)
        .on(pod)
        .require(1.0, facts::after_deletion(case, pod, cx))
        .forbid(facts::killed_by_probe(case, pod, cx))
        .require(1.0, facts::refused_from_its_end(case, pod, cx))
        .require(1.5, ended_in_its_shutdown(pod, cx))
        .forbid(ended_with_its_signal(case, pod, cx))
        .require(0.5, code_is_forced(pod, cx))
        .weigh(3.5, 0.0, said_forced(pod, cx))
        .forbid(super::crash::said_why(pod, cx))
        .oppose(5.0, facts::proxy_ended_first(case, pod, cx))
        .oppose_by(facts::quiet_since_its_end(case, pod, cx))
}

/// It ended a while after its signal and before SIGKILL was due.
fn ended_in_its_shutdown(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let (Some(drain), Some(end)) = (cx.drain(pod), p.end.as_ref()) else {
        return Check::No(format!("{} was not being deleted when it ended", p.name));
    };
    let ran = facts::likely_after_signal(pod, end.point(), cx);
    Check::when(
        drain.ended == EndedAt::Before && ran >= least(pod, cx),
        || {
            let text = format!(
                "it ended {} after its signal, before SIGKILL was due",
                span(ran)
            );
            cx.fact("ended_in_its_shutdown", pod, Some(end.at), text)
        },
        &format!("{} ended at its signal or at its deadline", p.name),
    )
}

/// For how long a shutdown runs at least before its own timer can have ended it, ns.
fn least(pod: PodIx, cx: &Context<'_>) -> i64 {
    match said_forced(pod, cx) {
        Check::Yes(_) => MOMENT,
        _ => RAN,
    }
}

/// It ended with its signal, as far as the two are known: it had not reacted to it (a wrapper takes a while to end and
/// says nothing), or had only just said so. No timer of its own can have run by then.
fn ended_with_its_signal(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let (Some(drain), Some(end)) = (cx.drain(pod), cx.pod(pod).end.as_ref()) else {
        return Check::Unseen;
    };
    let began = facts::said_after_deletion(pod, cx)
        .find(|l| matches!(l.voice, Voice::Shutdown | Voice::Mark(_)));
    let at_once = match began {
        Some(line) => end.point().nanos_since(line.at) < MOMENT,
        None => {
            let reacted = matches!(facts::reacted(pod, cx), Check::Yes(_));
            let spoke = unforwarded_signal::wrapper_spoke(pod, cx);
            let wrapped = cx.pod(pod).wrapped || matches!(spoke, Check::Yes(_));
            let within = if wrapped {
                WRAPPER_TAKES
            } else {
                least(pod, cx)
            };
            // What it cut tells to the millisecond when it can have been at the earliest.
            let earliest = match case.kind {
                Kind::Cut => case.first(cx).max(end.at.lo),
                _ => end.at.lo,
            };
            // A hook of unknown length leaves open when the signal came.
            let hook = cx.pod(pod).pre_stop.as_ref();
            let known = hook.is_none_or(|h| h.sleep_seconds.is_some());
            known && !reacted && facts::likely_after_signal(pod, earliest, cx) < within
        }
    };
    Check::when(
        at_once && !drain.unsignalled,
        || {
            let text =
                "it ended with its signal, as far as both are known: no timer of its own had run";
            cx.fact("ended_with_its_signal", pod, Some(end.at), text)
        },
        "",
    )
}

fn code_is_forced(pod: PodIx, cx: &Context<'_>) -> Check {
    let fits = |code| !matches!(code, 0 | 130 | 143);
    code_is(pod, cx, fits, "was ended by a timer or an error of its own")
}

fn common(name: &'static str, case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Hypothesis {
    Hypothesis::of(name, None)
        .on(pod)
        .require(1.0, facts::after_deletion(case, pod, cx))
        .forbid(facts::killed_by_probe(case, pod, cx))
        .require(1.0, ended_the_requests(case, pod, cx))
        .require(1.5, between_signal_and_deadline(case, pod, cx))
        .forbid(ended_with_its_signal(case, pod, cx))
        .forbid(facts::oom(case, pod, cx))
        .oppose(2.5, unforwarded_signal::wrapper_spoke(pod, cx))
        .oppose(3.0, facts::proxy_ended_first(case, pod, cx))
        .weigh(1.0, 0.5, facts::drain_sign(pod, cx))
}

/// The cuts lie at its end, or it cut long-running requests while it lived on.
fn ended_the_requests(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    match facts::cut_by_end(case, pod, cx) {
        Check::No(why) => {
            let running = case.failures(cx).all(|f| Failure::age(f) >= 100 * MS);
            if running {
                Check::Yes(cx.fact(
                    "cut_by_application",
                    pod,
                    None,
                    "it cut requests in flight while it lived on",
                ))
            } else {
                Check::No(why)
            }
        }
        other => other,
    }
}

/// The cuts came so long before its end was told of that they were not the end's.
fn before_its_end(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let end = cx
        .pod(pod)
        .end
        .as_ref()
        .filter(|_| !case.failures.is_empty());
    let before = end.map_or(0, |e| e.seen.nanos_since(case.last(cx)));
    Check::when(
        before > TOLD_WITHIN,
        || {
            cx.fact(
                "cut_before_its_end",
                pod,
                cx.pod(pod).end_at(),
                format!("the cuts came {} before its end was told of", span(before)),
            )
        },
        "",
    )
}

fn between_signal_and_deadline(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let (Some(drain), Some(d)) = (cx.drain(pod), p.deletion.as_ref()) else {
        return Check::No(format!("{} was not being deleted", p.name));
    };
    let ran = facts::likely_after_signal(pod, case.first(cx), cx);
    if ran < least(pod, cx) {
        return Check::No(format!("the cuts came at the signal of {}", p.name));
    }
    let killed = drain.ended != EndedAt::Before && p.end.as_ref().is_none_or(|e| e.code == 137);
    if killed && case.last(cx) >= d.deadline.lo.plus_nanos(-SECOND / 2) {
        return Check::No(format!("the cuts lie at the deadline of {}", p.name));
    }
    Check::Yes(cx.fact(
        "own_deadline",
        pod,
        p.end_at(),
        format!(
            "the cuts came {} after its signal, {} before SIGKILL was due",
            span(ran),
            span(d.deadline.hi.nanos_since(case.last(cx)))
        ),
    ))
}

fn code_is(pod: PodIx, cx: &Context<'_>, fits: impl Fn(i64) -> bool, meaning: &str) -> Check {
    match cx.pod(pod).end.as_ref() {
        Some(e) if fits(e.code) => Check::Yes(cx.fact(
            "exit_code",
            pod,
            Some(e.at),
            format!("it ended with {}: it {meaning}", e.words()),
        )),
        Some(e) => Check::No(format!("{} ended with {}", cx.pod(pod).name, e.words())),
        None => Check::Unseen,
    }
}

pub(super) fn said_forced(pod: PodIx, cx: &Context<'_>) -> Check {
    facts::said(pod, &Voice::Forced, "forced_line", "its log says", cx)
}

fn summary_app_deadline(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{} on {}: the application's own drain deadline ran out before its requests did{}",
        facts::harm(group, cx),
        facts::who(group, cx),
        after(group, cx)
    )
}

fn summary_forced_exit(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{} on {}: the application forced its own exit before its shutdown had ended{}",
        facts::harm(group, cx),
        facts::who(group, cx),
        after(group, cx)
    )
}

fn after(group: &Group<'_>, cx: &Context<'_>) -> String {
    let ran = group.pods.iter().filter_map(|p| {
        let d = cx.pod(*p).deletion.as_ref()?;
        Some(cx.pod(*p).end.as_ref()?.point().nanos_since(d.seen))
    });
    ran.max()
        .map(|n| format!(", {} after its deletion", span(n)))
        .unwrap_or_default()
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    let oldest = group
        .failures
        .iter()
        .map(|i| cx.traffic.failures[*i].age())
        .max()
        .unwrap_or(0);
    vec![
        advice::program(&format!(
            "give the drain more of the grace: its deadline may be {} by the manifest, the oldest request was {} old when it was cut",
            span((advice::left_for_drain(group.pods, cx) - 2 * SECOND).max(0)),
            span(oldest)
        )),
        advice::grace_for(group.pods, oldest, cx),
    ]
}
