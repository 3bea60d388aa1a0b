//! One exchange, and what a response says.

mod body;
mod exchange;
mod response;

pub(crate) use body::BodyReader;
pub(crate) use exchange::run_slot;
pub(crate) use response::{ResponseFacts, says_close};
