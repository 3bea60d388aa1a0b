//! The shim: stands between the sandbox and a container's PID 1, as a container runtime's shim does.

use std::io::{self, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid, getppid, setsid};

use super::descendants::end_orphans;
use super::messages::{
    InitReport, InitRequest, LaunchRequest, Placement, ShimReport, StartFailure, control_socket,
    receive, send,
};
use super::{INIT_COMMAND, Isolation};

/// How long the shim looks for processes that a container without a PID namespace left behind.
const ORPHAN_HUNT: Duration = Duration::from_secs(2);

/// Runs the hidden `pod-shim` subcommand: starts one command, reports its end, and is gone. Its arguments only tell a
/// reader of the process table whose shim it is. Call it before any thread exists.
pub fn shim_main() -> ExitCode {
    let Ok(control) = control_socket() else {
        return ExitCode::FAILURE;
    };
    match run(&control) {
        Ok((pid, report)) => {
            let _ = send(&control, &report);
            // The dead process is not reaped before the sandbox has closed the socket: as long as a signal can still be
            // on its way, the pid belongs to nobody else. But reaped it must be: a PID namespace ends only when each
            // process that joined it has been, and the machine's init may be slow at that, or not do it at all.
            let _ = (&control).read(&mut [0]);
            let _ = waitpid(pid, None);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let _ = send(&control, &ShimReport::Failed(failure));
            ExitCode::FAILURE
        }
    }
}

fn run(control: &UnixStream) -> Result<(Pid, ShimReport), StartFailure> {
    let died = |error: io::Error| StartFailure::new("starting the pod shim", &error);
    die_with_parent().map_err(died)?;
    let mut requests = BufReader::new(control.try_clone().map_err(died)?);
    let request: LaunchRequest = receive(&mut requests)
        .map_err(died)?
        .ok_or_else(|| died(io::ErrorKind::UnexpectedEof.into()))?;
    if getppid().as_raw() != request.parent {
        return Err(died(io::Error::other("the sandbox died meanwhile")));
    }
    let _ = setsid();
    let program = std::env::current_exe().map_err(died)?;
    let isolation = place(&request.placement).map_err(died)?;
    die_with_parent().map_err(died)?;
    let own_mounts = matches!(request.placement, Placement::New) && isolation.is_pid_1();
    let (mut child, init) = spawn_init(&program).map_err(died)?;
    let request = InitRequest {
        command: request.command,
        own_mounts,
    };
    if let Err(failure) = hand_over(init, &request) {
        let _ = child.wait();
        return Err(failure);
    }
    let pid = i32::try_from(child.id()).map_err(|e| died(io::Error::other(e)))?;
    let started = ShimReport::Started {
        pid,
        isolation: isolation.clone(),
    };
    send(control, &started).map_err(died)?;
    let end = wait(pid).map_err(died)?;
    if !isolation.is_pid_1() {
        end_orphans(getpid(), Pid::from_raw(pid), ORPHAN_HUNT);
    }
    Ok((Pid::from_raw(pid), end))
}

/// Asked for again after each change of credentials, since some of those clear it.
fn die_with_parent() -> io::Result<()> {
    Ok(set_pdeathsig(Signal::SIGKILL)?)
}

fn place(placement: &Placement) -> io::Result<Isolation> {
    match placement {
        Placement::New => {
            let isolation = Isolation::create();
            if !isolation.is_pid_1() {
                set_child_subreaper(true)?;
            }
            Ok(isolation)
        }
        Placement::Join(pid, isolation) => {
            isolation.join(*pid)?;
            Ok(isolation.clone())
        }
    }
}

fn spawn_init(program: &std::path::Path) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(program)
        .arg(INIT_COMMAND)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    Ok((child, ours))
}

/// Gives the init its command once it is ready, and waits until the command runs or could not be started.
fn hand_over(init: UnixStream, request: &InitRequest) -> Result<(), StartFailure> {
    let broken = |error: io::Error| StartFailure::new("starting the container's init", &error);
    let mut reports = BufReader::new(init.try_clone().map_err(broken)?);
    match receive(&mut reports).map_err(broken)? {
        Some(InitReport::Ready) => send(&init, request).map_err(broken)?,
        Some(InitReport::Failed(failure)) => return Err(failure),
        None => return Err(broken(io::ErrorKind::UnexpectedEof.into())),
    }
    match receive(&mut reports).map_err(broken)? {
        Some(InitReport::Failed(failure)) => Err(failure),
        Some(InitReport::Ready) | None => Ok(()),
    }
}

/// Waits for the end of PID 1 without reaping it.
fn wait(pid: i32) -> io::Result<ShimReport> {
    loop {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(Pid::from_raw(pid)), flags) {
            Ok(WaitStatus::Exited(_, code)) => return Ok(ShimReport::Exited { code }),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                return Ok(ShimReport::Signaled {
                    signal: signal as i32,
                });
            }
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
