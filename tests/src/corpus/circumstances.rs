//! What the circumstances of a failure make of its label: a stream without an end, an eviction.

use rollscope_records::Lane;

use super::draw::Server;
use super::label::Label;
use super::truth::PodTruth;
use super::witness::Met;

/// The causes that are a way in which a deleted pod goes.
const WAYS_TO_GO: &[&str] = &[
    "early_close",
    "unforwarded_signal",
    "sigkill_overrun",
    "prestop_overrun",
    "app_deadline",
    "forced_exit",
    "dependency_closed_first",
    "double_shutdown",
    "long_stream_cut",
    "stale_route",
    "sidecar_first",
];

/// The same label, seen with the circumstances.
pub(super) fn seen_with(
    label: Label,
    server: Server,
    pod: Option<&PodTruth>,
    met: &Met<'_>,
) -> Label {
    let label = of_a_stream(label, server, met);
    match pod {
        Some(pod) if was_evicted(pod, met) => of_an_eviction(label),
        _ => label,
    }
}

/// A stream that would have gone on for ever, cut in its middle by a pod's shutdown.
///
/// A drain that waits for it without an end has no other fault: to be over would have saved the stream, a longer grace
/// would not. Where the server was stopped before its drain could come to it, that is as true as what stopped it.
fn of_a_stream(label: Label, server: Server, met: &Met<'_>) -> Label {
    let held = matches!(met.request.lane, Lane::Stream | Lane::WebSocket);
    if !held || !met.request.outcome.is_truncated() || !WAYS_TO_GO.contains(&label.cause) {
        return label;
    }
    if label.cause == "sigkill_overrun" && server.waits_for_streams() {
        return Label {
            cause: "long_stream_cut",
            detail: None,
            ..label
        };
    }
    let detail = match label.cause {
        // It was never idle.
        "early_close" => Some("in_flight_cut"),
        // It is not what kept the drain from its end.
        "sigkill_overrun" => None,
        _ => label.detail,
    };
    Label { detail, ..label }.also("long_stream_cut")
}

/// The eviction is why the pod went; how it then went is not told apart from it, but for a stream without an end: that
/// any end of its pod would have cut. That no endpoint was left has two causes: that pods were evicted, and that as many
/// went at once.
fn of_an_eviction(mut label: Label) -> Label {
    let endless = label.accepts("long_stream_cut");
    let went = |cause: &str| WAYS_TO_GO.contains(&cause);
    if went(label.cause) {
        (label.cause, label.detail) = ("node_drain", None);
        label.also.retain(|cause| !went(cause));
    } else if label.also.iter().any(|cause| went(cause)) {
        label.also.retain(|cause| !went(cause));
        label.also.push("node_drain");
    }
    if endless {
        label.also.push("long_stream_cut");
    }
    label
}

fn was_evicted(pod: &PodTruth, met: &Met<'_>) -> bool {
    pod.evicted && pod.deleted.is_some_and(|(at, _)| at <= met.at)
}
