//! Kubernetes watches and logs, and the driver that walks the stages of a rollout.
//!
//! A [`Collector`] records what happens to a workload: raw watch events, container logs and samples of the API
//! server's clock. [`walk`] takes a run through its stages. Both only write down what they see; what it means is
//! decided from the recording. [`import_watch`] makes a recording from streams that somebody else kept.

mod api_server;
mod backoff;
mod clock_samples;
mod cluster_state;
mod collector;
mod connect;
mod error;
mod import;
mod jobs;
mod lines;
mod logs;
mod nodes;
mod objects;
mod progress;
mod resource;
mod rollout;
mod selector;
mod stages;
mod templates;
mod unready;
mod walk;
mod warnings;
mod watch;
mod workload;

pub use api_server::{ApiFailure, ApiServer};
pub use cluster_state::{ClusterState, EventNote};
pub use collector::{Cluster, Collector, Scope};
pub use connect::{IN_CLUSTER, connect, connect_context, context_name};
pub use error::CollectorError;
pub use import::{ImportError, ImportSummary, Imported, import_watch, read_watch_dir};
pub use jobs::{Document, JobsFrom, JobsObserver, JobsReading, Query, RedisList, Route};
pub use objects::{LiveObjects, WorkloadName, read_workload};
pub use progress::{PodCounts, Progress};
pub use rollout::RolloutStatus;
pub use walk::{WalkEnd, walk};
pub use watch::WatchTiming;
pub use workload::{ContainerState, ContainerView, DeploymentView, PodView, ReplicaSetView};
