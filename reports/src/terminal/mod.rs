//! The closing summary of a run: a screen of plain text at most, which ends with verdict, causes and the timeline's path.

mod closing;
mod facts;
mod lines;

use rollscope_analyzer::Analysis;

use crate::text::visible;

/// Lines of the summary at most.
pub const SCREEN_LINES: usize = 24;
/// Columns that the labels take.
const LABEL: usize = 12;
/// Columns of the summary at least, however narrow the terminal is.
const LEAST_WIDTH: usize = 40;

/// The summary, at most [`SCREEN_LINES`] lines of at most `width` columns (the path alone may be longer, so that it can
/// be copied), with ANSI colours only where `color` asks for them. Text from outside has no control characters left.
pub fn summary(analysis: &Analysis, timeline_path: &str, width: usize, color: bool) -> String {
    let width = width.max(LEAST_WIDTH);
    let mut lines = facts::facts(analysis, width);
    lines.push(String::new());
    lines.extend(closing::closing(
        analysis,
        width,
        color,
        SCREEN_LINES - 1 - lines.len(),
    ));
    lines.push(labelled("timeline", &visible(timeline_path, 4_096)));
    lines.join("\n") + "\n"
}

fn labelled(label: &str, text: &str) -> String {
    format!("{label:<LABEL$}{text}")
}
