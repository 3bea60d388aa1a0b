//! Signatures: one cause, one file. To add one, write its file and add it to [`ALL`].
//!
//! A signature weighs a [`Case`] (failures of one kind on one pod, or the end of a pod that harmed nobody): evidence
//! that it requires, evidence that supports it, evidence that forbids it. `judge` lets the hypotheses compete.

mod app_deadline;
mod background;
mod case;
mod cold_start;
mod container_end;
mod crash;
mod dependency_closed_first;
pub(crate) mod double_shutdown;
mod early_close;
mod facts;
mod generator;
pub(crate) mod job_duplicated;
pub(crate) mod job_lost;
mod judge;
mod keepalive_race;
pub(crate) mod lease_missing;
mod liveness_kill;
mod long_stream_cut;
mod no_endpoints;
mod node_drain;
mod oom_kill;
mod prestop_overrun;
mod ready_too_early;
mod sidecar_first;
mod sigkill_overrun;
mod stale_route;
mod unforwarded_signal;
mod unknown;
mod weighing;

pub(crate) use case::Case;
pub(crate) use judge::{INDETERMINATE, Judgement, SEVERAL, UNKNOWN, judge};
pub(crate) use weighing::Hypothesis;

use crate::analysis::Advice;
use crate::context::Context;
use crate::timeline::PodIx;
use crate::traffic::FailureIx;

/// Failures with one cause, or pods with one finding.
pub(crate) struct Group<'a> {
    pub(crate) detail: Option<&'a str>,
    pub(crate) pods: &'a [PodIx],
    /// Empty for a finding.
    pub(crate) failures: &'a [FailureIx],
}

/// One cause.
pub(crate) struct Signature {
    /// Its name in reports.
    pub(crate) name: &'static str,
    /// Weighs a case: one hypothesis for each face that may apply, none where the signature has nothing to say.
    pub(crate) weigh: fn(&Case<'_>, &Context<'_>) -> Vec<Hypothesis>,
    /// The sentence for the first screen.
    pub(crate) summary: fn(&Group<'_>, &Context<'_>) -> String,
    /// What to change.
    pub(crate) advice: fn(&Group<'_>, &Context<'_>) -> Vec<Advice>,
}

/// Every signature; the order breaks ties.
pub(crate) const ALL: [&Signature; 24] = [
    &oom_kill::SIGNATURE,
    &liveness_kill::SIGNATURE,
    &crash::SIGNATURE,
    &prestop_overrun::SIGNATURE,
    &unforwarded_signal::SIGNATURE,
    &sigkill_overrun::SIGNATURE,
    &early_close::SIGNATURE,
    &app_deadline::APP_DEADLINE,
    &app_deadline::FORCED_EXIT,
    &double_shutdown::SIGNATURE,
    &dependency_closed_first::SIGNATURE,
    &sidecar_first::SIGNATURE,
    &long_stream_cut::SIGNATURE,
    &node_drain::SIGNATURE,
    &no_endpoints::SIGNATURE,
    &ready_too_early::SIGNATURE,
    &cold_start::SIGNATURE,
    &stale_route::SIGNATURE,
    &keepalive_race::SIGNATURE,
    &generator::SIGNATURE,
    &background::SIGNATURE,
    &job_lost::SIGNATURE,
    &job_duplicated::SIGNATURE,
    &lease_missing::SIGNATURE,
];

/// The names of all signatures.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().map(|s| s.name)
}

/// The signature of that name.
pub(crate) fn by_name(name: &str) -> Option<&'static Signature> {
    ALL.into_iter().find(|s| s.name == name)
}

/// The sentence of a group whose verdict is no signature.
pub(crate) fn undecided_summary(
    cause: &str,
    detail: Option<&str>,
    group: &Group<'_>,
    cx: &Context<'_>,
) -> String {
    unknown::summary(cause, detail, group, cx)
}

/// Nothing to advise.
fn no_advice(_: &Group<'_>, _: &Context<'_>) -> Vec<Advice> {
    Vec::new()
}
