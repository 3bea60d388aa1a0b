//! `background`: it failed like this before anything was changed, or where nothing was.

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature, no_advice, ready_too_early};
use crate::background::chance_of_at_least;
use crate::context::{Context, general};
use crate::timeline::PodIx;
use crate::traffic::{How, Kind, down_at};
use crate::words::{count, span};

pub(super) const NAME: &str = "background";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice: no_advice,
};

/// So many or more failures are still what the rate before brings, when their chance is at least this.
const USUAL: f64 = 0.02;

/// A case alone lasts this long at least: the gap that would have split it, ns.
const AROUND: i64 = 2 * SECOND;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if matches!(case.kind, Kind::PodEnd | Kind::Local) {
        return Vec::new();
    }
    let first = case.first(cx);
    let before = cx.baseline.until.is_none_or(|start| case.last(cx) < start);
    let check = if before {
        Check::Yes(general(
            "before_the_rollout",
            Some(first),
            "it failed before anything was changed",
        ))
    } else {
        match same_rate_before(case, cx) {
            Check::Yes(fact) => Check::Yes(fact),
            _ => on_an_unchanged_pod(case, cx),
        }
    };
    let certain = before || matches!(same_rate_before(case, cx), Check::Yes(_));
    vec![
        Hypothesis::of(NAME, None)
            .require(if certain { 3.0 } else { 1.75 }, check)
            .forbid(if case.usual {
                Check::Unseen
            } else {
                an_end_explains(case, cx)
            }),
    ]
}

/// The rate before the rollout explains so many of this kind.
pub(super) fn same_rate_before(case: &Case<'_>, cx: &Context<'_>) -> Check {
    if let always @ Check::Yes(_) = always_so(case, cx) {
        return always;
    }
    let n = cx.baseline.count(case.kind);
    if n == 0 {
        return Check::No("nothing failed like this before the rollout".to_owned());
    }
    let lasted = case.last(cx).nanos_since(case.first(cx)) + AROUND;
    // A pod that is known by time alone says nothing of where such failures lie.
    let named = case.failures(cx).next().filter(|f| f.how != How::ByTime);
    let pod = named.and_then(|f| f.pod);
    let expected = match case.kind {
        Kind::AppStatus(_) => expected_of_name(case, pod, cx),
        _ => cx.baseline.expected(case.kind, pod, lasted),
    };
    Check::when(
        chance_of_at_least(case.len(), expected) >= USUAL || as_many_as_ever(case, cx),
        || {
            general(
                "same_rate_before",
                None,
                format!(
                    "{} failed like this in the {} before the rollout: {} in {} are no more than usual",
                    count(n, "request"),
                    span(cx.baseline.length),
                    case.len(),
                    span(lasted)
                ),
            )
        },
        "more failed than the rate before the rollout explains",
    )
}

/// The application answers these requests like this whatever is done to it.
fn always_so(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let name = case.requests(cx).next().map(|r| r.name);
    let always = match (case.kind, name) {
        (Kind::AppStatus(_), Some(name)) => cx.baseline.always(name, case.kind),
        _ => None,
    };
    match always {
        Some(n) => Check::Yes(general(
            "always_so",
            None,
            format!(
                "{} of this name were answered like this, and hardly one went well in the whole run",
                count(n, "request")
            ),
        )),
        None => Check::Unseen,
    }
}

/// An application's errors that come now and then come also in the moments of a rollout: all of them since its start are
/// no more than the share of requests that failed like this before brings.
fn as_many_as_ever(case: &Case<'_>, cx: &Context<'_>) -> bool {
    if !matches!(case.kind, Kind::AppStatus(_)) {
        return false;
    }
    let since = cx.baseline.until;
    let alike = cx.traffic.failures.iter();
    let alike = alike.filter(|f| f.kind == case.kind && since.is_none_or(|s| f.at >= s));
    chance_of_at_least(alike.count() as u64, cx.baseline.expected_since(case.kind)) >= USUAL
}

/// How many of the requests of the same name around the case fail like it by the share of them that did before.
fn expected_of_name(case: &Case<'_>, pod: Option<PodIx>, cx: &Context<'_>) -> f64 {
    let Some(name) = case.requests(cx).next().map(|r| r.name) else {
        return 0.0;
    };
    let share = cx.baseline.share(name, case.kind);
    if share <= 0.0 {
        return 0.0;
    }
    let from = case.requests(cx).map(|r| r.scheduled).min();
    let to = case.requests(cx).map(|r| r.scheduled).max();
    let (Some(from), Some(to)) = (from, to) else {
        return 0.0;
    };
    let (from, to) = (from.plus_nanos(-AROUND / 2), to.plus_nanos(AROUND / 2));
    let first = cx.traffic.requests.partition_point(|r| r.scheduled < from);
    let tried = cx
        .traffic
        .requests
        .range(first..)
        .zip(first..)
        .take_while(|(r, _)| r.scheduled <= to)
        .filter(|(r, on)| r.name == name && (pod.is_none() || cx.traffic.certain.pod(*on) == pod))
        .count();
    share * tried as f64
}

/// The pod is known and nothing happened to it.
fn on_an_unchanged_pod(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let (first, last) = (case.first(cx), case.last(cx));
    let Some(pod) = case.failures(cx).next().and_then(|f| f.pod) else {
        return Check::No("more failed than before the rollout".to_owned());
    };
    let p = cx.pod(pod);
    let leaving = p
        .deletion_seen()
        .is_some_and(|d| d.plus_nanos(-SECOND / 2) <= last);
    let starting = !p.listed
        && p.first_ready()
            .is_none_or(|r| first.nanos_since(r) < 15 * SECOND)
        && !matches!(ready_too_early::answered_well(case, pod, cx), Check::Yes(_));
    Check::when(
        !leaving && !starting,
        || {
            cx.fact(
                "unchanged_pod",
                pod,
                None,
                "nothing was being done to it when it failed",
            )
        },
        &format!("{} was changing then", p.name),
    )
}

fn an_end_explains(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let ended = case.suspects.iter().find(|p| match case.kind {
        Kind::Cut => case.end_on(**p, cx).is_some(),
        Kind::Refused | Kind::Vanished | Kind::NoBackend => {
            down_at(cx.pod(**p), case.first(cx)).is_some()
        }
        _ => false,
    });
    match ended {
        Some(p) => Check::Yes(cx.fact("an_end_explains", *p, None, "its container ended then")),
        None => Check::No(String::new()),
    }
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    format!(
        "{}: the rollout is not to blame, it failed like this without it",
        facts::harm(group, cx)
    )
}
