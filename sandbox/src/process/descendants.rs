//! Facts from `/proc`, for machines where containers have no PID namespace of their own.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// A signal set (`SigCgt`, `SigIgn`, ...) of a process (`self` or a pid); bit `n - 1` stands for signal `n`.
pub(super) fn signal_set(process: &str, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(field))?;
    u64::from_str_radix(line.trim_start_matches(':').trim(), 16).ok()
}

/// The children of a process.
fn children(of: Pid) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| parent(*pid) == Some(of.as_raw()))
        .map(Pid::from_raw)
        .collect()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything, so count from its end: state, then parent.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// Ends what a dead container left behind. Orphans become children of this process (a subreaper); each round kills
/// and reaps the present ones, until none are left (but the dead container itself) or the time is over.
pub(super) fn end_orphans(this: Pid, except: Pid, within: Duration) {
    let deadline = Instant::now() + within;
    loop {
        let mut left = children(this);
        left.retain(|pid| *pid != except);
        if left.is_empty() || Instant::now() > deadline {
            return;
        }
        for pid in left {
            let _ = kill(pid, Signal::SIGKILL);
            if let Ok(WaitStatus::StillAlive) = waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
