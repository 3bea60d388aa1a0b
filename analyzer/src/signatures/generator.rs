//! `generator`: the load generator's own host is to blame.

use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, facts};
use crate::analysis::Advice;
use crate::context::{Context, general};
use crate::traffic::Kind;

const NAME: &str = "generator";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if case.kind != Kind::Local {
        return Vec::new();
    }
    let outcome = case
        .requests(cx)
        .next()
        .map_or("local", |r| r.outcome.as_str());
    vec![Hypothesis::of(NAME, None).require(
        5.0,
        Check::Yes(general(
            "local_reason",
            Some(case.first(cx)),
            format!("the requests never left the generator's host ({outcome})"),
        )),
    )]
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{}: a reason of the load generator's own host, no pod saw them",
        facts::harm(group, cx)
    )
}

fn advice(_: &Group<'_>, _: &Context<'_>) -> Vec<Advice> {
    vec![Advice {
        field: "load".to_owned(),
        text: "look at the generator's host: ports in use (net.ipv4.ip_local_port_range), open files, DNS".to_owned(),
    }]
}
