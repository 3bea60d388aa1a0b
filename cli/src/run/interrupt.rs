//! Ctrl-C: once to stop in good order with a partial report, twice to stop at once.

use std::process;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use super::live;
use crate::exit::Exit;

/// How the user stops a run.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    stopped: watch::Receiver<bool>,
    key: mpsc::UnboundedSender<()>,
}

impl Interrupt {
    /// Listens for SIGINT, SIGTERM and SIGHUP, and for keys. The first one turns the flag to true, the second one
    /// (other than SIGHUP) ends the process.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let (key, mut keys) = mpsc::unbounded_channel();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let listened = Self {
            stopped,
            key: key.clone(),
        };
        tokio::spawn(async move {
            let _open = key; // Without a sender, `recv` would return at once.
            loop {
                let hung_up = tokio::select! {
                    _ = interrupt.recv() => false,
                    _ = terminate.recv() => false,
                    _ = keys.recv() => false,
                    _ = hangup.recv() => true,
                };
                let again = stop.send_replace(true);
                // A terminal that closes hangs up twice, by the shell and by the kernel: that is no impatience.
                if again && !hung_up {
                    live::restore();
                    // What the sandbox started dies with this process.
                    process::exit(i32::from(Exit::Interrupted.code()));
                }
            }
        });
        Ok(listened)
    }

    /// The flag: whether to stop.
    pub(crate) fn stopped(&self) -> &watch::Receiver<bool> {
        &self.stopped
    }

    /// What a terminal in raw mode does not make of Ctrl-C by itself: the same as SIGINT.
    pub(crate) fn press(&self) {
        let _ = self.key.send(());
    }
}
