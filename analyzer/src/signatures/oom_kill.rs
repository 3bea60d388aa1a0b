//! `oom_kill`: the kernel killed a container for its memory.

use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, container_end, facts};
use crate::analysis::Advice;
use crate::context::Context;

const NAME: &str = "oom_kill";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    container_end::weigh(NAME, case, cx, |cx, pod, end| {
        // The reason counts, not the code: an OOM can come with exit code 0.
        Check::when(
            end.oom(),
            || {
                cx.fact(
                    "oom_killed",
                    pod,
                    Some(end.at),
                    format!("its container {} was OOMKilled", end.container),
                )
            },
            "no container was OOMKilled then",
        )
    })
    .into_iter()
    .collect()
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{} on {}: its container was OOMKilled{}",
        facts::harm(group, cx),
        facts::who(group, cx),
        container_end::aftermath(group, cx)
    )
}

fn advice(_: &Group<'_>, _: &Context<'_>) -> Vec<Advice> {
    vec![Advice {
        field: "spec.template.spec.containers[].resources.limits.memory".to_owned(),
        text: "raise the memory limit or find what grows: the rollout itself is not to blame"
            .to_owned(),
    }]
}
