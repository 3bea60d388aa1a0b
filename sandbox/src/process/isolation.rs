//! The namespaces of a container.

use std::fs::{self, File};
use std::io;

use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};
use serde::{Deserialize, Serialize};

/// How a container is set apart from the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    /// A PID namespace of its own, made with the privilege to do so.
    PidNamespace,
    /// A PID namespace inside an unprivileged user namespace. The process looks like root to itself and has the rights
    /// of the user who runs the sandbox.
    UserNamespace,
    /// None: the machine allows neither. The command is not PID 1, so its signals are filtered as the kernel would
    /// for PID 1, and processes that it leaves behind are ended by the shim, unless the shim itself is killed.
    Unavailable {
        /// What the system said.
        reason: String,
    },
}

impl Isolation {
    /// Whether the command is PID 1 of a PID namespace.
    pub const fn is_pid_1(&self) -> bool {
        !matches!(self, Self::Unavailable { .. })
    }

    /// Puts the future children of this process into a new PID namespace, if the machine allows it.
    pub(super) fn create() -> Self {
        let Err(privileged) = unshare(CloneFlags::CLONE_NEWPID) else {
            return Self::PidNamespace;
        };
        let (uid, gid) = (geteuid(), getegid());
        match unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID) {
            Ok(()) => {
                // Without the mapping the namespaces work too; the process then sees itself as "nobody".
                let _ = fs::write("/proc/self/setgroups", "deny")
                    .and_then(|()| fs::write("/proc/self/uid_map", format!("0 {uid} 1")))
                    .and_then(|()| fs::write("/proc/self/gid_map", format!("0 {gid} 1")));
                Self::UserNamespace
            }
            Err(unprivileged) => Self::Unavailable {
                reason: format!(
                    "PID namespace: {}; unprivileged user namespace: {}",
                    privileged.desc(),
                    unprivileged.desc()
                ),
            },
        }
    }

    /// Puts this process's future children into the namespaces of a container.
    pub(super) fn join(&self, pid: i32) -> io::Result<()> {
        let wanted: &[(&str, CloneFlags)] = match self {
            Self::Unavailable { .. } => &[],
            Self::PidNamespace => &JOINED[1..],
            Self::UserNamespace => &JOINED,
        };
        // All are opened first: after the mount namespace, /proc is the container's.
        let opened = wanted
            .iter()
            .map(|(name, flag)| Ok((File::open(format!("/proc/{pid}/ns/{name}"))?, *flag)))
            .collect::<io::Result<Vec<_>>>()?;
        for (namespace, flag) in opened {
            setns(namespace, flag)?;
        }
        Ok(())
    }
}

const JOINED: [(&str, CloneFlags); 4] = [
    ("user", CloneFlags::CLONE_NEWUSER),
    ("pid", CloneFlags::CLONE_NEWPID),
    ("uts", CloneFlags::CLONE_NEWUTS),
    ("mnt", CloneFlags::CLONE_NEWNS),
];
