//! `no-readiness-probe`, `same-probe-path`, `readiness-too-slow`, `liveness-kills`.

use rollscope_records::budget::whole_seconds;
use rollscope_scenarios::RuleId;
use serde_json::{Value, json};

use crate::at::At;
use crate::container::Container;
use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::patch::Edit;
use crate::problem::shown;
use crate::shutdown::{Delay, Shutdown};
use crate::words::span;

const SECOND: i64 = 1_000_000_000;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for container in cx.workload.serving() {
        let readiness = container.at.key("readinessProbe");
        if readiness.is_there() {
            findings.extend(same_path(container, cx));
            findings.extend(too_slow(container, cx));
        } else {
            findings.push(missing(container, cx));
        }
        findings.extend(liveness(container, cx));
    }
    findings
}

/// A probe's `periodSeconds` and `failureThreshold`, with the defaults of Kubernetes.
fn period_and_threshold(probe: &At<'_>) -> (i64, i64) {
    let period = probe
        .key("periodSeconds")
        .whole()
        .filter(|p| *p > 0)
        .unwrap_or(10);
    let threshold = probe
        .key("failureThreshold")
        .whole()
        .filter(|t| *t > 0)
        .unwrap_or(3);
    (period, threshold)
}

fn missing<'a>(container: &Container<'a>, cx: &Context<'a>) -> Finding {
    let at = container.at.key("readinessProbe");
    let port = container
        .port()
        .or_else(|| service_port(cx))
        .unwrap_or_else(|| json!(80));
    let why = format!(
        "container {:?} has no readiness probe: a new pod gets traffic as soon as its process has started, before it listens, and a rollout goes on though nothing answers",
        container.name
    );
    let probe = json!({
        "httpGet": { "path": "/healthz/ready", "port": port },
        "periodSeconds": 1,
        "failureThreshold": 2,
    });
    let text = "probe a path that answers 200 once requests can be served, and 503 while draining";
    let fix = cx.fix(text, &[Edit::set(&at, probe)]);
    cx.finding(
        RuleId::NoReadinessProbe,
        Severity::Error,
        at.place(),
        why,
        fix,
    )
}

/// The port to which a Service sends.
fn service_port(cx: &Context<'_>) -> Option<Value> {
    let service = cx.workload.services.first()?;
    let port = service
        .root
        .keys(&["spec", "ports"])
        .items()
        .into_iter()
        .next()?;
    let target = port.key("targetPort");
    let number = |at: &At<'_>| {
        at.plain()
            .map(|p| p.parse::<i64>().map_or_else(|_| json!(p), |n| json!(n)))
    };
    number(&target).or_else(|| number(&port.key("port")))
}

fn same_path<'a>(container: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    let path = |probe: &str| {
        let get = container.at.keys(&[probe, "httpGet"]);
        let at = get.key("path");
        (get.is_there()).then(|| (at.text().unwrap_or("/"), get.key("port").plain(), at))
    };
    let (ready, ready_port, at) = path("readinessProbe")?;
    let (live, live_port, _) = path("livenessProbe")?;
    if ready != live || ready_port != live_port {
        return None;
    }
    let why = format!(
        "readiness and liveness of container {:?} ask for the same path `{}`: answering 503 to leave rotation would also restart the container, and a program that says nothing on it cannot leave rotation at all",
        container.name,
        shown(ready)
    );
    let own = if ready == "/healthz/ready" {
        "/readyz"
    } else {
        "/healthz/ready"
    };
    let fix = cx.fix(
        format!("give readiness a path of its own, which answers 503 while draining; liveness stays at `{}`", shown(live)),
        &[Edit::set(&at, own)],
    );
    Some(cx.finding(
        RuleId::SameProbePath,
        Severity::Warning,
        at.place(),
        why,
        fix,
    ))
}

/// Readiness that turns later than the program stops serving.
fn too_slow<'a>(container: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    let shutdown = Shutdown::of(container, cx);
    let Delay::Known { nanos: delay, .. } = shutdown.delay else {
        return None;
    };
    let probe = container.at.key("readinessProbe");
    let (period, threshold) = period_and_threshold(&probe);
    let turns = period.saturating_mul(threshold);
    let lag = cx.lag();
    let window = delay.max(lag.nanos);
    if delay == 0 || turns.saturating_mul(SECOND) <= window {
        return None;
    }
    let why = format!(
        "readiness of container {:?} turns after periodSeconds {period} x failureThreshold {threshold} = {turns} s, the program stops serving {} after the signal: whoever follows readiness sends to it until then, while {} has long passed",
        container.name,
        span(delay),
        lag.words,
    );
    let seconds = (window / SECOND).max(1);
    let (period, threshold) = if seconds >= 2 {
        ((seconds / 2).min(5), 2)
    } else {
        (1, 1)
    };
    let edits = [
        Edit::set(&probe.key("periodSeconds"), period),
        Edit::set(&probe.key("failureThreshold"), threshold),
    ];
    let fix = cx.fix(
        format!("let it turn within {} s", period * threshold),
        &edits,
    );
    Some(cx.finding(
        RuleId::ReadinessTooSlow,
        Severity::Warning,
        probe.key("periodSeconds").place(),
        why,
        fix,
    ))
}

/// Liveness that ends a container which drains or is only slow. The kubelet stops liveness probes when a pod is deleted,
/// so what it can cut are the containers that it restarts.
fn liveness<'a>(container: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    let probe = container.at.key("livenessProbe");
    if !probe.is_there() {
        return None;
    }
    let shutdown = Shutdown::of(container, cx);
    let own = probe.key("terminationGracePeriodSeconds");
    if let Some(grace) = own.whole() {
        let hook = shutdown.hook_seconds();
        let sum = shutdown.budget(hook);
        if !sum.fits(grace) {
            let why = format!(
                "the liveness probe of container {:?} has a grace of its own of {grace} s: a restart by it cuts the drain, which needs preStop {hook} s + {} + 5 s = {} s",
                container.name,
                span(shutdown.after_signal()),
                whole_seconds(sum.needed()),
            );
            let fix = cx.fix("let it have the pod's grace", &[Edit::remove(&own)]);
            return Some(cx.finding(
                RuleId::LivenessKills,
                Severity::Warning,
                own.place(),
                why,
                fix,
            ));
        }
    }
    let readiness = container.at.key("readinessProbe");
    if !readiness.is_there() {
        return None;
    }
    let (ready_period, ready_threshold) = period_and_threshold(&readiness);
    let (period, threshold) = period_and_threshold(&probe);
    let turns = ready_period.saturating_mul(ready_threshold);
    let kills = period.saturating_mul(threshold);
    if kills >= turns {
        return None;
    }
    let why = format!(
        "liveness of container {:?} gives up after {period} s x {threshold} = {kills} s, readiness only turns after {ready_period} s x {ready_threshold} = {turns} s: a container that is slow or drains is killed while it is still in rotation",
        container.name
    );
    let least = turns / period + 1;
    let at = probe.key("failureThreshold");
    let fix = cx.fix(
        format!("let liveness fail {least} times, later than readiness"),
        &[Edit::set(&at, least)],
    );
    Some(cx.finding(
        RuleId::LivenessKills,
        Severity::Warning,
        at.place(),
        why,
        fix,
    ))
}
