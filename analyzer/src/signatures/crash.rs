//! `crash`: a container ended by itself, without a deletion, an OOM or the kubelet's asking.

use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, container_end, facts};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::drain::EndedAt;
use crate::timeline::PodIx;
use crate::traffic::Kind;

const NAME: &str = "crash";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

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
    .collect()
}

/// An error of its own ended it while it drained.
fn in_its_termination(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Option<Hypothesis> {
    let end = cx.pod(pod).end.as_ref()?;
    let before_deadline = cx.drain(pod).is_some_and(|d| d.ended == EndedAt::Before);
    if case.kind != Kind::Cut || matches!(end.code, 0 | 130 | 137 | 143) || !before_deadline {
        return None;
    }
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
            .require(1.0, facts::cut_by_end(case, pod, cx))
            .require(1.0, Check::Yes(code))
            .forbid(super::app_deadline::said_forced(pod, cx)),
    )
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
