//! Lets the hypotheses of a case compete.
//!
//! Scores are log odds; with those of `unknown` (a constant) they make a distribution. The best one is the verdict
//! where it holds most of it; two or three that cannot be told apart are `several`; where `unknown` holds most,
//! nothing fits. A gap in what would decide turns the last two into `indeterminate`.

use std::collections::BTreeMap;

use super::{ALL, Case, Hypothesis, no_endpoints};
use crate::analysis::{Evidence, RuledOut};
use crate::context::{Context, general};
use crate::timeline::PodIx;

pub(crate) const SEVERAL: &str = "several";
pub(crate) const UNKNOWN: &str = "unknown";
pub(crate) const INDETERMINATE: &str = "indeterminate";

/// What `unknown` scores: a hypothesis needs more evidence than this.
const UNKNOWN_SCORE: f64 = 1.0;

/// A verdict needs this much of the distribution to stand alone ...
const ALONE: f64 = 0.75;

/// ... and one that holds this much cannot be left out otherwise.
const CANDIDATE: f64 = 0.15;

/// What has this much for it may be as true as that there was no endpoint, nats.
const LIKELY: f64 = 2.5;

/// Nothing is certain.
const MOST_CERTAIN: f64 = 0.99;

/// The verdict on a case.
#[derive(Debug, Clone)]
pub(crate) struct Judgement {
    pub(crate) cause: String,
    pub(crate) detail: Option<String>,
    pub(crate) confidence: f64,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) against: Vec<Evidence>,
    pub(crate) ruled_out: Vec<RuledOut>,
    /// The pod that the verdict is about.
    pub(crate) pod: Option<PodIx>,
}

/// Judges a case.
pub(crate) fn judge(case: &Case<'_>, cx: &Context<'_>) -> Judgement {
    let all = ALL.iter().flat_map(|s| (s.weigh)(case, cx));
    let mut all: Vec<Hypothesis> = disrupted(as_before(all.collect(), case, cx), cx);
    if no_endpoints::hides_a_closed_port(case, cx) {
        levelled(&mut all);
    }
    // A stable sort: the order of the signatures breaks ties.
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    let ruled_out = ruled_out(&all);
    let mut best_of: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (i, h) in all.iter().enumerate().filter(|(_, h)| h.possible()) {
        best_of.entry(h.cause).or_insert(i);
    }
    let mut possible: Vec<usize> = best_of.into_values().collect();
    possible.sort_unstable();
    let total: f64 =
        possible.iter().map(|i| all[*i].score.exp()).sum::<f64>() + UNKNOWN_SCORE.exp();
    let share = |h: &Hypothesis| h.score.exp() / total;
    let verdict = match possible.first().map(|i| &all[*i]) {
        Some(best) if best.score > UNKNOWN_SCORE => {
            let rivals: Vec<&Hypothesis> = possible
                .iter()
                .map(|i| &all[*i])
                .filter(|h| share(h) >= CANDIDATE && h.score > UNKNOWN_SCORE - 1.0)
                .take(3)
                .collect();
            if share(best) >= ALONE || rivals.len() < 2 {
                one(best, share(best))
            } else {
                several(&rivals, share(best))
            }
        }
        _ => nothing(cx),
    };
    let weaker = possible
        .iter()
        .map(|i| &all[*i])
        .filter(|h| !names(&verdict, h.cause))
        .map(|h| RuledOut {
            cause: h.cause.to_owned(),
            why: weaker_why(h, share(h)),
        });
    let ruled_out = ruled_out
        .into_iter()
        .filter(|r| !names(&verdict, &r.cause))
        .chain(weaker.collect::<Vec<_>>());
    let ruled_out = unique(ruled_out);
    hidden(
        Judgement {
            ruled_out,
            ..verdict
        },
        case,
        cx,
    )
}

/// What fails in the same way and no more often than before the rollout has no cause that lies in it.
fn as_before(all: Vec<Hypothesis>, case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if !case.usual {
        return all;
    }
    let usual = super::background::same_rate_before(case, cx);
    all.into_iter()
        .map(|h| match h.cause {
            super::background::NAME => h,
            _ => h.forbid(usual.clone()),
        })
        .collect()
}

/// Ways in which a pod's own shutdown fails requests, whoever asked for it.
const OWN_SHUTDOWN: [&str; 10] = [
    "early_close",
    "unforwarded_signal",
    "sigkill_overrun",
    "prestop_overrun",
    "app_deadline",
    "forced_exit",
    "dependency_closed_first",
    "double_shutdown",
    "stale_route",
    "sidecar_first",
];

/// What an evicted pod did is the eviction's before it is the way in which it shut down.
fn disrupted(all: Vec<Hypothesis>, cx: &Context<'_>) -> Vec<Hypothesis> {
    all.into_iter()
        .map(|h| match h.pod {
            Some(pod) if OWN_SHUTDOWN.contains(&h.cause) => {
                h.oppose(4.0, super::node_drain::evicted(pod, cx))
            }
            _ => h,
        })
        .collect()
}

/// No endpoint is as likely as the best of what else can have refused: nothing that is seen tells them apart.
fn levelled(all: &mut [Hypothesis]) {
    let (mut best, mut none) = (None::<usize>, None::<usize>);
    for (i, h) in all.iter().enumerate().filter(|(_, h)| h.possible()) {
        if h.cause == no_endpoints::NAME {
            none = Some(i);
        } else if h.plus >= LIKELY && best.is_none_or(|b| all[b].score < h.score) {
            best = Some(i);
        }
    }
    if let (Some(best), Some(none)) = (best, none) {
        let score = all[best].score.max(all[none].score);
        (all[best].score, all[none].score) = (score, score);
    }
}

fn names(verdict: &Judgement, cause: &str) -> bool {
    verdict.cause == cause
        || verdict.cause == SEVERAL
            && verdict
                .detail
                .as_deref()
                .is_some_and(|d| d.split(", ").any(|c| c == cause))
}

fn ruled_out(all: &[Hypothesis]) -> Vec<RuledOut> {
    all.iter()
        .filter_map(|h| {
            Some(RuledOut {
                cause: h.cause.to_owned(),
                why: h.ruled_out.clone()?,
            })
        })
        .collect()
}

fn unique(all: impl Iterator<Item = RuledOut>) -> Vec<RuledOut> {
    let mut kept: Vec<RuledOut> = Vec::new();
    for r in all {
        if !kept.iter().any(|k| k.cause == r.cause) {
            kept.push(r);
        }
    }
    kept
}

fn weaker_why(h: &Hypothesis, share: f64) -> String {
    let percent = (share * 100.0).round();
    match h.against.first() {
        Some(fact) => format!("less likely ({percent} %): {}", fact.text),
        None => format!("less likely ({percent} %): less speaks for it"),
    }
}

fn one(h: &Hypothesis, share: f64) -> Judgement {
    Judgement {
        cause: h.cause.to_owned(),
        detail: h.detail.map(str::to_owned),
        confidence: share.min(MOST_CERTAIN),
        evidence: h.evidence.clone(),
        against: h.against.clone(),
        ruled_out: Vec::new(),
        pod: h.pod,
    }
}

/// Names every rival in the detail, separated by `, `. Its confidence is that of the likeliest of them: that it is one
/// of them may be certain, but which is not.
fn several(rivals: &[&Hypothesis], share: f64) -> Judgement {
    let causes: Vec<&str> = rivals.iter().map(|h| h.cause).collect();
    let mut evidence: Vec<Evidence> = Vec::new();
    for fact in rivals.iter().flat_map(|h| &h.evidence) {
        if !evidence.contains(fact) {
            evidence.push(fact.clone());
        }
    }
    Judgement {
        cause: SEVERAL.to_owned(),
        detail: Some(causes.join(", ")),
        confidence: share.min(MOST_CERTAIN),
        evidence,
        against: rivals.iter().flat_map(|h| h.against.clone()).collect(),
        ruled_out: Vec::new(),
        pod: rivals.first().and_then(|h| h.pod),
    }
}

/// No cause is named, so there is no confidence in one.
fn nothing(cx: &Context<'_>) -> Judgement {
    let mut evidence = Vec::new();
    if cx.timeline.pods.is_empty() {
        evidence.push(general(
            "no_pod_facts",
            None,
            "no pod was observed in this run: a cause that lies in a pod cannot be told from another",
        ));
    }
    Judgement {
        cause: UNKNOWN.to_owned(),
        detail: None,
        confidence: 0.0,
        evidence,
        against: Vec::new(),
        ruled_out: Vec::new(),
        pod: None,
    }
}

/// A verdict that a gap may have cost its evidence is `indeterminate`.
fn hidden(mut verdict: Judgement, case: &Case<'_>, cx: &Context<'_>) -> Judgement {
    if verdict.cause != UNKNOWN && verdict.cause != SEVERAL {
        return verdict;
    }
    let (first, last) = (case.first(cx), case.last(cx));
    let from = case
        .suspects
        .iter()
        .filter_map(|p| cx.pod(*p).deletion_seen())
        .fold(first, std::cmp::Ord::min);
    let sources = ["watch/Pod", "watch/EndpointSlice", "logs"];
    let gap = sources.iter().find_map(|s| {
        // Margins of a second: what is seen late is hidden by a gap that begins late.
        let hidden = cx.gaps.first(
            s,
            from.plus_nanos(-1_000_000_000),
            last.plus_nanos(1_000_000_000),
        )?;
        Some((*s, hidden))
    });
    if let Some((source, (at, _))) = gap {
        verdict.evidence.push(general(
            "gap",
            Some(at),
            format!(
                "{source} has a gap over this time: what would decide may have been lost in it"
            ),
        ));
        verdict.cause = INDETERMINATE.to_owned();
        verdict.confidence = 0.0;
    }
    verdict
}
