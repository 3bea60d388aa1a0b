//! The check before any load: what manifests, a Dockerfile and a package.json say of the next rollout.
//!
//! [`check`] takes an [`Input`] and gives a [`Report`]: findings, each with a stable rule, why it is a problem with the
//! numbers of this manifest, where it is, and a fix as a patch. It does no I/O. What the numbers must be is the same
//! arithmetic as that of the advice after a run (`rollscope_records::budget`).

mod about;
mod at;
mod check;
mod command;
mod container;
mod context;
mod dockerfile;
mod finding;
mod known;
mod node;
mod output;
mod package_json;
mod patch;
mod problem;
mod rules;
mod settings;
mod shell;
mod shutdown;
mod words;
mod workload;
mod yaml;

pub use about::{About, about};
pub use check::{Input, Source, check};
pub use finding::{
    AllowedBy, Finding, Fix, ObjectRef, Patch, PatchKind, Place, Report, SCHEMA, Severity,
};
pub use output::{REPORT_SCHEMA, json, sarif, text};
pub use problem::{BadInput, Problem};
pub use settings::Settings;
