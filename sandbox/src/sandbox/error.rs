//! Why a sandbox can't be used.

use crate::StoreError;
use crate::api::ApiServerError;
use crate::front_end::FrontEndError;
use crate::kubelet::KubeletError;
use crate::manifest::ManifestError;

/// Why a sandbox did not start, or its pods did not get ready.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The manifest can't be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The API can't listen.
    #[error(transparent)]
    Api(#[from] ApiServerError),
    /// The node can't start.
    #[error("cannot start the sandbox's node: {0}")]
    Kubelet(#[from] KubeletError),
    /// The front end can't listen.
    #[error(transparent)]
    FrontEnd(#[from] FrontEndError),
    /// A thread can't start.
    #[error("cannot start a thread for the sandbox: {0}")]
    Thread(#[source] std::io::Error),
    /// An object of the manifest can't be created.
    #[error("cannot apply the manifest: {0}")]
    Apply(#[source] StoreError),
    /// The sandbox's threads ended by themselves.
    #[error("the sandbox stopped while it started")]
    Stopped,
    /// The pods did not get ready.
    #[error("{workload} did not become available {why}\n{report}")]
    NotAvailable {
        /// The workload.
        workload: String,
        /// The deadline that passed, or the reason why waiting is in vain.
        why: String,
        /// The pods' states, the last events and the last log lines.
        report: String,
    },
}
