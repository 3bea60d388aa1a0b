//! `crash`: a container ended by itself, without a deletion, an OOM or the kubelet's asking.

use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, container_end, facts};
use crate::advice;
use crate::analysis::Advice;
use crate::context::{Context, general};
use crate::drain::EndedAt;
use crate::timeline::{ContainerEnd, PodIx, Voice};
use crate::traffic::Kind;
use crate::words::span;

const NAME: &str = "crash";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// An end is told of within this time, ns: 0.13-0.37 s, 0.65 s on a busy node.
const TOLD_WITHIN: i64 = 1300 * facts::MS;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    let draining = facts::best(case, |p| in_its_termination(case, p, cx));
    container_end::weigh(NAME, case, cx, |cx, pod, end| {
        let name = &cx.pod(pod).name;
        if end.oom() {
            return Check::No(format!("the container of {name} was OOMKilled"));
        }
        if !container_end::before_deletion(pod, end, cx) {
            return Check::No(format!("{name} ended in its termination"));
        }
        if container_end::killing_event(pod, end, cx).is_some() {
            return Check::No(format!("the kubelet ended the container of {name}"));
        }
        Check::Yes(cx.fact(
            "ended_by_itself",
            pod,
            Some(end.at),
            format!(
                "its container ended with {} before any deletion",
                end.words()
            ),
        ))
    })
    .into_iter()
    .chain(draining)
    .chain(untold(case, cx))
    .collect()
}

/// An end that came too late to be told of: connections died moments before the observation ended, and containers of
/// the workload had ended by themselves before.
fn untold(case: &Case<'_>, cx: &Context<'_>) -> Option<Hypothesis> {
    let until = cx.timeline.until?;
    let last = case.last(cx);
    let leaving = |p: &PodIx| cx.pod(*p).deletion.is_some();
    let at_once = case
        .requests(cx)
        .zip(case.failures(cx))
        .all(|(r, f)| super::keepalive_race::broke_at_once(&r, f));
    if case.kind != Kind::Cut
        || until.nanos_since(last) > TOLD_WITHIN
        || case.suspects.iter().any(leaving)
        || at_once
    {
        return None;
    }
    let at_the_end = general(
        "at_the_end_of_the_observation",
        Some(last),
        format!(
            "cut {} before the observation ended: an end of their container would not have been told of any more",
            span(until.nanos_since(last))
        ),
    );
    Some(
        Hypothesis::of(NAME, None)
            .require(1.0, Check::Yes(at_the_end))
            .weigh(3.0, 0.0, ended_so_before(None, cx))
            .weigh(3.5, 0.0, said_now(case, cx)),
    )
}

/// Some log tells at the moment of the failures of an error that ends its process.
fn said_now(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let from = case.last(cx).plus_nanos(-facts::SECOND);
    let said = cx.timeline.indices().find_map(|ix| {
        let mut lines = cx.logs.pod(ix)?.since(from);
        let line = lines.find(|l| l.voice == Voice::Crashed)?;
        Some((ix, line))
    });
    match said {
        Some((ix, line)) => Check::Yes(cx.fact(
            "crash_line",
            ix,
            Some(rollscope_records::Interval::at(line.at)),
            format!("its log says: {}", line.text),
        )),
        None => Check::No(String::new()),
    }
}

/// A container of the workload ended by itself (with that code) without a deletion.
fn ended_so_before(code: Option<i64>, cx: &Context<'_>) -> Check {
    let by_itself = |ix: PodIx, e: &ContainerEnd| {
        code.is_none_or(|code| e.code == code)
            && !e.oom()
            && container_end::before_deletion(ix, e, cx)
            && container_end::killing_event(ix, e, cx).is_none()
    };
    let ended = cx.timeline.indices().find_map(|ix| {
        let end = cx.pod(ix).ends().find(|e| by_itself(ix, e))?;
        Some((ix, end))
    });
    match ended {
        Some((ix, end)) => Check::Yes(cx.fact(
            "ends_so_without_a_deletion",
            ix,
            Some(end.at),
            format!(
                "its container ended with {}, and no deletion had asked for it: others will end for the same reason",
                end.words()
            ),
        )),
        None => Check::No(String::new()),
    }
}

/// An error of its own ended it while it drained, or before its signal came.
fn in_its_termination(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Option<Hypothesis> {
    let end = cx.pod(pod).end.as_ref()?;
    let drain = cx.drain(pod)?;
    if matches!(end.code, 0 | 130 | 137 | 143) || drain.ended != EndedAt::Before {
        return None;
    }
    let at_its_end = match case.kind {
        Kind::Cut => facts::cut_by_end(case, pod, cx),
        Kind::Refused | Kind::Vanished => facts::refused_from_its_end(case, pod, cx),
        _ => return None,
    };
    let before_its_signal = Check::when(
        drain.unsignalled,
        || {
            cx.fact(
                "ended_before_its_signal",
                pod,
                Some(end.at),
                "it ended before its signal was due",
            )
        },
        "",
    );
    let code = cx.fact(
        "error_code",
        pod,
        Some(end.at),
        format!("it ended with {} in its termination", end.words()),
    );
    Some(
        Hypothesis::of(NAME, None)
            .on(pod)
            .require(1.0, facts::after_deletion(case, pod, cx))
            .require(1.0, at_its_end)
            .require(1.0, Check::Yes(code))
            .weigh(3.0, 0.0, before_its_signal)
            .weigh(4.0, 0.0, said_why(pod, cx))
            .weigh(2.0, 0.0, ended_so_before(Some(end.code), cx))
            .forbid(super::app_deadline::said_forced(pod, cx)),
    )
}

/// Its log tells of the error that ended it.
pub(super) fn said_why(pod: PodIx, cx: &Context<'_>) -> Check {
    facts::said(pod, &Voice::Crashed, "crash_line", "its log says", cx)
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    let end = group.pods.iter().find_map(|p| {
        cx.pod(*p)
            .ends()
            .find(|e| container_end::before_deletion(*p, e, cx))
    });
    let words = end.map_or_else(
        || "its container ended".to_owned(),
        |e| format!("its container ended by itself with {}", e.words()),
    );
    format!(
        "{} on {}: {words}{}, no deletion had asked for it",
        facts::harm(group, cx),
        facts::who(group, cx),
        container_end::aftermath(group, cx)
    )
}

fn advice(_: &Group<'_>, _: &Context<'_>) -> Vec<Advice> {
    vec![advice::program(
        "find out why the process ended (its last log lines before that moment): the rollout did not end it",
    )]
}
