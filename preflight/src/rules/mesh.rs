//! `sidecar-first`, `proxy-drain-over-grace`, `app-before-proxy` for proxies that a mesh puts into the pod.

use rollscope_records::budget::{GRACE_MARGIN, GraceBudget};
use rollscope_scenarios::RuleId;
use serde_json::{Value, json};

use super::sidecar::application_ends;
use crate::at::At;
use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::node::Node;
use crate::patch::Edit;
use crate::settings::nanos;
use crate::words::span;
use crate::yaml;

const SECOND: i64 = 1_000_000_000;

const ISTIO_CONFIG: &str = "proxy.istio.io/config";
const ISTIO_NATIVE: &str = "sidecar.istio.io/nativeSidecar";
const LINKERD_NATIVE: &str = "config.beta.linkerd.io/proxy-enable-native-sidecar";
const LINKERD_WAIT: &str = "config.alpha.linkerd.io/proxy-wait-before-exit-seconds";

/// Istio's `terminationDrainDuration` where nothing sets it, ns.
const ISTIO_DRAIN: i64 = 5 * SECOND;

/// A proxy that a mesh puts into the pod.
struct Proxy<'a> {
    mesh: &'static str,
    /// How long it stays after the signal, ns.
    stays: i64,
    /// Where that is said.
    at: At<'a>,
    /// The annotation that makes it a native sidecar.
    native: At<'a>,
}

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    if cx.workload.kind.is_job() || cx.workload.grace() == 0 {
        return Vec::new();
    }
    let proxies = [istio(cx), linkerd(cx)].into_iter().flatten();
    let mut findings: Vec<Finding> = proxies
        .flat_map(|p| [over_grace(&p, cx), ends_first(&p, cx)])
        .flatten()
        .collect();
    findings.extend(app_first(cx));
    findings
}

fn is(at: &At<'_>, wanted: &str) -> bool {
    at.plain().as_deref() == Some(wanted)
}

fn is_istio(cx: &Context<'_>) -> bool {
    let label = cx
        .workload
        .template
        .keys(&["metadata", "labels"])
        .key("sidecar.istio.io/inject");
    is(&label, "true") || is(&cx.workload.annotation("sidecar.istio.io/inject"), "true")
}

/// The proxy's configuration in the annotation; a mapping in YAML.
fn istio_config<'a>(cx: &Context<'a>) -> (At<'a>, Value) {
    let at = cx.workload.annotation(ISTIO_CONFIG);
    let mut problems = Vec::new();
    let read = at.text().map(|text| yaml::read("", text, &mut problems));
    let config = read.and_then(|d| d.first().map(Node::to_json));
    let config = config.filter(Value::is_object);
    if config.is_none() && at.is_there() {
        at.problem("a proxy configuration: a mapping in YAML");
    }
    (at, config.unwrap_or_else(|| json!({})))
}

fn istio<'a>(cx: &Context<'a>) -> Option<Proxy<'a>> {
    let native = cx.workload.annotation(ISTIO_NATIVE);
    if !is_istio(cx) || is(&native, "true") {
        return None;
    }
    let at = cx.workload.annotation(ISTIO_CONFIG);
    let (_, config) = istio_config(cx);
    let drain = config["terminationDrainDuration"]
        .as_str()
        .and_then(rollscope_scenarios::duration);
    Some(Proxy {
        mesh: "Istio",
        stays: drain.map_or(ISTIO_DRAIN, nanos),
        at,
        native,
    })
}

fn linkerd<'a>(cx: &Context<'a>) -> Option<Proxy<'a>> {
    let inject = cx.workload.annotation("linkerd.io/inject");
    let native = cx.workload.annotation(LINKERD_NATIVE);
    if !(is(&inject, "enabled") || is(&inject, "ingress")) || is(&native, "true") {
        return None;
    }
    let at = cx.workload.annotation(LINKERD_WAIT);
    let seconds = at.plain().and_then(|s| s.parse::<u32>().ok()).unwrap_or(0);
    Some(Proxy {
        mesh: "Linkerd",
        stays: i64::from(seconds).saturating_mul(SECOND),
        at,
        native,
    })
}

/// The proxy stays longer than the grace lets it.
fn over_grace(proxy: &Proxy<'_>, cx: &Context<'_>) -> Option<Finding> {
    let budget = GraceBudget {
        pre_stop: 0,
        drain: proxy.stays,
    };
    if budget.fits(cx.workload.grace()) {
        return None;
    }
    let needed = budget.needed_seconds();
    let why = format!(
        "{}'s proxy drains for {}, with a margin of {GRACE_MARGIN} s that is {needed} s, against {}: it is killed with what it still carries",
        proxy.mesh,
        span(proxy.stays),
        cx.workload.grace_words()
    );
    let fix = cx.fix(
        format!("terminationGracePeriodSeconds >= {needed} s"),
        &[Edit::set(&cx.workload.grace_at(), needed)],
    );
    Some(cx.finding(
        RuleId::ProxyDrainOverGrace,
        Severity::Error,
        proxy.at.place(),
        why,
        fix,
    ))
}

/// The proxy ends before the application.
fn ends_first(proxy: &Proxy<'_>, cx: &Context<'_>) -> Option<Finding> {
    let ends = application_ends(cx);
    if proxy.stays > ends {
        return None;
    }
    let why = format!(
        "{}'s proxy is an ordinary container and stays {} after the deletion, the application needs {} and its drain: requests that it still answers are cut in the proxy",
        proxy.mesh,
        span(proxy.stays),
        span(ends),
    );
    let fix = cx.fix(
        "make the proxy a native sidecar, which ends after the application",
        &[Edit::set(&proxy.native, "true")],
    );
    Some(cx.finding(
        RuleId::SidecarFirst,
        Severity::Warning,
        proxy.at.place(),
        why,
        fix,
    ))
}

/// The application starts before the proxy can carry anything.
fn app_first(cx: &Context<'_>) -> Option<Finding> {
    istio(cx)?;
    let (at, mut config) = istio_config(cx);
    if config["holdApplicationUntilProxyStarts"] == true {
        return None;
    }
    config["holdApplicationUntilProxyStarts"] = json!(true);
    let why = "Istio's proxy is an ordinary container, and holdApplicationUntilProxyStarts is not on: the application starts beside it, and its first connections fail until the proxy is up".to_owned();
    let fix = cx.fix(
        "let the application wait for the proxy, or make the proxy a native sidecar",
        &[Edit::set(&at, config.to_string())],
    );
    Some(cx.finding(RuleId::AppBeforeProxy, Severity::Note, at.place(), why, fix))
}
