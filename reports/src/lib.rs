//! Reports of an analysis: the HTML timeline, JSON and other files for pipelines, figures, and the terminal's summary.
//! No decisions are made here.
//!
//! Each report is a function from an [`Analysis`](rollscope_analyzer::Analysis) (and, where it shows single requests,
//! the [`Recording`](rollscope_records::Recording) under it) to text or bytes, the same for the same input.
//! Text that comes from a pod, a header or a log is neutralised on its way into every report that is shown.

mod annotations;
mod causes;
mod figures;
mod format;
mod hlog;
mod html;
mod json;
mod junit;
mod markdown;
mod series;
mod stages;
mod terminal;
mod text;
mod trace;
mod write;

pub use annotations::{github_annotations, without_github_commands};
pub use figures::{DrawError, Figure};
pub use format::{Format, UnknownFormat};
pub use hlog::latency_hlog;
pub use html::{RunEntry, RunEntryError, comparison_html, index_html, timeline_html};
pub use json::{REPORT_SCHEMA, report_json};
pub use junit::junit_xml;
pub use markdown::{MARKDOWN_LINES, comparison_md, summary_md};
pub use terminal::{SCREEN_LINES, summary};
pub use text::{count, visible};
pub use trace::trace_json;
pub use write::{ReportError, ReportPaths, write_comparison, write_index, write_reports};
