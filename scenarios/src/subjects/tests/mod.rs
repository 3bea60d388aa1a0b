//! What each subject does, seen from outside: raw sockets, the exit status, the kernel's signal masks, the ledger.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod child;
mod drains;
mod exits;
mod surface;
