//! `balancers[]`: access logs of load balancers before the target.

use super::Checker;
use super::section::Section;
use crate::model::BalancerSpec;

/// The balancers of the scenario; `None` where there was a problem.
pub(super) fn balancers(top: &Section<'_>, checker: &mut Checker<'_>) -> Option<Vec<BalancerSpec>> {
    if top.get("balancers").is_none() {
        return Some(Vec::new());
    }
    let mut balancers: Vec<Option<BalancerSpec>> = Vec::new();
    for section in top.sections("balancers", checker)? {
        let taken: Vec<String> = balancers.iter().flatten().map(|b| b.name.clone()).collect();
        balancers.push(section.and_then(|s| balancer(&s, &taken, checker)));
    }
    balancers.into_iter().collect()
}

fn balancer(
    section: &Section<'_>,
    taken: &[String],
    checker: &mut Checker<'_>,
) -> Option<BalancerSpec> {
    let text = |t: &str| (!t.trim().is_empty()).then(|| t.to_owned());
    let name = section.parsed("name", checker, |t| text(t).filter(|t| !taken.contains(t)));
    let file = section.parsed("file", checker, text);
    let format = section.parsed("format", checker, text);
    Some(BalancerSpec {
        name: name?,
        file: checker.base_dir.join(file?),
        format: format?,
    })
}
