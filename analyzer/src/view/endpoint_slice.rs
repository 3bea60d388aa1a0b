//! An EndpointSlice as the analysis reads it.

use serde_json::Value;

use super::{at, int_at, list_at, str_at};

/// A borrowed `discovery.k8s.io/v1` EndpointSlice.
#[derive(Clone, Copy)]
pub(crate) struct SliceView<'a>(pub(crate) &'a Value);

/// One endpoint; a condition that the object does not have is `None`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndpointView<'a> {
    pub(crate) pod: Option<&'a str>,
    pub(crate) address: Option<&'a str>,
    pub(crate) ready: Option<bool>,
    pub(crate) serving: Option<bool>,
    pub(crate) terminating: Option<bool>,
}

impl<'a> SliceView<'a> {
    pub(crate) fn key(self) -> &'a str {
        str_at(self.0, &["metadata", "name"]).unwrap_or("")
    }

    pub(crate) fn service(self) -> Option<&'a str> {
        str_at(
            self.0,
            &["metadata", "labels", "kubernetes.io/service-name"],
        )
    }

    /// The ports that the traffic goes to.
    pub(crate) fn ports(self) -> impl Iterator<Item = i64> {
        list_at(self.0, &["ports"])
            .iter()
            .filter_map(|p| int_at(p, &["port"]))
    }

    pub(crate) fn endpoints(self) -> impl Iterator<Item = EndpointView<'a>> {
        list_at(self.0, &["endpoints"]).iter().map(|e| {
            let condition = |name: &str| at(e, &["conditions", name]).and_then(Value::as_bool);
            EndpointView {
                pod: str_at(e, &["targetRef", "name"]),
                address: list_at(e, &["addresses"]).first().and_then(Value::as_str),
                ready: condition("ready"),
                serving: condition("serving"),
                terminating: condition("terminating"),
            }
        })
    }
}
