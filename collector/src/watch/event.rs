//! One line of a watch stream.

use rollscope_records::WatchType;
use serde_json::Value;

use crate::ApiFailure;
use crate::workload::text;

/// What a line of a watch stream says.
#[derive(Debug, PartialEq)]
pub(super) enum WatchLine {
    /// An object was added, changed or deleted.
    Change(WatchType, Value),
    /// Nothing happened up to this resource version.
    Bookmark(String),
    /// The server ends the watch.
    Refused(ApiFailure),
}

/// Reads a line. `Err` says what is wrong with it.
pub(super) fn read(line: &[u8]) -> Result<WatchLine, String> {
    let mut whole: Value = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let object = whole["object"].take();
    let event = match whole["type"].as_str() {
        Some("ADDED") => WatchType::Added,
        Some("MODIFIED") => WatchType::Modified,
        Some("DELETED") => WatchType::Deleted,
        Some("BOOKMARK") => return Ok(WatchLine::Bookmark(version(&object))),
        Some("ERROR") => return Ok(WatchLine::Refused(refusal(&object))),
        other => return Err(format!("unknown type of watch event {other:?}")),
    };
    if !object.is_object() {
        return Err("a watch event without an object".to_owned());
    }
    Ok(WatchLine::Change(event, object))
}

fn refusal(status: &Value) -> ApiFailure {
    ApiFailure::Status {
        code: status["code"]
            .as_u64()
            .and_then(|c| u16::try_from(c).ok())
            .unwrap_or(500),
        reason: text(status, "reason"),
        message: text(status, "message"),
        retry_after: None,
    }
}

/// An object's resource version; empty when it has none.
pub(super) fn version(object: &Value) -> String {
    text(&object["metadata"], "resourceVersion")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn changes_bookmarks_and_errors_are_told_apart() {
        let line = br#"{"type":"DELETED","object":{"metadata":{"name":"a"}}}"#;
        assert!(matches!(
            read(line).unwrap(),
            WatchLine::Change(WatchType::Deleted, _)
        ));
        let line = br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#;
        assert_eq!(read(line).unwrap(), WatchLine::Bookmark("7".to_owned()));
        let line = br#"{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"old"}}"#;
        let WatchLine::Refused(failure) = read(line).unwrap() else {
            panic!("not an error");
        };
        assert_eq!(failure.code(), Some(410));
    }

    #[test]
    fn cut_lines_and_unknown_types_are_errors() {
        assert!(read(br#"{"type":"ADDED","obj"#).is_err());
        assert!(read(br#"{"type":"RENAMED","object":{}}"#).is_err());
        assert!(read(br#"{"type":"ADDED"}"#).is_err());
    }
}
