//! Connections that were refused.

use rollscope_records::RunOffset;

use super::super::draw::Case;
use super::super::truth::{PodTruth, Truth};
use super::super::witness::Met;
use super::cuts::end;
use super::ends::{by_itself, ending};
use super::{Label, MS, SECOND, SLACK, Verdict, WAITED, is};

pub(super) fn refused(case: &Case, pod: &PodTruth, met: &Met<'_>) -> Verdict {
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
    pub(super) fn seen_through(mut self, case: &Case, truth: &Truth, met: &Met<'_>) -> Self {
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
