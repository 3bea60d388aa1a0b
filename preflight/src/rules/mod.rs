//! The rules. Each is a pure function from what is known of one workload to its findings.

mod budget;
mod delay;
mod development;
mod hook;
mod host_port;
mod keep_alive;
mod mesh;
mod owners;
mod pid1;
mod probes;
mod rollout;
mod service;
mod sidecar;
mod stop_signal;

use crate::context::Context;
use crate::finding::Finding;

type Rule = for<'c, 'a> fn(&'c Context<'a>) -> Vec<Finding>;

const RULES: &[Rule] = &[
    pid1::check,
    development::check,
    owners::check,
    stop_signal::check,
    delay::check,
    budget::check,
    hook::check,
    probes::check,
    rollout::check,
    service::check,
    host_port::check,
    keep_alive::check,
    sidecar::check,
    mesh::check,
];

/// The findings of every rule.
pub(crate) fn check(cx: &Context<'_>) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(cx)).collect()
}
