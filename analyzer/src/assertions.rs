//! The shutdown assertions of a run: what a shutdown owes its clients, held or not over every terminating pod.

use rollscope_records::RunOffset;

use crate::analysis::Assertion;
use crate::context::Context;
use crate::drain::EndedAt;
use crate::jobs::Jobs;
use crate::timeline::{PodIx, Voice};
use crate::words::{count, names, span};

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
        // Jobs may be lost without a pod's end.
        return cx.jobs.and_then(|_| jobs(cx)).into_iter().collect();
    }
    let mut all = always(&pods, cx);
    let staged = pods
        .iter()
        .any(|p| cx.drain(*p).is_some_and(|d| d.shutdown.ordered));
    if staged {
        all.push(over(
            "stages_in_order",
            "the shutdown goes outside in, and closes dependencies last",
            &pods,
            cx,
            stages_in_order,
        ));
    }
    all.extend(jobs(cx));
    all
}

/// Those that every termination owes.
fn always(pods: &[PodIx], cx: &Context<'_>) -> Vec<Assertion> {
    let lag = routing_lag(pods, cx);
    vec![
        over(
            "readiness_before_listener",
            "readiness turns 503 before the listener closes",
            pods,
            cx,
            readiness_first,
        ),
        over(
            "no_connection_after_rotation",
            "no new connection reaches a pod after it left rotation, beyond the measured lag",
            pods,
            cx,
            |ix, cx| none_after_rotation(ix, lag, cx),
        ),
        over(
            "no_connection_after_close",
            "no new connection reaches a pod after its listener has closed",
            pods,
            cx,
            none_after_close,
        ),
        over(
            "definite_outcome",
            "every accepted request has a definite outcome",
            pods,
            cx,
            definite,
        ),
        over(
            "ended_by_itself",
            "the process ends by itself with code 0 before the deadline",
            pods,
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
        // Such a probe fails because the listener is closed: it says nothing about which came first.
        _ if pod.readiness_probe.is_some_and(|p| p.connects) => Answer::Unseen,
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

/// Above the lag that routing showed, ns.
const LAG_MARGIN: i64 = SECOND / 2;

/// How long routing takes to follow the endpoints: the longest time for which a pod that had left them still answered
/// new connections, ns. `None` where none did.
fn routing_lag(pods: &[PodIx], cx: &Context<'_>) -> Option<i64> {
    pods.iter()
        .filter_map(|ix| {
            let left = left_rotation(*ix, cx)?;
            let last = *cx.traffic.pod(*ix)?.answered_new.last()?;
            (last > left).then(|| last.nanos_since(left))
        })
        .max()
}

fn left_rotation(ix: PodIx, cx: &Context<'_>) -> Option<RunOffset> {
    let pod = cx.pod(ix);
    let deleted = pod.deletion_seen()?;
    pod.left_ready(deleted.plus_nanos(-SECOND / 3))
}

fn none_after_rotation(ix: PodIx, lag: Option<i64>, cx: &Context<'_>) -> Answer {
    let Some(left) = left_rotation(ix, cx) else {
        return Answer::Unseen;
    };
    let Some(last) = cx.measures.get(&ix).and_then(|m| m.last_attempt) else {
        return match cx.traffic.pods_named {
            true => Answer::Held,
            false => Answer::Unseen,
        };
    };
    let after = last.nanos_since(left);
    if after <= lag.unwrap_or(0).saturating_add(LAG_MARGIN) {
        return Answer::Held;
    }
    let measured = match lag {
        Some(n) => format!("routing followed within {}", span(n)),
        None => "no pod that had left rotation answered a new connection".to_owned(),
    };
    Answer::Broken(format!(
        "a new connection reached it {} after it left rotation ({measured})",
        span(after)
    ))
}

fn stages_in_order(ix: PodIx, cx: &Context<'_>) -> Answer {
    match cx.drain(ix).map(|d| &d.shutdown) {
        Some(s) if s.ordered => match s.disorder.first() {
            Some(what) => Answer::Broken(what.clone()),
            None => Answer::Held,
        },
        _ => Answer::Unseen,
    }
}

/// `jobs_kept`, where the scenario has jobs, or marks for lost or repeated ones (`job_lost`, `jobs_duplicated`).
fn jobs(cx: &Context<'_>) -> Option<Assertion> {
    match cx.jobs {
        Some(jobs) => Some(jobs_kept(jobs, cx)),
        None => jobs_told(cx),
    }
}

const JOBS_KEPT: &str = "jobs_kept";

/// By the jobs themselves.
fn jobs_kept(jobs: &Jobs, cx: &Context<'_>) -> Assertion {
    let (lost, repeated) = (jobs.lost().count() as u64, jobs.repeated().count() as u64);
    let accepted = jobs.all.iter().filter(|j| j.accepted.is_some()).count() as u64;
    let broken = lost + repeated > 0;
    let mut pods: Vec<PodIx> = jobs
        .lost()
        .chain(jobs.repeated())
        .filter_map(|j| j.last_holder()?.pod)
        .collect();
    pods.sort_by_key(|ix| ix.0);
    pods.dedup();
    let why = match &jobs.missing {
        _ if broken => format!(
            "of {} accepted {lost} lost and {repeated} done too often",
            count(accepted, "job")
        ),
        Some(why) => format!("events may be missing: {why}"),
        None if accepted == 0 => "no job was accepted".to_owned(),
        None => format!("held by {}", count(accepted, "job")),
    };
    Assertion {
        id: JOBS_KEPT.to_owned(),
        text: match jobs.plan.max_repeats {
            0 => "no job is lost, and none is done twice".to_owned(),
            n => format!(
                "no job is lost, and none is done more than {} times",
                n.saturating_add(1)
            ),
        },
        held: (broken || (jobs.missing.is_none() && accepted > 0)).then_some(!broken),
        pods: cx.timeline.names(&pods),
        why,
    }
}

/// By marks in the logs.
fn jobs_told(cx: &Context<'_>) -> Option<Assertion> {
    cx.logs.marks.iter().find(|name| is_about_lost_jobs(name))?;
    let pods: Vec<PodIx> = cx.timeline.indices().collect();
    Some(over(
        JOBS_KEPT,
        "no job is lost, and none is done twice",
        &pods,
        cx,
        |ix, cx| {
            let Some(log) = cx.logs.pod(ix) else {
                return Answer::Unseen;
            };
            let told = log.said.iter().find(|l| match &l.voice {
                Voice::Mark(name) => is_about_lost_jobs(name),
                _ => false,
            });
            match told {
                Some(line) => Answer::Broken(format!("its log says: {}", line.text)),
                None => Answer::Held,
            }
        },
    ))
}

fn is_about_lost_jobs(mark: &str) -> bool {
    mark.contains("job")
        && ["lost", "duplicate", "twice", "repeated"]
            .iter()
            .any(|word| mark.contains(word))
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
