//! Container logs: all containers of all pods of the workload, followed across restarts.

mod follower;
mod position;
mod supervisor;
mod tail;

pub(crate) use supervisor::keep_following;
pub(crate) use tail::LogTail;
