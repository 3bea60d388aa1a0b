//! A connection pool of a made-up database, in the process.

use tokio::sync::Semaphore;

/// Connections in the pool.
const CONNECTIONS: u32 = 20;

/// Answers queries until it is closed.
#[derive(Debug)]
pub(super) struct Pool {
    connections: Semaphore,
}

/// A query came after the pool was closed.
#[derive(Debug, thiserror::Error)]
#[error("cannot use a pool after calling end on the pool")]
pub(super) struct PoolClosed;

impl Pool {
    pub(super) fn new() -> Self {
        Self {
            connections: Semaphore::new(CONNECTIONS as usize),
        }
    }

    /// One query: takes a connection from the pool, and a turn of the event loop.
    pub(super) async fn query(&self) -> Result<(), PoolClosed> {
        let _connection = self.connections.acquire().await.map_err(|_| PoolClosed)?;
        tokio::task::yield_now().await;
        Ok(())
    }

    /// Waits for the running queries, then refuses every later one.
    pub(super) async fn close(&self) {
        let running = self.connections.acquire_many(CONNECTIONS).await;
        drop(running);
        self.connections.close();
    }
}
