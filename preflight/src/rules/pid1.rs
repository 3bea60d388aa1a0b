//! `shell-form-pid1` and `package-manager-pid1`: something that keeps the stop signal from the program.

use rollscope_records::redact;
use rollscope_scenarios::RuleId;
use serde_json::json;

use crate::command::{self, MAIN, Pid1, pid1};
use crate::container::Container;
use crate::context::{CommandLine, Context};
use crate::finding::{Finding, Fix, Severity};
use crate::patch::Edit;
use crate::problem::shown;
use crate::shell;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    cx.of_each_app(of_container)
}

fn of_container<'a>(container: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    let line = cx.command_line(container)?;
    let grace = cx.workload.grace();
    match pid1(&line.argv) {
        Pid1::Shell { shell, script } => {
            let why = format!(
                "PID 1 of container {:?} is the shell of `{}`: it neither handles SIGTERM nor forwards it, so the program serves on until SIGKILL cuts everything {grace} s after the deletion",
                container.name,
                shown(&script),
            );
            // A shell that becomes npm would only be the next rule's finding.
            let behind = match pid1(&shell::program(&script)) {
                Pid1::PackageManager { script, .. } => Some(managed(container, &script, cx).0),
                _ => None,
            };
            let mended = shell::mended(&shell, &script, behind.as_deref());
            let fix = set_command(
                &line,
                &mended,
                "run the program itself, or let the shell become it with `exec`",
                cx,
            );
            Some(cx.finding(RuleId::ShellFormPid1, Severity::Error, line.place, why, fix))
        }
        Pid1::PackageManager { name, script } => {
            let why = format!(
                "PID 1 of container {:?} is `{} {}`: it either keeps SIGTERM from the program, which then serves on until SIGKILL {grace} s after the deletion, or passes it to a shell that dies and takes the program with it at once",
                container.name,
                shown(&name),
                shown(&script),
            );
            let (program, text) = managed(container, &script, cx);
            let fix = set_command(&line, &program, &text, cx);
            Some(cx.finding(
                RuleId::PackageManagerPid1,
                Severity::Error,
                line.place,
                why,
                fix,
            ))
        }
        Pid1::Program(_) | Pid1::Script => None,
    }
}

/// The program behind a package manager's script, and what to say of it.
pub(super) fn managed<'a>(
    container: &Container<'a>,
    script: &str,
    cx: &Context<'a>,
) -> (Vec<String>, String) {
    let package = cx.package.filter(|_| cx.is_application(container));
    let text = package.and_then(|p| p.script(script)).map(|(text, _)| text);
    match text {
        Some(text) => {
            let words = shell::mended("sh", text, None);
            let program = match pid1(&words) {
                Pid1::Program(program) => command::production(&program),
                _ => words,
            };
            match pid1(&program) {
                // A script that runs another one.
                Pid1::Program(_) | Pid1::Script => {
                    let kept = if command::development(&shell::split(text)).is_some() {
                        program
                    } else {
                        shell::mended("sh", text, None)
                    };
                    (
                        kept,
                        format!(
                            "run what the script `{}` of package.json runs",
                            shown(script)
                        ),
                    )
                }
                _ => main_file(script),
            }
        }
        None => main_file(script),
    }
}

fn main_file(script: &str) -> (Vec<String>, String) {
    let program = vec!["node".to_owned(), MAIN.to_owned()];
    let text = format!(
        "run the program itself; put what the script `{}` runs in the place of `{MAIN}` (with --package-json it is read from there)",
        shown(script)
    );
    (program, text)
}

/// A fix that sets the container's command. Secrets on a command line are not repeated.
pub(super) fn set_command<'a>(
    line: &CommandLine<'a>,
    program: &[String],
    text: &str,
    cx: &Context<'a>,
) -> Fix {
    let clean: Vec<String> = program
        .iter()
        .map(|w| redact::line(w).into_owned())
        .collect();
    let joined = program.join(" ");
    let clean = match redact::line(&joined) == joined {
        true => clean,
        false => redact::line(&joined)
            .split(' ')
            .map(str::to_owned)
            .collect(),
    };
    let secret = if clean == program {
        ""
    } else {
        "; put the secret back where it says `redacted`"
    };
    let mut edits = vec![Edit::set(&line.command, json!(clean))];
    let args = cx
        .workload
        .containers
        .iter()
        .find(|c| c.at.key("command").path == line.command.path);
    if let Some(args) = args.map(|c| c.at.key("args")).filter(|a| a.is_there()) {
        edits.push(Edit::remove(&args));
    }
    let docker = match line.place.path.as_str() {
        "ENTRYPOINT" | "CMD" => {
            format!("; in the Dockerfile: {} {}", line.place.path, json!(clean))
        }
        _ => String::new(),
    };
    cx.fix(format!("{text}{secret}{docker}"), &edits)
}
