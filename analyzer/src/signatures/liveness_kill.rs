//! `liveness_kill`: the kubelet ended a container whose liveness (or startup) probe failed.

use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, container_end, facts};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::timeline::PodIx;
use crate::traffic::{Kind, down_at};
use crate::words::span;

const NAME: &str = "liveness_kill";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if !cx.timeline.events_recorded {
        return Vec::new();
    }
    let said = facts::best(case, |p| said_by_event(case, p, cx)).filter(Hypothesis::possible);
    if said.is_some() {
        return said.into_iter().collect();
    }
    container_end::weigh(NAME, case, cx, |cx, pod, end| {
        let name = &cx.pod(pod).name;
        if end.oom() {
            return Check::No(format!("the container of {name} was OOMKilled"));
        }
        if !container_end::before_deletion(pod, end, cx) {
            return Check::No(format!("{name} ended in its termination"));
        }
        match container_end::killing_event(pod, end, cx) {
            Some(at) => Check::Yes(cx.fact(
                "killing_event",
                pod,
                Some(rollscope_records::Interval::at(at)),
                format!(
                    "the kubelet killed its container (event Killing, {} before its end) without a deletion",
                    span(end.point().nanos_since(at).max(0))
                ),
            )),
            None => Check::No(format!("no Killing event for {name} before that end")),
        }
    })
    .into_iter()
    .collect()
}

/// The event itself names the probe: everything on that container from then on is its consequence.
fn said_by_event(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Option<Hypothesis> {
    if !matches!(case.kind, Kind::Cut | Kind::Refused | Kind::Vanished) {
        return None;
    }
    let known = case.failures(cx).any(|f| f.pod == Some(pod));
    let was_down = Check::when(
        case.kind != Kind::Cut && down_at(cx.pod(pod), case.first(cx)).is_some(),
        || cx.fact("container_down", pod, None, "its container was down then"),
        "",
    );
    Some(
        Hypothesis::of(NAME, None)
            .on(pod)
            .require(
                if known { 5.0 } else { 4.0 },
                facts::killed_by_probe(case, pod, cx),
            )
            .weigh(1.0, 0.0, was_down)
            .oppose(6.0, facts::proxy_ended_first(case, pod, cx)),
    )
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{} on {}: the kubelet killed the container for a failed liveness or startup probe{}",
        facts::harm(group, cx),
        facts::who(group, cx),
        container_end::aftermath(group, cx)
    )
}

fn advice(_: &Group<'_>, _: &Context<'_>) -> Vec<Advice> {
    vec![
        Advice {
            field: "spec.template.spec.containers[].livenessProbe".to_owned(),
            text: "let the liveness probe fail only where a restart helps: a longer timeoutSeconds and a higher failureThreshold, and no dependency behind it".to_owned(),
        },
        advice::program("find out why the process did not answer its probe"),
    ]
}
