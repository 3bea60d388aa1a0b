//! Connections that ended under a request.

use super::super::draw::{Case, Server};
use super::super::truth::{ContainerRun, PodTruth};
use super::super::witness::Met;
use super::ends::{by_itself, ending};
use super::{Label, MS, SECOND, SLACK, Verdict, WAITED, is};

pub(super) fn cut(case: &Case, pod: &PodTruth, met: &Met<'_>) -> Verdict {
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
    let travel = i64::try_from(case.close_travel_ms).unwrap_or(0) * MS + SLACK;
    // The ingress cannot see whether its request was read.
    let unread = match met.received {
        None => true,
        Some(sent) => case.front_end == "http" && met.at.nanos_since(sent) <= travel,
    };
    if came("refusing").is_some() {
        if !unread {
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
pub(super) fn end(case: &Case, run: &ContainerRun, met: &Met<'_>) -> Label {
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
