//! The node: runs the pods that are bound to it and ends them as a kubelet does.
//!
//! The order of a pod's start and end, the arithmetic of the grace period, the conditions and the events follow
//! Kubernetes 1.36. Where a kubelet waits for its relist of the container runtime (once a second), so does this one:
//! restarts in place, the second readiness probe and the removal of a dead pod happen on that beat.
//!
//! What differs: images are ignored, a memory limit holds for what the container's processes have resident (one that has a
//! limit and dies of a SIGKILL which is not the kubelet's counts as killed for want of memory), a second deletion with a shorter grace does not run the
//! preStop hook again, and gRPC and HTTPS probes are not supported (they fail and say so).

mod addresses;
mod backoff;
mod container;
mod environment;
mod events;
mod grace;
mod hooks;
mod http_get;
mod memory;
mod node;
mod pod;
mod pod_worker;
mod probe;
mod probe_action;
mod run;
mod scratch;
mod status;
mod stop;
mod witness;

#[expect(clippy::module_inception, reason = "the type that the module is about")]
mod kubelet;

pub use addresses::PortClaim;
pub use kubelet::{Kubelet, KubeletConfig, KubeletError};
pub(crate) use witness::was_signalled;
