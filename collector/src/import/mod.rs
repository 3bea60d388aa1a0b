//! Makes a recording from streams that were kept with `kubectl get --watch`-like tools: see [`import_watch`].

mod error;
mod facts;
mod files;
mod logs;
mod meta;
mod requests;
mod stages;
mod watch;
mod whole;

pub use error::ImportError;
pub use whole::{ImportSummary, Imported, import_watch, read_watch_dir};
