//! `publish-not-ready`: a Service that sends to pods that are not ready.

use rollscope_scenarios::RuleId;

use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::patch::Edit;
use crate::workload::Joined;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    let headless = |s: &Joined<'_>| s.root.keys(&["spec", "clusterIP"]).text() == Some("None");
    let others = cx.workload.services.iter().any(|s| !headless(s));
    let services = cx.workload.services.iter();
    services
        // Peers find one another by a headless Service before they are ready; clients have the other one.
        .filter(|s| !(headless(s) && others))
        .filter_map(|s| publishes(s, cx))
        .collect()
}

fn publishes(service: &Joined<'_>, cx: &Context<'_>) -> Option<Finding> {
    let at = service.root.keys(&["spec", "publishNotReadyAddresses"]);
    at.flag().then(|| {
        let why = format!(
            "Service {:?} has publishNotReadyAddresses: pods that have not started and pods that are terminating stay ready in its endpoints, so requests go to them until they are gone",
            service.object.name
        );
        let text = "leave it out; for peers that must find one another, a headless Service of their own";
        let fix = cx.fix_of(service, text, &[Edit::set(&at, false)]);
        cx.finding(RuleId::PublishNotReady, Severity::Error, at.place(), why, fix)
    })
}
