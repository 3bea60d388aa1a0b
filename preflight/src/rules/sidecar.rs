//! `sidecar-first`: an ordinary proxy container that may end before the application.

use rollscope_records::budget::{GraceBudget, whole_seconds};
use rollscope_scenarios::RuleId;

use crate::container::{Container, Hook};
use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::patch::Edit;
use crate::shutdown::Shutdown;
use crate::words::span;

const SECOND: i64 = 1_000_000_000;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    let proxies = cx.workload.containers.iter().filter(|c| c.is_proxy);
    proxies.filter_map(|c| ends_first(c, cx)).collect()
}

/// From the deletion to the end of the application, as far as it is known, ns.
pub(super) fn application_ends(cx: &Context<'_>) -> i64 {
    let ends = cx.workload.apps().map(|c| {
        let shutdown = Shutdown::of(c, cx);
        shutdown
            .hook_seconds()
            .saturating_mul(SECOND)
            .saturating_add(shutdown.after_signal())
    });
    ends.max().unwrap_or(0)
}

fn ends_first<'a>(proxy: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    let ends = application_ends(cx);
    let hook = match proxy.hook() {
        Hook::Unknown => return None,
        Hook::Sleep { seconds, .. } => seconds,
        Hook::None => 0,
    };
    if cx.workload.grace() == 0 || (hook > 0 && hook.saturating_mul(SECOND) > ends) {
        return None;
    }
    let at = proxy.at.keys(&["lifecycle", "preStop"]);
    let seconds = whole_seconds(ends).saturating_add(1);
    let why = format!(
        "container {:?} is a proxy beside the application and gets the stop signal at the same time (its preStop: {hook} s), the application needs {} and its drain after the deletion: requests that it still answers are cut in the proxy",
        proxy.name,
        span(ends),
    );
    let mut edits = vec![Edit::set(&at.keys(&["sleep", "seconds"]), seconds)];
    if at.key("exec").is_there() {
        edits.push(Edit::remove(&at.key("exec")));
    }
    let budget = GraceBudget {
        pre_stop: seconds.saturating_mul(SECOND),
        drain: 0,
    };
    edits.extend(Shutdown::raise_grace(budget.needed_seconds(), cx));
    let text = format!(
        "let it sleep longer than the application drains ({seconds} s with what is known), or make it a native sidecar: an init container with restartPolicy Always ends after the application"
    );
    let fix = cx.fix(text, &edits);
    Some(cx.finding(
        RuleId::SidecarFirst,
        Severity::Warning,
        at.place(),
        why,
        fix,
    ))
}
