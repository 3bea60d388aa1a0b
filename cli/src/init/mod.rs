//! `rollscope init`: a manifest or a live workload -> a commented scenario that runs as it is.

mod text;
mod workload;

use std::path::{Path, PathBuf};

use rollscope_collector::{CollectorError, WorkloadName, connect_context, read_workload};
use rollscope_sandbox::manifest::Manifest;

use crate::args::InitArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use text::Place;
use workload::Workload;

/// Writes the scenario to stdout, or into a file that is not there yet.
pub(crate) fn init(args: &InitArgs) -> Result<Exit, Failure> {
    let scenario =
        match WorkloadName::read(&args.input).filter(|_| !Path::new(&args.input).exists()) {
            Some(name) => of_cluster(&name, args)?,
            None => of_manifest(Path::new(&args.input), args)?,
        };
    match &args.out {
        None => terminal::result(&scenario),
        Some(out) => {
            write_new(out, &scenario)?;
            terminal::note(&format!(
                "{}: written; look at the lines marked with <-, then: rollscope run {}",
                out.display(),
                out.display()
            ));
        }
    }
    Ok(Exit::Passed)
}

/// A file that is there is somebody's work.
fn write_new(out: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(out);
    let mut file = file.map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::usage(format!(
            "{}: exists already: give --out another name, or remove it",
            out.display()
        )),
        _ => Failure::environment(format!("{}: cannot be written: {e}", out.display())),
    })?;
    file.write_all(text.as_bytes())
        .map_err(|e| Failure::environment(format!("{}: cannot be written: {e}", out.display())))
}

/// A manifest is run in the sandbox.
fn of_manifest(file: &Path, args: &InitArgs) -> Result<String, Failure> {
    Manifest::read(file).map_err(Failure::usage)?;
    let cannot = |e: &dyn std::fmt::Display| Failure::usage(format!("{}: {e}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| cannot(&e))?;
    let objects = rollscope_sandbox::manifest::objects(&text).map_err(|e| cannot(&e))?;
    let workload = Workload::of(&objects)
        .ok_or_else(|| cannot(&"no Deployment in it: a scenario is about one"))?;
    let manifest = beside(file, args.out.as_deref());
    Ok(text::scenario(&workload, &Place::Sandbox { manifest }))
}

/// The manifest's path as the scenario names it: relative to its own folder where that holds it.
fn beside(manifest: &Path, out: Option<&Path>) -> PathBuf {
    let Some(out) = out else {
        return manifest.to_owned();
    };
    let folder = match out.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (folder.canonicalize(), manifest.canonicalize()) {
        (Ok(folder), Ok(whole)) => whole
            .strip_prefix(&folder)
            .map_or(whole.clone(), Path::to_owned),
        _ => manifest.to_owned(),
    }
}

/// A workload of a cluster is restarted where it is. Only reads are sent to it now.
fn of_cluster(name: &WorkloadName, args: &InitArgs) -> Result<String, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::environment)?;
    let read = runtime.block_on(async {
        let (api, namespace) =
            connect_context(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
        let namespace = args.namespace.clone().unwrap_or(namespace);
        let live = read_workload(&api, &namespace, name).await?;
        Ok((live, namespace, api.name().to_owned()))
    });
    let (live, namespace, context) = read.map_err(|error: CollectorError| match error {
        CollectorError::Kubeconfig { .. } => Failure::usage(error),
        _ => Failure::environment(error),
    })?;
    for note in &live.notes {
        terminal::note(&format!("warning: {note}"));
    }
    let workload = Workload::of(&live.objects).ok_or_else(|| {
        Failure::usage(format!(
            "{}: a scenario is about a Deployment: expected deployment/NAME",
            args.input
        ))
    })?;
    Ok(text::scenario(
        &workload,
        &Place::Cluster { context, namespace },
    ))
}
