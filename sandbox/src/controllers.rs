//! The controllers of the sandbox's cluster: each watches the store and brings the objects nearer to what is asked for.

mod deletion;
mod deployment;
mod deployment_revision;
mod deployment_scaling;
mod deployment_status;
mod endpoint_slice;
mod endpoints;
mod events;
mod garbage;
mod label_selector;
mod node;
mod object;
mod pace;
mod pod_template;
mod ranking;
mod replica_set;
mod replica_sets;
mod rolling;
mod run;
mod scheduler;

pub(crate) use deletion::delete_pod;
pub(crate) use label_selector::label_selector_matches;
pub(crate) use node::{KUBELET_VERSION, NODE};
pub(crate) use object::{condition, parse_time};
pub(crate) use pod_template::{admit, qos_class, random_suffix};
pub(crate) use rolling::Bounds;
pub(crate) use run::Controllers;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;
