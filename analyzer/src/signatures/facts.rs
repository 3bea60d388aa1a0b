//! Questions of the evidence that more than one signature asks.

use rollscope_records::{Interval, RunOffset};

use super::weighing::Check;
use super::{Case, Group};
use crate::analysis::Evidence;
use crate::context::Context;
use crate::drain::{CONNECTION_CLOSE, Drain, EndedAt, LOG, READINESS};
use crate::timeline::{LogLine, PodIx, Voice};
use crate::traffic::Kind;
use crate::words::{count, names, span};

pub(super) const MS: i64 = 1_000_000;
pub(super) const SECOND: i64 = 1000 * MS;

/// A deletion takes effect this much before its watch event arrives, ns.
pub(super) const BEFORE_SEEN: i64 = 150 * MS;

/// That a pod would have refused is certain with this much for it, nats: then only the number of such pods and what
/// speaks against it tell the causes apart.
const CERTAIN: f64 = 6.5;

/// That another end than the nearest cut a request counts so much less, nats.
const ANOTHER_END: f64 = 1.7;

/// The share of the requests for which a balancer makes a new connection, about.
const DIALLED: f64 = 0.3;

/// What a silence before the failures counts at most, nats.
pub(super) const QUIET_AT_MOST: f64 = 4.0;

/// A pod that refuses within this time of its end was routed to until then, ns.
const ROUTED: i64 = 5 * SECOND;

/// An end within this time of the signal is one at the signal, ns.
pub(super) const AT_SIGNAL: i64 = SECOND;

/// The failures came after the pod's deletion.
pub(super) fn after_deletion(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let Some(d) = cx.pod(pod).deletion.as_ref() else {
        return Check::No(format!("{} was not being deleted", cx.pod(pod).name));
    };
    let first = case.first(cx);
    if first < d.seen.plus_nanos(-BEFORE_SEEN) {
        return Check::No(format!(
            "the failures began {} before the deletion of {}",
            span(d.seen.nanos_since(first)),
            cx.pod(pod).name
        ));
    }
    let text = if case.failures.is_empty() {
        "its deletion was requested".to_owned()
    } else {
        format!(
            "the failures began {} after its deletion",
            span(first.nanos_since(d.seen).max(0))
        )
    };
    Check::Yes(cx.fact("after_deletion", pod, Some(d.requested), text))
}

/// The pod was killed (137) when its grace was over.
pub(super) fn killed_at_deadline(pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let (Some(drain), Some(d)) = (cx.drain(pod), p.deletion.as_ref()) else {
        return Check::No(format!("{} was not being deleted when it ended", p.name));
    };
    let Some(end) = p.end.as_ref() else {
        return Check::Unseen;
    };
    if end.code != 137 {
        return Check::No(format!("{} was not killed: {}", p.name, end.words()));
    }
    if drain.ended != EndedAt::Deadline {
        return Check::No(format!(
            "{} ended {} after its deletion, not at its grace of {} s",
            p.name,
            span(end.point().nanos_since(d.seen)),
            d.grace
        ));
    }
    Check::Yes(cx.fact(
        "killed_at_deadline",
        pod,
        Some(end.at),
        format!(
            "it ended with {} when its grace of {} s was over ({} after its deletion)",
            end.words(),
            d.grace,
            span(end.point().nanos_since(d.seen))
        ),
    ))
}

/// Every failure lies at the end of a serving container of the pod (nothing to ask where there is no failure).
pub(super) fn cut_by_end(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    match case.own_end_on(pod, cx) {
        Some(end) if case.failures.is_empty() => Check::Yes(cx.fact(
            "container_ended",
            pod,
            Some(end.at),
            format!("its container ended with {}", end.words()),
        )),
        Some(end) => Check::Yes(cx.fact(
            "cut_by_its_end",
            pod,
            Some(end.at),
            format!(
                "{} {} at the moment of its end ({})",
                count(case.len(), "request"),
                case.kind.verb(),
                end.words()
            ),
        )),
        None => Check::No(format!(
            "the failures do not lie at an end of {}",
            cx.pod(pod).name
        )),
    }
}

/// The pod's proxy container ended before the application's, and the failures came with that end or after it.
pub(super) fn proxy_ended_first(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let Some(proxy) = p.proxy_ended_first() else {
        return Check::No(format!(
            "no proxy of {} ended before the application",
            p.name
        ));
    };
    let first = case.first(cx);
    let at_it = match case.kind {
        Kind::PodEnd => case.end.is_some_and(|e| e.key == proxy.key),
        _ => first >= proxy.at.lo.plus_nanos(-100 * MS),
    };
    if !at_it {
        return Check::No(format!(
            "the failures began before the proxy of {} ended",
            p.name
        ));
    }
    let outlived = p.end.as_ref().map_or_else(
        || "while the application still ran".to_owned(),
        |end| {
            format!(
                "{} before the application's container",
                span(end.point().nanos_since(proxy.point()))
            )
        },
    );
    Check::Yes(cx.fact(
        "proxy_ended_first",
        pod,
        Some(proxy.at),
        format!(
            "its proxy container {} ended with {}, {outlived}",
            proxy.container,
            proxy.words()
        ),
    ))
}

/// No container of the pod was OOM-killed at the failures.
pub(super) fn oom(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    match case.end_on(pod, cx) {
        Some(end) if end.oom() => Check::Yes(cx.fact(
            "oom_killed",
            pod,
            Some(end.at),
            "its container was OOMKilled",
        )),
        _ => Check::No("no container was OOMKilled then".to_owned()),
    }
}

/// Behind a balancer a cut request may look refused (it fails soon): only those that were under way at one moment can
/// have been cut by one end.
pub(super) fn cut_behind_balancer(case: &Case<'_>, cx: &Context<'_>) -> bool {
    let began = case.failures(cx).map(|f| f.began).max();
    let ended = case.failures(cx).map(|f| f.ended).min();
    let together = began
        .zip(ended)
        .is_some_and(|(began, ended)| began <= ended.plus_nanos(20 * MS));
    !cx.traffic.pinned && matches!(case.kind, Kind::Refused | Kind::Vanished) && together
}

/// A pod that refused from `from` on and was still routed to would have refused just before the first failure:
/// new connections were made meanwhile and none was refused. With how much that counts, in nats.
pub(super) fn quiet_since(
    case: &Case<'_>,
    pod: PodIx,
    from: RunOffset,
    cx: &Context<'_>,
) -> (f64, Check) {
    let first = case.first(cx);
    let fails = &cx.traffic.failures;
    let before = fails[..fails.partition_point(|f| f.at < first)]
        .iter()
        .rev()
        .find(|f| matches!(f.kind, Kind::Refused | Kind::Vanished));
    // From the last refusal before, if there was one since; what failed while it was still closing says nothing.
    let from = before.map_or(from, |f| f.at.max(from)).plus_nanos(100 * MS);
    if case.kind != Kind::Refused || from >= first {
        return (0.0, Check::No(String::new()));
    }
    let made = cx.traffic.made(from, first);
    let ready = cx.timeline.fewest_ready(first, first).unwrap_or(1);
    let routed = (ready + case.suspects.len()).max(2) as f64;
    // Behind a balancer many of them travel on connections that it keeps, which a closed listener does not touch.
    let alive = cx.pod(pod).end_at().is_none_or(|e| from < e.lo);
    let dialled = if alive && !cx.traffic.pinned {
        DIALLED
    } else {
        1.0
    };
    let unseen = -(1.0 - 1.0 / routed).ln() * made as f64 * dialled;
    let counts = unseen.min(QUIET_AT_MOST);
    let check = Check::when(
        counts > 0.5,
        || {
            cx.fact(
                "quiet_before",
                pod,
                None,
                format!(
                    "had it refused and been routed to, some of the {} made in the {} before would have failed too",
                    count(made as u64, "connection"),
                    span(first.nanos_since(from))
                ),
            )
        },
        "",
    );
    (counts, check)
}

/// The same, from the pod's end on.
pub(super) fn quiet_since_its_end(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> (f64, Check) {
    match cx.pod(pod).end_at() {
        Some(end) => quiet_since(case, pod, end.hi, cx),
        None => (0.0, Check::No(String::new())),
    }
}

/// The same, from the end of the pod or of the proxy in front of it on.
pub(super) fn quiet_since_it_refuses(
    case: &Case<'_>,
    pod: PodIx,
    cx: &Context<'_>,
) -> (f64, Check) {
    match cx.pod(pod).proxy_ended_first() {
        Some(proxy) => quiet_since(case, pod, proxy.at.hi, cx),
        None => quiet_since_its_end(case, pod, cx),
    }
}

/// It refused from its end on, not before: its listener had not been closed.
pub(super) fn refused_from_its_end(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let Some(end) = cx.pod(pod).end.as_ref() else {
        return Check::No(format!("no end of {} was seen", cx.pod(pod).name));
    };
    let closed = logged_close(pod, cx).is_some() || cx.drain(pod).is_some_and(|d| d.closed_alive);
    let otherwise =
        "it had closed its listener before it ended, or the failures began before its end";
    Check::when(
        !closed && began_with(end.at, case, cx),
        || refused_after(end.at, pod, cx),
        otherwise,
    )
}

/// The failures began with an end, or after it.
pub(super) fn began_with(end: Interval, case: &Case<'_>, cx: &Context<'_>) -> bool {
    case.first(cx) >= end.lo.plus_nanos(-SECOND / 10)
}

/// That they began with the end of `pod`.
pub(super) fn refused_after(end: Interval, pod: PodIx, cx: &Context<'_>) -> Evidence {
    let text = "the failures began with its end";
    cx.fact("refused_after_end", pod, Some(end), text)
}

/// Pods of the same template answered to their end: connections were made while one of them was leaving and still
/// routed to, and none was refused before it ended. With how much that counts, in nats.
pub(super) fn open_to_the_end(pod: PodIx, cx: &Context<'_>) -> (f64, Check) {
    let template = &cx.pod(pod).template_hash;
    let alike = cx
        .timeline
        .terminating()
        .filter(|(_, p, _)| p.template_hash == *template);
    let open = alike.filter_map(|(ix, ..)| Some((unrefused(ix, cx)?, ix)));
    let most = open.max_by(|a, b| a.0.0.total_cmp(&b.0.0));
    match most {
        Some(((counts, made), ix)) if counts > 0.5 => (
            counts.min(QUIET_AT_MOST),
            Check::Yes(cx.fact(
                "open_to_the_end",
                ix,
                cx.pod(ix).end_at(),
                format!(
                    "{} made between its signal and its end and none was refused, and it was still routed to",
                    count(made as u64, "connection")
                ),
            )),
        ),
        _ => (0.0, Check::No(String::new())),
    }
}

/// How many connections were made between the pod's signal and its end, while it was routed to, and how much it counts
/// that none was refused; `None` where one was, or where nothing shows that it was routed to so long.
fn unrefused(pod: PodIx, cx: &Context<'_>) -> Option<(f64, usize)> {
    let (drain, end) = (cx.drain(pod)?, cx.pod(pod).end_at()?);
    let (from, to) = (
        drain.signal.hi.plus_nanos(SECOND / 10),
        end.lo.plus_nanos(-SECOND / 20),
    );
    let refused = |from: RunOffset, to: RunOffset| {
        let fails = &cx.traffic.failures;
        fails[fails.partition_point(|f| f.at < from)..]
            .iter()
            .take_while(move |f| f.at < to)
            .filter(move |f| f.kind == Kind::Refused && f.suspects.contains(&pod))
    };
    let routed_later = refused(end.hi, end.hi.plus_nanos(ROUTED)).next().is_some();
    if from >= to || !routed_later || refused(from, to).next().is_some() {
        return None;
    }
    let requests = cx.traffic.requests;
    let made = requests
        .range(requests.partition_point(|r| r.scheduled < from)..)
        .take_while(|r| r.scheduled < to)
        .filter(|r| !r.reused || !cx.traffic.pinned)
        .count();
    let ready = cx.timeline.fewest_ready(from, to).unwrap_or(1);
    let routed = (ready + 1).max(2) as f64;
    let dialled = if cx.traffic.pinned { 1.0 } else { DIALLED };
    Some((-(1.0 - 1.0 / routed).ln() * made as f64 * dialled, made))
}

/// The kubelet had killed the pod's container for a failed probe when the failures began, before any deletion: what
/// follows on that container is the probe's.
pub(super) fn killed_by_probe(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let first = case.first(cx);
    let p = cx.pod(pod);
    let kill = p
        .killed_by_probe(first.plus_nanos(BEFORE_SEEN))
        .filter(|k| p.deletion_seen().is_none_or(|d| *k < d));
    match kill {
        Some(at) => Check::Yes(cx.fact(
            "killed_by_probe",
            pod,
            Some(rollscope_records::Interval::at(at)),
            format!(
                "the kubelet had killed its container for a failed probe {} before",
                span(first.nanos_since(at).max(0))
            ),
        )),
        None => Check::No(String::new()),
    }
}

/// A drain showed before the end, in any way but the end itself.
pub(super) fn drain_sign(pod: PodIx, cx: &Context<'_>) -> Check {
    let Some(drain) = cx.drain(pod) else {
        return Check::No("it was not being deleted".to_owned());
    };
    match drain.first_sign() {
        Some(sign) => Check::Yes(cx.fact("drain_sign", pod, Some(sign.at), &sign.what)),
        None if drain.would_have_shown() => Check::No(format!(
            "{} showed no sign of a drain although it would have been seen: {}",
            cx.pod(pod).name,
            silence(drain)
        )),
        None => Check::Unseen,
    }
}

/// The application itself reacted to the signal: by its readiness, its answers or its log.
pub(super) fn reacted(pod: PodIx, cx: &Context<'_>) -> Check {
    let sign = cx.drain(pod).and_then(|d| {
        d.signs
            .iter()
            .find(|s| s.kind == READINESS || s.kind == CONNECTION_CLOSE || s.kind == LOG)
    });
    match sign {
        Some(s) => Check::Yes(cx.fact("reacted", pod, Some(s.at), &s.what)),
        None => Check::No(format!("{} did not react", cx.pod(pod).name)),
    }
}

/// Why the silence of a pod proves something.
pub(super) fn silence(drain: &Drain) -> String {
    let watched: Vec<&str> = [&drain.readiness, &drain.log]
        .into_iter()
        .filter(|w| w.watched())
        .map(|w| w.why())
        .collect();
    watched.join("; ")
}

/// Pods of the same template that showed a drain: what one did the others do too.
pub(super) fn siblings_drained(pod: PodIx, cx: &Context<'_>) -> Check {
    let template = &cx.pod(pod).template_hash;
    let sibling = cx.timeline.terminating().find(|(ix, p, _)| {
        *ix != pod
            && p.template_hash == *template
            && cx.drain(*ix).is_some_and(|d| d.first_sign().is_some())
    });
    match sibling {
        Some((ix, ..)) => Check::Yes(cx.fact(
            "sibling_drained",
            ix,
            None,
            format!(
                "of the same template, it showed a drain: {} will have drained too",
                cx.pod(pod).name
            ),
        )),
        None => Check::No(String::new()),
    }
}

/// Lines of the pod's log about its end, from the deletion on.
pub(super) fn said_after_deletion<'c>(
    pod: PodIx,
    cx: &'c Context<'_>,
) -> impl Iterator<Item = &'c LogLine> {
    let from = cx.pod(pod).deletion.map(|d| d.logged_from());
    cx.logs
        .pod(pod)
        .into_iter()
        .flat_map(move |l| from.into_iter().flat_map(move |f| l.since(f)))
}

/// A line of the pod's log about its end is in that voice; `what` comes before its text.
pub(super) fn said(
    pod: PodIx,
    voice: &Voice,
    id: &'static str,
    what: &str,
    cx: &Context<'_>,
) -> Check {
    match said_after_deletion(pod, cx).find(|l| l.voice == *voice) {
        Some(l) => Check::Yes(cx.fact(
            id,
            pod,
            Some(rollscope_records::Interval::at(l.at)),
            format!("{what}: {}", l.text),
        )),
        None => Check::No(String::new()),
    }
}

/// The application itself wrote a line about its shutdown.
pub(super) fn app_said(pod: PodIx, cx: &Context<'_>) -> Check {
    let line = said_after_deletion(pod, cx)
        .find(|l| matches!(l.voice, Voice::Shutdown | Voice::Forced | Voice::Mark(_)));
    match line {
        Some(l) => Check::Yes(cx.fact(
            "log_line",
            pod,
            Some(rollscope_records::Interval::at(l.at)),
            format!("its own log says at the signal: {}", l.text),
        )),
        None if cx.drain(pod).is_some_and(|d| d.log.watched()) => Check::No(format!(
            "the log of {} was followed and the application says nothing of a shutdown in it",
            cx.pod(pod).name
        )),
        None => Check::Unseen,
    }
}

/// When the pod's log says that its listener was closed, after its deletion.
pub(super) fn logged_close(pod: PodIx, cx: &Context<'_>) -> Option<RunOffset> {
    let from = cx.pod(pod).deletion?.logged_from();
    cx.logs.pod(pod)?.listener_closed(from)
}

/// How long after the signal `t` is at least, ns (negative when before its earliest moment).
pub(super) fn after_signal(pod: PodIx, t: RunOffset, cx: &Context<'_>) -> Option<i64> {
    let drain = cx.drain(pod)?;
    Some(if t < drain.signal.lo {
        t.nanos_since(drain.signal.lo)
    } else {
        t.nanos_since(drain.signal.hi).max(0)
    })
}

/// How long after the signal `t` is, ns: as is likeliest where the manifest tells when the signal came, else at least.
pub(super) fn likely_after_signal(pod: PodIx, t: RunOffset, cx: &Context<'_>) -> i64 {
    let known = |hook: &crate::view::PreStop| hook.sleep_seconds.is_some();
    match cx.drain(pod) {
        Some(drain) if cx.pod(pod).pre_stop.as_ref().is_none_or(known) => {
            t.nanos_since(drain.signal_at)
        }
        _ => after_signal(pod, t, cx).unwrap_or(0),
    }
}

/// The pod's end came within moments of the signal.
pub(super) fn ended_at_signal(pod: PodIx, within: i64, cx: &Context<'_>) -> Check {
    let name = &cx.pod(pod).name;
    let (Some(drain), Some(end)) = (cx.drain(pod), cx.pod(pod).end.as_ref()) else {
        return Check::No(format!("no end of {name} at a signal"));
    };
    if drain.unsignalled {
        return Check::No(format!("{name} ended before its signal was due"));
    }
    let after = end.at.lo.nanos_since(drain.signal.hi).max(0);
    // A hook as long as the grace brings the signal at the deadline; two more seconds are left then.
    let hook = cx.pod(pod).pre_stop.as_ref();
    let at_grace = cx.pod(pod).deletion.as_ref().is_some_and(|d| {
        let known = hook
            .and_then(|h| h.sleep_seconds)
            .is_some_and(|h| h >= d.grace);
        let until = drain.signal.hi.nanos_since(d.seen);
        let seen = hook.is_some() && until >= d.grace * SECOND - SECOND / 2;
        (known || seen) && drain.ended == EndedAt::Deadline && end.code != 137
    });
    if (drain.ended == EndedAt::Before || at_grace) && after <= within {
        Check::Yes(cx.fact(
            "ended_at_signal",
            pod,
            Some(end.at),
            format!(
                "it ended with {} about {} after its deletion, long before its deadline",
                end.words(),
                span(end.point().nanos_since(cx.pod(pod).deletion_seen().unwrap_or(end.at.lo)))
            ),
        ))
    } else {
        Check::No(format!(
            "{name} lived on for {} after the signal",
            span(after)
        ))
    }
}

/// `12 requests were refused`.
pub(super) fn harm(group: &Group<'_>, cx: &Context<'_>) -> String {
    let mut by_kind: Vec<(Kind, u64)> = Vec::new();
    for i in group.failures {
        let kind = cx.traffic.failures[*i].kind;
        match by_kind.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, n)) => *n += 1,
            None => by_kind.push((kind, 1)),
        }
    }
    by_kind.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let parts: Vec<String> = by_kind
        .iter()
        .enumerate()
        .map(|(i, (kind, n))| {
            if i == 0 {
                format!("{} {}", count(*n, "request"), kind.verb())
            } else {
                format!("{n} {}", kind.verb())
            }
        })
        .collect();
    if parts.is_empty() {
        "no request was harmed".to_owned()
    } else {
        parts.join(", ")
    }
}

/// The pods of a group in words.
pub(super) fn who(group: &Group<'_>, cx: &Context<'_>) -> String {
    names(&cx.timeline.names(group.pods))
}

/// `it` or `they`, with the verb's ending left to the caller.
pub(super) fn plural(group: &Group<'_>) -> bool {
    group.pods.len() > 1
}

/// The best hypothesis over the suspects of a case.
///
/// New connections are spread evenly: what several of the pods that can have refused them would have done is the
/// likelier by their number.
pub(super) fn best(
    case: &Case<'_>,
    weigh: impl Fn(PodIx) -> Option<super::Hypothesis>,
) -> Option<super::Hypothesis> {
    let spread = matches!(case.kind, Kind::Refused | Kind::Vanished);
    let most = if spread { CERTAIN } else { f64::INFINITY };
    // Where the ends of several pods explain a cut, the nearest is the likeliest.
    let nearest = case.suspects.first().filter(|_| case.kind == Kind::Cut);
    let all: Vec<super::Hypothesis> = case
        .suspects
        .iter()
        .filter_map(|p| weigh(*p))
        .map(|h| match h.pod {
            Some(pod) if nearest.is_some_and(|n| *n != pod) => super::Hypothesis {
                score: h.score - ANOTHER_END,
                ..h
            },
            _ => h.saturated(most),
        })
        .collect();
    let best_possible = all.iter().filter(|h| h.possible()).fold(
        None::<&super::Hypothesis>,
        |best, h| match best {
            Some(b) if b.score >= h.score => Some(b),
            _ => Some(h),
        },
    );
    let Some(best) = best_possible else {
        return all.into_iter().next();
    };
    let alike = all
        .iter()
        .filter(|h| h.possible() && h.score > best.score - 1.0)
        .count();
    let shares = if spread { (alike as f64).ln() } else { 0.0 };
    Some(super::Hypothesis {
        score: best.score + shares,
        ..best.clone()
    })
}
