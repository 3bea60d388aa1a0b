//! An Event as the analysis reads it. Its reason counts, never its message: that changes between versions.

use serde_json::Value;

use super::str_at;

/// A borrowed `v1` Event.
#[derive(Clone, Copy)]
pub(crate) struct EventView<'a>(pub(crate) &'a Value);

impl<'a> EventView<'a> {
    pub(crate) fn reason(self) -> Option<&'a str> {
        str_at(self.0, &["reason"])
    }

    /// The sentence of the reporter.
    pub(crate) fn message(self) -> Option<&'a str> {
        str_at(self.0, &["message"]).or_else(|| str_at(self.0, &["note"]))
    }

    /// The name of the Pod that it is about.
    pub(crate) fn pod(self) -> Option<&'a str> {
        let kind = str_at(self.0, &["involvedObject", "kind"])
            .or_else(|| str_at(self.0, &["regarding", "kind"]))?;
        if kind != "Pod" {
            return None;
        }
        str_at(self.0, &["involvedObject", "name"])
            .or_else(|| str_at(self.0, &["regarding", "name"]))
    }

    /// A kubelet reported it: its times are of a node's clock.
    pub(crate) fn by_kubelet(self) -> bool {
        let reporter = str_at(self.0, &["source", "component"])
            .or_else(|| str_at(self.0, &["reportingComponent"]));
        reporter == Some("kubelet")
    }

    /// When it last happened, as written: microseconds where the reporter gives them, else whole seconds.
    pub(crate) fn last_seen(self) -> Option<&'a str> {
        str_at(self.0, &["series", "lastObservedTime"])
            .or_else(|| str_at(self.0, &["lastTimestamp"]))
            .or_else(|| str_at(self.0, &["eventTime"]))
            .or_else(|| str_at(self.0, &["firstTimestamp"]))
    }
}
