//! What can be wrong with a format and with a line.

/// A format that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// No format has that name.
    #[error(
        "{0:?} is not a format of access logs: give one of {names}, or nginx:LOG_FORMAT, haproxy:LOG_FORMAT, envoy:FORMAT, regex:PATTERN, json:MAPPING",
        names = crate::format::NAMES.join(", ")
    )]
    Unknown(String),
    /// Two fields of a template stand beside each other, so that nothing says where the first one ends.
    #[error(
        "the format has nothing between {0} and {1}, so that the end of {0} cannot be found: put a blank between them"
    )]
    Touching(String, String),
    /// A template or mapping without what every entry needs.
    #[error("the format has no {0}; a line that does not tell it cannot be used")]
    Lacks(&'static str),
    /// The regular expression is none.
    #[error("the pattern is not a regular expression: {0}")]
    Pattern(String),
    /// A group or key that means nothing.
    #[error("{0:?} is not a field; the fields are {fields}", fields = crate::captures::FIELDS.join(", "))]
    Field(String),
    /// The mapping is not a JSON object of texts.
    #[error("the mapping is not JSON of the shape {{\"status\": \"/pointer/to/it\"}}: {0}")]
    Mapping(String),
}

/// Why a line is not an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Nothing is on it.
    #[error("the line is empty")]
    Empty,
    /// It has another form.
    #[error("expected {0:?} after what came before; the line is not in this format, or cut")]
    Form(String),
    /// It is not JSON.
    #[error("the line is not a JSON object: {0}")]
    Json(String),
    /// It does not match the pattern.
    #[error("the line does not match the pattern")]
    NoMatch,
    /// A field that an entry needs is not there.
    #[error("the line has no {0}")]
    Lacks(&'static str),
    /// A value is not what it must be.
    #[error("{field} is {value:?}: expected {expected}")]
    Value {
        /// The field.
        field: &'static str,
        /// The beginning of its value.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
}

impl LineError {
    pub(crate) fn value(field: &'static str, value: &str, expected: &'static str) -> Self {
        Self::Value {
            field,
            value: value.chars().take(40).collect(),
            expected,
        }
    }
}
