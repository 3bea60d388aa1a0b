//! Header values that come from the environment.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;

use crate::model::{HeaderSource, RequestSpec, Scenario};
use crate::words;

/// Why a variable cannot be a header's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableFault {
    /// It is not set.
    NotSet,
    /// It is set to nothing, as pipelines do with a secret that does not exist.
    Empty,
    /// It holds a line break, a control character, blanks at its ends, or bytes that are not UTF-8.
    NotAHeaderValue,
}

/// An environment variable that cannot be a header's value. Never shows the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable `{variable}` {}, but the header `{header}` of the request `{request}` takes its value from it", fault_in_words(*.fault))]
pub struct VariableError {
    /// The variable's name.
    pub variable: String,
    /// The request's name.
    pub request: String,
    /// The header's name.
    pub header: String,
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
    /// Whether every environment variable that the requests take header values from is set in this process. Apart from
    /// reading the scenario, so that a scenario can be checked on a machine that has no secrets.
    ///
    /// # Errors
    ///
    /// Every variable that is missing or unusable, with its request and header.
    pub fn check_environment(&self) -> Result<(), EnvironmentErrors> {
        let requests = self.load.requests.iter();
        let errors: Vec<_> = requests
            .filter_map(|r| environment_headers(r, |name| std::env::var_os(name)).err())
            .flat_map(|e| e.0)
            .collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(EnvironmentErrors(errors))
        }
    }
}

/// The request's headers with their values; those from the environment are asked of `lookup`
/// (`|name| std::env::var_os(name)` for this process).
///
/// # Errors
///
/// Every variable that is missing or unusable, with its request and header.
pub fn environment_headers(
    request: &RequestSpec,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<(String, String)>, EnvironmentErrors> {
    let mut headers = Vec::new();
    let mut errors = Vec::new();
    for (header, source) in &request.headers {
        match source {
            HeaderSource::Literal(value) => headers.push((header.clone(), value.clone())),
            HeaderSource::Env(variable) => match usable(lookup(variable)) {
                Ok(value) => headers.push((header.clone(), value)),
                Err(fault) => errors.push(VariableError {
                    variable: variable.clone(),
                    request: request.name.clone(),
                    header: header.clone(),
                    fault,
                }),
            },
        }
    }
    if errors.is_empty() {
        Ok(headers)
    } else {
        Err(EnvironmentErrors(errors))
    }
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
