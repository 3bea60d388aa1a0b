//! The only place that writes to the terminal.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where the program speaks"
)]

use std::io::IsTerminal;

/// An error, on stderr.
pub(crate) fn error(message: &str) {
    eprintln!("error: {message}");
}

/// A remark on the way, on stderr.
pub(crate) fn note(message: &str) {
    eprintln!("{message}");
}

/// A result, on stdout.
pub(crate) fn result(text: &str) {
    print!("{text}");
}

/// Whether stdout is a terminal that understands colours.
pub(crate) fn colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
