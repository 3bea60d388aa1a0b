//! `long_stream_cut`: a stream (server-sent events, a WebSocket, a gRPC stream) that lives longer than any drain can
//! wait was cut in the middle. Neither a longer grace nor a better drain would have let it end: it must be told to go.

use rollscope_records::RunOffset;

use super::facts::{self, SECOND};
use super::weighing::{Check, Hypothesis};
use super::{Case, Group, Signature};
use crate::advice;
use crate::analysis::Advice;
use crate::context::Context;
use crate::timeline::PodIx;
use crate::traffic::{Failure, Kind};
use crate::words::{count, span};

const NAME: &str = "long_stream_cut";

pub(super) const SIGNATURE: Signature = Signature {
    name: NAME,
    weigh,
    summary,
    advice,
};

/// A request that lives this many times the grace, where none of its name ever ends by itself, has no end.
const ENDLESS: i64 = 2;

/// A cut this much before SIGKILL is due is one at the deadline, ns.
const AT_THE_DEADLINE: i64 = SECOND;

/// No other cause, taken away, would have let the stream end: more than all that speaks for them, nats.
const DECIDES: f64 = 14.0;

fn weigh(case: &Case<'_>, cx: &Context<'_>) -> Vec<Hypothesis> {
    if case.kind != Kind::Cut {
        return Vec::new();
    }
    facts::best(case, |p| {
        Some(
            Hypothesis::of(NAME, None)
                .on(p)
                .require(1.0, facts::after_deletion(case, p, cx))
                .require(2.0, in_its_body(case, cx))
                .require(DECIDES, outlives_any_drain(case, p, cx))
                .forbid(facts::oom(case, p, cx))
                .forbid(facts::killed_by_probe(case, p, cx))
                .weigh(0.5, 0.0, facts::cut_by_end(case, p, cx)),
        )
    })
    .into_iter()
    .collect()
}

/// The head of the response had come: it was cut while it was streamed.
fn in_its_body(case: &Case<'_>, cx: &Context<'_>) -> Check {
    let streaming = case.failures(cx).filter(|f| f.in_body).count();
    if streaming * 2 <= case.failures.len() {
        return Check::No("the requests were cut before their response had begun".to_owned());
    }
    Check::Yes(crate::context::general(
        "cut_in_the_stream",
        Some(case.first(cx)),
        format!(
            "{} cut in the middle of a response that had begun",
            count(streaming as u64, "request")
        ),
    ))
}

/// Most of the streams were older than the whole grace when the signal came, or had no end at all, and would not have
/// ended within another one.
fn outlives_any_drain(case: &Case<'_>, pod: PodIx, cx: &Context<'_>) -> Check {
    let p = cx.pod(pod);
    let (Some(drain), Some(d)) = (cx.drain(pod), p.deletion.as_ref()) else {
        return Check::No(format!("{} was not being deleted", p.name));
    };
    let grace = d.grace.saturating_mul(SECOND);
    let drained = drain.first_sign().is_some();
    let all: Vec<Stream> = case
        .failures(cx)
        .map(|f| {
            let waited = f.at.nanos_since(d.deadline.lo) >= -AT_THE_DEADLINE;
            Stream::of(f, drain.signal_at, grace, drained && waited, cx)
        })
        .collect();
    let long = all.iter().filter(|s| s.outlives).count();
    if long * 2 <= all.len() {
        let rest = all.iter().find(|s| !s.outlives).and_then(|s| s.ends_after);
        return Check::No(match rest {
            Some(length) => format!(
                "others of the same name end by themselves after {}: they are requests that a drain can wait for",
                span(length)
            ),
            None => format!(
                "they were not older than the grace of {} s at the signal",
                d.grace
            ),
        });
    }
    let oldest = all.iter().map(|s| s.age).max().unwrap_or(0);
    let none_ended = all.iter().all(|s| s.ends_after.is_none());
    Check::Yes(cx.fact(
        "older_than_any_drain",
        pod,
        Some(drain.signal),
        format!(
            "the oldest was {} old when it was cut, the grace is {} s{}",
            span(oldest),
            d.grace,
            if none_ended {
                ", and none of its name ended by itself in this run"
            } else {
                ""
            }
        ),
    ))
}

/// A cut stream against what a drain can wait.
struct Stream {
    age: i64,
    /// The longest of its name that came to its end, ns.
    ends_after: Option<i64>,
    outlives: bool,
}

impl Stream {
    /// `waited`: a drain had begun, and it was cut at the deadline.
    fn of(f: &Failure, signal: RunOffset, grace: i64, waited: bool, cx: &Context<'_>) -> Self {
        let lengths = cx.traffic.lengths(cx.traffic.request(f).name);
        // What ended before the signal, with a proxy for instance, was no older.
        let at_signal = signal.min(f.at).nanos_since(f.began);
        let old = at_signal >= grace;
        let outlives = match lengths.ended {
            // It has outlived them all already, or has longer to go than a drain can wait.
            Some(longest) => old && !(0..=grace).contains(&longest.saturating_sub(at_signal)),
            // A drain has waited for one that is held open, for all the time that it had.
            None => old || lengths.lived >= grace.saturating_mul(ENDLESS) || (f.held && waited),
        };
        Self {
            age: f.age(),
            ends_after: lengths.ended,
            outlives: outlives && grace > 0,
        }
    }
}

fn summary(group: &Group<'_>, cx: &Context<'_>) -> String {
    let oldest = group.failures.iter().map(|i| cx.traffic.failures[*i].age());
    format!(
        "{} in the middle of a stream on {}: streams that live longer than any drain (the oldest was {} old)",
        facts::harm(group, cx),
        facts::who(group, cx),
        span(oldest.max().unwrap_or(0))
    )
}

fn advice(group: &Group<'_>, cx: &Context<'_>) -> Vec<Advice> {
    vec![advice::program(&format!(
        "at SIGTERM, end streams with a definite end (a WebSocket close 1001, a last event, GOAWAY) spread over the {} that the grace leaves, and let clients resume elsewhere; a longer grace does not help",
        span(advice::left_for_drain(group.pods, cx))
    ))]
}
