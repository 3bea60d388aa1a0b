//! `preflight`.

use super::Checker;
use super::field::text;
use super::section::Section;
use crate::model::PreflightSpec;
use crate::rule_id::RuleId;
use crate::tree::Value;

/// What the pre-flight check is told; without a `preflight` nothing.
pub(super) fn preflight(top: &Section<'_>, checker: &mut Checker<'_>) -> Option<PreflightSpec> {
    if top.get("preflight").is_none() {
        return Some(PreflightSpec::default());
    }
    let section = top.section("preflight", checker)?;
    let allow = match section.get("allow") {
        Some(_) => allow(&section, checker),
        None => Some(Vec::new()),
    };
    let lag = section.duration("lag", checker);
    let delay = section.duration("delay", checker);
    let drain = section.duration("drain", checker);
    let balancer_idle = section.duration("balancer_idle", checker);
    Some(PreflightSpec {
        allow: allow?,
        lag: lag?,
        delay: delay?,
        drain: drain?,
        balancer_idle: balancer_idle?,
    })
}

/// The rules under `allow`; an id that no rule has is a problem.
fn allow(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Vec<RuleId>> {
    let items = section.items("allow", checker)?;
    let rules: Vec<Option<RuleId>> = items
        .iter()
        .map(|item| {
            let expected = "the id of a pre-flight rule such as `RS101`";
            if let Value::Text(written) = &item.node.value
                && written.parse::<RuleId>().is_err()
            {
                let nearest = RuleId::meant(written).map(str::to_owned);
                checker.unexpected(item, expected, nearest);
                return None;
            }
            text(item, checker, expected, |t| t.parse().ok())
        })
        .collect();
    rules.into_iter().collect()
}
