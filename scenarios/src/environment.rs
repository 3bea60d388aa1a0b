//! Values that come from the environment or from files, and are secrets.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::jobs::{JobSource, JobsSpec};
use crate::model::{BodySource, HeaderSource, RequestSpec, Scenario};
use crate::template::TemplatePart;
use crate::words;

/// Why a variable or a file cannot be a header's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableFault {
    /// It is not set.
    NotSet,
    /// It is set to nothing, as pipelines do with a secret that does not exist.
    Empty,
    /// It holds a line break, a control character, blanks at its ends, or bytes that are not UTF-8.
    NotAHeaderValue,
    /// It is a file that cannot be read.
    Unreadable,
}

/// An environment variable or a file that cannot be what a request needs. Never shows the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_kind} `{variable}` {}, but {place} of the request `{request}` takes its value from it", fault_in_words(*.fault))]
pub struct VariableError {
    /// `the environment variable` or `the file`.
    pub source_kind: &'static str,
    /// The variable's name, or the file's path.
    pub variable: String,
    /// The request's name.
    pub request: String,
    /// Where its value goes: ``the header `x` `` or `the body`.
    pub place: String,
    /// What is wrong with it.
    pub fault: VariableFault,
}

fn fault_in_words(fault: VariableFault) -> &'static str {
    match fault {
        VariableFault::NotSet => "is not set",
        VariableFault::Empty => "is empty",
        VariableFault::NotAHeaderValue => {
            "is not text on one line (line breaks, control characters and blanks at its ends cannot be sent)"
        }
        VariableFault::Unreadable => "cannot be read",
    }
}

/// Every variable that is missing or unusable. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentErrors(pub Vec<VariableError>);

impl fmt::Display for EnvironmentErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            let line_break = if i == 0 { "" } else { "\n" };
            write!(f, "{line_break}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for EnvironmentErrors {}

impl Scenario {
    /// Whether every environment variable and file that the requests take values from is there, in this process. Apart
    /// from reading the scenario, so that a scenario can be checked on a machine that has no secrets.
    ///
    /// # Errors
    ///
    /// Everything that is missing or unusable, with its request and place.
    pub fn check_environment(&self) -> Result<(), EnvironmentErrors> {
        let requests = self.load.all_requests();
        let mut errors: Vec<_> = requests
            .flat_map(|r| {
                let headers = environment_headers(r, |name| std::env::var_os(name)).err();
                let headers = headers.into_iter().flat_map(|e| e.0);
                headers.chain(missing_in_body(r)).collect::<Vec<_>>()
            })
            .collect();
        let jobs = self.jobs.iter();
        errors.extend(jobs.flat_map(|jobs| {
            let values = environment_of_jobs(jobs, |name| std::env::var_os(name)).err();
            values.into_iter().flat_map(|e| e.0)
        }));
        if errors.is_empty() {
            Ok(())
        } else {
            Err(EnvironmentErrors(errors))
        }
    }
}

/// The variables of a body's template that are not set.
fn missing_in_body(request: &RequestSpec) -> Vec<VariableError> {
    let variables = template_variables(request);
    let missing = variables.filter(|v| std::env::var(v).is_err());
    missing
        .map(|variable| VariableError {
            source_kind: VARIABLE,
            variable: variable.to_owned(),
            request: request.name.clone(),
            place: "the body".to_owned(),
            fault: VariableFault::NotSet,
        })
        .collect()
}

fn template_variables(request: &RequestSpec) -> impl Iterator<Item = &str> {
    let parts = match &request.body {
        Some(BodySource::Template(template)) => template.parts(),
        _ => &[],
    };
    parts.iter().filter_map(|part| match part {
        TemplatePart::Env(variable) => Some(variable.as_str()),
        _ => None,
    })
}

/// Every value that must not get into a recording, whoever prints it: those of headers and bodies that come from the
/// environment or a file, whole and without their scheme (`Bearer ...`), the longest first.
pub fn secret_values(scenario: &Scenario) -> Vec<String> {
    let mut secrets = Vec::new();
    let of_jobs = scenario.jobs.iter().flat_map(sources_of_jobs);
    secrets.extend(of_jobs.filter_map(|(_, source)| secret_value(source)));
    for request in scenario.load.all_requests() {
        let sources = request.headers.iter();
        secrets.extend(sources.filter_map(|(_, source)| secret_value(source)));
        secrets.extend(template_variables(request).filter_map(|v| std::env::var(v).ok()));
    }
    let tokens: Vec<String> = secrets
        .iter()
        .filter_map(|value| value.rsplit_once(' '))
        .map(|(_, token)| token.to_owned())
        .collect();
    secrets.extend(tokens);
    // A part must not break the whole.
    secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    secrets.dedup();
    secrets
}

fn secret_value(source: &HeaderSource) -> Option<String> {
    match source {
        HeaderSource::Env(variable) => std::env::var(variable).ok(),
        HeaderSource::File(path) => {
            let text = std::fs::read_to_string(path).ok();
            text.map(|t| t.trim_end_matches(['\r', '\n']).to_owned())
        }
        HeaderSource::Literal(_) => None,
    }
}

const VARIABLE: &str = "the environment variable";

/// The request's headers with their values; those from the environment are asked of `lookup`
/// (`|name| std::env::var_os(name)` for this process), those from files are read.
///
/// # Errors
///
/// Everything that is missing or unusable, with its request and header.
pub fn environment_headers(
    request: &RequestSpec,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<(String, String)>, EnvironmentErrors> {
    let named = request
        .headers
        .iter()
        .map(|(header, source)| (header.as_str(), format!("the header `{header}`"), source));
    values(&request.name, named, lookup)
}

/// What the source of a scenario's jobs needs of the environment, with its values: the headers of `jobs.http`, the
/// password of `jobs.postgresql` under that name.
///
/// # Errors
///
/// As of [`environment_headers`].
pub fn environment_of_jobs(
    jobs: &JobsSpec,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<(String, String)>, EnvironmentErrors> {
    let asked = format!("jobs.{}", jobs.source.as_str());
    let named = sources_of_jobs(jobs).into_iter().map(|(name, source)| {
        let place = match jobs.source {
            JobSource::Postgresql(_) => "the password".to_owned(),
            _ => format!("the header `{name}`"),
        };
        (name, place, source)
    });
    values(&asked, named, lookup)
}

fn sources_of_jobs(jobs: &JobsSpec) -> Vec<(&str, &HeaderSource)> {
    match &jobs.source {
        JobSource::Http(http) => http.headers.iter().map(|(n, s)| (n.as_str(), s)).collect(),
        JobSource::Postgresql(of) => of.password.iter().map(|s| ("password", s)).collect(),
        JobSource::Redis { .. } | JobSource::Logs(_) => Vec::new(),
    }
}

/// Values by name, each with its place in words.
fn values<'s>(
    asked: &str,
    named: impl Iterator<Item = (&'s str, String, &'s HeaderSource)>,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<(String, String)>, EnvironmentErrors> {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for (name, place, source) in named {
        let (source_kind, variable, value) = match source {
            HeaderSource::Literal(value) => {
                found.push((name.to_owned(), value.clone()));
                continue;
            }
            HeaderSource::Env(variable) => (VARIABLE, variable.clone(), usable(lookup(variable))),
            HeaderSource::File(path) => ("the file", path.display().to_string(), content(path)),
        };
        match value {
            Ok(value) => found.push((name.to_owned(), value)),
            Err(fault) => errors.push(VariableError {
                source_kind,
                variable,
                request: asked.to_owned(),
                place,
                fault,
            }),
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(EnvironmentErrors(errors))
    }
}

/// A file's content without the line break at its end.
fn content(path: &Path) -> Result<String, VariableFault> {
    let text = std::fs::read_to_string(path).map_err(|_| VariableFault::Unreadable)?;
    usable(Some(text.trim_end_matches(['\r', '\n']).into()))
}

fn usable(value: Option<OsString>) -> Result<String, VariableFault> {
    let value = value.ok_or(VariableFault::NotSet)?;
    if value.is_empty() {
        return Err(VariableFault::Empty);
    }
    if !words::is_header_value(value.as_bytes()) {
        return Err(VariableFault::NotAHeaderValue);
    }
    value
        .into_string()
        .map_err(|_| VariableFault::NotAHeaderValue)
}
