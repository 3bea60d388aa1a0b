//! `ready_too_early`: a new pod is in the endpoints before it listens (or can answer).

use rollscope_records::RunOffset;

use super::facts::{self, BEFORE_SEEN, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::{Context, general};
use crate::timeline::{PodIx, Voice};
use crate::traffic::{Kind, down_at, starts};
use crate::words::{count, span};

const NAME: &str = "ready_too_early";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// Requests that stand for all of a rollout.
const SAMPLES: usize = 2000;

/// So many refusals that are not there are no chance.
const ELSEWHERE: f64 = 2.5;

/// Errors this long after Ready are not the start's, ns.
const STARTING: i64 = 15 * SECOND;

/// A server that has answered so many requests can answer.
const WELL: usize = 10;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if !matches!(case.kind, Kind::Refused | Kind::AppStatus(500..=599)) {
        return Vec::new();
    }
    facts::best(case, |p| {
        let pod = cx.pod(p);
        let leaving = pod.deletion_seen().is_some_and(|d| d <= case.first(cx));
        if leaving || down_at(pod, case.first(cx)).is_some() {
            return None;
        }
        Some(
            Hypothesis::of(NAME, None)
                .on(p)
                .require(1.0, is_new(p, cx))
                .require(1.0, ready_before(case, p, cx))
                .require(1.0, had_not_answered(case, p, cx))
                .weigh(0.5, 0.0, answers_after(case, 10 * SECOND, p, cx))
                .weigh(
                    if cx.traffic.pinned { 1.0 } else { 0.0 },
                    0.0,
                    answers_after(case, SECOND, p, cx),
                )
                .weigh(0.5, 0.0, no_probe(p, cx))
                .weigh(2.5, 0.0, listens_after(case, p, cx))
                .weigh(1.5, 0.0, refused_alone(case, p, cx))
                .weigh(4.0, 0.0, refused_at_first(case, cx))
                .weigh(2.5, 0.0, always_beside_a_new_pod(case, p, cx))
                .forbid(answered_so_before(case, cx))
                .forbid(proved_listening(case, p, cx))
                .forbid(answered_well(case, p, cx))
                .oppose(1.0, out_before_it_was_ready(case, p, cx))
                .oppose(0.75, old_pod_leaving(case, p, cx))
                .oppose(0.75, old_pod_ended(case, p, cx)),
        )
    })
    .into_iter()
    .collect()
}

fn is_new(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    Check::when(
        !p.listed,
        || cx.fact("new_pod", pod, None, "it was created during the run"),
        &format!("{} is not new", p.name),
    )
}

fn ready_before(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let first = case.first(cx);
    match p.first_ready() {
        Some(r) if r.plus_nanos(-BEFORE_SEEN) <= first && first.nanos_since(r) < STARTING => {
            Check::Yes(cx.fact(
                "just_ready",
                pod,
                Some(rollscope_records::Interval::at(r)),
                format!(
                    "the failures began {} after it became Ready",
                    span(first.nanos_since(r).max(0))
                ),
            ))
        }
        Some(r) if r > first => {
            Check::No(format!("{} was not Ready when the failures began", p.name))
        }
        Some(_) => Check::No(format!("{} had long been Ready", p.name)),
        None if cx.timeline.readiness_recorded => Check::No(format!("{} was not Ready", p.name)),
        None if p.running.is_none_or(|r| r > first) => {
            Check::No(format!("{} did not run when the failures began", p.name))
        }
        None => Check::Unseen,
    }
}

/// It had answered well since it was Ready: it was able to, and its errors have another cause.
pub(super) fn answered_well(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let (Some(ready), Some(traffic), Kind::AppStatus(_)) =
        (cx.pod(pod).first_ready(), cx.traffic.pod(pod), case.kind)
    else {
        return Check::Unseen;
    };
    let first = case.first(cx);
    let answered = traffic.new_between(ready, first) + traffic.reused_between(ready, first);
    let failures = traffic.failures.iter().map(|f| &cx.traffic.failures[*f]);
    let failed = failures.filter(|f| f.at >= ready && f.at < first).count();
    Check::when(
        answered >= WELL && failed * 5 <= answered,
        || {
            let text = format!(
                "it had answered {} well since it was Ready",
                count((answered - failed) as u64, "request")
            );
            cx.fact("answered_well", pod, None, text)
        },
        "",
    )
}

fn had_not_answered(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let first = case.first(cx);
    let traffic = cx.traffic.pod(pod);
    if matches!(case.kind, Kind::AppStatus(_)) {
        let named = case.failures(cx).all(|f| f.pod == Some(pod));
        return Check::when(
            named,
            || {
                cx.fact(
                    "answered_errors",
                    pod,
                    None,
                    "it answered the errors itself",
                )
            },
            "nothing says that it answered the errors",
        );
    }
    let before = traffic
        .and_then(|t| t.answered_new.first())
        .filter(|a| **a < first);
    match before {
        Some(_) => Check::No(format!(
            "{} had answered new connections before",
            cx.pod(pod).name
        )),
        None => Check::Yes(cx.fact(
            "had_not_answered",
            pod,
            None,
            "it had not answered any connection before",
        )),
    }
}

fn answers_after(case: &Case<'_>, within: i64, pod: PodIx, cx: &Context<'_>) -> Check {
    let last = case.last(cx);
    let after = cx.traffic.pod(pod).and_then(|t| t.new_after(last));
    match after {
        // Where nothing else was answered meanwhile, whatever ends the refusals is answered by a new pod.
        Some(_) if case.kind == Kind::Refused && !others_answered(case, cx) => {
            Check::No(String::new())
        }
        Some(at) if at.nanos_since(last) < within => Check::Yes(cx.fact(
            "answers_after",
            pod,
            Some(rollscope_records::Interval::at(at)),
            format!(
                "its first answer came {} after the last failure",
                span(at.nanos_since(last))
            ),
        )),
        _ => Check::No(String::new()),
    }
}

/// What the application itself answers as often without a rollout is not a start's.
fn answered_so_before(case: &Case<'_>, cx: &Context<'_>) -> Check {
    match case.kind {
        Kind::AppStatus(_) => super::background::same_rate_before(case, cx),
        _ => Check::No(String::new()),
    }
}

/// A new pod of its template refused when no old pod could have.
fn refused_alone(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let template = &cx.pod(pod).template_hash;
    let alone = cx.traffic.failures.iter().find(|f| {
        f.kind == Kind::Refused
            && !f.suspects.is_empty()
            && f.suspects
                .iter()
                .all(|p| starts(cx.pod(*p), f.at) && cx.pod(*p).template_hash == *template)
    });
    match alone {
        Some(f) if case.kind == Kind::Refused => Check::Yes(cx.fact(
            "new_pods_alone",
            f.suspects[0],
            Some(rollscope_records::Interval::at(f.at)),
            "of the same template, it refused when no old pod can have",
        )),
        _ => Check::No(String::new()),
    }
}

/// Every refusal of the rollout lies between the Ready of a new pod and its listener: an old pod's would not keep to
/// that.
fn always_beside_a_new_pod(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let refused = || {
        let all = cx.traffic.failures.iter();
        let start = cx.timeline.rollout.start;
        all.filter(move |f| f.kind == Kind::Refused && start.is_none_or(|s| s <= f.at))
    };
    let n = refused().count();
    // Where nothing else was answered meanwhile, no pod could have shown that it listened; where a new pod was starting
    // all the time, refusals have no other place.
    let beside = others_answered(case, cx)
        && refused().all(|f| f.suspects.iter().any(|p| starts(cx.pod(*p), f.at)))
        && elsewhere(cx) >= ELSEWHERE;
    Check::when(
        case.kind == Kind::Refused && n >= 5 && beside,
        || {
            cx.fact(
                "always_beside_a_new_pod",
                pod,
                None,
                format!("each of the {n} refusals of the rollout came while a new pod was Ready and did not listen yet"),
            )
        },
        "",
    )
}

/// How many refusals there would have been while no new pod was starting, had the leaving pods refused all that was
/// routed to them.
fn elsewhere(cx: &Context<'_>) -> f64 {
    let fails = &cx.traffic.failures;
    let Some(last) = fails.iter().rfind(|f| f.kind == Kind::Refused) else {
        return 0.0;
    };
    let from = cx.timeline.rollout.start.unwrap_or(last.at);
    let requests = cx.traffic.requests;
    let at = |t: RunOffset| requests.partition_point(|r| r.scheduled < t);
    let (lo, hi) = (at(from), at(last.at));
    let step = (hi.saturating_sub(lo) / SAMPLES).max(1);
    let made = requests
        .range(lo..hi)
        .step_by(step)
        .filter(|r| !r.reused || !cx.traffic.pinned)
        .map(|r| r.dispatched.unwrap_or(r.scheduled));
    made.map(|t| share_of_leaving(t, cx)).sum::<f64>() * step as f64
}

/// The share of the pods that were just leaving at `t`; none while a new pod was starting.
fn share_of_leaving(t: RunOffset, cx: &Context<'_>) -> f64 {
    let leaving = cx
        .timeline
        .terminating()
        .filter(|(_, _, d)| d.seen <= t && t.nanos_since(d.seen) < SECOND)
        .count() as f64;
    if leaving == 0.0 || cx.timeline.indices().any(|ix| may_not_listen(ix, t, cx)) {
        return 0.0;
    }
    let ready = cx.timeline.fewest_ready(t, t).unwrap_or(1) as f64;
    leaving / (leaving + ready)
}

/// A new pod that was Ready at `t`, and nothing shows that it listened.
fn may_not_listen(pod: PodIx, t: RunOffset, cx: &Context<'_>) -> bool {
    let p = cx.pod(pod);
    let ready = p
        .first_ready()
        .is_some_and(|r| (-BEFORE_SEEN..STARTING).contains(&t.nanos_since(r)));
    if !ready || !starts(p, t) || probed_where_it_serves(pod, cx) {
        return false;
    }
    let answered = cx.traffic.pod(pod).and_then(|on| {
        let reused = on.answered_reused.first();
        on.answered_new
            .first()
            .into_iter()
            .chain(reused)
            .min()
            .copied()
    });
    let listened = listening_line(pod, cx).into_iter().chain(answered).min();
    listened.is_none_or(|l| l > t)
}

/// Before the rollout, pods of the workload refused for a while although they were Ready.
pub(super) fn refused_at_first(case: &Case<'_>, cx: &Context<'_>) -> Check {
    match cx.baseline.refused_at_first() {
        Some((n, last)) if case.kind == Kind::Refused => Check::Yes(general(
            "refused_when_it_had_started",
            Some(last),
            format!(
                "{} refused before the rollout too, at the beginning, while nothing was down: pods of this workload are Ready before they listen",
                count(n, "connection")
            ),
        )),
        _ => Check::No(String::new()),
    }
}

/// New connections were answered between the first and the last failure, or there is but one.
fn others_answered(case: &Case<'_>, cx: &Context<'_>) -> bool {
    case.len() < 2 || cx.traffic.new_answer_within(case.first(cx), case.last(cx))
}

/// Connections had failed before it was Ready and none was answered since: what had begun before may have gone on.
fn out_before_it_was_ready(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let answered = super::no_endpoints::last_answer_before(case, cx);
    let (Some(answered), Some(ready), Kind::Refused) =
        (answered, cx.pod(pod).first_ready(), case.kind)
    else {
        return Check::No(String::new());
    };
    let fails = &cx.traffic.failures;
    let out = fails[fails.partition_point(|f| f.at <= answered)..]
        .iter()
        .take_while(|f| f.at < ready)
        .any(|f| f.kind == Kind::Refused);
    Check::when(
        out,
        || {
            cx.fact(
                "out_before",
                pod,
                Some(rollscope_records::Interval::at(answered)),
                "new connections had failed before it was Ready, and none was answered since",
            )
        },
        "",
    )
}

fn no_probe(pod: PodIx, cx: &Context<'_>) -> Check {
    Check::when(
        cx.pod(pod).readiness_probe.is_none(),
        || {
            cx.fact(
                "no_readiness_probe",
                pod,
                None,
                "it has no readiness probe: it counts as ready as soon as it runs",
            )
        },
        "",
    )
}

fn listens_after(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    match listening_line(pod, cx) {
        Some(at) if at > case.first(cx) => Check::Yes(cx.fact(
            "listens_after",
            pod,
            Some(rollscope_records::Interval::at(at)),
            "its log says that it listens only after the failures had begun",
        )),
        _ => Check::No(String::new()),
    }
}

/// The pod was proved to listen: its log says so before, or its readiness probe asks the very port of the traffic.
fn proved_listening(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    if case.kind != Kind::Refused {
        return Check::No(String::new());
    }
    if let Some(at) = listening_line(pod, cx)
        && at < case.first(cx)
    {
        return Check::Yes(cx.fact(
            "listened_before",
            pod,
            Some(rollscope_records::Interval::at(at)),
            "its log says that it listened before the failures began",
        ));
    }
    Check::when(
        probed_where_it_serves(pod, cx),
        || {
            cx.fact(
                "probed_on_traffic_port",
                pod,
                None,
                "its readiness probe asks the port that the traffic goes to: it listened before it was Ready",
            )
        },
        "",
    )
}

fn probed_where_it_serves(pod: PodIx, cx: &Context<'_>) -> bool {
    let port = cx.pod(pod).readiness_port;
    port.is_some_and(|port| cx.timeline.traffic_ports.contains(&port))
}

fn listening_line(pod: PodIx, cx: &Context<'_>) -> Option<rollscope_records::RunOffset> {
    cx.logs
        .pod(pod)?
        .said
        .iter()
        .find(|l| l.voice == Voice::Listening)
        .map(|l| l.at)
}

/// An old pod was leaving and can have refused as well.
fn old_pod_leaving(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let other = case
        .suspects
        .iter()
        .find(|p| **p != pod && cx.pod(**p).deletion.is_some());
    match other {
        Some(p) => Check::Yes(cx.fact(
            "old_pod_leaving",
            *p,
            None,
            "it was being deleted at the same time and can have refused as well",
        )),
        None => Check::No(String::new()),
    }
}

/// An old pod had ended: what was sent to it was refused for certain.
fn old_pod_ended(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let last = case.last(cx);
    let ended = case
        .suspects
        .iter()
        .find(|p| **p != pod && cx.pod(**p).end_at().is_some_and(|e| e.hi <= last));
    match ended {
        Some(p) => Check::Yes(cx.fact(
            "old_pod_ended",
            *p,
            cx.pod(*p).end_at(),
            "it had ended by then and was perhaps still routed to",
        )),
        None => Check::No(String::new()),
    }
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    let it = if facts::plural(group) {
        "they were"
    } else {
        "it was"
    };
    format!(
        "{} by {}: {it} in the endpoints before the server could answer",
        facts::harm(group, cx),
        facts::who(group, cx)
    )
}

fn advice(_: &Group<'_>, _: &Context<'_>) -> Vec<Advice> {
    vec![
        Advice {
            field: "spec.template.spec.containers[].readinessProbe".to_owned(),
            text: "probe the port and the path that the traffic uses, so that Ready means that it answers".to_owned(),
        },
        advice::program("answer readiness only once the traffic port listens"),
    ]
}
