//! The init: PID 1 of the new namespace, on its way to become the container's command.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::{set_no_new_privs, set_pdeathsig};
use nix::sys::signal::Signal;
use nix::unistd::{sethostname, setsid};

use super::messages::{
    ContainerCommand, InitReport, InitRequest, StartFailure, control_socket, receive, send,
};

/// Longest host name that Linux takes, in bytes.
const HOST_NAME_MAX: usize = 63;

/// Runs the hidden `pod-init` subcommand: becomes the command that arrives on standard input. Returns only when that
/// fails; the reason has then been reported to the shim.
pub fn init_main() -> ExitCode {
    let Ok(control) = control_socket() else {
        return ExitCode::FAILURE;
    };
    if let Err(failure) = become_command(&control) {
        // The shim may be gone; there is nobody else to tell.
        let _ = send(&control, &InitReport::Failed(failure));
    }
    ExitCode::FAILURE
}

fn become_command(control: &UnixStream) -> Result<(), StartFailure> {
    let failed = |phase: &str| {
        let phase = phase.to_owned();
        move |error: io::Error| StartFailure::new(&phase, &error)
    };
    // Without new privileges no setuid program can shed the death signal.
    set_pdeathsig(Signal::SIGKILL)
        .and_then(|()| set_no_new_privs())
        .map_err(io::Error::from)
        .map_err(failed("asking for the death signal"))?;
    // The shim sends the request only after `Ready`: a shim that died before the death signal was set never does, and
    // one that dies later takes this process along.
    send(control, &InitReport::Ready).map_err(failed("reporting to the shim"))?;
    let mut requests = BufReader::new(
        control
            .try_clone()
            .map_err(failed("cloning the control socket"))?,
    );
    let request: InitRequest = receive(&mut requests)
        .map_err(failed("reading the command"))?
        .ok_or_else(|| StartFailure {
            message: "the shim died".to_owned(),
            errno: None,
        })?;
    drop(requests);
    // A session of its own: a Ctrl-C at the terminal is not meant for the pods.
    let _ = setsid();
    if request.own_mounts {
        own_mounts(&request.command.hostname);
    }
    Err(exec(&request.command))
}

/// A `/proc` that shows the namespace's own processes, and the pod's name as host name. Both are conveniences: where
/// the machine does not allow them the command runs without.
fn own_mounts(hostname: &str) {
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        let none: Option<&str> = None;
        if mount(none, "/", none, private, none).is_ok() {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            let _ = mount(Some("proc"), "/proc", Some("proc"), flags, none);
        }
    }
    if unshare(CloneFlags::CLONE_NEWUTS).is_ok() {
        let end = hostname.floor_char_boundary(HOST_NAME_MAX);
        let _ = sethostname(&hostname[..end]);
    }
}

fn exec(command: &ContainerCommand) -> StartFailure {
    let Some((program, args)) = command.argv.split_first() else {
        return StartFailure {
            message: "no command".to_owned(),
            errno: None,
        };
    };
    if let Err(error) = std::env::set_current_dir(&command.working_dir) {
        let dir = command.working_dir.display();
        return StartFailure::new(&format!("chdir to cwd ({dir:?})"), &error);
    }
    default_ignored_signals();
    // `exec` itself empties the signal mask and gives SIGPIPE its default action back.
    let error = Command::new(program)
        .args(args)
        .env_clear()
        .envs(command.env.iter().map(|(k, v)| (k, v)))
        .stdin(Stdio::null())
        .exec();
    let words = match error.raw_os_error() {
        Some(code) if code == nix::libc::ENOENT && !program.contains('/') => {
            "executable file not found in $PATH".to_owned()
        }
        _ => error.to_string(),
    };
    StartFailure {
        message: format!("exec: {program:?}: {words}"),
        errno: error.raw_os_error(),
    }
}

/// Undoes ignored signals that were inherited (`nohup`, a background job of a shell). A *caught* signal gets its
/// default action at `exec`, so catching it is a way to reset it without unsafe code.
fn default_ignored_signals() {
    let ignored = super::descendants::signal_set("self", "SigIgn").unwrap_or(0);
    // The C library keeps 32 and 33 for itself.
    for signal in (1..=31).chain(34..=64) {
        let inherited = ignored & (1 << (signal - 1)) != 0;
        if inherited && !signal_hook::consts::FORBIDDEN.contains(&signal) {
            let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
        }
    }
}
