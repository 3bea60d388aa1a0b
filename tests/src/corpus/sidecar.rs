//! A proxy beside the application, through which a pod's traffic goes and which ends as soon as it is told to stop.

use std::env::{self, VarError};
use std::io;
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;

use nix::sys::signal::{SigSet, Signal};

/// The command that runs it.
pub const STEP: &str = "sidecar";

/// The name of its container.
pub(super) const CONTAINER: &str = "proxy";

/// The port of the application behind it, the same on each pod's own address.
pub(super) const APPLICATION: u16 = 3000;

/// Runs it until SIGTERM. Where it listens comes from the environment.
#[must_use]
pub fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve() -> io::Result<()> {
    let read = |name: &str| env::var(name).map_err(invalid);
    let ip: IpAddr = read("POD_IP")?.parse().map_err(io::Error::other)?;
    let port: u16 = read("PORT")?.parse().map_err(io::Error::other)?;
    // Blocked in every thread: the first to wait for it gets it, as PID 1 too.
    let stop = SigSet::from(Signal::SIGTERM);
    stop.thread_block()?;
    let listener = TcpListener::bind((ip, port))?;
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || relay(&client, ip));
        }
    });
    stop.wait()?;
    Ok(())
}

fn invalid(error: VarError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

/// Relays until both sides have ended; a client whose application refuses sees its connection closed.
fn relay(client: &TcpStream, ip: IpAddr) {
    let Ok(application) = TcpStream::connect((ip, APPLICATION)) else {
        return;
    };
    for side in [client, &application] {
        // Without it only latency suffers.
        let _ = side.set_nodelay(true);
    }
    thread::scope(|scope| {
        scope.spawn(|| copy(client, &application));
        copy(&application, client);
    });
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let copied = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    if copied.is_err() {
        // A side that was cut is cut for the other one.
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
