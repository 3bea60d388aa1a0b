//! The analysis of the hand-made run, as an analyzer would give it.

use std::collections::BTreeMap;

use rollscope_analyzer::{
    Advice, Analysis, Assertion, Budget, Burst, ClockReport, EndpointState, Evidence,
    FailureReport, Finding, Latency, LogMark, Ms, MsInterval, MsLength, PodExit, PodPhase,
    PodReport, Quantiles, RequestCounts, RuledOut, RunSummary, SCHEMA, Shutdown, ShutdownStage,
    Sign, StageMark, StageReport, Verdict, VerdictOutcome,
};
use rollscope_records::{Interval, Outcome, Recording, Request};

use super::load::{ENDS, LAGS, new, old};
use super::{load_end, offset};

/// A moment of `seconds`.
pub(crate) fn at(seconds: f64) -> Ms {
    Ms(offset(seconds))
}

fn within(lo: f64, hi: f64) -> MsInterval {
    MsInterval(Interval::new(offset(lo), offset(hi)))
}

/// The analysis of `recording`.
pub(crate) fn analysis(recording: &Recording) -> Analysis {
    let failing = recording.requests.iter().any(|r| r.outcome.is_failure());
    let bursts = bursts(recording);
    let pods = (0..3)
        .map(|i| old_pod(i, failing, &bursts))
        .chain((0..3).map(new_pod))
        .collect();
    let requests = counts(recording);
    let unattributed = requests.failed - bursts.iter().map(|b| b.failed).sum::<u64>();
    Analysis {
        failures: failures(recording, &bursts),
        schema: SCHEMA,
        verdict: Verdict {
            outcome: if failing { VerdictOutcome::GateFailed } else { VerdictOutcome::Passed },
            exit_code: u8::from(failing),
            reasons: if failing { vec![format!("{} requests failed, 0 are allowed", requests.failed)] } else { Vec::new() },
        },
        run: RunSummary {
            id: recording.run.run_id.clone(),
            name: recording.run.name.clone(),
            tool: recording.run.tool.clone(),
            target: recording.run.target.kind.clone(),
            workload: recording.run.target.workload.clone(),
            started_at: "2026-11-30T11:20:07.018Z".to_owned(),
            duration_ms: MsLength(load_end(recording).0.nanos() + 900_000_000),
            rate_per_second: 200.0,
            rate_shape: None,
            max_failed: 0,
        },
        latency_ms: latency(recording),
        requests,
        pods,
        bursts,
        unattributed,
        findings: findings(failing),
        assertions: assertions(failing),
        advice: vec![Advice {
            field: "spec.template.spec.terminationGracePeriodSeconds".to_owned(),
            text: "terminationGracePeriodSeconds >= preStop 0 s + longest drain (maximum of 3 pods) 4.9 s + 5 s = 10 s; now: 30 s (fits)".to_owned(),
        }],
        budget: Some(Budget {
            pre_stop_ms: MsLength(0),
            longest_drain_ms: MsLength(4_900_000_000),
            margin_ms: MsLength(5_000_000_000),
            needed_ms: MsLength(9_900_000_000),
            grace_ms: MsLength(30_000_000_000),
            fits: true,
            of: "maximum of 3 pods".to_owned(),
        }),
        clocks: vec![
            ClockReport { clock: "api-server".to_owned(), offset_ms: (-0.4, 3.1), samples: 41 },
            ClockReport { clock: "node/node1".to_owned(), offset_ms: (-2.2, 1.9), samples: 12 },
        ],
        generator: recording.generator.clone(),
        streams: Vec::new(),
        jobs: None,
        journeys: None,
        signal: None,
        balancers: Vec::new(),
        gaps: Vec::new(),
        stages: stages(recording),
        notes: vec!["No probe of the pods themselves: when a listener closed is known only from the first refusal.".to_owned()],
    }
}

fn counts(recording: &Recording) -> RequestCounts {
    let with = |test: fn(&Request<'_>) -> bool| {
        recording.requests.iter().filter(|r| test(r)).count() as u64
    };
    let mut by_outcome = BTreeMap::new();
    for r in &recording.requests {
        *by_outcome.entry(r.outcome.as_str().to_owned()).or_insert(0) += 1;
    }
    let failed = with(|r| r.outcome.is_failure());
    RequestCounts {
        planned: recording.requests.len() as u64,
        sent: recording.requests.len() as u64,
        ok: with(|r| r.outcome == Outcome::Ok),
        failed,
        transport: failed,
        maskable: with(|r| r.maskable),
        by_outcome,
        ..RequestCounts::default()
    }
}

fn latency(recording: &Recording) -> Latency {
    let quantiles = |from: fn(&Request<'_>) -> i64| {
        let ok = recording
            .requests
            .iter()
            .filter(|r| r.outcome == Outcome::Ok);
        let mut all: Vec<i64> = ok
            .map(|r| r.ended.map_or(0, |e| e.nanos()) - from(&r))
            .collect();
        all.sort_unstable();
        let q =
            |share: f64| all[((all.len() as f64 * share) as usize).min(all.len() - 1)] as f64 / 1e6;
        Quantiles {
            p50: q(0.5),
            p90: q(0.9),
            p99: q(0.99),
            p999: q(0.999),
            max: q(1.0),
        }
    };
    Latency {
        scheduled: quantiles(|r| r.scheduled.nanos()),
        dispatched: quantiles(|r| r.dispatched.map_or(0, |d| d.nanos())),
    }
}

fn bursts(recording: &Recording) -> Vec<Burst> {
    let failed: Vec<_> = recording
        .requests
        .iter()
        .filter(|r| r.outcome.is_failure())
        .collect();
    let bounds = [0.0, ENDS[1] - 0.3, ENDS[2] - 0.3, f64::MAX];
    let mut bursts = Vec::new();
    for i in 0..3 {
        let own = failed.iter().filter(|r| {
            let s = r.scheduled.nanos() as f64 / 1e9;
            bounds[i] <= s && s < bounds[i + 1]
        });
        let own: Vec<Request<'_>> = own.copied().collect();
        if !own.is_empty() {
            bursts.push(burst(i, bursts.len() as u32 + 1, &own));
        }
    }
    bursts
}

/// Each failed request at its burst's pod.
fn failures(recording: &Recording, bursts: &[Burst]) -> Vec<FailureReport> {
    let failed = recording.requests.iter().filter(|r| r.outcome.is_failure());
    failed
        .map(|r| {
            let burst = bursts.iter().find(|b| b.requests.contains(&r.seq));
            FailureReport {
                seq: r.seq,
                pod: burst.and_then(|b| b.pods.first().cloned()),
                how: if burst.is_some() { "time" } else { "unknown" }.to_owned(),
                burst: burst.map(|b| b.id),
            }
        })
        .collect()
}

fn burst(i: usize, id: u32, requests: &[Request<'_>]) -> Burst {
    let mut by_outcome = BTreeMap::new();
    for r in requests {
        *by_outcome.entry(r.outcome.as_str().to_owned()).or_insert(0) += 1;
    }
    let n = requests.len() as u64;
    let evidence = |id: &str, text: String, at: Option<MsInterval>| Evidence {
        id: id.to_owned(),
        text,
        at_ms: at,
        pod: Some(old(i)),
    };
    Burst {
        id,
        from_ms: Ms(requests[0].scheduled),
        to_ms: Ms(requests.iter().filter_map(|r| r.ended).max().unwrap_or_default()),
        failed: n,
        by_outcome,
        pods: vec![old(i)],
        requests: requests.iter().map(|r| r.seq).collect(),
        cause: "early_close".to_owned(),
        detail: Some("refused".to_owned()),
        stage: None,
        summary: format!(
            "{n} requests refused by {}: it closed its listener 0.1 s after SIGTERM and new connections came for {:.1} s more.",
            old(i), LAGS[i] - 0.1
        ),
        confidence: 0.97,
        evidence: vec![
            evidence("exit_before_deadline", "It exited by itself with code 0, 29.1 s before its deadline.".to_owned(), Some(within(ENDS[i] + 0.9, ENDS[i] + 0.95))),
            evidence("drain_line", "Its log says \"listener closed\" 0.03 s after the signal.".to_owned(), Some(within(ENDS[i] + 0.03, ENDS[i] + 0.034))),
            evidence("refused_while_routed", format!("The first refusal came 0.1 s after the deletion, the last {:.1} s after it.", LAGS[i]), None),
        ],
        against: Vec::new(),
        ruled_out: vec![
            RuledOut { cause: "ready_too_early".to_owned(), why: "The new pod had answered 0.3 s before the first refusal.".to_owned() },
            RuledOut { cause: "sigkill_overrun".to_owned(), why: "The failures lie 27 s before the deadline.".to_owned() },
        ],
        advice: vec![Advice {
            field: "lifecycle.preStop.sleep.seconds".to_owned(),
            text: "Set it to at least 5: new connections came for up to 2.9 s after the deletion (maximum of 3 pods), plus 2 s margin.".to_owned(),
        }],
    }
}

fn old_pod(i: usize, failing: bool, bursts: &[Burst]) -> PodReport {
    let end = ENDS[i];
    let exit = end + if failing { 0.92 } else { 4.9 };
    let failed: u64 = bursts
        .iter()
        .filter(|b| b.pods.contains(&old(i)))
        .map(|b| b.failed)
        .sum();
    let phase = |phase, from, to| PodPhase {
        phase,
        from_ms: at(from),
        to_ms: Some(at(to)),
    };
    PodReport {
        name: old(i),
        uid: format!("uid-old-{i}"),
        template_hash: "7d9f6bb8c4".to_owned(),
        old: true,
        first_seen_ms: at(0.0),
        phases: vec![
            phase("ready", 0.0, end),
            phase("terminating", end, exit),
            PodPhase {
                phase: "ended",
                from_ms: at(exit),
                to_ms: None,
            },
        ],
        endpoint: vec![
            EndpointState {
                from_ms: at(0.0),
                to_ms: Some(at(end + 0.05)),
                ready: true,
                serving: true,
                terminating: false,
            },
            EndpointState {
                from_ms: at(end + 0.05),
                to_ms: Some(at(exit + 0.2)),
                ready: false,
                serving: true,
                terminating: true,
            },
        ],
        grace_seconds: Some(30),
        pre_stop: None,
        deletion_requested_ms: Some(within(end - 0.02, end)),
        pre_stop_took_ms: None,
        signal_ms: Some(within(end, end + 0.02)),
        deadline_ms: Some(within(end + 29.98, end + 30.0)),
        first_drain_sign: Some(Sign {
            at_ms: within(end + 0.02, end + 0.024),
            kind: "log",
            what: "SIGTERM received".to_owned(),
        }),
        not_ready_ms: Some(at(exit + 0.2)),
        endpoint_not_ready_ms: Some(at(end + 0.05)),
        endpoint_not_serving_ms: None,
        endpoint_removed_ms: Some(at(exit + 0.2)),
        listener_closed_ms: failing.then(|| at(end + 0.1)),
        last_new_connection_ms: Some(at(end + LAGS[i])),
        propagation_lag_ms: Some(MsLength((LAGS[i] * 1e9) as i64)),
        last_reused_request_ms: Some(at(end + 0.6)),
        in_flight_at_signal: Some([3, 5, 2][i]),
        in_flight_at_exit: Some(0),
        cut: if failing && i == 1 { 1 } else { 0 },
        served: 512 + 200 * i as u64,
        failed,
        exit: Some(PodExit {
            code: 0,
            reason: "Completed".to_owned(),
            at_ms: within(exit, exit + 0.05),
        }),
        earlier_exits: Vec::new(),
        margin_to_deadline_ms: Some(MsLength(((end + 30.0 - exit) * 1e9) as i64)),
        log_marks: vec![
            LogMark {
                at_ms: at(end + 0.02),
                mark: "shutdown".to_owned(),
                line: "{\"ev\":\"SIGTERM received\",\"inflight\":3}".to_owned(),
            },
            LogMark {
                at_ms: at(exit),
                mark: "drained".to_owned(),
                line: "{\"ev\":\"drained, exit 0\",\"inflight\":0}".to_owned(),
            },
        ],
        shutdown: Some(shutdown(end, exit, failing)),
    }
}

fn shutdown(end: f64, exit: f64, failing: bool) -> Shutdown {
    let stage = |stage, from: f64, to: f64, run| ShutdownStage {
        stage,
        at_ms: at(to),
        took_ms: MsLength(((to - from) * 1e9) as i64),
        run,
        mark: (stage == "drained").then(|| "drained".to_owned()),
        values: BTreeMap::new(),
        line: Some(format!("{{\"ev\":\"{stage}\"}}")),
    };
    let closed = if failing { end + 0.05 } else { exit - 1.0 };
    Shutdown {
        stages: vec![
            stage("signal", end, end + 0.02, 1),
            stage("readiness_off", end + 0.02, end + 0.03, 1),
            stage("listener_closed", end + 0.03, closed, 1),
            stage("drained", closed, exit - 0.1, 1),
            stage("pool_closed", exit - 0.1, exit - 0.05, 1),
            stage("exit", exit - 0.05, exit, 1),
        ],
        in_order: Some(true),
        out_of_order: Vec::new(),
        owners: 1,
    }
}

fn new_pod(i: usize) -> PodReport {
    let ready = ENDS[i] - 0.4;
    let phase = |phase, from, to| PodPhase {
        phase,
        from_ms: at(from),
        to_ms: to,
    };
    PodReport {
        name: new(i),
        uid: format!("uid-new-{i}"),
        template_hash: "5bd44df76c".to_owned(),
        old: false,
        first_seen_ms: at(ready - 1.6),
        phases: vec![
            phase("pending", ready - 1.6, Some(at(ready - 1.2))),
            phase("starting", ready - 1.2, Some(at(ready - 0.8))),
            phase("not_ready", ready - 0.8, Some(at(ready))),
            phase("ready", ready, None),
        ],
        endpoint: vec![EndpointState {
            from_ms: at(ready + 0.03),
            to_ms: None,
            ready: true,
            serving: true,
            terminating: false,
        }],
        grace_seconds: Some(30),
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
        served: 1_203,
        failed: 0,
        exit: None,
        earlier_exits: Vec::new(),
        margin_to_deadline_ms: None,
        log_marks: Vec::new(),
        shutdown: None,
    }
}

fn findings(failing: bool) -> Vec<Finding> {
    let finding = Finding {
        cause: "no_prestop_no_delay".to_owned(),
        detail: None,
        pods: (0..3).map(old).collect(),
        summary: "The pod template has no preStop hook, and the process closes its listener at the signal.".to_owned(),
        evidence: vec![Evidence { id: "spec".to_owned(), text: "No container has lifecycle.preStop.".to_owned(), at_ms: None, pod: None }],
        advice: Vec::new(),
    };
    if failing { vec![finding] } else { Vec::new() }
}

fn assertions(failing: bool) -> Vec<Assertion> {
    let assertion = |id: &str, text: &str, held, why: &str| Assertion {
        id: id.to_owned(),
        text: text.to_owned(),
        held,
        pods: if held == Some(false) {
            (0..3).map(old).collect()
        } else {
            Vec::new()
        },
        why: why.to_owned(),
    };
    vec![
        assertion(
            "readiness_before_listener",
            "Readiness turned 503 before the listener closed.",
            Some(!failing),
            if failing {
                "The listener closed 0.1 s after the signal; readiness was still 200."
            } else {
                "Readiness failed 4 s before the listener closed."
            },
        ),
        assertion(
            "definite_outcome",
            "Every accepted request had a definite outcome.",
            Some(!failing),
            if failing {
                "1 request was cut."
            } else {
                "No request was cut."
            },
        ),
        assertion(
            "clean_exit",
            "The process ended by itself with code 0 before the deadline.",
            Some(true),
            "3 of 3 pods.",
        ),
        assertion(
            "no_job_lost",
            "No job was lost, none done twice.",
            None,
            "The scenario has no jobs.",
        ),
    ]
}

fn stages(recording: &Recording) -> Vec<StageReport> {
    let mark = |seconds, mark: &str| StageMark {
        at_ms: at(seconds),
        mark: mark.to_owned(),
    };
    let stage = |kind: &str, from, to: Ms, marks| StageReport {
        kind: kind.to_owned(),
        from_ms: at(from),
        to_ms: Some(to),
        marks,
        end: "completed",
        detail: None,
    };
    vec![
        stage("warmup", 0.0, at(4.0), Vec::new()),
        stage(
            "restart",
            4.0,
            at(18.3),
            vec![
                mark(4.1, "rollout_requested"),
                mark(12.9, "rollout_complete"),
                mark(18.2, "old_pods_gone"),
            ],
        ),
        stage("settle", 18.3, load_end(recording), Vec::new()),
    ]
}
