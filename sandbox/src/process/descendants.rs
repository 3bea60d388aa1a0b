//! Processes and their signal sets, as `/proc` has them; and the end of those that a container without a PID namespace of
//! its own left behind.

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

/// A process and its descendants by their host pids, itself first, at most `most` of them.
pub(super) fn family(first: i32, most: usize) -> Vec<i32> {
    let all = processes();
    let mut found = vec![first];
    let mut next = 0;
    while next < found.len() && found.len() < most {
        let of = found[next];
        found.extend(all.iter().filter(|(_, p)| *p == of).map(|(pid, _)| *pid));
        next += 1;
    }
    found.truncate(most);
    found
}

/// The children of a process.
fn children(of: Pid) -> Vec<Pid> {
    let children = processes().into_iter().filter(|(_, p)| *p == of.as_raw());
    children.map(|(pid, _)| Pid::from_raw(pid)).collect()
}

/// Every process of the machine with its parent.
fn processes() -> Vec<(i32, i32)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
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
