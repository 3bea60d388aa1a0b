//! The program that is put to the test: a command, a manifest or an image, as a workload of one pod.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rollscope_sandbox::manifest::{Manifest, ManifestError, Readiness, Single};
use rollscope_sandbox::{GivenWorkload, PortClaim};
use rollscope_scenarios::{Moment, Ready, RunPlan, SignalFlags, SignalPlan};

use super::docker;
use crate::args::{Assertions, SignalArgs};
use crate::exit::Failure;

/// The port where nothing says another, and it is free.
const USUAL_PORT: u16 = 3000;
/// The longest name of a Deployment whose pods' names are DNS labels too.
const LONGEST_NAME: usize = 40;

/// The program.
pub(super) struct Program {
    plan: SignalPlan,
    single: Single,
    text: Option<(PathBuf, String)>,
    working_dir: PathBuf,
    port: PortClaim,
    container: Option<String>,
    /// The port that the command line asks for.
    asked: Option<u16>,
}

impl Program {
    /// The program that the command line asks for. Its port is taken for the whole of the command.
    pub(super) fn of(args: &SignalArgs) -> Result<Self, Failure> {
        let plan = SignalPlan::from_flags(&flags(args)).map_err(Failure::usage)?;
        let stop_signal = match (&plan.signal, &args.docker) {
            (None, Some(image)) => docker::stop_signal_of(image)?,
            (asked, _) => asked.clone(),
        };
        let text = match &args.manifest {
            Some(file) => Some((file.clone(), read(file)?)),
            None => None,
        };
        let working_dir = match &args.manifest {
            Some(file) => parent(file),
            None => std::env::current_dir().map_err(Failure::environment)?,
        };
        let mut program = Self {
            single: single(args, &plan, stop_signal),
            port: PortClaim::any().map_err(Failure::environment)?,
            plan,
            text,
            working_dir,
            container: None,
            asked: args.port,
        };
        let told = program.manifest(&program.single)?;
        program.port = claim(args.port, told.port())?;
        program.single.port = Some(program.port.port());
        if let Some(image) = &args.docker {
            let name = docker::container_name();
            let variables: Vec<String> = args.env.iter().map(|(name, _)| name.clone()).collect();
            program.single.command = docker::command(
                image,
                &args.command,
                &name,
                &variables,
                program.single.stop_signal.as_deref(),
                told.grace().saturating_sub(told.pre_stop()),
            )?;
            program.single.without_processes = true;
            program.container = Some(name);
        }
        program.manifest(&program.single)?;
        Ok(program)
    }

    /// The run's name.
    pub(super) fn name(&self) -> &str {
        &self.plan.scenario.name
    }

    /// The checked command line.
    pub(super) const fn plan(&self) -> &SignalPlan {
        &self.plan
    }

    /// The port.
    pub(super) const fn port(&self) -> u16 {
        self.port.port()
    }

    /// The container's name, where it is Docker's.
    pub(super) fn container(&self) -> Option<&str> {
        self.container.as_deref()
    }

    /// What is run, in words.
    pub(super) fn words(&self) -> String {
        match &self.text {
            _ if self.container.is_some() => format!("image {}", self.single.command[2]),
            Some((file, _)) => file.display().to_string(),
            None => format!("`{}`", self.single.command.join(" ")),
        }
    }

    /// One run, and the workload for it. The port may have been taken by somebody else since the last one.
    pub(super) fn prepare(
        &mut self,
        moment: Moment,
        run: usize,
    ) -> Result<(RunPlan, GivenWorkload), Failure> {
        if run > 0 && !self.port.is_free() {
            self.port = claim(self.asked, None)?;
            self.single.port = Some(self.port.port());
        }
        let manifest = self.manifest(&self.single)?;
        let (grace, pre_stop) = (manifest.grace(), manifest.pre_stop());
        let plan = self.plan.at(moment, run, grace, pre_stop);
        let single = Single {
            again_after: plan.again_after,
            ..self.single.clone()
        };
        let workload = GivenWorkload {
            manifest: self.manifest(&single)?,
            working_dir: self.working_dir.clone(),
            inherit_env: true,
            // A manifest may be one that is shipped: its command is `rollscope subject`.
            link_program: self.text.is_some(),
        };
        Ok((plan, workload))
    }

    fn manifest(&self, single: &Single) -> Result<Manifest, Failure> {
        let text = self.text.as_ref().map(|(_, text)| text.as_str());
        Manifest::single(text, single).map_err(|problems| {
            let file = self.text.as_ref().map(|(file, _)| file.clone());
            Failure::usage(ManifestError::Invalid {
                file: file.unwrap_or_else(|| PathBuf::from("of the command line")),
                problems,
            })
        })
    }
}

fn single(args: &SignalArgs, plan: &SignalPlan, stop_signal: Option<String>) -> Single {
    let seconds = |of: Option<Duration>| of.map(|d| d.as_secs());
    Single {
        name: plan.scenario.name.clone(),
        command: match &args.docker {
            // Replaced when the grace is known.
            Some(image) => vec![image.clone()],
            None => args.command.clone(),
        },
        port: args.port,
        env: args.env.clone(),
        readiness: match &plan.ready {
            None => Readiness::AsManifest,
            Some(Ready::Port) => Readiness::Port,
            Some(Ready::Path(path)) => Readiness::Path(path.clone()),
            Some(Ready::Log(_)) => Readiness::None,
        },
        grace_seconds: seconds(plan.grace),
        pre_stop_seconds: seconds(plan.pre_stop),
        stop_signal,
        ..Single::default()
    }
}

fn flags(args: &SignalArgs) -> SignalFlags {
    SignalFlags {
        name: name(args),
        manifest: args.manifest.clone(),
        path: args.path.clone(),
        slow_path: args.slow_path.clone(),
        rate: args.rate.clone(),
        deadline: args.deadline.clone(),
        warmup: args.warmup.clone(),
        settle: args.settle.clone(),
        ready: args.ready.clone(),
        ready_within: args.ready_within.clone(),
        signal: args.signal.clone(),
        grace: args.grace.clone(),
        pre_stop: args.pre_stop.clone(),
        endpoint_lag: args.endpoint_lag.clone(),
        in_time: args.in_time.clone(),
        max_failed: args.max_failed,
        assertions_warn: args.assertions == Assertions::Warn,
        pod_header: args.pod_header.clone(),
    }
}

/// A DNS label after the program, the image or the manifest's file.
fn name(args: &SignalArgs) -> String {
    let of_path = |path: &Path| {
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        stem.unwrap_or_default()
    };
    let what = match (&args.manifest, &args.docker) {
        (Some(file), _) => of_path(file),
        (None, Some(image)) => image.rsplit('/').next().unwrap_or(image).to_owned(),
        (None, None) => of_path(Path::new(args.command.first().map_or("", String::as_str))),
    };
    let label: String = what
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(LONGEST_NAME)
        .collect();
    match label.trim_matches('-') {
        "" => "program".to_owned(),
        label => label.to_owned(),
    }
}

/// The port that is asked for, or that the manifest says, or the usual one; a free one where only that is taken.
fn claim(asked: Option<u16>, told: Option<u16>) -> Result<PortClaim, Failure> {
    if let Some(port) = asked {
        return PortClaim::of(port).ok_or_else(|| {
            Failure::environment(format!(
                "port {port} (--port) is taken on this machine; leave --port out to get a free one, or end what listens there"
            ))
        });
    }
    match PortClaim::of(told.unwrap_or(USUAL_PORT)) {
        Some(claim) => Ok(claim),
        None => PortClaim::any().map_err(Failure::environment),
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|e| Failure::usage(format!("cannot read the manifest {}: {e}", file.display())))?;
    match text.trim().is_empty() {
        true => Err(Failure::usage(format!(
            "the manifest {} is empty: expected an apps/v1 Deployment",
            file.display()
        ))),
        false => Ok(text),
    }
}

fn parent(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    file.parent().unwrap_or(Path::new("/")).to_owned()
}
