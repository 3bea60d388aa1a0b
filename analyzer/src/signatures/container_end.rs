//! Ends of containers that no deletion asked for: what `oom_kill`, `liveness_kill` and `crash` have in common.

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group};
use crate::context::Context;
use crate::timeline::{ContainerEnd, PodIx};
use crate::traffic::{Kind, down_at};
use crate::words::{count, span};

/// Refusals that show that a pod refuses.
const SEVERAL: usize = 3;

/// Weighs a case against an end that `fits`.
pub(super) fn weigh(
    name: &'static str,
    case: &Case<'_>,
    cx: &Context<'_>,
    fits: impl Fn(&Context<'_>, PodIx, &ContainerEnd) -> Check,
) -> Option<Hypothesis> {
    if !matches!(
        case.kind,
        Kind::Cut | Kind::Refused | Kind::Vanished | Kind::NoBackend | Kind::PodEnd
    ) {
        return None;
    }
    facts::best(case, |p| {
        let Some(end) = responsible(case, p, cx) else {
            return Some(Hypothesis::of(name, None).on(p).require(
                0.0,
                Check::No(format!("no container of {} ended then", cx.pod(p).name)),
            ));
        };
        Some(
            Hypothesis::of(name, None)
                .on(p)
                .require(3.0, fits(cx, p, end))
                .require(3.0, explains(case, p, end, cx))
                .oppose(2.5, others_refused_before(case, p, end, cx))
                .oppose(1.0, another_ended(case, p, cx))
                .oppose_by(facts::quiet_since(case, p, end.at.hi, cx)),
        )
    })
}

/// The end that explains the failures: one at the moment of every cut, or one whose container was down meanwhile.
fn responsible<'c>(case: &Case<'_>, pod: PodIx, cx: &'c Context<'_>) -> Option<&'c ContainerEnd> {
    case.end_on(pod, cx).or_else(|| {
        matches!(case.kind, Kind::Refused | Kind::Vanished | Kind::NoBackend)
            .then(|| down_at(cx.pod(pod), case.first(cx)))
            .flatten()
    })
}

/// Another pod that can have refused these was deleted and had just ended: it refused as well while it was routed to.
fn another_ended(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let last = case.last(cx);
    let just = |p: &PodIx| {
        let end = cx
            .pod(*p)
            .end_at()
            .filter(|_| cx.pod(*p).deletion.is_some());
        end.is_some_and(|e| (0..2 * SECOND).contains(&last.nanos_since(e.lo)))
    };
    let other = case.suspects.iter().find(|p| **p != pod && just(p));
    match other {
        Some(p) if case.kind == Kind::Refused => Check::Yes(cx.fact(
            "another_ended",
            *p,
            cx.pod(*p).end_at(),
            "it had just ended in its termination and was perhaps still routed to",
        )),
        _ => Check::No(String::new()),
    }
}

/// Others that can have refused these did so just before, when it was certainly not down: they may have gone on.
fn others_refused_before(
    case: &Case<'_>,
    pod: PodIx,
    end: &ContainerEnd,
    cx: &Context<'_>,
) -> Check {
    let until = case.first(cx).min(end.at.lo.plus_nanos(-SECOND / 10));
    let fails = &cx.traffic.failures;
    let since = fails.partition_point(|f| f.at < until.plus_nanos(-SECOND));
    let before: Vec<PodIx> = fails[since..]
        .iter()
        .take_while(|f| f.at < until)
        .filter(|f| f.kind == Kind::Refused && !f.suspects.contains(&pod))
        .filter_map(|f| {
            f.suspects
                .iter()
                .find(|p| case.suspects.contains(p))
                .copied()
        })
        .collect();
    match before.last() {
        Some(other) if case.kind == Kind::Refused && before.len() >= SEVERAL => {
            Check::Yes(cx.fact(
                "others_refused_before",
                *other,
                Some(rollscope_records::Interval::at(until)),
                "it refused just before, and can have gone on",
            ))
        }
        _ => Check::No(String::new()),
    }
}

fn explains(case: &Case<'_>, pod: PodIx, end: &ContainerEnd, cx: &Context<'_>) -> Check {
    let text = match case.kind {
        Kind::PodEnd => format!("its container ended with {}", end.words()),
        Kind::Cut => format!(
            "{} cut at the moment of that end",
            count(case.len(), "request")
        ),
        _ => format!(
            "{} {} while its container was down",
            count(case.len(), "request"),
            case.kind.verb()
        ),
    };
    Check::Yes(cx.fact("container_ended", pod, Some(end.at), text))
}

/// The end came before any deletion.
pub(super) fn before_deletion(pod: PodIx, end: &ContainerEnd, cx: &Context<'_>) -> bool {
    cx.pod(pod)
        .deletion_seen()
        .is_none_or(|d| end.seen < d || end.at.hi < d.plus_nanos(-SECOND))
}

/// A `Killing` event that asked for this end before any deletion did.
pub(super) fn killing_event(
    pod: PodIx,
    end: &ContainerEnd,
    cx: &Context<'_>,
) -> Option<rollscope_records::RunOffset> {
    let p = cx.pod(pod);
    let grace = p.spec_grace.unwrap_or(30) * SECOND;
    p.killing.iter().copied().find(|k| {
        let about_this =
            *k <= end.seen.plus_nanos(SECOND) && end.at.lo.plus_nanos(-grace - 5 * SECOND) <= *k;
        let of_deletion = p
            .deletion_seen()
            .is_some_and(|d| d.plus_nanos(-SECOND) <= *k);
        about_this && !of_deletion
    })
}

/// What happened afterwards.
pub(super) fn aftermath(group: &Group<'_>, cx: &Context<'_>) -> String {
    let down = group
        .pods
        .iter()
        .flat_map(|p| cx.pod(*p).earlier_ends.iter())
        .filter_map(|e| Some(e.running_again?.nanos_since(e.point())))
        .max();
    down.map(|n| format!("; it ran again {} later", span(n.max(0))))
        .unwrap_or_default()
}
