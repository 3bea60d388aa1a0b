//! The only place that writes to the terminal. A reader that has gone away (a closed pipe, a closed terminal) is no
//! reason to stop: what counts is on disk, and the exit code.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use rollscope_reports::without_github_commands;

/// An error, on stderr.
pub(crate) fn error(message: &str) {
    to(
        io::stderr(),
        &format!("{}\n", tame(&format!("error: {message}"))),
    );
}

/// A remark on the way, on stderr.
pub(crate) fn note(message: &str) {
    to(io::stderr(), &format!("{}\n", tame(message)));
}

/// A result, on stdout.
pub(crate) fn result(text: &str) {
    to(io::stdout(), &tame(text));
}

/// Whether stdout is a terminal that understands colours.
pub(crate) fn colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// A JSON document, alone on stdout.
pub(crate) fn json(document: &str) {
    // The older syntax of GitHub's commands is read in the middle of a line; as an escape it means the same to JSON.
    let document = if on_github() {
        Cow::Owned(document.replace("##[", "#\\u0023["))
    } else {
        Cow::Borrowed(document)
    };
    to(io::stdout(), &document);
}

/// Whether this runs in a job of GitHub Actions.
pub(crate) fn on_github() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Workflow commands, on stderr, which GitHub reads like stdout.
pub(crate) fn github(commands: &str) {
    to(io::stderr(), commands);
}

fn to(mut stream: impl Write, text: &str) {
    let _ = stream
        .write_all(text.as_bytes())
        .and_then(|()| stream.flush());
}

/// Text that commands nothing where output is read for commands.
fn tame(text: &str) -> Cow<'_, str> {
    if on_github() {
        Cow::Owned(without_github_commands(text))
    } else {
        Cow::Borrowed(text)
    }
}
