//! The least analysis and recording that a test of the page needs.

use std::collections::BTreeMap;

use rollscope_analyzer::{
    Analysis, Burst, Latency, Ms, MsLength, PodReport, RequestCounts, RunSummary, SCHEMA, Verdict,
    VerdictOutcome,
};
use rollscope_records::{Recording, RequestRecord, RunOffset, RunRecord, TargetFacts};

/// A recording of these requests.
pub(super) fn recording_of(requests: Vec<RequestRecord>) -> Recording {
    let mut recording = Recording::new(RunRecord {
        rate_per_second: 100.0,
        ..RunRecord::new("id", "name", "tool", 0, TargetFacts::of("none"))
    });
    recording.requests = requests.into();
    recording
}

/// An analysis with these pods, and bursts of one request each: its sequence number and the burst's pods.
pub(super) fn analysis_of(pods: &[&str], bursts: &[(u64, &[&str])]) -> Analysis {
    Analysis {
        failures: Vec::new(),
        schema: SCHEMA,
        verdict: Verdict {
            outcome: VerdictOutcome::GateFailed,
            exit_code: 1,
            reasons: Vec::new(),
        },
        run: RunSummary {
            id: "id".to_owned(),
            name: "name".to_owned(),
            tool: "tool".to_owned(),
            target: "none".to_owned(),
            workload: None,
            started_at: String::new(),
            duration_ms: MsLength(0),
            rate_per_second: 100.0,
            rate_shape: None,
            max_failed: 0,
        },
        requests: RequestCounts::default(),
        latency_ms: Latency::default(),
        pods: pods.iter().map(|name| pod(name)).collect(),
        bursts: (1..)
            .zip(bursts)
            .map(|(id, (seq, pods))| burst(id, *seq, pods))
            .collect(),
        unattributed: 0,
        findings: Vec::new(),
        assertions: Vec::new(),
        advice: Vec::new(),
        budget: None,
        clocks: Vec::new(),
        generator: None,
        streams: Vec::new(),
        jobs: None,
        journeys: None,
        signal: None,
        balancers: Vec::new(),
        gaps: Vec::new(),
        stages: Vec::new(),
        notes: Vec::new(),
    }
}

fn burst(id: u32, seq: u64, pods: &[&str]) -> Burst {
    Burst {
        id,
        from_ms: Ms(RunOffset::ZERO),
        to_ms: Ms(RunOffset::ZERO),
        failed: 1,
        by_outcome: BTreeMap::new(),
        pods: pods.iter().map(|name| (*name).to_owned()).collect(),
        requests: vec![seq],
        cause: "unknown".to_owned(),
        detail: None,
        stage: None,
        summary: String::new(),
        confidence: 0.5,
        evidence: Vec::new(),
        against: Vec::new(),
        ruled_out: Vec::new(),
        advice: Vec::new(),
    }
}

fn pod(name: &str) -> PodReport {
    PodReport {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        template_hash: "hash".to_owned(),
        old: true,
        first_seen_ms: Ms(RunOffset::ZERO),
        phases: Vec::new(),
        endpoint: Vec::new(),
        grace_seconds: None,
        pre_stop: None,
        deletion_requested_ms: None,
        pre_stop_took_ms: None,
        signal_ms: None,
        deadline_ms: None,
        first_drain_sign: None,
        not_ready_ms: None,
        endpoint_not_ready_ms: None,
        endpoint_not_serving_ms: None,
        endpoint_removed_ms: None,
        listener_closed_ms: None,
        last_new_connection_ms: None,
        propagation_lag_ms: None,
        last_reused_request_ms: None,
        in_flight_at_signal: None,
        in_flight_at_exit: None,
        cut: 0,
        served: 0,
        failed: 0,
        exit: None,
        earlier_exits: Vec::new(),
        margin_to_deadline_ms: None,
        log_marks: Vec::new(),
        shutdown: None,
    }
}
