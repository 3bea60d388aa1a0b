//! The process table, as the kernel tells it.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// Waits for a condition; panics with `what` when it does not come within `within`.
pub fn wait_until(what: &str, within: Duration, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !condition() {
        assert!(
            Instant::now() < deadline,
            "in vain waited {within:?} for: {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ids of all processes that descend from `root`, without it.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        if let Some((parent, state)) = parent_and_state(pid)
            && state != 'Z'
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        let of_pid = children.remove(&pid).unwrap_or_default();
        found.extend(&of_pid);
        next.extend(of_pid);
    }
    found
}

/// Waits until none of the processes is left (a zombie is none).
pub fn wait_until_gone(pids: &[u32], within: Duration) {
    wait_until(
        &format!("the end of the processes {pids:?}"),
        within,
        || {
            pids.iter()
                .all(|pid| parent_and_state(*pid).is_none_or(|(_, state)| state == 'Z'))
        },
    );
}

fn parent_and_state(pid: u32) -> Option<(u32, char)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}
