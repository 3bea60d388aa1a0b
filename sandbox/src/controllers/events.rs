//! Events of the controllers.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::object::meta;
use crate::timestamp::seconds_now;
use crate::{Kind, Store};

/// Writes the events of one component.
#[derive(Debug, Clone)]
pub(crate) struct EventRecorder {
    store: Store,
    component: &'static str,
}

impl EventRecorder {
    /// A recorder for `component` (`deployment-controller` ...).
    pub(crate) fn new(store: Store, component: &'static str) -> Self {
        Self { store, component }
    }

    /// Records a Normal event about `object`.
    pub(crate) fn normal(&self, object: &Value, reason: &str, message: &str) {
        let now = seconds_now();
        self.write(
            object,
            json!({
                "reason": reason,
                "message": message,
                "source": {"component": self.component},
                "firstTimestamp": now,
                "lastTimestamp": now,
                "count": 1,
                "type": "Normal",
                "eventTime": null,
                "reportingComponent": self.component,
                "reportingInstance": "",
            }),
        );
    }

    /// Records a Normal event in the newer form, with microseconds in `eventTime`, as the scheduler writes it.
    pub(crate) fn normal_with_action(
        &self,
        object: &Value,
        reason: &str,
        action: &str,
        message: &str,
    ) {
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ");
        self.write(
            object,
            json!({
                "reason": reason,
                "message": message,
                "source": {},
                "firstTimestamp": null,
                "lastTimestamp": null,
                "type": "Normal",
                "eventTime": now.to_string(),
                "action": action,
                "reportingComponent": self.component,
                "reportingInstance": format!("{}-sandbox", self.component),
            }),
        );
    }

    fn write(&self, object: &Value, mut event: Value) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let unique = since.map_or(0, |d| d.as_nanos());
        event["metadata"] = json!({
            "name": format!("{}.{unique:x}", meta(object, "name")),
            "namespace": object["metadata"]["namespace"],
        });
        event["involvedObject"] = json!({
            "kind": object["kind"],
            "namespace": object["metadata"]["namespace"],
            "name": object["metadata"]["name"],
            "uid": object["metadata"]["uid"],
            "apiVersion": object["apiVersion"],
            "resourceVersion": object["metadata"]["resourceVersion"],
        });
        // Two events of one object in the same nanosecond would share a name; the second is then the same event.
        let _ = self.store.create(Kind::Event, event);
    }
}
