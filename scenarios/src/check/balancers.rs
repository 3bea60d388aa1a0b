//! `balancers[]`: access logs of load balancers before the target.

use super::Checker;
use super::load::Names;
use super::section::Section;
use crate::model::BalancerSpec;

/// The balancers of the scenario; `None` where there was a problem.
pub(super) fn balancers(top: &Section<'_>, checker: &mut Checker<'_>) -> Option<Vec<BalancerSpec>> {
    if top.get("balancers").is_none() {
        return Some(Vec::new());
    }
    let mut names = Names::default();
    let mut balancers: Vec<Option<BalancerSpec>> = Vec::new();
    for section in top.sections("balancers", checker)? {
        balancers.push(section.and_then(|section| {
            names.check(&section, "balancer", checker);
            balancer(&section, checker)
        }));
    }
    balancers.into_iter().collect()
}

fn balancer(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<BalancerSpec> {
    let text = |t: &str| (!t.trim().is_empty()).then(|| t.to_owned());
    let name = section.parsed("name", checker, text);
    let file = section.parsed("file", checker, text);
    let format = section.parsed("format", checker, text);
    Some(BalancerSpec {
        name: name?,
        file: checker.base_dir.join(file?),
        format: format?,
    })
}
