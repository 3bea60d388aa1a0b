//! Waiting for a slot with the kernel's precision instead of the runtime's millisecond.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rollscope_records::{RunClock, RunOffset};
use rustix::thread::set_current_timer_slack;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A kernel timer that wakes the runtime it was made in. Waits are relative to the moment they begin, which costs a
/// microsecond at most and needs no second clock.
#[derive(Debug)]
pub(crate) struct SlotTimer {
    fd: AsyncFd<OwnedFd>,
    clock: RunClock,
}

impl SlotTimer {
    /// Makes the timer and puts the calling thread's timer slack at its minimum. Must be called inside a runtime with
    /// I/O enabled.
    pub(crate) fn new(clock: RunClock) -> io::Result<Self> {
        set_current_timer_slack(NonZeroU64::new(1))?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let fd = register(fd)?;
        Ok(Self { fd, clock })
    }

    /// Waits until `due`; returns at once when it has passed. Cancel safe.
    pub(crate) async fn wait(&self, due: RunOffset) -> io::Result<()> {
        let nanos = due.nanos_since(self.clock.now());
        let Some(left) = u64::try_from(nanos).ok().filter(|n| *n > 0) else {
            return Ok(());
        };
        self.arm(Duration::from_nanos(left))?;
        // The timer is not read: setting it again clears it. So a wake-up can be a stale one.
        while self.clock.now() < due {
            self.fd.readable().await?.clear_ready();
        }
        Ok(())
    }

    fn arm(&self, left: Duration) -> io::Result<()> {
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec::try_from(left).map_err(io::Error::other)?,
        };
        timerfd_settime(self.fd.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

#[expect(
    deprecated,
    reason = "its replacement is unsafe, for types whose descriptor can change while they are registered; an OwnedFd's cannot"
)]
fn register(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waits_end_at_the_due_time_and_never_before() {
        let clock = RunClock::start();
        let timer = SlotTimer::new(clock).unwrap();
        for step in 1..50 {
            let due = clock.now().plus(Duration::from_micros(step * 37));
            timer.wait(due).await.unwrap();
            assert!(clock.now() >= due);
        }
        timer.wait(clock.now().plus_nanos(-5)).await.unwrap();
    }
}
