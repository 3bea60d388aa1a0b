//! `pre-stop-binary`: a hook that runs a program which the image does not have.

use rollscope_scenarios::RuleId;

use crate::container::{Container, Hook};
use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::known::is_distroless;
use crate::patch::Edit;
use crate::problem::shown;
use crate::shell::basename;
use crate::shutdown::Shutdown;

/// What a hook usually runs, and images without a shell do not have.
const MISSING: &[&str] = &[
    "sh", "bash", "ash", "dash", "sleep", "curl", "wget", "kill", "nc", "busybox",
];

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    cx.workload
        .containers
        .iter()
        .filter_map(|c| of_container(c, cx))
        .collect()
}

fn of_container<'a>(container: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    let hook = container.at.keys(&["lifecycle", "preStop"]);
    let exec = hook.key("exec");
    let command = exec.key("command").texts()?;
    let program = basename(command.first()?);
    let image = match cx.dockerfile_of(container) {
        Some(file) => file.base.as_str(),
        None => container.image.as_str(),
    };
    if !MISSING.contains(&program) || !is_distroless(image) {
        return None;
    }
    let shutdown = Shutdown::of(container, cx);
    let seconds = match shutdown.hook {
        Hook::Sleep { seconds, .. } => seconds,
        _ => cx.least_delay(),
    };
    let why = format!(
        "preStop of container {:?} runs `{}`, which the image {} does not have: the hook fails (FailedPreStopHook), and the signal comes at once instead of {seconds} s later",
        container.name,
        shown(program),
        shown(image),
    );
    let mut edits = vec![
        Edit::remove(&exec),
        Edit::set(&hook.keys(&["sleep", "seconds"]), seconds),
    ];
    edits.extend(Shutdown::raise_grace(shutdown.least_grace(seconds, 0), cx));
    let fix = cx.fix(
        "let the kubelet sleep: the sleep action needs no program",
        &edits,
    );
    Some(cx.finding(
        RuleId::PreStopBinary,
        Severity::Error,
        exec.key("command").place(),
        why,
        fix,
    ))
}
