//! The local look-alike of Kubernetes: real processes, real signals, and the same API on loopback.

pub mod api;
mod controllers;
pub mod front_end;
pub mod kubelet;
pub mod logs;
pub mod manifest;
pub mod process;
mod sandbox;
mod store;
mod timestamp;
mod truth;

pub use kubelet::PortClaim;
pub use sandbox::{GivenWorkload, Sandbox, SandboxConfig, SandboxError};
pub use store::{Change, ChangeType, Gone, Kind, Store, StoreError, Watch};
pub use truth::TruthLog;
