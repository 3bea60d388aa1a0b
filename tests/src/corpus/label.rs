//! The true cause of a failed request.
//!
//! The rules, in the words of the signatures. `also` names causes that are as true: to remove either would have saved
//! the request.

use rollscope_records::RunOffset;

use super::circumstances::seen_with;
use super::draw::{Case, Server};
use super::mix::Background;
use super::truth::{ContainerRun, PodTruth, Truth};
use super::witness::{How, Met};

/// A cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    /// The signature.
    pub(crate) cause: &'static str,
    /// Its face; `None` where the truth is between faces or there are none.
    pub(crate) detail: Option<&'static str>,
    /// Causes that are as true.
    pub(crate) also: Vec<&'static str>,
    /// Whether two things happened so near each other that an honest observer names both.
    pub(crate) veiled: bool,
}

/// What the witnesses say together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The cause is known.
    Is(Label),
    /// The witnesses do not decide; why.
    Undecided(&'static str),
}

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;

/// Two witnesses of one event can be this far apart.
const SLACK: i64 = 30 * MS;

/// A killed process may be gone this much before its end is seen: its container ends with its last process.
const UNSEEN: i64 = 300 * MS;

/// A server that keeps its listener open for this long after the signal has waited for routing.
const WAITED: i64 = 5 * SECOND;

fn is(cause: &'static str, detail: Option<&'static str>) -> Label {
    Label {
        cause,
        detail,
        also: Vec::new(),
        veiled: false,
    }
}

impl Label {
    pub(super) fn also(mut self, cause: &'static str) -> Self {
        self.also.push(cause);
        self
    }

    /// Whether a verdict is right.
    pub(crate) fn accepts(&self, cause: &str) -> bool {
        self.cause == cause || self.also.contains(&cause)
    }

    /// Whether a case lets its observer tell this cause from those that look like it: a wrapper's end needs its log
    /// lines, a swallowed signal the log or a readiness probe; of two pods that can have refused, the one that was not
    /// listening yet shows by its log or by answers that name their pods, not by the probe that called it ready.
    pub(crate) fn shows(&self, case: &Case) -> bool {
        let named = self.cause != "ready_too_early" || case.logs || case.pod_header;
        let probe = match self.cause {
            "unforwarded_signal" | "sigkill_overrun" => probe_shows_in_time(case),
            _ => case.readiness.is_some(),
        };
        // A condition of the pod says that it was evicted.
        let evicted = self.cause == "node_drain";
        !self.veiled
            && named
            && (case.logs || evicted || (probe && self.detail != Some("half_forwarded")))
    }

    fn is_of_new_pods(&self) -> bool {
        matches!(self.cause, "ready_too_early" | "cold_start")
    }

    /// Cause and face in one word.
    pub(crate) fn name(&self) -> String {
        match self.detail {
            Some(detail) => format!("{}/{detail}", self.cause),
            None => self.cause.to_owned(),
        }
    }
}

/// The cause of a failed request.
pub(crate) fn label(case: &Case, truth: &Truth, met: &Met<'_>) -> Verdict {
    let pod = met.pod.as_ref().and_then(|p| truth.pods.get(p));
    match by_the_witnesses(case, truth, met) {
        Verdict::Is(label) => Verdict::Is(seen_with(label, case.server, pod, met)),
        undecided => undecided,
    }
}

fn by_the_witnesses(case: &Case, truth: &Truth, met: &Met<'_>) -> Verdict {
    let background = case.mix.named(met.request.name).and_then(|a| a.background);
    match (met.how, background) {
        (How::Answered(status), Some(Background::Status(drawn))) if status == drawn => {
            return Verdict::Is(is("background", None));
        }
        (How::Late, Some(Background::Deadline)) => return Verdict::Is(is("background", None)),
        (How::Unclear(why), _) => return Verdict::Undecided(why),
        (How::NoEndpoint, _) => {
            return Verdict::Is(no_endpoints(case, truth, met.at).seen_through(case, truth, met));
        }
        _ => {}
    }
    let Some(pod) = met.pod.as_ref().and_then(|p| truth.pods.get(p)) else {
        return Verdict::Undecided("the pod is not in the sandbox's log");
    };
    if let Some(label) = without_its_proxy(pod, met) {
        return Verdict::Is(match met.how {
            How::Refused => label.seen_through(case, truth, met),
            _ => label,
        });
    }
    let verdict = match met.how {
        How::Refused => refused(case, pod, met),
        How::Cut => cut(case, pod, met),
        How::Answered(500) => answered_500(case, pod, met),
        How::Late => late(case, pod, met),
        _ => Verdict::Undecided("a status that nobody drew"),
    };
    match verdict {
        Verdict::Is(label)
            if matches!(label.cause, "crash" | "oom_kill")
                && ended_as_it_was_deleted(case, pod) =>
        {
            Verdict::Is(Label {
                veiled: true,
                ..label
            })
        }
        // Before the rollout nobody sees that the pods are new.
        Verdict::Is(label) if label.is_of_new_pods() && before_rollout(truth, met.at) => {
            Verdict::Is(label.also("background"))
        }
        Verdict::Is(label) if met.how == How::Refused => {
            Verdict::Is(label.seen_through(case, truth, met))
        }
        other => other,
    }
}

/// The proxy through which it came had ended before the application did. Where that closed at the same time, it would
/// not have been reached anyway.
fn without_its_proxy(pod: &PodTruth, met: &Met<'_>) -> Option<Label> {
    let ended = pod.proxy_ended?;
    let at_it = matches!(met.how, How::Refused | How::Cut) && ended <= met.at.plus_nanos(SLACK);
    let run = pod.runs.last().filter(|_| at_it)?;
    let closed = run
        .ledger
        .step("refusing")
        .or(run.ledger.exit.map(|(t, _)| t));
    let later = |from: RunOffset| from.plus_nanos(SECOND);
    let gone_too = closed.is_some_and(|t| t <= later(ended)) || run.is_over(later(ended));
    Some(if gone_too {
        Label {
            veiled: true,
            ..is("sidecar_first", None).also("early_close")
        }
    } else {
        is("sidecar_first", None)
    })
}

/// Whether a probe that fails from the signal on has turned the pod not ready before its grace is over.
fn probe_shows_in_time(case: &Case) -> bool {
    let hook = case.pre_stop.map_or(0, |hook| hook.seconds);
    case.readiness
        .is_some_and(|(period, threshold)| hook + period * threshold + 1 < case.grace)
}

fn before_rollout(truth: &Truth, at: RunOffset) -> bool {
    let deletions = truth.pods.values().filter_map(|p| p.deleted);
    deletions
        .map(|(t, _)| t)
        .min()
        .is_none_or(|first| at < first)
}

/// An end by itself at about the deletion, or after it where no log tells it from a forced exit.
fn ended_as_it_was_deleted(case: &Case, pod: &PodTruth) -> bool {
    let Some((deleted, _)) = pod.deleted else {
        return false;
    };
    let near = |k: RunOffset| k.nanos_since(deleted).abs() < 1500 * MS;
    let later = |k: RunOffset| k >= deleted && !case.logs;
    let mut ends = pod
        .runs
        .iter()
        .filter_map(|r| r.killed_by_us.or(r.exited.map(|(t, _)| t)));
    ends.any(|end| near(end) || later(end))
}

/// No endpoint at all. Where a crash or a failed probe left none, that is as true.
fn no_endpoints(case: &Case, truth: &Truth, at: RunOffset) -> Label {
    let mut label = is("no_endpoints", None);
    let evicted = |pod: &PodTruth| pod.evicted && pod.deleted.is_some_and(|(t, _)| t <= at);
    if truth.pods.values().any(evicted) {
        label.also.push("node_drain");
    }
    for pod in truth.pods.values() {
        for (i, run) in pod.runs.iter().enumerate() {
            let stopped = run.stopping.filter(|_| run.is_restart()).map(|(t, _)| t);
            let ended = stopped.or(run.exited.map(|(t, _)| t));
            let Some(ended) = ended.filter(|t| *t <= at) else {
                continue;
            };
            let again = pod.runs.get(i + 1).and_then(|r| r.ledger.step("listening"));
            let missed = again.is_none_or(|t| t.plus_nanos(15 * SECOND) >= at);
            let cause = by_itself(case, run);
            if let Some(cause) = cause
                && missed
                && at.nanos_since(ended) < 60 * SECOND
                && !label.also.contains(&cause)
            {
                label.also.push(cause);
            }
        }
    }
    label
}

/// The cause of a container's end, where it was not its pod's deletion.
fn by_itself(case: &Case, run: &ContainerRun) -> Option<&'static str> {
    if run.killed_by_us.is_some() {
        let memory = case.memory_limit;
        return Some(if memory { "oom_kill" } else { "crash" });
    }
    if run.is_restart() {
        return Some("liveness_kill");
    }
    match (run.exited, run.stopping) {
        (Some(_), None) => Some("crash"),
        (Some((ended, _)), Some((stopping, _)))
            if run.caught().is_none() && run.signal.is_none() && run.sigkill.is_none() =>
        {
            // It died while its preStop hook ran.
            (ended > stopping).then_some("crash")
        }
        (Some(_), Some(_)) if run.ledger.exit.is_some_and(|(_, code)| code == 1) => {
            let by_timer = run.ledger.step("timeout").is_some();
            (!by_timer).then_some("crash")
        }
        _ => None,
    }
}

fn refused(case: &Case, pod: &PodTruth, met: &Met<'_>) -> Verdict {
    let at = met.at;
    let Some((i, run)) = pod.run_at(at.plus_nanos(SLACK)) else {
        return Verdict::Is(is("ready_too_early", None));
    };
    let listening = run.ledger.step("listening");
    if listening.is_none_or(|t| t > at) {
        return Verdict::Is(
            match pod.runs[..i].last().and_then(|r| by_itself(case, r)) {
                Some(cause) => is(cause, None),
                None => is("ready_too_early", None),
            },
        );
    }
    let closed = run
        .ledger
        .step("refusing")
        .filter(|t| *t <= at.plus_nanos(SLACK));
    let gone = run.is_over(at.plus_nanos(SLACK)) || (closed.is_none() && ending(run, at));
    if let Some(cause) = by_itself(case, run)
        && ((gone && closed.is_none()) || run.is_restart())
    {
        return Verdict::Is(is(cause, None));
    }
    if closed.is_none() && !gone {
        return Verdict::Undecided("refused by a pod that listens");
    }
    let label = match (closed, run.caught()) {
        (Some(closed), Some(caught)) if closed.nanos_since(caught) >= WAITED => {
            is("stale_route", None).also("early_close")
        }
        (Some(_), _) => is("early_close", Some("refused")),
        (None, _) => end(case, run, met).after_the_end(),
    };
    if met.fallback {
        return Verdict::Is(is("no_endpoints", None).also(label.cause));
    }
    Verdict::Is(label)
}

/// Whether the Service had no ready endpoint at some time from `from` to `to`.
fn none_ready(truth: &Truth, from: RunOffset, to: RunOffset) -> bool {
    let at_first = truth.ready.iter().rfind(|(t, _)| *t <= from);
    let later = truth.ready.iter().filter(|(t, _)| *t > from && *t <= to);
    at_first
        .into_iter()
        .chain(later)
        .any(|(_, ready)| *ready == 0)
}

impl Label {
    /// While the Service has no ready endpoint that is as true a cause. Behind `l4` a client cannot tell a closed port
    /// from no endpoint, and no observer knows how long the front end takes to learn that there is one again.
    fn seen_through(mut self, case: &Case, truth: &Truth, met: &Met<'_>) -> Self {
        if none_ready(truth, met.at, met.at) && !self.accepts("no_endpoints") {
            self.also.push("no_endpoints");
        }
        let lag = i64::try_from(case.lag_ms.1).unwrap_or(0) * MS;
        let late = met.at.plus_nanos(-lag - SECOND);
        self.veiled |= case.front_end == "l4" && none_ready(truth, late, met.at);
        self
    }

    /// What a connection meets that comes after an end with this cause.
    fn after_the_end(self) -> Self {
        match self.cause {
            // Nothing ended early: the route is what is wrong.
            "sigkill_overrun" | "prestop_overrun" => is("stale_route", None),
            "unforwarded_signal" if self.detail == Some("swallowed") => is("stale_route", None),
            "early_close" => is("early_close", Some("refused")),
            _ => self,
        }
    }
}

/// Whether the process is being killed at `t`, so that it may be gone before its end is seen.
fn ending(run: &ContainerRun, t: RunOffset) -> bool {
    let killers = [run.signal, run.sigkill, run.killed_by_us];
    let struck = killers.iter().flatten().any(|k| *k <= t.plus_nanos(SLACK));
    struck && run.caught().is_none() && run.is_over(t.plus_nanos(UNSEEN))
}

fn cut(case: &Case, pod: &PodTruth, met: &Met<'_>) -> Verdict {
    let Some((_, run)) = pod.run_at(met.connected) else {
        return Verdict::Undecided("a cut on a pod that did not run");
    };
    // A request on a connection that the front end kept may meet the run after the one that it was made with.
    let before = pod.runs.iter().rfind(|r| r.is_over(met.connected));
    let ledger = &run.ledger;
    let came = |step: &str| ledger.step(step).filter(|t| *t <= met.at.plus_nanos(SLACK));
    if let Some(cause) = by_itself(case, run)
        && (run.is_over(met.at.plus_nanos(SLACK)) || ending(run, met.at) || run.is_restart())
    {
        return Verdict::Is(is(cause, None));
    }
    let killed = run.sigkill.is_some_and(|k| k <= met.at.plus_nanos(SLACK));
    if run.is_over(met.at.plus_nanos(SLACK)) || ending(run, met.at) || killed {
        return Verdict::Is(end(case, run, met));
    }
    if came("cutting").is_some() {
        return Verdict::Is(is("app_deadline", None));
    }
    if came("refusing").is_some() {
        if met.received.is_some() {
            return Verdict::Undecided("received, and not answered by a server that drains");
        }
        // A connection that the server never accepted was refused late, so to say.
        let detail = (met.accepted != Some(false)).then_some("idle_close");
        let waited = ledger.step("refusing").zip(run.caught());
        let label = is("early_close", detail);
        return Verdict::Is(match waited {
            Some((closed, caught)) if closed.nanos_since(caught) >= WAITED => {
                label.also("keepalive_race")
            }
            _ => label,
        });
    }
    if let Some(cause) = before
        .and_then(|r| by_itself(case, r))
        .filter(|_| met.reused)
    {
        return Verdict::Is(is(cause, None));
    }
    let kept = met.reused && case.keep_alive_ms < 60_000;
    let travel = i64::try_from(case.close_travel_ms).unwrap_or(0) * MS + SLACK;
    // The ingress cannot see whether its request was read.
    let unread = match met.received {
        None => true,
        Some(sent) => case.front_end == "http" && met.at.nanos_since(sent) <= travel,
    };
    if kept && unread {
        let race = is("keepalive_race", None);
        // Behind an ingress nobody sees its connections: errors at a constant rate are all there is.
        return Verdict::Is(match case.front_end.as_str() {
            "http" => race.also("background"),
            _ => race,
        });
    }
    Verdict::Undecided("cut by a server that serves")
}

/// The cause that the end of a deleted pod's container is to a request that it cut.
fn end(case: &Case, run: &ContainerRun, met: &Met<'_>) -> Label {
    let swallows = matches!(
        case.server,
        Server::ShellWrapped | Server::Subject("no-handler")
    );
    if run.sigkill.is_some() {
        return killed_at_deadline(case, run, met, swallows);
    }
    if run.ledger.step("timeout").is_some() {
        return is("forced_exit", None);
    }
    if run.ledger.step("cutting").is_some() {
        return is("app_deadline", None);
    }
    if run.caught().is_none() {
        return is("unforwarded_signal", Some("half_forwarded"));
    }
    if run.ledger.step("closing").is_some() {
        // The drain was over: only a connection that was idle can have been hit.
        return is("early_close", Some("idle_close"));
    }
    let received = met.received.is_some();
    is("early_close", received.then_some("in_flight_cut"))
}

fn killed_at_deadline(case: &Case, run: &ContainerRun, met: &Met<'_>, swallows: bool) -> Label {
    let grace = i64::try_from(case.grace).unwrap_or(0) * SECOND;
    let hook = match run.pre_stop {
        Some((from, Some(to))) => to.nanos_since(from),
        _ => 0,
    };
    if hook >= grace - 50 * MS {
        let label = is("prestop_overrun", None);
        return if swallows {
            label.also("unforwarded_signal")
        } else {
            label
        };
    }
    if run.caught().is_none() {
        return is("unforwarded_signal", Some("swallowed"));
    }
    let label = is("sigkill_overrun", overrun_detail(case, run, met));
    // The hook left less than the two seconds that are given in any case.
    if hook > grace - 2 * SECOND {
        label.also("prestop_overrun")
    } else {
        label
    }
}

/// Which face, where it is one: what kept the drain from its end.
fn overrun_detail(case: &Case, run: &ContainerRun, met: &Met<'_>) -> Option<&'static str> {
    let closing = run.ledger.step("closing")?;
    if case.server == Server::Subject("keepalive-hang") {
        // A request that was there before the listener closed would have held the drain anyway.
        let old = met.received.is_some_and(|t| t <= closing);
        return (!old).then_some("keep_alive_held");
    }
    Some("long_request")
}

fn answered_500(case: &Case, pod: &PodTruth, met: &Met<'_>) -> Verdict {
    let run = pod.run_at(met.at).map(|(_, run)| run);
    let closed = run.and_then(|r| r.ledger.step("pool_closed"));
    match closed {
        Some(t) if t <= met.at.plus_nanos(SLACK) => {
            Verdict::Is(match case.server {
                Server::Subject("double-owner") if case.logs => is("double_shutdown", None),
                // Its log alone shows the second owner.
                Server::Subject("double-owner") => {
                    is("double_shutdown", None).also("dependency_closed_first")
                }
                _ => is("dependency_closed_first", None),
            })
        }
        _ => Verdict::Undecided("a 500 from a pod whose pool is open"),
    }
}

fn late(case: &Case, pod: &PodTruth, met: &Met<'_>) -> Verdict {
    let Some((_, run)) = pod.run_at(met.at) else {
        return Verdict::Undecided("late on a pod that did not run");
    };
    let cold = met
        .connected
        .max(met.request.scheduled)
        .nanos_since(run.started)
        < 5 * SECOND;
    if case.server == Server::Subject("slow-start") && cold {
        return Verdict::Is(is("cold_start", None));
    }
    Verdict::Undecided("late on a pod that was not slow")
}

#[cfg(test)]
mod tests {
    use rollscope_records::{Lane, Outcome, RequestRecord};

    use super::super::truth::Ledger;
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
}
