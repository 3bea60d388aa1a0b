//! Keys of a terminal in raw mode, which does not make a signal of Ctrl-C.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use nix::fcntl::OFlag;

/// Ctrl-C as a byte.
const CTRL_C: u8 = 3;
/// How often keys are asked for: at once, to a person.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// The terminal's keys.
pub(in crate::run) struct Keys(File);

impl Keys {
    /// Opens the process's own terminal, whatever stdin is. Only reads through this opening do not block.
    pub(in crate::run) fn open() -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
        options.open("/dev/tty").map(Self)
    }

    /// Waits for q or Ctrl-C. Never returns once the terminal has gone away: that is told by a signal.
    pub(in crate::run) async fn stop(&self) {
        loop {
            let mut bytes = [0; 64];
            match (&self.0).read(&mut bytes) {
                Ok(0) => break,
                Ok(n) if bytes[..n].iter().copied().any(stops) => return,
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    tokio::time::sleep(ASK_EVERY).await;
                }
                Err(_) => break,
            }
        }
        std::future::pending().await
    }
}

fn stops(byte: u8) -> bool {
    matches!(byte, b'q' | b'Q' | CTRL_C)
}
