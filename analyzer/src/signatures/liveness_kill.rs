//! `liveness_kill`: the kubelet ended a container whose liveness (or startup) probe failed.

use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, container_end, facts};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
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
