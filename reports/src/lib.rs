//! Reports of an analysis: the HTML timeline, JSON and the terminal's summary. No decisions are made here.
//!
//! Each report is a function from an [`Analysis`](rollscope_analyzer::Analysis) (and, for the timeline, the
//! [`Recording`](rollscope_records::Recording) under it) to text, byte for byte the same for the same input.
//! Text that comes from a pod, a header or a log is neutralised on its way into every report that is shown.

mod causes;
mod html;
mod json;
mod terminal;
mod text;
mod write;

pub use html::timeline_html;
pub use json::report_json;
pub use terminal::{SCREEN_LINES, summary};
pub use write::{ReportError, ReportPaths, write_reports};
