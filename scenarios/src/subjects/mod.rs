//! The subjects: small real servers with one defined shutdown behaviour each.
//!
//! All of them have the same HTTP surface and differ only in what they do when they are told to stop. [`run`] is the
//! whole program of one; everything it needs comes from its environment ([`Settings`]).
//!
//! | path | answer |
//! |---|---|
//! | `/` | 200 at once, after one query to the pool |
//! | `/work?ms=N` | one query to the pool, then 200 after N milliseconds |
//! | `/stream?ms=N` | 200 with a chunked body that takes N milliseconds; needs no pool |
//! | `/events?ms=N` | server-sent events, one at once and then one each N milliseconds (1000 without N), without an end |
//! | `/ws` | a WebSocket that echoes |
//! | `POST /jobs?ms=N` | 202; a worker takes N milliseconds for the job |
//! | `GET /jobs` | counts of jobs: queued, running, done, returned, lost, duplicated |
//! | `/fail` | 500 |
//! | `/healthz/live` | 200 |
//! | `/healthz/ready` | 200, and 503 once draining |
//!
//! Every response carries `x-pod-name`. Each step of the start and of the shutdown is one JSON line on stdout
//! (`t` is epoch milliseconds), and the same facts as seen from the server's sockets go to the [`Ledger`].

mod app;
mod body;
mod connection;
mod held;
mod jobs;
mod ledger;
mod log;
mod pool;
mod run;
mod server;
mod settings;
mod shutdown;
mod subject;
#[cfg(test)]
mod tests;

pub use ledger::Ledger;
pub use run::run;
pub use settings::{Settings, SettingsError};
pub use subject::Subject;
