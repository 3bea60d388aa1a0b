//! `warmup` and `settle`: load alone, for a time.

use std::time::Duration;

use tokio::time::Instant;

use crate::walk::{Stop, Waited, Walk};

pub(super) async fn run(walk: &mut Walk<'_>, length: Duration) -> Result<(), Stop> {
    let until = Instant::now() + length;
    while walk.wait(Some(until)).await? != Waited::TimeOver {}
    Ok(())
}
