//! The requests, attributed to pods; the failures, told apart by what happened on the wire.

mod answers;
mod attribution;
mod certain;
mod failure;
mod kind;
mod listening;
mod moments;
mod pod_traffic;
mod quick;
mod routes;
mod sharpen;
mod suspects;

pub(crate) use attribution::{How, Traffic};
pub(crate) use failure::{Failure, FailureIx};
pub(crate) use kind::Kind;
pub(crate) use sharpen::sharpen;
pub(crate) use suspects::{down_at, open_after, starts};
