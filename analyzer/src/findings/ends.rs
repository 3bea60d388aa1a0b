//! Pods and containers that ended as a signature describes, without harming a request.

use crate::analysis::{Burst, Finding};
use crate::burst::unique;
use crate::context::Context;
use crate::corners::judge_at_corners;
use crate::signatures::{Case, Group, Judgement, SEVERAL, by_name, undecided_summary};
use crate::timeline::{ContainerEnd, PodIx};
use crate::traffic::Kind;

/// Judges the end of every pod and container, and groups what is found.
pub(super) fn bad_ends(bursts: &[Burst], cx: &Context<'_>) -> Vec<Finding> {
    let mut groups: Vec<(Judgement, Vec<PodIx>)> = Vec::new();
    for ix in cx.timeline.indices() {
        for end in cx.pod(ix).ends().filter(|e| watched(ix, e, cx)) {
            let verdict = judge_at_corners(&Case::of_end(ix, end), cx);
            if by_name(&verdict.cause).is_none() && verdict.cause != SEVERAL {
                continue;
            }
            if harmed(bursts, ix, end, &verdict, cx) {
                continue;
            }
            let same = groups
                .iter_mut()
                .find(|(j, _)| j.cause == verdict.cause && j.detail == verdict.detail);
            match same {
                Some((j, pods)) => {
                    j.evidence.extend(verdict.evidence);
                    if !pods.contains(&ix) {
                        pods.push(ix);
                    }
                }
                None => groups.push((verdict, vec![ix])),
            }
        }
    }
    groups
        .iter()
        .map(|(j, pods)| finding(j, pods, cx))
        .collect()
}

/// The end came while we watched: not one of which the first list already told.
fn watched(ix: PodIx, end: &ContainerEnd, cx: &Context<'_>) -> bool {
    end.at.hi >= cx.pod(ix).first_seen
}

/// A burst on this pod has the same cause already, or the end cut requests for another one.
fn harmed(
    bursts: &[Burst],
    ix: PodIx,
    end: &ContainerEnd,
    verdict: &Judgement,
    cx: &Context<'_>,
) -> bool {
    let name = &cx.pod(ix).name;
    let blamed = bursts
        .iter()
        .any(|b| b.cause == verdict.cause && b.pods.contains(name));
    let cut = cx
        .traffic
        .failures
        .iter()
        .any(|f| f.pod == Some(ix) && f.kind == Kind::Cut && end.explains_cut_at(f.at));
    blamed || cut
}

fn finding(verdict: &Judgement, pods: &[PodIx], cx: &Context<'_>) -> Finding {
    let group = Group {
        detail: verdict.detail.as_deref(),
        pods,
        failures: &[],
    };
    let signature = by_name(&verdict.cause);
    Finding {
        cause: verdict.cause.clone(),
        detail: verdict.detail.clone(),
        pods: cx.timeline.names(pods),
        summary: match signature {
            Some(s) => (s.summary)(&group, cx),
            None => undecided_summary(&verdict.cause, verdict.detail.as_deref(), &group, cx),
        },
        evidence: unique(verdict.evidence.iter()),
        advice: signature.map_or_else(Vec::new, |s| (s.advice)(&group, cx)),
    }
}
