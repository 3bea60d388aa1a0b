//! Containers as local processes: the command of a container runs as PID 1 of a PID namespace of its own.
//!
//! The sandbox's program starts itself again, twice. The *shim* (`pod-shim`) stays in the machine's PID namespace: it
//! makes the new namespace, starts the *init* (`pod-init`) in it as PID 1, and reports PID 1's host pid and its end
//! over a socket on its standard input. The init becomes the container's command by `exec`. Two steps are needed
//! because `unshare(CLONE_NEWPID)` puts only the children of its caller into the namespace.
//!
//! Nothing outlives its starter: the shim asks the kernel for SIGKILL when the sandbox dies (`PR_SET_PDEATHSIG`), PID 1
//! asks for the same when the shim dies, and with PID 1 the kernel ends every process of the namespace.
//! `PR_SET_PDEATHSIG` means the *thread* that started the process, so the [`Launcher`] starts all of them from one thread
//! that lives as long as it does.

mod container_process;
mod descendants;
mod facts;
mod init;
mod isolation;
mod launcher;
mod messages;
mod shim;

pub use container_process::{ContainerProcess, ExecOutput, Exit, ProcessHandle};
pub use facts::{ProcessAtSignal, SignalAction, listening, processes_at_signal};
pub use init::init_main;
pub use isolation::Isolation;
pub use launcher::{LaunchError, Launcher};
pub use messages::{ContainerCommand, StartFailure};
pub use shim::shim_main;

use std::ffi::OsString;
use std::process::ExitCode;

/// The hidden subcommand that runs [`shim_main`].
pub const SHIM_COMMAND: &str = "pod-shim";
/// The hidden subcommand that runs [`init_main`].
pub const INIT_COMMAND: &str = "pod-init";

/// Runs the hidden subcommand that `args` (the whole command line, program first) asks for; `None` if it asks for none.
/// Call it first in `main`, before any thread exists: a user namespace can't be entered by a process with threads.
pub fn hidden_main(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let command = args.into_iter().nth(1)?;
    match command.to_str()? {
        SHIM_COMMAND => Some(shim_main()),
        INIT_COMMAND => Some(init_main()),
        _ => None,
    }
}
