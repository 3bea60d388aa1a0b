//! A container's memory limit. A node's kernel enforces it by the container's cgroup; here the resident memory of the
//! container's processes is looked at, and PID 1 is killed when it is over.

use std::fs;

use k8s_openapi::api::core::v1::Container;
use nix::sys::signal::Signal;
use tokio::sync::watch;
use tokio::time::{Duration, MissedTickBehavior, interval};

use super::run::Ended;
use crate::process::ProcessHandle;

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(50);

/// Kills the process once it and its descendants hold more than `limit` bytes. Returns at its end.
pub(super) async fn enforce(
    limit: u64,
    process: ProcessHandle,
    ended: watch::Receiver<Option<Ended>>,
) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // Holding the borrow keeps the end from being noted, and so the pid from being freed.
        let over = ended.borrow();
        if over.is_some() {
            return;
        }
        if resident(process.pid) > limit {
            // It is our own child's child: there is no other error than its death.
            let _ = process.signal(Signal::SIGKILL);
            return;
        }
    }
}

/// The memory limit of a container, bytes.
pub(super) fn limit(container: &Container) -> Option<u64> {
    let limits = container.resources.as_ref()?.limits.as_ref()?;
    bytes(&limits.get("memory")?.0)
}

/// A quantity as Kubernetes writes it: `128Mi`, `1G`, `1e9`, `262144`.
fn bytes(quantity: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 9] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
    ];
    let text = quantity.trim();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)))
        .unwrap_or((text, 1.0));
    let number: f64 = number.parse().ok()?;
    let whole = number.is_finite() && number >= 0.0;
    whole.then_some((number * unit) as u64)
}

/// Resident memory of a process and its descendants, bytes; 0 when it is gone.
fn resident(pid: i32) -> u64 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let of_children: u64 = children
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
        .map(resident)
        .sum();
    own(pid).unwrap_or(0) + of_children
}

fn own(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_read_as_kubernetes_writes_it() {
        for (text, expected) in [
            ("128Mi", Some(134_217_728)),
            ("1G", Some(1_000_000_000)),
            ("1.5Gi", Some(1_610_612_736)),
            ("1e9", Some(1_000_000_000)),
            ("262144", Some(262_144)),
            ("lots", None),
            ("-1Mi", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn a_process_that_lives_holds_memory_and_one_that_is_gone_holds_none() {
        let this = i32::try_from(std::process::id()).expect("a pid");
        assert!(resident(this) > 1 << 20);
        assert_eq!(resident(i32::MAX), 0);
    }
}
