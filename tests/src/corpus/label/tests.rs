//! What the witnesses prove together.

use rollscope_records::{Lane, Outcome, RequestRecord};

use super::super::truth::{ContainerRun, Ledger};
use super::*;

fn at(ms: i64) -> RunOffset {
    RunOffset::ZERO.plus_nanos(ms * MS)
}

fn case(server: Server) -> Case {
    Case {
        server,
        grace: 10,
        streams: None,
        ..Case::draw(1, 0)
    }
}

/// A pod that serves from 0 on and is deleted and signalled at 10 s.
fn deleted(steps: &[(i64, &str)], exited: Option<(i64, i32)>) -> PodTruth {
    let steps = [(1, "listening")].iter().chain(steps);
    let ledger = Ledger {
        steps: steps.map(|(t, s)| (at(*t), (*s).to_owned())).collect(),
        ..Ledger::default()
    };
    let stopping = Some((at(10_000), super::super::truth::StopWhy::Deletion));
    let run = ContainerRun {
        started: at(0),
        stopping,
        signal: Some(at(10_000)),
        exited: exited.map(|(t, code)| (at(t), code)),
        ledger,
        ..ContainerRun::default()
    };
    PodTruth {
        deleted: Some((at(10_000), 10)),
        runs: vec![run],
        ..PodTruth::default()
    }
}

fn judged(case: &Case, pod: PodTruth, how: How, ms: i64) -> Verdict {
    let mut truth = Truth::default();
    truth.pods.insert("web".to_owned(), pod);
    let held = case.streams.is_some();
    let lane = if held { Lane::Stream } else { Lane::New };
    let mut request = RequestRecord::scheduled(1, lane, "home", at(ms));
    request.outcome = match how {
        How::Cut => Outcome::TruncatedBody,
        _ => Outcome::ConnectRefused,
    };
    let met = Met {
        request: request.view(),
        how,
        pod: Some("web".to_owned()),
        at: at(ms),
        connected: at(ms - 1000),
        fallback: false,
        accepted: Some(true),
        received: None,
        reused: false,
    };
    label(case, &truth, &met)
}

fn name(verdict: Verdict) -> String {
    match verdict {
        Verdict::Is(label) => label.name(),
        Verdict::Undecided(why) => format!("undecided: {why}"),
    }
}

#[test]
fn a_refusal_after_the_listener_closed_is_early_close() {
    let steps = [(10_001, "signal"), (10_002, "refusing")];
    let pod = deleted(&steps, None);
    let case = case(Server::Subject("early-close"));
    let verdict = judged(&case, pod, How::Refused, 10_500);
    assert_eq!(name(verdict), "early_close/refused");
}

#[test]
fn a_cut_at_the_kill_of_a_pod_that_never_heard_the_signal_is_unforwarded() {
    let mut pod = deleted(&[], Some((20_001, 137)));
    pod.runs[0].sigkill = Some(at(20_000));
    let case = case(Server::ShellWrapped);
    let verdict = judged(&case, pod.clone(), How::Cut, 20_001);
    assert_eq!(name(verdict), "unforwarded_signal/swallowed");
    // After it nothing has ended early: the route is what is wrong.
    let verdict = judged(&case, pod, How::Refused, 21_000);
    assert_eq!(name(verdict), "stale_route");
}

#[test]
fn a_hook_that_used_up_the_grace_is_the_cause_of_what_the_kill_cuts() {
    let steps = [(20_010, "signal"), (20_011, "draining")];
    let mut pod = deleted(&steps, Some((22_005, 137)));
    let run = &mut pod.runs[0];
    (run.signal, run.sigkill) = (Some(at(20_005)), Some(at(22_004)));
    run.pre_stop = Some((at(10_000), Some(at(20_001))));
    let verdict = judged(&case(Server::Subject("graceful")), pod, How::Cut, 22_006);
    assert_eq!(name(verdict), "prestop_overrun");
}

#[test]
fn a_killed_process_is_a_crash_until_it_listens_again() {
    let mut pod = deleted(&[], None);
    pod.deleted = None;
    let first = &mut pod.runs[0];
    (first.stopping, first.signal) = (None, None);
    (first.killed_by_us, first.exited) = (Some(at(5000)), Some((at(5002), 137)));
    let mut second = first.clone();
    second.started = at(6000);
    (second.killed_by_us, second.exited) = (None, None);
    second.ledger.steps = vec![(at(6010), "listening".to_owned())];
    pod.runs.push(second);
    let case = case(Server::Subject("graceful"));
    for (ms, how) in [(5003, How::Cut), (5500, How::Refused), (6005, How::Refused)] {
        assert_eq!(name(judged(&case, pod.clone(), how, ms)), "crash", "{ms}");
    }
    let later = name(judged(&case, pod, How::Refused, 6500));
    assert_eq!(later, "undecided: refused by a pod that listens");
}

fn also(verdict: Verdict) -> (String, Vec<&'static str>) {
    match verdict {
        Verdict::Is(label) => (label.name(), label.also),
        Verdict::Undecided(why) => panic!("{why}"),
    }
}

fn holding_streams(server: &'static str) -> Case {
    let streams = super::super::streams::Streams {
        kind: "sse".to_owned(),
        count: 3,
        cadence_ms: 500,
    };
    Case {
        streams: Some(streams),
        ..case(Server::Subject(server))
    }
}

#[test]
fn a_stream_that_a_drain_waits_for_to_the_kill_is_too_long_for_any() {
    let steps = [
        (10_001, "signal"),
        (10_900, "refusing"),
        (10_901, "closing"),
    ];
    let mut pod = deleted(&steps, Some((20_001, 137)));
    pod.runs[0].sigkill = Some(at(20_000));
    let verdict = judged(&holding_streams("overrun"), pod.clone(), How::Cut, 20_001);
    assert_eq!(also(verdict), ("long_stream_cut".to_owned(), vec![]));
    // A request beside it is one that the drain had no time for.
    let beside = case(Server::Subject("overrun"));
    let verdict = judged(&beside, pod, How::Cut, 20_001);
    assert_eq!(name(verdict), "sigkill_overrun/long_request");
}

#[test]
fn a_stream_that_its_drain_did_not_come_to_was_cut_by_what_stopped_it_as_well() {
    let mut pod = deleted(&[], Some((20_001, 137)));
    pod.runs[0].sigkill = Some(at(20_000));
    let verdict = judged(&holding_streams("no-handler"), pod, How::Cut, 20_001);
    let as_true = vec!["long_stream_cut"];
    let cause = "unforwarded_signal/swallowed".to_owned();
    assert_eq!(also(verdict), (cause, as_true));
}

#[test]
fn what_an_evicted_pod_fails_is_the_drain_of_its_node() {
    let steps = [(10_001, "signal"), (10_002, "refusing")];
    let mut pod = deleted(&steps, None);
    pod.evicted = true;
    let case = case(Server::Subject("early-close"));
    let verdict = judged(&case, pod.clone(), How::Refused, 10_500);
    assert_eq!(also(verdict), ("node_drain".to_owned(), vec![]));
}

#[test]
fn what_comes_after_the_end_of_a_proxy_fails_for_want_of_it() {
    let steps = [
        (10_001, "signal"),
        (10_002, "draining"),
        (13_000, "refusing"),
    ];
    let mut pod = deleted(&steps, Some((14_000, 0)));
    pod.proxy_ended = Some(at(10_004));
    let case = case(Server::Subject("graceful"));
    for (how, ms) in [(How::Cut, 10_003), (How::Refused, 12_000)] {
        let verdict = judged(&case, pod.clone(), how, ms);
        assert_eq!(also(verdict), ("sidecar_first".to_owned(), vec![]), "{ms}");
    }
    pod.runs[0].ledger.steps[3].0 = at(10_050);
    let verdict = judged(&case, pod, How::Refused, 12_000);
    assert_eq!(also(verdict).1, ["early_close"]);
}

#[test]
fn a_second_owner_shows_in_the_log_alone() {
    let steps = [(10_001, "signal"), (10_002, "pool_closed")];
    let pod = deleted(&steps, None);
    for logs in [true, false] {
        let case = Case {
            logs,
            ..case(Server::Subject("double-owner"))
        };
        let verdict = judged(&case, pod.clone(), How::Answered(500), 10_500);
        let (cause, also) = also(verdict);
        assert_eq!(cause, "double_shutdown");
        assert_eq!(also.contains(&"dependency_closed_first"), !logs);
    }
}

#[test]
fn a_refusal_before_the_first_listener_is_ready_too_early() {
    let pod = deleted(&[], None);
    let case = case(Server::Subject("ready-too-early"));
    assert_eq!(name(judged(&case, pod, How::Refused, 0)), "ready_too_early");
}

#[test]
fn without_logs_an_exit_with_an_error_after_the_signal_is_a_timers_or_an_errors() {
    let steps = [(10_001, "signal"), (11_500, "timeout")];
    let mut pod = deleted(&steps, Some((11_502, 1)));
    pod.runs[0].ledger.exit = Some((at(11_502), 1));
    for logs in [true, false] {
        let case = Case {
            logs,
            ..case(Server::Subject("forced-exit"))
        };
        match judged(&case, pod.clone(), How::Refused, 12_000) {
            Verdict::Is(label) => {
                assert_eq!(label.name(), "forced_exit");
                assert_eq!(label.veiled, !logs);
            }
            Verdict::Undecided(why) => panic!("{why}"),
        }
    }
}
