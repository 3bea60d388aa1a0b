//! The true cause of a failed request.
//!
//! The rules, in the words of the signatures. `also` names causes that are as true: to remove either would have saved
//! the request.

mod cuts;
mod ends;
mod refusals;

#[cfg(test)]
mod tests;

use rollscope_records::RunOffset;

use super::circumstances::seen_with;
use super::draw::{Case, Server};
use super::mix::Background;
use super::truth::{PodTruth, Truth};
use super::witness::{How, Met};
use cuts::cut;
use ends::{ended_as_it_was_deleted, no_endpoints};
use refusals::refused;

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
            if ended_as_it_was_deleted(case, pod)
                && (matches!(label.cause, "crash" | "oom_kill")
                    || (label.cause == "forced_exit" && !case.logs)) =>
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
