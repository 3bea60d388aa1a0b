//! `development-mode`: a mode in which programs and libraries leave the graceful path.

use rollscope_scenarios::RuleId;

use super::pid1::{managed, set_command};
use crate::command::{self, Pid1, pid1};
use crate::container::Container;
use crate::context::Context;
use crate::finding::{Finding, Severity};
use crate::patch::Edit;
use crate::problem::shown;
use crate::shell;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    let apps = cx.workload.apps();
    apps.flat_map(|c| [by_environment(c, cx), by_command(c, cx)])
        .flatten()
        .collect()
}

fn by_environment<'a>(container: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    let is_development = |value: &str| matches!(value, "development" | "dev");
    let at = container
        .at
        .key("env")
        .item("name", "NODE_ENV")
        .key("value");
    let (value, place) = match container.value("NODE_ENV") {
        Some((value, at)) => (value, at.place()),
        None => {
            let file = cx.dockerfile_of(container)?;
            let (value, at) = file.env.get("NODE_ENV")?;
            (value.clone(), file.place(*at, "ENV NODE_ENV"))
        }
    };
    if !is_development(&value) {
        return None;
    }
    let why = format!(
        "NODE_ENV of container {:?} is `{}`: programs and libraries leave their graceful shutdown in this mode, so a rollout cuts what is in flight, and a test in this mode proves nothing",
        container.name,
        shown(&value)
    );
    let fix = cx.fix("run in production mode", &[Edit::set(&at, "production")]);
    Some(cx.finding(RuleId::DevelopmentMode, Severity::Warning, place, why, fix))
}

fn by_command<'a>(container: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    let line = cx.command_line(container)?;
    let package = cx.package.filter(|_| cx.is_application(container));
    let (seen, place, program) = match pid1(&line.argv) {
        Pid1::Program(argv) => {
            let seen = command::development(&argv)?;
            (seen, line.place.clone(), command::production(&argv))
        }
        Pid1::Shell { script, .. } => {
            let words = shell::program(&script);
            let seen = command::development(&words)?;
            (seen, line.place.clone(), command::production(&words))
        }
        Pid1::PackageManager { name, script } => {
            let inside = package.and_then(|p| p.script(&script));
            let by_name = ["dev", "develop", "watch", "start:dev"].contains(&script.as_str());
            let seen = match inside
                .as_ref()
                .map(|(text, _)| command::development(&shell::program(text)))
            {
                Some(Some(seen)) => format!("{name} run {script}, which is {seen}"),
                Some(None) => return None,
                None if by_name => format!("{name} run {script}"),
                None => return None,
            };
            let place = inside.map_or(line.place.clone(), |(_, at)| at.place());
            let (program, _) = managed(container, &script, cx);
            (seen, place, program)
        }
        Pid1::Script => return None,
    };
    let why = format!(
        "container {:?} runs `{}`: a watcher stands between the stop signal and the program, which it kills at once instead of letting it drain",
        container.name,
        shown(&seen)
    );
    let fix = set_command(
        &line,
        &program,
        "run the program itself, as it runs in production",
        cx,
    );
    Some(cx.finding(RuleId::DevelopmentMode, Severity::Warning, place, why, fix))
}
