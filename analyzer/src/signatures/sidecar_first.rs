//! `sidecar_first`: the proxy container of a terminating pod ends before the application's, which then can neither be
//! reached nor reach anything.

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::timeline::{PodIx, Step};
use crate::traffic::Kind;
use crate::words::span;

const NAME: &str = "sidecar_first";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    let kinds = matches!(
        case.kind,
        Kind::Refused | Kind::Vanished | Kind::Cut | Kind::AppStatus(500..=599) | Kind::PodEnd
    );
    if !kinds {
        return Vec::new();
    }
    facts::best(case, |p| {
        cx.pod(p).proxy_ended_first()?;
        Some(
            Hypothesis::of(NAME, None)
                .on(p)
                .require(1.5, facts::after_deletion(case, p, cx))
                .require(4.5, facts::proxy_ended_first(case, p, cx))
                .forbid(oom_of_proxy(p, cx))
                .weigh(1.0, 0.0, ran_on(p, cx))
                .weigh(0.5, 0.0, facts::drain_sign(p, cx))
                .oppose(4.0, closed_by_itself(case, p, cx))
                .oppose_by(facts::quiet_since_it_refuses(case, p, cx)),
        )
    })
    .into_iter()
    .collect()
}

fn oom_of_proxy(pod: PodIx, cx: &Context<'_>) -> Check {
    match cx.pod(pod).proxy_ended_first().filter(|e| e.oom()) {
        Some(e) => Check::Yes(cx.fact(
            "oom_killed",
            pod,
            Some(e.at),
            format!("its container {} was OOMKilled", e.container),
        )),
        None => Check::No(String::new()),
    }
}

/// The application was still there a while later.
fn ran_on(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let (Some(proxy), Some(end)) = (p.proxy_ended_first(), p.end.as_ref()) else {
        return Check::Unseen;
    };
    let longer = end.point().nanos_since(proxy.point());
    Check::when(
        longer >= SECOND,
        || {
            cx.fact(
                "application_ran_on",
                pod,
                Some(end.at),
                format!("the application ran on for {} without it", span(longer)),
            )
        },
        "",
    )
}

/// The application says that it had closed its own listener before the failures: the proxy is not what refused.
fn closed_by_itself(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let proxy = cx.pod(pod).proxy_ended_first();
    let closed = cx.drain(pod).and_then(|d| {
        let at = d
            .shutdown
            .stages
            .iter()
            .find(|s| s.step == Step::ListenerClosed)?
            .at;
        (at <= case.first(cx) && proxy.is_some_and(|e| at < e.at.lo)).then_some(at)
    });
    match closed {
        Some(at) if case.kind == Kind::Refused => Check::Yes(cx.fact(
            "closed_by_itself",
            pod,
            Some(rollscope_records::Interval::at(at)),
            "its log says that it had closed its listener before its proxy ended",
        )),
        _ => Check::No(String::new()),
    }
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    let longest = group.pods.iter().filter_map(|p| {
        let p = cx.pod(*p);
        let proxy = p.proxy_ended_first()?;
        let longer = p.end.as_ref()?.point().nanos_since(proxy.point());
        Some((longer, proxy.container.clone()))
    });
    let (before, container) = match longest.max() {
        Some((n, name)) => (format!(" {} before the application", span(n)), name),
        None => (" before the application".to_owned(), "proxy".to_owned()),
    };
    format!(
        "{} on {}: the container {container} ended{before}",
        facts::harm(group, cx),
        facts::who(group, cx)
    )
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    let longest = group.pods.iter().filter_map(|p| {
        let p = cx.pod(*p);
        Some(
            p.end
                .as_ref()?
                .point()
                .nanos_since(p.proxy_ended_first()?.point()),
        )
    });
    let by = longest.max().map_or_else(String::new, |n| {
        format!(
            " (it ended {} before the application; it must outlast it)",
            span(n)
        )
    });
    vec![
        Advice {
            field: "spec.template.spec.initContainers[].restartPolicy".to_owned(),
            text: format!(
                "run the proxy as a native sidecar (an init container with restartPolicy: Always): it is stopped after the application's containers{by}; now: an ordinary container, which is stopped at the same time"
            ),
        },
        advice::proxy_hook(group.pods, cx),
    ]
}
