//! `host-port-surge`: a new pod that needs a port which the old one holds.

use rollscope_scenarios::RuleId;

use crate::at::At;
use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::patch::Edit;
use crate::workload::Kind;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    surge(cx).into_iter().collect()
}

fn surge(cx: &Context<'_>) -> Option<Finding> {
    let bounds = cx.workload.bounds()?;
    let (network, ports) = held(cx);
    let place = network.as_ref().or(ports.first())?;
    let (replicas, _) = cx.workload.replicas();
    if bounds.surge == 0 || (replicas == 0 && cx.workload.kind != Kind::DaemonSet) {
        return None;
    }
    let what = if network.is_some() {
        "the node's network"
    } else {
        "a port of the node"
    };
    let why = format!(
        "its pods hold {what}, and maxSurge comes to {} pods over the {replicas}: a new pod finds room only on a node without an old one; where there is none the rollout stands still",
        bounds.surge
    );
    let (text, edits) = match replicas > 1 || cx.workload.kind == Kind::DaemonSet {
        true => {
            let rolling = cx.workload.rolling()?;
            let edits = vec![
                Edit::set(&rolling.key("maxSurge"), 0),
                Edit::set(&rolling.key("maxUnavailable"), 1),
            ];
            ("replace one pod after the other on its node", edits)
        }
        false => {
            let edits = network.iter().chain(&ports).map(Edit::remove).collect();
            (
                "leave the node's ports to the node, and let a Service carry the traffic",
                edits,
            )
        }
    };
    Some(cx.finding(
        RuleId::HostPortSurge,
        Severity::Warning,
        place.place(),
        why,
        cx.fix(text, &edits),
    ))
}

/// `hostNetwork`, if it is on, and every `hostPort`.
fn held<'a>(cx: &Context<'a>) -> (Option<At<'a>>, Vec<At<'a>>) {
    let network = cx.workload.spec().key("hostNetwork");
    let ports = cx
        .workload
        .containers
        .iter()
        .flat_map(|c| c.at.key("ports").items());
    let ports = ports
        .map(|p| p.key("hostPort"))
        .filter(|p| p.whole().is_some_and(|n| n > 0))
        .collect();
    (network.flag().then_some(network), ports)
}
