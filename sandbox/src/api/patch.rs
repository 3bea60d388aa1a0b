//! Patches, by their media type.

use serde_json::Value;

use super::error::ApiError;
use super::{body, json_patch, merge_patch, strategic_merge};

/// A patch that can be applied.
#[derive(Debug)]
pub(super) enum Patch {
    Strategic(Value),
    Merge(Value),
    Json(Value),
}

impl Patch {
    /// Reads a request's patch.
    pub(super) fn parse(content_type: &str, bytes: &[u8]) -> Result<Self, ApiError> {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        let read = match media_type {
            "application/strategic-merge-patch+json" => Self::Strategic,
            "application/merge-patch+json" => Self::Merge,
            "application/json-patch+json" => Self::Json,
            other => {
                return Err(ApiError::unsupported_media_type(format!(
                    "the body of the request was in an unknown format ({other:?}) - accepted media types include: \
                     application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"
                )));
            }
        };
        body::parse(bytes).map(read)
    }

    /// The object with the patch applied.
    pub(super) fn apply(&self, object: &Value) -> Result<Value, ApiError> {
        let mut patched = object.clone();
        match self {
            Self::Strategic(patch) => strategic_merge::merge(&mut patched, patch),
            Self::Merge(patch) => merge_patch::merge(&mut patched, patch),
            Self::Json(patch) => {
                json_patch::apply(&mut patched, patch).map_err(ApiError::bad_request)?;
            }
        }
        if !patched.is_object() {
            return Err(ApiError::bad_request("the patch leaves no object"));
        }
        Ok(patched)
    }
}
