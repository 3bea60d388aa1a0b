//! One run of the program for a case, with its confounders.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::draw::Case;
use super::evictions::Evictions;
use super::manifest;
use super::truth;
use crate::descendants;

/// What was drawn, so that a kept run can be scored again when the draw is another.
pub(crate) const CASE: &str = "case.json";

/// A run that takes longer is ended.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// How often a run is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The folders of a case.
#[derive(Debug, Clone)]
pub(crate) struct Folders(PathBuf);

impl Folders {
    /// Those below a work folder.
    pub(crate) fn new(work: &Path, case: &Case) -> Self {
        Self(work.join(case.folder()))
    }

    /// The case's own folder.
    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    /// What the analyzer sees.
    pub(crate) fn recording(&self) -> PathBuf {
        self.0.join("out/recording.rollscope")
    }

    /// What it never sees.
    pub(crate) fn truth(&self) -> PathBuf {
        self.0.join("truth")
    }
}

/// Runs a case; its folder must be new. An error says why there is no recording.
pub(crate) fn execute(case: &Case, program: &Path, folders: &Folders) -> Result<(), String> {
    let truth = folders.truth();
    fs::create_dir_all(&truth).map_err(|e| format!("{}: {e}", truth.display()))?;
    let write = |name: &str, text: String| {
        fs::write(folders.root().join(name), text).map_err(|e| format!("{name}: {e}"))
    };
    write("manifest.yaml", manifest::manifest(case, &truth))?;
    write("scenario.yaml", manifest::scenario(case))?;
    write("case.txt", format!("{}\n", case.words()))?;
    let json = serde_json::to_string_pretty(case).map_err(|e| e.to_string())?;
    write(CASE, json)?;
    let output = File::create(folders.root().join("output.txt")).map_err(|e| e.to_string())?;
    let errors = output.try_clone().map_err(|e| e.to_string())?;
    let mut child = Command::new(program)
        .args(["run", "scenario.yaml", "--record-only", "--out", "out"])
        .arg("--truth")
        .arg(&truth)
        .current_dir(folders.root())
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    let code = see_through(case, &mut child, folders)?;
    if !folders.recording().join("run.json").exists() {
        let said = fs::read_to_string(folders.root().join("output.txt")).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(3).collect();
        return Err(format!("exit {code:?}: {}", last.join(" / ")));
    }
    if !case.logs {
        hide_logs(folders)?;
    }
    Ok(())
}

fn see_through(case: &Case, child: &mut Child, folders: &Folders) -> Result<Option<i32>, String> {
    let truth = &folders.truth();
    let mut evictions = case
        .evict_ms
        .map(|pause| Evictions::new(folders.root(), truth, pause, case.replicas));
    let begun = Instant::now();
    let mut to_kill = case.kill_after;
    let mut rollout = None;
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(status.code());
        }
        let evicted = evictions.as_mut().map_or(Ok(()), Evictions::step);
        let late = begun.elapsed() > LONGEST;
        if let Err(why) = evicted.and(if late {
            Err("it did not end".to_owned())
        } else {
            Ok(())
        }) {
            child.kill().map_err(|e| e.to_string())?;
            let _ = child.wait();
            return Err(why);
        }
        if let Some(after) = to_kill {
            if rollout.is_none() && truth::rollout_began(truth) {
                rollout = Some(Instant::now());
            }
            if rollout.is_some_and(|t: Instant| t.elapsed() >= after) {
                to_kill = None;
                kill_one(case, child.id(), truth);
            }
        }
        sleep(LOOK);
    }
}

/// Kills the process of some pod that serves, and notes it.
fn kill_one(case: &Case, root: u32, truth: &Path) {
    let serving = truth::serving(truth);
    let ours = descendants(root);
    let serving: Vec<_> = serving
        .into_iter()
        .filter(|(_, pid)| u32::try_from(*pid).is_ok_and(|pid| ours.contains(&pid)))
        .collect();
    if serving.is_empty() {
        return;
    }
    let chosen = usize::try_from(case.index).unwrap_or(0) % serving.len();
    let (pod, pid) = &serving[chosen];
    if kill(Pid::from_raw(*pid), Signal::SIGKILL).is_ok() {
        let line = json!({"t": truth::wall_nanos(), "pod": pod});
        let _ = fs::write(truth.join("kills.jsonl"), format!("{line}\n"));
    }
}

/// Takes the logs out of the recording; they stay beside the truth.
fn hide_logs(folders: &Folders) -> Result<(), String> {
    let logs = folders.recording().join("logs.jsonl");
    fs::rename(&logs, folders.truth().join("logs.jsonl"))
        .and_then(|()| fs::write(&logs, ""))
        .map_err(|e| format!("{}: {e}", logs.display()))
}
