//! The shutdown assertions of a run: what a shutdown owes its clients, held or not over every terminating pod.

use crate::analysis::Assertion;
use crate::context::Context;
use crate::drain::EndedAt;
use crate::timeline::PodIx;
use crate::words::{count, names};

const SECOND: i64 = 1_000_000_000;

/// What one pod says to one assertion: held, broken with the reason, or not seen.
enum Answer {
    Held,
    Broken(String),
    Unseen,
}

/// Every assertion; none when nothing was terminated.
pub(crate) fn assertions(cx: &Context<'_>) -> Vec<Assertion> {
    let pods: Vec<PodIx> = cx.timeline.terminating().map(|(ix, ..)| ix).collect();
    if pods.is_empty() {
        return Vec::new();
    }
    vec![
        over(
            "readiness_before_listener",
            "readiness turns 503 before the listener closes",
            &pods,
            cx,
            readiness_first,
        ),
        over(
            "no_connection_after_close",
            "no new connection reaches a pod after its listener has closed",
            &pods,
            cx,
            none_after_close,
        ),
        over(
            "definite_outcome",
            "every accepted request has a definite outcome",
            &pods,
            cx,
            definite,
        ),
        over(
            "ended_by_itself",
            "the process ends by itself with code 0 before the deadline",
            &pods,
            cx,
            ended_by_itself,
        ),
    ]
}

fn over(
    id: &str,
    text: &str,
    pods: &[PodIx],
    cx: &Context<'_>,
    ask: impl Fn(PodIx, &Context<'_>) -> Answer,
) -> Assertion {
    let mut broken = Vec::new();
    let mut first_why = None;
    let mut held = 0_u64;
    for pod in pods {
        match ask(*pod, cx) {
            Answer::Held => held += 1,
            Answer::Broken(why) => {
                broken.push(*pod);
                first_why.get_or_insert(format!("{}: {why}", cx.pod(*pod).name));
            }
            Answer::Unseen => {}
        }
    }
    let broken = cx.timeline.names(&broken);
    let (verdict, why) = match first_why {
        Some(why) if broken.len() > 1 => {
            (Some(false), format!("{why} (broken by {})", names(&broken)))
        }
        Some(why) => (Some(false), why),
        None if held > 0 => (Some(true), format!("held by {}", count(held, "pod"))),
        None => (None, "could not be seen".to_owned()),
    };
    Assertion {
        id: id.to_owned(),
        text: text.to_owned(),
        held: verdict,
        pods: broken,
        why,
    }
}

fn readiness_first(ix: PodIx, cx: &Context<'_>) -> Answer {
    let pod = cx.pod(ix);
    let (Some(d), Some(drain)) = (&pod.deletion, cx.drain(ix)) else {
        return Answer::Unseen;
    };
    let not_ready = pod.not_ready_after(d.seen).map(|(at, _)| at);
    let end = pod.end_at();
    let closed = drain.listener_closed.or(end.map(|e| e.lo));
    match (not_ready, closed) {
        (Some(r), Some(c)) if r <= c => Answer::Held,
        (Some(_), None) => Answer::Held,
        (_, Some(_)) if drain.listener_closed.is_some() => {
            Answer::Broken("it refused connections before its readiness showed 503".to_owned())
        }
        (None, Some(_)) if drain.readiness.watched() => Answer::Broken(format!(
            "its readiness never showed 503 although {}",
            drain.readiness.why()
        )),
        _ => Answer::Unseen,
    }
}

fn none_after_close(ix: PodIx, cx: &Context<'_>) -> Answer {
    let pod = cx.pod(ix);
    let Some(end) = pod.end.as_ref() else {
        return Answer::Unseen;
    };
    if !cx.traffic.pods_named && cx.traffic.pod(ix).is_none() {
        return Answer::Unseen;
    }
    let refused = cx
        .traffic
        .failures
        .iter()
        .filter(|f| {
            f.pod == Some(ix)
                && matches!(
                    f.kind,
                    crate::traffic::Kind::Refused | crate::traffic::Kind::Vanished
                )
                && pod
                    .deletion_seen()
                    .is_some_and(|d| f.at >= d.plus_nanos(-SECOND))
                && f.at <= end.at.hi.plus_nanos(60 * SECOND)
        })
        .count() as u64;
    if refused == 0 {
        Answer::Held
    } else {
        Answer::Broken(format!(
            "{} came after its listener had closed",
            count(refused, "new connection")
        ))
    }
}

fn definite(ix: PodIx, cx: &Context<'_>) -> Answer {
    match cx.measures.get(&ix) {
        Some(m) if m.cut > 0 => {
            Answer::Broken(format!("{} cut without an answer", count(m.cut, "request")))
        }
        Some(m) if m.in_flight_at_signal.is_some() => Answer::Held,
        _ => Answer::Unseen,
    }
}

fn ended_by_itself(ix: PodIx, cx: &Context<'_>) -> Answer {
    let (Some(end), Some(drain)) = (&cx.pod(ix).end, cx.drain(ix)) else {
        return Answer::Unseen;
    };
    if end.code != 0 {
        return Answer::Broken(format!("it ended with {}", end.words()));
    }
    if matches!(drain.ended, EndedAt::TwoSecondsAfter | EndedAt::Later) {
        return Answer::Broken("it ended after its deadline".to_owned());
    }
    Answer::Held
}
