//! The local look-alike of Kubernetes: real processes, real signals, and the same API on loopback.

mod store;
mod timestamp;

pub use store::{Change, ChangeType, Gone, Kind, Store, StoreError, Watch};
