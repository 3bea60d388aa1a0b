//! `all-unavailable`, `rollout-cannot-move`, `no-surge`, `pdb-blocks`: whether somebody serves while pods are replaced.

use rollscope_scenarios::RuleId;
use serde_json::json;

use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::patch::Edit;
use crate::workload::{Bounds, Joined, Kind};

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if cx.workload.serves() && (cx.workload.replicas().0 > 0 || cx.workload.kind == Kind::DaemonSet)
    {
        findings.extend(strategy(cx));
    }
    findings.extend(cx.workload.budgets.iter().filter_map(|b| blocks(b, cx)));
    findings
}

fn strategy(cx: &Context<'_>) -> Option<Finding> {
    if let Some(finding) = recreate(cx) {
        return Some(finding);
    }
    if cx.workload.kind == Kind::StatefulSet {
        return single_stateful(cx);
    }
    let rolling = cx.workload.rolling()?;
    let (surge, unavailable) = (rolling.key("maxSurge"), rolling.key("maxUnavailable"));
    let both = (surge.amount(), unavailable.amount());
    if let (Some(s), Some(u)) = both
        && s.is_zero()
        && u.is_zero()
    {
        let why = format!(
            "maxSurge is {s} and maxUnavailable is {u}: no pod could ever be replaced, and the API server refuses it"
        );
        let fix = cx.fix("let one pod more run", &[Edit::set(&surge, 1)]);
        return Some(cx.finding(
            RuleId::RolloutCannotMove,
            Severity::Error,
            surge.place(),
            why,
            fix,
        ));
    }
    if cx.workload.kind == Kind::DaemonSet {
        return every_node(cx);
    }
    let bounds = cx.workload.bounds()?;
    nobody_left(bounds, cx)
}

/// Every old pod is gone before the first new one.
fn recreate(cx: &Context<'_>) -> Option<Finding> {
    let strategy = cx.workload.root.keys(&["spec", "strategy"]);
    if cx.workload.kind != Kind::Deployment || strategy.key("type").text() != Some("Recreate") {
        return None;
    }
    let claims = cx.workload.spec().key("volumes").items();
    let claimed = claims
        .iter()
        .any(|v| v.key("persistentVolumeClaim").is_there());
    let why = format!(
        "strategy Recreate: all of the {} end before the first new pod starts, so that every request fails from then until one is ready",
        cx.workload.replicas_words()
    );
    let new =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    let text = match claimed {
        true => {
            "roll; it needs a volume that two pods can hold at once (ReadWriteMany), which the claim may not be"
        }
        false => "roll: start a new pod before an old one ends",
    };
    let fix = cx.fix(text, &[Edit::set(&strategy, new)]);
    Some(cx.finding(
        RuleId::NoSurge,
        Severity::Error,
        strategy.key("type").place(),
        why,
        fix,
    ))
}

fn single_stateful(cx: &Context<'_>) -> Option<Finding> {
    let (replicas, at) = cx.workload.replicas();
    (replicas == 1).then(|| {
        let why =
            "a StatefulSet of one replica has no other pod to serve while its only one is replaced"
                .to_owned();
        let fix = cx.fix(
            "where the program can run as several: two replicas",
            &[Edit::set(&at, 2)],
        );
        cx.finding(RuleId::NoSurge, Severity::Note, at.place(), why, fix)
    })
}

/// A DaemonSet that ends all its pods at once.
fn every_node(cx: &Context<'_>) -> Option<Finding> {
    let at = cx.workload.rolling()?.key("maxUnavailable");
    let amount = at.amount()?;
    (amount.down(100) >= 100 && amount != crate::at::Amount::Pods(100)).then(|| {
        let why = format!("maxUnavailable is {amount}: the pods of all nodes end at once");
        let fix = cx.fix("one node after the other", &[Edit::set(&at, 1)]);
        cx.finding(
            RuleId::AllUnavailable,
            Severity::Error,
            at.place(),
            why,
            fix,
        )
    })
}

fn nobody_left(bounds: Bounds, cx: &Context<'_>) -> Option<Finding> {
    let rolling = cx.workload.rolling()?;
    let (replicas, _) = cx.workload.replicas();
    if bounds.unavailable < replicas {
        return None;
    }
    let written = |key: &str| {
        rolling
            .key(key)
            .amount()
            .map_or_else(|| "25% (the default)".to_owned(), |a| a.to_string())
    };
    let mut edits = vec![Edit::set(&rolling.key("maxUnavailable"), 0)];
    if bounds.surge == 0 {
        edits.push(Edit::set(&rolling.key("maxSurge"), 1));
    }
    let sum = format!(
        "maxSurge {} and maxUnavailable {} of {} come to {} and {} pods",
        written("maxSurge"),
        written("maxUnavailable"),
        cx.workload.replicas_words(),
        bounds.surge,
        bounds.unavailable
    );
    let at = rolling.key("maxUnavailable");
    let fix = cx.fix("start a new pod before an old one ends", &edits);
    if replicas == 1 {
        let why = format!(
            "{sum}: the only pod may end before a new one is ready, and every request fails until then"
        );
        return Some(cx.finding(RuleId::NoSurge, Severity::Error, at.place(), why, fix));
    }
    let why = format!(
        "{sum}: a rollout may end all pods at once, and every request fails until a new one is ready"
    );
    Some(cx.finding(
        RuleId::AllUnavailable,
        Severity::Error,
        at.place(),
        why,
        fix,
    ))
}

/// A disruption budget that lets no pod go.
fn blocks(budget: &Joined<'_>, cx: &Context<'_>) -> Option<Finding> {
    let (replicas, _) = cx.workload.replicas();
    if replicas == 0 || cx.workload.kind == Kind::DaemonSet {
        return None;
    }
    let spec = budget.root.key("spec");
    let (least, most) = (spec.key("minAvailable"), spec.key("maxUnavailable"));
    let (at, written, allowed) = match (least.amount(), most.amount()) {
        (Some(amount), _) => (
            &least,
            format!("minAvailable {amount}"),
            replicas - amount.up(replicas),
        ),
        (None, Some(amount)) => (
            &most,
            format!("maxUnavailable {amount}"),
            amount.up(replicas),
        ),
        (None, None) => return None,
    };
    if allowed > 0 {
        return None;
    }
    let why = format!(
        "PodDisruptionBudget {:?} with {written} allows no disruption of {}: draining a node waits for ever, until somebody deletes the pods without their grace",
        budget.object.name,
        cx.workload.replicas_words()
    );
    let mut edits = vec![Edit::set(&most, 1)];
    if least.is_there() {
        edits.push(Edit::remove(&least));
    }
    let text = match replicas {
        1 => "let one pod go at a time; to serve meanwhile it takes a second replica",
        _ => "let one pod go at a time",
    };
    let fix = cx.fix_of(budget, text, &edits);
    Some(cx.finding(RuleId::PdbBlocks, Severity::Error, at.place(), why, fix))
}
