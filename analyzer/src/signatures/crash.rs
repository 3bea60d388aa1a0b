//! `crash`: a container ended by itself, without a deletion, an OOM or the kubelet's asking.

use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, container_end, facts};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;

const NAME: &str = "crash";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
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
    .collect()
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
