//! Every pod as the report shows it.

use crate::analysis::{
    EndpointState, LogMark, Ms, MsInterval, MsLength, PodExit, PodReport, Shutdown, ShutdownStage,
    Sign,
};
use crate::context::Context;
use crate::drain::{self, Drain};
use crate::timeline::{ContainerEnd, EndpointSpan, Pod, PodIx, Voice};

use super::phases::phases;

/// Log lines with a meaning that are shown of one pod.
const MARKS: usize = 50;

/// A change of the endpoints may be received this much before the deletion that caused it, ns.
const EARLY: i64 = 300_000_000;

/// One report for each pod, in order of creation.
pub(crate) fn pod_reports(cx: &Context<'_>) -> Vec<PodReport> {
    cx.timeline.indices().map(|ix| report(ix, cx)).collect()
}

fn report(ix: PodIx, cx: &Context<'_>) -> PodReport {
    let pod = cx.pod(ix);
    let drain = cx.drain(ix);
    let m = cx.measures.get(&ix).cloned().unwrap_or_default();
    let deletion = pod.deletion.as_ref();
    PodReport {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        template_hash: pod.template_hash.clone(),
        old: pod.old,
        first_seen_ms: Ms(pod.first_seen),
        phases: phases(pod),
        endpoint: pod.endpoint.iter().map(endpoint).collect(),
        grace_seconds: pod.grace_seconds(),
        pre_stop: pod.pre_stop.as_ref().map(|h| h.words.clone()),
        deletion_requested_ms: deletion.map(|d| MsInterval(d.requested)),
        pre_stop_took_ms: drain.and_then(|d| pre_stop_took(pod, d)),
        signal_ms: drain.map(|d| MsInterval(d.signal)),
        deadline_ms: deletion.map(|d| MsInterval(d.deadline)),
        first_drain_sign: drain.and_then(|d| d.signs.first()).map(|s| Sign {
            at_ms: MsInterval(s.at),
            kind: s.kind,
            what: s.what.clone(),
        }),
        not_ready_ms: deletion
            .and_then(|d| pod.not_ready_after(d.seen))
            .map(|(at, _)| Ms(at)),
        endpoint_not_ready_ms: deletion
            .and_then(|d| pod.left_ready(d.seen.plus_nanos(-EARLY)).map(Ms)),
        endpoint_not_serving_ms: deletion
            .and_then(|d| pod.left_serving(d.seen.plus_nanos(-EARLY)).map(Ms)),
        endpoint_removed_ms: deletion.and_then(|d| {
            pod.removed_from_endpoints(d.seen.plus_nanos(-EARLY))
                .map(Ms)
        }),
        listener_closed_ms: drain.and_then(|d| d.listener_closed).map(Ms),
        last_new_connection_ms: m.last_new.map(Ms),
        propagation_lag_ms: m.lag.map(MsLength),
        last_reused_request_ms: m.last_reused.map(Ms),
        in_flight_at_signal: m.in_flight_at_signal,
        in_flight_at_exit: m.in_flight_at_exit,
        cut: m.cut,
        served: m.served,
        failed: m.failed,
        exit: pod.end.as_ref().map(exit),
        earlier_exits: pod.earlier_ends.iter().map(exit).collect(),
        margin_to_deadline_ms: deletion
            .zip(pod.end.as_ref())
            .map(|(d, e)| MsLength(d.deadline.hi.nanos_since(e.point()))),
        log_marks: log_marks(ix, cx),
        shutdown: drain.and_then(|d| shutdown(&d.shutdown)),
    }
}

/// From the deletion to the signal, at least and at most.
fn pre_stop_took(pod: &Pod, drain: &Drain) -> Option<(MsLength, MsLength)> {
    let deletion = pod.deletion.as_ref().filter(|_| pod.pre_stop.is_some())?;
    let least = drain.signal.lo.nanos_since(deletion.seen).max(0);
    let most = drain.signal.hi.nanos_since(deletion.seen).max(least);
    Some((MsLength(least), MsLength(most)))
}

fn shutdown(s: &drain::Shutdown) -> Option<Shutdown> {
    let stage = |s: &drain::Stage| ShutdownStage {
        stage: s.step.as_str(),
        at_ms: Ms(s.at),
        took_ms: MsLength(s.took),
        run: s.run,
        mark: s.line.as_ref().and_then(|l| l.mark.clone()),
        values: s
            .line
            .as_ref()
            .map(|l| l.values.clone())
            .unwrap_or_default(),
        line: s.line.as_ref().map(|l| l.text.clone()),
    };
    (!s.stages.is_empty()).then(|| Shutdown {
        stages: s.stages.iter().map(stage).collect(),
        in_order: s.ordered.then_some(s.disorder.is_empty()),
        out_of_order: s.disorder.clone(),
        owners: s.owners(),
    })
}

/// An absent condition is read as the API documents it: ready and serving are true, terminating is false.
fn endpoint(span: &EndpointSpan) -> EndpointState {
    let ready = span.ready.unwrap_or(true);
    EndpointState {
        from_ms: Ms(span.from),
        to_ms: span.to.map(Ms),
        ready,
        serving: span.serving.unwrap_or(ready),
        terminating: span.terminating.unwrap_or(false),
    }
}

fn exit(end: &ContainerEnd) -> PodExit {
    PodExit {
        code: end.code,
        reason: end.reason.clone(),
        at_ms: MsInterval(end.at),
    }
}

/// Marks of the scenario at any time; shutdown lines from the deletion on.
fn log_marks(ix: PodIx, cx: &Context<'_>) -> Vec<LogMark> {
    let Some(log) = cx.logs.pod(ix) else {
        return Vec::new();
    };
    let leaving = cx.pod(ix).deletion.map(|d| d.logged_from());
    log.said
        .iter()
        .filter_map(|l| {
            let mark = match &l.voice {
                Voice::Mark(name) => name.clone(),
                Voice::Shutdown | Voice::Forced if leaving.is_some_and(|f| l.at >= f) => {
                    "shutdown".to_owned()
                }
                Voice::PackageManager if leaving.is_some_and(|f| l.at >= f) => "wrapper".to_owned(),
                _ => return None,
            };
            Some(LogMark {
                at_ms: Ms(l.at),
                mark,
                line: l.text.clone(),
            })
        })
        .take(MARKS)
        .collect()
}
