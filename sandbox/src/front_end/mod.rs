//! Service front ends: what stands between the load and the pods.
//!
//! A front end follows the EndpointSlices of one Service in the [`Store`](crate::Store). Every change of an endpoint
//! reaches it after a lag that is drawn for that change; then it is part of the routes. The `l4` front end
//! only chooses where a new connection goes, as kube-proxy does; the `http` front end is a reverse proxy, as an
//! ingress is; `health_checked` is one that asks the pods themselves; `nginx` and `haproxy` are the programs.

mod counters;
mod endpoint;
mod error;
mod follow;
mod health;
mod ingress;
mod program;
mod propagation;
mod proxy;
mod relay;
mod routes;
mod start;
#[cfg(test)]
mod tests;
mod upstream;

pub use counters::{FrontEndCounters, PodCounters};
pub use error::FrontEndError;
pub use program::ProgramLog;
pub use start::FrontEnd;
