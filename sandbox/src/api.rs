//! The sandbox's API: Kubernetes JSON over HTTP on loopback.

mod age;
mod body;
mod delete;
mod discovery;
mod error;
mod json_patch;
mod log;
mod merge_patch;
mod patch;
mod query;
mod read;
mod resource;
mod route;
mod scale;
mod selector;
mod server;
mod strategic_merge;
mod table;
mod table_pods;
mod validation;
mod watch;
mod write;

pub use server::{ApiServer, ApiServerError};
