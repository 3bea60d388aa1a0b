//! What `/proc` tells of a container's processes: what each does at a signal, and where they listen.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use super::descendants::{family, signal_set};

/// Processes that are looked at; a container with more of them is told of in part.
const MOST_PROCESSES: usize = 64;
/// The state LISTEN in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// What a process does when a signal comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalAction {
    /// It has a handler.
    Handler,
    /// It ignores it.
    Ignored,
    /// Its main thread blocks it.
    Blocked,
    /// It has no handler: the kernel's default action, which PID 1 of a namespace does not have.
    Default,
}

/// A process of a container at the moment of a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessAtSignal {
    /// Its pid in the container.
    pub pid: i32,
    /// Its name, as the kernel has it (at most 15 bytes).
    pub name: String,
    /// What it does at the signal.
    pub action: SignalAction,
}

/// The processes of the container whose first one has that host pid, the first one first.
pub fn processes_at_signal(pid: i32, signal: Signal) -> Vec<ProcessAtSignal> {
    let family = family(pid, MOST_PROCESSES).into_iter();
    family.filter_map(|pid| at_signal(pid, signal)).collect()
}

fn at_signal(pid: i32, signal: Signal) -> Option<ProcessAtSignal> {
    let process = pid.to_string();
    let bit = 1_u64 << (signal as i32 - 1);
    let has = |set: &str| signal_set(&process, set).map(|mask| mask & bit != 0);
    let action = if has("SigCgt")? {
        SignalAction::Handler
    } else if has("SigIgn")? {
        SignalAction::Ignored
    } else if has("SigBlk")? {
        SignalAction::Blocked
    } else {
        SignalAction::Default
    };
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name));
    let inside = field("NSpid:").and_then(|pids| pids.split_whitespace().last()?.parse().ok());
    Some(ProcessAtSignal {
        pid: inside.unwrap_or(pid),
        name: field("Name:").unwrap_or_default().trim().to_owned(),
        action,
    })
}

/// Where the processes of the container whose first one has that host pid listen for TCP connections, in order.
pub fn listening(pid: i32) -> Vec<SocketAddr> {
    let sockets: BTreeSet<String> = family(pid, MOST_PROCESSES)
        .into_iter()
        .filter_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).ok())
        .flatten()
        .filter_map(|fd| fs::read_link(fd.ok()?.path()).ok())
        .filter_map(|link| {
            let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(inode.to_owned())
        })
        .collect();
    let tables = ["tcp", "tcp6"].map(|t| fs::read_to_string(format!("/proc/{pid}/net/{t}")));
    let lines = tables.iter().flatten().flat_map(|table| table.lines());
    let found: BTreeSet<SocketAddr> = lines
        .filter_map(listener)
        .filter(|(_, inode)| sockets.contains(inode))
        .map(|(address, _)| address)
        .collect();
    found.into_iter().collect()
}

/// Address and inode of a line of `/proc/net/tcp` that is a listener's.
fn listener(line: &str) -> Option<(SocketAddr, String)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
    let (ip, port) = local.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    (*state == LISTEN).then(|| Some((SocketAddr::new(address(ip)?, port), (*inode).to_owned())))?
}

/// An address in hexadecimal words of the machine's own byte order.
fn address(hex: &str) -> Option<IpAddr> {
    let words: Option<Vec<[u8; 4]>> = (0..hex.len() / 8)
        .map(|i| u32::from_str_radix(hex.get(i * 8..i * 8 + 8)?, 16).ok())
        .map(|word| word.map(u32::to_ne_bytes))
        .collect();
    let bytes = words?.concat();
    if let Ok(four) = <[u8; 4]>::try_from(bytes.as_slice()) {
        return Some(Ipv4Addr::from(four).into());
    }
    Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::net::TcpListener;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_shell_without_a_trap_does_the_default_and_one_with_a_trap_handles() {
        for (script, action) in [
            ("echo ready; read x", SignalAction::Default),
            ("trap : TERM; echo ready; read x", SignalAction::Handler),
            ("trap '' TERM; echo ready; read x", SignalAction::Ignored),
        ] {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            shell.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut shell = shell.spawn().unwrap();
            let mut ready = [0; 1];
            std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut ready).unwrap();
            let seen = processes_at_signal(shell.id() as i32, Signal::SIGTERM);
            shell.kill().unwrap();
            shell.wait().unwrap();
            assert_eq!((seen[0].action, seen.len()), (action, 1), "{seen:?}");
            assert_eq!(seen[0].name, "sh");
        }
    }

    #[test]
    fn a_listener_is_found_by_its_process() {
        let four = TcpListener::bind("127.9.8.7:0").unwrap();
        let found = listening(std::process::id() as i32);
        assert!(found.contains(&four.local_addr().unwrap()), "{found:?}");
    }
}
