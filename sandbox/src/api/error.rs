//! Errors as `metav1.Status`.

use http::StatusCode;
use serde_json::{Value, json};

use super::resource::Resource;
use crate::{Gone, Kind, StoreError};

/// A refused request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(super) struct ApiError {
    pub(super) code: StatusCode,
    reason: &'static str,
    message: String,
    details: Option<Value>,
}

impl ApiError {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
        }
    }

    fn about(mut self, resource: &Resource, name: &str) -> Self {
        self.details =
            Some(json!({"name": name, "group": resource.group, "kind": resource.plural}));
        self
    }

    /// 404 for a path that nothing is at.
    pub(super) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message)
    }

    /// 404 for an object.
    pub(super) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(resource, name)
    }

    /// 400.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 405.
    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    /// 409 for a write that another write overtook.
    pub(super) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            resource.qualified()
        );
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(resource, name)
    }

    /// 410.
    pub(super) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// 413.
    pub(super) fn too_large(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            message,
        )
    }

    /// 415.
    pub(super) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        )
    }

    /// 422.
    pub(super) fn invalid(resource: &Resource, name: &str, why: impl AsRef<str>) -> Self {
        let message = format!(
            "{}{}{} {name:?} is invalid: {}",
            resource.kind.as_str(),
            if resource.group.is_empty() { "" } else { "." },
            resource.group,
            why.as_ref()
        );
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about(resource, name)
    }

    /// 504 for a version that is not there yet.
    pub(super) fn version_too_large(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let mut error = Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message);
        error.details = Some(json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }));
        error
    }

    /// A store's refusal.
    pub(super) fn from_store(resource: &Resource, error: &StoreError) -> Self {
        match error {
            StoreError::NotFound(_, name) => Self::not_found(resource, name),
            StoreError::AlreadyExists(_, name) => {
                let message = format!("{} {name:?} already exists", resource.qualified());
                Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(resource, name)
            }
        }
    }

    /// The Status object.
    pub(super) fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code.as_u16(),
        });
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

impl From<Gone> for ApiError {
    fn from(gone: Gone) -> Self {
        Self::expired(gone.to_string())
    }
}

/// The Status object of a request that was done.
pub(super) fn success(resource: &Resource, name: &str, uid: &Value) -> Value {
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": name, "group": resource.group, "kind": resource.plural, "uid": uid},
    })
}

/// Checks that an object in a request is of the kind that its path names.
pub(super) fn check_kind(kind: Kind, object: &Value) -> Result<(), ApiError> {
    for (field, expected) in [("kind", kind.as_str()), ("apiVersion", kind.api_version())] {
        if object[field]
            .as_str()
            .is_some_and(|found| found != expected)
        {
            return Err(ApiError::bad_request(format!(
                "{field} in the data ({}) does not match the expected {expected}",
                object[field]
            )));
        }
    }
    Ok(())
}
