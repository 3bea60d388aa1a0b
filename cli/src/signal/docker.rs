//! A container of Docker in the place of a local process.
//!
//! The pod's process is `docker-pod`: it creates the container, starts it, passes its output on, turns the pod's stop
//! signal into `docker stop`, and ends with the container's exit code. So everything else is as for a process. The
//! container shares the machine's network: a closed listener must look closed, and Docker's own port proxy would
//! accept connections in its place.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitCode, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::DockerPodArgs;
use crate::exit::Failure;
use crate::terminal;

/// Docker's program, found in the `PATH`.
const DOCKER: &str = "docker";
/// A container gets at least this long between its signal and SIGKILL, as from a kubelet, seconds.
const LEAST_TIME: u64 = 2;
/// The exit code of a container that could not be made, as Docker's own program has it.
const NOT_STARTED: u8 = 125;
/// Variables that every container gets.
const ALWAYS: [&str; 4] = ["PORT", "POD_NAME", "POD_IP", "POD_NAMESPACE"];

/// The signal that an image is stopped with (its STOPSIGNAL), pulled where it is not there yet; `None` where it says
/// nothing, and Docker sends SIGTERM.
pub(super) fn stop_signal_of(image: &str) -> Result<Option<String>, Failure> {
    check_engine()?;
    let told = inspected(image).or_else(|| {
        terminal::note(&format!("pulling {image}"));
        let pulled = docker_now(&["pull", "--quiet", image]);
        pulled.filter(|answer| answer.status.success())?;
        inspected(image)
    });
    // An image that cannot be had is told of when a container of it is created.
    let Some(told) = told.filter(|t| !t.is_empty() && t != "<no value>") else {
        return Ok(None);
    };
    let by_number = || {
        let number = told.parse::<i32>().ok()?;
        Signal::try_from(number).ok().map(|s| s.as_str().to_owned())
    };
    let name = by_number().unwrap_or_else(|| told.clone());
    match rollscope_scenarios::stop_signal(&name) {
        Some(signal) => Ok(Some(signal)),
        None => Err(Failure::usage(format!(
            "the image {image} is stopped with {told} (STOPSIGNAL), which no program can take as a request to stop here; mend the image, or name another signal by --signal"
        ))),
    }
}

/// What a local image has as its STOPSIGNAL.
fn inspected(image: &str) -> Option<String> {
    let format = "{{.Config.StopSignal}}";
    let answer = docker_now(&["image", "inspect", "--format", format, image])?;
    let told = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    answer.status.success().then_some(told)
}

fn docker_now(args: &[&str]) -> Option<Output> {
    let mut command = Command::new(DOCKER);
    command.args(args).stdin(Stdio::null()).output().ok()
}

/// Whether there is an engine.
fn check_engine() -> Result<(), Failure> {
    let asked = Command::new(DOCKER)
        .args(["version", "--format", "{{.Server.Version}}"])
        .stdin(Stdio::null())
        .output();
    let why = match asked {
        Ok(answer) if answer.status.success() => return Ok(()),
        Ok(answer) => format!("`docker version` says: {}", said(&answer)),
        Err(error) => format!("the program `docker` cannot be run: {error}"),
    };
    Err(Failure::environment(format!(
        "--docker needs a Docker engine, and there is none that can be used here: {why}; start one, or leave --docker out and give the command that the image runs"
    )))
}

fn said(answer: &Output) -> String {
    let text = String::from_utf8_lossy(&answer.stderr);
    let line = text.lines().map(str::trim).find(|l| !l.is_empty());
    line.unwrap_or("nothing").to_owned()
}

/// A name for the container that nobody else has.
pub(super) fn container_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |d| d.as_nanos());
    format!("rollscope-signal-{}-{nanos:x}", std::process::id())
}

/// The command of the pod.
pub(super) fn command(
    image: &str,
    arguments: &[String],
    name: &str,
    env: &[String],
    stop_signal: Option<&str>,
    time: Duration,
) -> Result<Vec<String>, Failure> {
    let program = std::env::current_exe().map_err(Failure::environment)?;
    let time = time.as_secs().max(LEAST_TIME).to_string();
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(["docker-pod", image, "--name", name, "--time", &time].map(str::to_owned));
    if let Some(signal) = stop_signal {
        words.extend(["--signal".to_owned(), signal.to_owned()]);
    }
    for variable in env {
        words.extend(["--env".to_owned(), variable.clone()]);
    }
    words.push("--".to_owned());
    words.extend_from_slice(arguments);
    Ok(words)
}

/// Runs the hidden subcommand `docker-pod`: one container from its creation to its end.
pub(crate) fn pod(args: &DockerPodArgs) -> Result<ExitCode, Failure> {
    crate::run::runtime()?.block_on(async {
        let mut create = vec!["create", "--name", &args.name, "--network", "host"];
        let variables = ALWAYS
            .into_iter()
            .chain(args.env.iter().map(String::as_str));
        for variable in variables {
            create.extend(["--env", variable]);
        }
        if let Some(signal) = &args.signal {
            create.extend(["--stop-signal", signal]);
        }
        create.push(&args.image);
        create.extend(args.command.iter().map(String::as_str));
        let _ = docker(&["rm", "--force", &args.name]).output().await;
        let created = docker(&create).stdout(Stdio::null()).status().await;
        let created = created.map_err(Failure::environment)?;
        if !created.success() {
            return Ok(NOT_STARTED.into());
        }
        let ended = attached(args).await;
        let _ = docker(&["rm", "--force", &args.name]).output().await;
        ended
    })
}

/// Starts the container with its output attached, stops it when the pod is told to stop, and returns its exit code.
async fn attached(args: &DockerPodArgs) -> Result<ExitCode, Failure> {
    let told = stop_signal(args).map_err(Failure::environment)?;
    let start = ["start", "--attach", "--sig-proxy=false", &args.name];
    let mut running = docker(&start).spawn().map_err(Failure::environment)?;
    let time = args.time.to_string();
    let stop = async {
        let mut told = told;
        told.recv().await;
        let stop = ["stop", "--time", &time, &args.name];
        if let Err(error) = docker(&stop).stdout(Stdio::null()).status().await {
            terminal::error(&format!("docker stop: {error}"));
        }
        // The attached program ends with the container.
        std::future::pending::<()>().await;
    };
    let ended = tokio::select! {
        ended = running.wait() => ended.map_err(Failure::environment)?,
        () = stop => unreachable!("it waits for ever"),
    };
    let by_signal = || ended.signal().map_or(NOT_STARTED.into(), |s| 128 + s);
    let code = ended.code().unwrap_or_else(by_signal);
    Ok(u8::try_from(code).unwrap_or(u8::MAX).into())
}

/// The signal that the pod is stopped with.
fn stop_signal(args: &DockerPodArgs) -> std::io::Result<tokio::signal::unix::Signal> {
    let named = args.signal.as_deref().unwrap_or("SIGTERM");
    let number = named.parse::<Signal>();
    signal(number.map_or(SignalKind::terminate(), |n| SignalKind::from_raw(n as i32)))
}

fn docker(args: &[&str]) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(DOCKER);
    command.args(args).stdin(Stdio::null());
    command
}

/// Removes the container when this process is gone, however that ends.
pub(super) struct Guard {
    process: Child,
    alive: Option<ChildStdin>,
}

impl Guard {
    /// Starts a process that waits for the end of this one.
    pub(super) fn start(name: &str) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::environment)?;
        let mut process = Command::new(program)
            .args(["docker-guard", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A Ctrl-C at the terminal is not meant for it.
            .process_group(0)
            .spawn()
            .map_err(Failure::environment)?;
        let alive = process.stdin.take();
        Ok(Self { process, alive })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.alive = None;
        let _ = self.process.wait();
    }
}

/// Runs the hidden subcommand `docker-guard`.
pub(crate) fn guard(name: &str) -> ExitCode {
    // The end of standard input is the end of whoever holds its other side.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    let removed = Command::new(DOCKER)
        .args(["rm", "--force", name])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match removed {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
