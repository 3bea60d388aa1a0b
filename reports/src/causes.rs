//! Bursts put together by what they have in common, for those who read causes first.

use rollscope_analyzer::{Advice, Analysis, Burst, VerdictOutcome};

/// Bursts that have cause and detail in common, in the order of the first of each; no group is empty.
pub(crate) fn groups(bursts: &[Burst]) -> Vec<Vec<&Burst>> {
    let mut groups: Vec<Vec<&Burst>> = Vec::new();
    for burst in bursts {
        let same = |g: &&mut Vec<&Burst>| g[0].cause == burst.cause && g[0].detail == burst.detail;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(burst),
            None => groups.push(vec![burst]),
        }
    }
    groups
}

/// What to change: each advice once, with the numbers of the bursts that ask for it.
pub(crate) fn changes(bursts: &[Burst]) -> Vec<(&Advice, Vec<u32>)> {
    let mut changes: Vec<(&Advice, Vec<u32>)> = Vec::new();
    for burst in bursts {
        for advice in &burst.advice {
            match changes.iter_mut().find(|(known, _)| *known == advice) {
                Some((_, ids)) => ids.push(burst.id),
                None => changes.push((advice, vec![burst.id])),
            }
        }
    }
    changes
}

/// Whether the verdict's reasons say more than the count of failures and what the gate allows, which every report
/// tells anyway.
pub(crate) fn reasons_say_more(analysis: &Analysis) -> bool {
    let counted = analysis.requests.failed > analysis.run.max_failed;
    let alone = analysis.verdict.reasons.len() == 1;
    !(counted && alone && analysis.verdict.outcome == VerdictOutcome::GateFailed)
}
