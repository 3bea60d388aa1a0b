//! A thread with a runtime of its own.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// How long blocking work may go on when the runtime ends.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// A thread that runs a single-threaded runtime until it is stopped or dropped.
#[derive(Debug)]
pub(super) struct RuntimeThread {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    ended: Option<oneshot::Receiver<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RuntimeThread {
    /// Starts the thread.
    pub(super) fn start(name: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                // An error means that the owner is gone.
                let _ = runtime.block_on(stopped);
                runtime.shutdown_timeout(SHUTDOWN);
                let _ = end.send(());
            })?;
        Ok(Self {
            handle,
            stop: Some(stop),
            ended: Some(ended),
            thread: Some(thread),
        })
    }

    /// Runs a future there; `None` if it was cancelled or panicked.
    pub(super) fn run<T, F>(&self, future: F) -> impl Future<Output = Option<T>> + use<T, F>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let task = self.handle.spawn(future);
        async move { task.await.ok() }
    }

    /// Ends the runtime and all its tasks, without blocking the caller's thread.
    pub(super) async fn stop(mut self) {
        drop(self.stop.take());
        if let Some(ended) = self.ended.take() {
            let _ = ended.await;
        }
    }
}

impl Drop for RuntimeThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It ends within the shutdown's limit; a panic there was reported already.
            let _ = thread.join();
        }
    }
}
