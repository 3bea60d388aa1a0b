//! Ctrl-C: once to stop in good order with a partial report, twice to stop at once.

use std::process;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::exit::Exit;

/// Listens for SIGINT, SIGTERM and SIGHUP. The first one turns the flag to true, the second one ends the process.
pub(crate) fn listen() -> std::io::Result<watch::Receiver<bool>> {
    let (stop, stopped) = watch::channel(false);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        for first in [true, false] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if !first {
                // What the sandbox started dies with this process.
                process::exit(i32::from(Exit::Interrupted.code()));
            }
            stop.send_replace(true);
        }
    });
    Ok(stopped)
}
