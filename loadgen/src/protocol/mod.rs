//! One HTTP/1.1 exchange, and what a response says.

mod exchange;
mod response;

pub(crate) use exchange::run_slot;
pub(crate) use response::{ResponseFacts, says_close};
