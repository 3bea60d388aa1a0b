//! `stop-signal`: a stop signal that the program does not handle.

use rollscope_scenarios::RuleId;

use crate::container::Container;
use crate::context::Context;
use crate::finding::{Finding, Place, Severity};
use crate::known::image_name;
use crate::patch::Edit;
use crate::problem::shown;
use crate::shell::basename;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    cx.of_each_app(of_container)
}

fn of_container<'a>(container: &Container<'a>, cx: &Context<'a>) -> Option<Finding> {
    let at = container.at.keys(&["lifecycle", "stopSignal"]);
    let (signal, place): (String, Place) = match at.text() {
        Some(signal) => (signal.to_owned(), at.place()),
        None => {
            let file = cx.dockerfile_of(container)?;
            let (signal, at) = file.stop_signal.as_ref()?;
            (signal.clone(), file.place(*at, "STOPSIGNAL"))
        }
    };
    let handled = handled(container, cx);
    let (normal, severity) = (normalized(&signal), Severity::Error);
    let why = if handled.contains(&normal.as_str()) {
        return None;
    } else if matches!(normal.as_str(), "SIGKILL" | "SIGSTOP") {
        format!(
            "the stop signal of container {:?} is {normal}, which no program can handle: nothing drains",
            container.name
        )
    } else {
        format!(
            "the stop signal of container {:?} is {}, its program handles {}: as PID 1 it does not notice any other, and is cut by SIGKILL {} s after the deletion",
            container.name,
            shown(&signal),
            handled.join(" and "),
            cx.workload.grace(),
        )
    };
    // The API server takes a stop signal only for a pod that says its operating system.
    let os = cx.workload.spec().keys(&["os", "name"]);
    let edits = [Edit::set(&at, handled[0]), Edit::set(&os, "linux")];
    let text = format!(
        "send {}; in the Dockerfile: STOPSIGNAL {}",
        handled[0], handled[0]
    );
    Some(cx.finding(
        RuleId::StopSignal,
        severity,
        place,
        why,
        cx.fix(text, &edits),
    ))
}

/// The signals on which the program ends in good order, the usual one first.
fn handled<'a>(container: &Container<'a>, cx: &Context<'a>) -> &'static [&'static str] {
    let program = cx.program(container);
    let name = program.first().map(|w| basename(w).to_owned());
    let base = cx
        .dockerfile_of(container)
        .map(|d| image_name(&d.base).to_owned());
    let is = |known: &str| {
        name.as_deref() == Some(known)
            || base.as_deref() == Some(known)
            || image_name(&container.image) == known
    };
    match () {
        () if is("nginx") || is("openresty") => &["SIGQUIT", "SIGTERM"],
        () if is("httpd") || is("apache2") => &["SIGWINCH", "SIGTERM"],
        () if is("postgres") => &["SIGINT", "SIGTERM"],
        () => &["SIGTERM"],
    }
}

/// `15`, `term`, `SIGTERM`, `${SIG}` as `SIGTERM`, the last as it is.
fn normalized(signal: &str) -> String {
    let upper = signal.trim().trim_matches('"').to_ascii_uppercase();
    let known = [
        ("1", "HUP"),
        ("2", "INT"),
        ("3", "QUIT"),
        ("9", "KILL"),
        ("10", "USR1"),
        ("12", "USR2"),
        ("15", "TERM"),
        ("19", "STOP"),
        ("28", "WINCH"),
    ];
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    let name = known
        .iter()
        .find(|(number, _)| *number == bare)
        .map_or(bare, |(_, name)| name);
    format!("SIG{name}")
}
