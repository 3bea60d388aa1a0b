//! `cold_start`: a new pod is slow just after it became Ready.

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::timeline::PodIx;
use crate::traffic::Kind;
use crate::words::span;

const NAME: &str = "cold_start";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// A pod is cold for this long at most, ns.
const COLD: i64 = 15 * SECOND;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if case.kind != Kind::Deadline {
        return Vec::new();
    }
    facts::best(case, |p| {
        Some(
            Hypothesis::of(NAME, None)
                .on(p)
                .require(2.5, just_ready(case, p, cx))
                .oppose(2.0, super::background::same_rate_before(case, cx)),
        )
    })
    .into_iter()
    .collect()
}

fn just_ready(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let first = case.first(cx);
    let since = p.first_ready().map(|r| first.nanos_since(r));
    match since {
        Some(n) if !p.listed && (-SECOND..COLD).contains(&n) => Check::Yes(cx.fact(
            "just_ready",
            pod,
            None,
            format!(
                "the slow requests began {} after it became Ready",
                span(n.max(0))
            ),
        )),
        _ => Check::No(format!("{} had not just become Ready", p.name)),
    }
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{} on {}: new pods were slow just after they became Ready",
        facts::harm(group, cx),
        facts::who(group, cx)
    )
}

fn advice(_: &Group<'_>, _: &Context<'_>) -> Vec<Advice> {
    vec![
        advice::program("warm up (connections, caches, code) before readiness answers 200"),
        Advice {
            field: "spec.minReadySeconds".to_owned(),
            text: "a few seconds slow the rollout down while a new pod warms up".to_owned(),
        },
    ]
}
