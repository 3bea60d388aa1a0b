//! `rollscope preflight`: manifests or a live workload -> findings.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rollscope_collector::{
    CollectorError, LiveObjects, WorkloadName, connect_context, read_workload,
};
use rollscope_preflight::{
    Input, REPORT_SCHEMA, Report, Settings, Severity, Source, check, json, sarif, text,
};
use rollscope_scenarios::Scenario;

use crate::args::{FailOn, PreflightArgs};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Manifests of a whole chart are below it by far.
const LONGEST_FILE: u64 = 32 << 20;

/// Checks what is named, prints the report, and exits by its worst finding.
pub(crate) fn preflight(args: &PreflightArgs) -> Result<Exit, Failure> {
    if args.schema {
        terminal::result(REPORT_SCHEMA);
        return Ok(Exit::Passed);
    }
    let sarif_to_stdout = args.sarif.as_deref() == Some(Path::new("-"));
    if sarif_to_stdout && args.json {
        return Err(Failure::usage(
            "--json and --sarif - cannot both have stdout: give --sarif a file",
        ));
    }
    let report = check(&input(args)?).map_err(Failure::usage)?;
    print(&report, args, sarif_to_stdout)?;
    let limit = match args.fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Note => Severity::Note,
    };
    match report.worst() {
        Some(worst) if worst >= limit => Ok(Exit::GateFailed),
        _ => Ok(Exit::Passed),
    }
}

fn print(report: &Report, args: &PreflightArgs, sarif_to_stdout: bool) -> Result<(), Failure> {
    if let Some(file) = &args.sarif {
        let document = sarif(report, env!("CARGO_PKG_VERSION"));
        if sarif_to_stdout {
            terminal::json(&document);
            return Ok(());
        }
        std::fs::write(file, document)
            .map_err(|e| Failure::environment(format!("cannot write {}: {e}", file.display())))?;
    }
    match args.json {
        true => terminal::json(&json(report)),
        false => terminal::result(&text(report)),
    }
    Ok(())
}

/// Everything that is to be checked, read.
fn input(args: &PreflightArgs) -> Result<Input, Failure> {
    let mut input = Input {
        settings: settings(args)?,
        dockerfile: args.dockerfile.as_deref().map(source).transpose()?,
        package_json: args.package_json.as_deref().map(source).transpose()?,
        ..Input::default()
    };
    for name in &args.inputs {
        match WorkloadName::read(name).filter(|_| !Path::new(name).exists()) {
            Some(workload) => {
                let live = live(&workload, args)?;
                input.notes.extend(live.notes);
                input
                    .objects
                    .extend(live.objects.into_iter().map(|o| (name.clone(), o)));
            }
            None => input.manifests.push(source(Path::new(name))?),
        }
    }
    Ok(input)
}

fn settings(args: &PreflightArgs) -> Result<Settings, Failure> {
    let scenario = args
        .scenario
        .as_deref()
        .map(Scenario::load)
        .transpose()
        .map_err(Failure::usage)?;
    let scenario = scenario.as_ref().map(Settings::of).unwrap_or_default();
    Ok(scenario.overridden_by(Settings {
        allow: args.allow.clone(),
        lag: args.lag,
        delay: args.delay,
        drain: args.drain,
        balancer_idle: args.balancer_idle,
    }))
}

/// A file with its text; `-` is stdin.
fn source(path: &Path) -> Result<Source, Failure> {
    let name = path.display().to_string();
    let cannot = |e: std::io::Error| Failure::usage(format!("{name}: cannot be read: {e}"));
    let mut bytes = Vec::new();
    if name == "-" {
        std::io::stdin()
            .lock()
            .take(LONGEST_FILE + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot)?;
    } else {
        let file = File::open(path).map_err(cannot)?;
        file.take(LONGEST_FILE + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot)?;
    }
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(Failure::usage(format!(
            "{name}: more than 32 MiB, expected manifests"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()])
            .into_owned();
        let last = good.rsplit('\n').next().unwrap_or_default();
        let (line, column) = (good.matches('\n').count() + 1, last.chars().count() + 1);
        Failure::usage(format!(
            "{name}:{line}:{column}: found a byte that is not UTF-8, expected a text file in UTF-8"
        ))
    })?;
    Ok(Source { name, text })
}

/// A workload of a cluster with what goes with it. Only reads are sent.
fn live(workload: &WorkloadName, args: &PreflightArgs) -> Result<LiveObjects, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::environment)?;
    let read = runtime.block_on(async {
        let (api, namespace) =
            connect_context(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
        let namespace = args.namespace.clone().unwrap_or(namespace);
        read_workload(&api, &namespace, workload).await
    });
    read.map_err(|error| match error {
        CollectorError::Kubeconfig { .. } => Failure::usage(error),
        _ => Failure::environment(error),
    })
}
