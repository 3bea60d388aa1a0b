//! `prestop_overrun`: the preStop hook used the grace up; the signal came at its end, SIGKILL two seconds later.

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::drain::EndedAt;
use crate::timeline::PodIx;
use crate::traffic::Kind;
use crate::words::span;

const NAME: &str = "prestop_overrun";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    let behind_balancer = !cx.traffic.pinned && matches!(case.kind, Kind::Refused | Kind::Vanished);
    if !matches!(case.kind, Kind::Cut | Kind::PodEnd) && !behind_balancer {
        return Vec::new();
    }
    facts::best(case, |p| {
        cx.pod(p).pre_stop.as_ref()?;
        Some(
            Hypothesis::of(NAME, None)
                .on(p)
                .require(1.0, facts::after_deletion(case, p, cx))
                .forbid(facts::killed_by_probe(case, p, cx))
                .require(1.0, hook(p, cx))
                .require(1.0, facts::cut_by_end(case, p, cx))
                .forbid(facts::oom(case, p, cx))
                .require(2.5, used_the_grace(p, cx))
                .forbid(ended_of_its_own_will(p, cx))
                .weigh(1.5, 0.0, first_sign_at_the_grace(p, cx)),
        )
    })
    .into_iter()
    .collect()
}

fn hook(pod: PodIx, cx: &Context<'_>) -> Check {
    match &cx.pod(pod).pre_stop {
        Some(h) => Check::Yes(cx.fact(
            "pre_stop",
            pod,
            None,
            format!("its spec has a preStop hook ({})", h.words),
        )),
        None => Check::No("no preStop hook".to_owned()),
    }
}

/// The end came two seconds after the deadline, or the hook alone is as long as the grace.
fn used_the_grace(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let (Some(drain), Some(d)) = (cx.drain(pod), p.deletion.as_ref()) else {
        return Check::No("it was not being deleted".to_owned());
    };
    if let (EndedAt::TwoSecondsAfter, Some(end)) = (drain.ended, &p.end) {
        return Check::Yes(cx.fact(
            "killed_two_seconds_after",
            pod,
            Some(end.at),
            format!(
                "it ended {} after its deletion with a grace of {} s: two seconds later than SIGKILL is due, which is what a hook that uses the grace up leaves",
                span(end.point().nanos_since(d.seen)),
                d.grace
            ),
        ));
    }
    let sleep = p.pre_stop.as_ref().and_then(|h| h.sleep_seconds);
    match (sleep, &p.end) {
        (Some(s), Some(end)) if s >= d.grace && drain.ended != EndedAt::Before => {
            Check::Yes(cx.fact(
                "hook_as_long_as_grace",
                pod,
                Some(end.at),
                format!("its preStop takes {s} s, its grace is {} s", d.grace),
            ))
        }
        _ => Check::No(format!(
            "{} got its signal before its grace was over",
            p.name
        )),
    }
}

/// It ended by itself within what the hook had left it: it was not killed for want of time.
fn ended_of_its_own_will(pod: PodIx, cx: &Context<'_>) -> Check {
    match &cx.pod(pod).end {
        Some(end) if end.code != 137 => Check::Yes(cx.fact(
            "ended_by_itself",
            pod,
            Some(end.at),
            format!("it was not killed: it ended with {}", end.words()),
        )),
        _ => Check::No(String::new()),
    }
}

fn first_sign_at_the_grace(pod: PodIx, cx: &Context<'_>) -> Check {
    let (Some(drain), Some(d)) = (cx.drain(pod), cx.pod(pod).deletion.as_ref()) else {
        return Check::No(String::new());
    };
    match drain.first_sign() {
        Some(sign) if sign.at.hi >= d.deadline.lo.plus_nanos(-SECOND) => Check::Yes(cx.fact(
            "first_sign_at_grace",
            pod,
            Some(sign.at),
            format!(
                "its first sign of a drain came {} after its deletion: {}",
                span(sign.at.hi.nanos_since(d.seen)),
                sign.what
            ),
        )),
        _ => Check::No(String::new()),
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
    format!(
        "{harm} on {who}: the preStop hook used the whole grace of {grace} s, SIGTERM came at its end and SIGKILL 2 s later"
    )
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    let hook = group
        .pods
        .iter()
        .filter_map(|p| cx.pod(*p).pre_stop.as_ref()?.sleep_seconds)
        .max();
    let grace = group
        .pods
        .iter()
        .filter_map(|p| cx.pod(*p).grace_seconds())
        .max()
        .unwrap_or(0);
    let hook_words = hook.map_or_else(
        || format!("at least {grace} s (it used the grace up)"),
        |s| format!("{s} s"),
    );
    vec![
        Advice {
            field: "spec.template.spec.terminationGracePeriodSeconds".to_owned(),
            text: format!(
                "terminationGracePeriodSeconds >= preStop ({hook_words}) + longest drain + 5 s; now: {grace} s. The grace runs while the hook does"
            ),
        },
        advice::pre_stop(cx),
    ]
}
