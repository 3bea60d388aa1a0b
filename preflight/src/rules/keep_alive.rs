//! `keep-alive-below-balancer`: a server that closes idle connections before the balancer does.

use rollscope_scenarios::RuleId;

use crate::container::{Container, Setting};
use crate::context::{Context, annotation, ingress_class, is_alb, is_aws_balancer};
use crate::finding::{Finding, Severity};
use crate::known::{KEEP_ALIVES, NODE_KEEP_ALIVE};
use crate::patch::Edit;
use crate::settings::nanos;
use crate::words::span;
use crate::workload::Joined;

const SECOND: i64 = 1_000_000_000;

/// A balancer that keeps idle connections to the program.
struct Balancer {
    /// How long, ns.
    idle: i64,
    /// How long the program should keep them, ns.
    advised: i64,
    words: String,
}

impl Balancer {
    fn new(words: &str, idle: i64) -> Self {
        Self {
            idle,
            advised: idle.saturating_add(5 * SECOND),
            words: words.to_owned(),
        }
    }
}

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    let Some(balancer) = balancer(cx) else {
        return Vec::new();
    };
    let serving = cx.workload.serving().into_iter();
    serving
        .filter_map(|c| too_short(c, &balancer, cx))
        .collect()
}

/// The balancer that keeps connections longest.
fn balancer(cx: &Context<'_>) -> Option<Balancer> {
    if let Some(idle) = cx.settings.balancer_idle {
        return Some(Balancer::new("the balancer (as stated)", nanos(idle)));
    }
    let ingresses = cx.workload.ingresses.iter().filter_map(of_ingress);
    let services = cx.workload.services.iter().filter_map(of_service);
    ingresses.chain(services).max_by_key(|b| b.idle)
}

fn of_ingress(ingress: &Joined<'_>) -> Option<Balancer> {
    if is_alb(ingress) {
        let attributes = annotation(
            ingress,
            "alb.ingress.kubernetes.io/load-balancer-attributes",
        );
        let stated = attributes.and_then(|a| {
            let pairs = a.split(',').filter_map(|p| p.split_once('='));
            let mut idle = pairs.filter(|(k, _)| k.trim() == "idle_timeout.timeout_seconds");
            idle.next()?.1.trim().parse::<i64>().ok()
        });
        let seconds = stated.unwrap_or(60);
        return Some(Balancer::new(
            "the AWS application load balancer",
            seconds.saturating_mul(SECOND),
        ));
    }
    match ingress_class(ingress).as_deref() {
        Some("nginx") => Some(Balancer::new(
            "ingress-nginx (upstream-keepalive-timeout)",
            60 * SECOND,
        )),
        Some("gce" | "gce-internal") => Some(Balancer {
            advised: 620 * SECOND,
            ..Balancer::new("the Google Cloud load balancer", 600 * SECOND)
        }),
        _ => None,
    }
}

/// A classic load balancer of AWS that speaks HTTP; one that only carries bytes keeps no connections of its own.
fn of_service(service: &Joined<'_>) -> Option<Balancer> {
    const PREFIX: &str = "service.beta.kubernetes.io/aws-load-balancer-";
    let protocol = annotation(service, &format!("{PREFIX}backend-protocol"));
    if !is_aws_balancer(service) || !protocol.is_some_and(|p| p.starts_with("http")) {
        return None;
    }
    let stated = annotation(service, &format!("{PREFIX}connection-idle-timeout"));
    let seconds = stated.and_then(|s| s.parse::<i64>().ok()).unwrap_or(60);
    Some(Balancer::new(
        "the AWS classic load balancer",
        seconds.saturating_mul(SECOND),
    ))
}

fn too_short<'a>(
    container: &Container<'a>,
    balancer: &Balancer,
    cx: &Context<'a>,
) -> Option<Finding> {
    let (keeps, words, at) = match container.time(KEEP_ALIVES) {
        Setting::Known { nanos, name, at } => (
            nanos,
            format!("{name} is {}", span(nanos)),
            Some((name, at)),
        ),
        Setting::Unknown => return None,
        Setting::None if cx.is_node(container) => (
            NODE_KEEP_ALIVE,
            format!(
                "it is not set, and Node's default is {}",
                span(NODE_KEEP_ALIVE)
            ),
            None,
        ),
        Setting::None => return None,
    };
    if keeps > balancer.idle {
        return None;
    }
    let env = container.at.key("env");
    let why = format!(
        "container {:?} closes idle keep-alive connections before the balancer ({words}), {} keeps them {}: a request that it writes as the program closes is lost, in healthy pods at any time",
        container.name,
        balancer.words,
        span(balancer.idle)
    );
    let advised = balancer.advised;
    let (edit, place) = match &at {
        Some((name, at)) => {
            let value = crate::container::written(name, &at.plain().unwrap_or_default(), advised);
            (Edit::set(at, value), at.place())
        }
        None => {
            let value = (advised / 1_000_000).to_string();
            (
                Edit::set(
                    &env.item("name", "KEEP_ALIVE_TIMEOUT_MS").key("value"),
                    value,
                ),
                env.place(),
            )
        }
    };
    let text = format!(
        "keep them for {}; the program sets `server.keepAliveTimeout` from the variable, and `server.headersTimeout` above it",
        span(advised)
    );
    let fix = cx.fix(text, &[edit]);
    Some(cx.finding(
        RuleId::KeepAliveBelowBalancer,
        Severity::Warning,
        place,
        why,
        fix,
    ))
}
