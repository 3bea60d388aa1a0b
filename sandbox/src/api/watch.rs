//! Watches.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::Response;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::body::{self, Body};
use super::error::ApiError;
use super::query::Query;
use super::read::Form;
use super::resource::Resource;
use super::selector::Selector;
use super::table::table;
use crate::{Change, ChangeType, Kind, Store, Watch};

/// Time between bookmarks.
const BOOKMARKS: Duration = Duration::from_secs(5);
/// How long a watch lasts whose client does not say.
const LONGEST: Duration = Duration::from_secs(1800);

/// Starts a watch.
pub(super) fn watch(
    store: &Store,
    resource: &Resource,
    namespace: Option<&str>,
    form: Form,
    query: &Query,
) -> Result<Response<Body>, ApiError> {
    let stream = WatchStream::new(store, resource, namespace, form, query)?;
    let events = stream::unfold(stream, |mut stream| async {
        stream.next().await.map(|event| (event, stream))
    });
    Ok(body::stream("application/json", events))
}

struct WatchStream {
    kind: Kind,
    namespace: Option<String>,
    selector: Selector,
    /// Whether an object was selected when this watch last saw it, by uid.
    selected: BTreeMap<String, bool>,
    form: Form,
    query: Query,
    watch: Watch,
    /// What is to be sent before the next change.
    ready: VecDeque<Bytes>,
    bookmarks: bool,
    next_bookmark: Instant,
    end: Instant,
    failed: bool,
}

impl WatchStream {
    fn new(
        store: &Store,
        resource: &Resource,
        namespace: Option<&str>,
        form: Form,
        query: &Query,
    ) -> Result<Self, ApiError> {
        let kind = resource.kind;
        let (objects, current) = store.list(kind, namespace);
        let from = start(query, current)?;
        let now = Instant::now();
        let mut stream = Self {
            kind,
            namespace: namespace.map(str::to_owned),
            selector: Selector::parse(kind, query)?,
            selected: BTreeMap::new(),
            form,
            query: query.clone(),
            watch: store.watch(kind, from.unwrap_or(current)),
            ready: VecDeque::new(),
            bookmarks: query.flag("allowWatchBookmarks"),
            next_bookmark: now + BOOKMARKS,
            end: now + lasting(query)?,
            failed: false,
        };
        match from {
            None => stream.send_all(&objects, current),
            Some(version) => stream.remember(&objects, version),
        }
        Ok(stream)
    }

    /// The state at the start, as additions.
    fn send_all(&mut self, objects: &[Arc<Value>], version: u64) {
        for object in objects {
            let selected = self.selector.matches(object);
            self.selected.insert(uid(object), selected);
            if selected {
                let event = self.event("ADDED", object);
                self.ready.push_back(event);
            }
        }
        if self.query.flag("sendInitialEvents") && self.bookmarks {
            let bookmark = self.bookmark(version, true);
            self.ready.push_back(bookmark);
        }
    }

    /// Notes which objects were selected at `version`: those that did not change since are as they were.
    fn remember(&mut self, objects: &[Arc<Value>], version: u64) {
        for object in objects {
            let written = object["metadata"]["resourceVersion"].as_str();
            let written = written.and_then(|v| v.parse::<u64>().ok());
            if written.is_some_and(|w| w <= version) {
                self.selected
                    .insert(uid(object), self.selector.matches(object));
            }
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.failed {
                return None;
            }
            tokio::select! {
                biased;
                () = sleep_until(self.end) => return None,
                change = self.watch.next() => match change {
                    Ok(change) => {
                        if let Some(event) = self.translate(&change) {
                            return Some(event);
                        }
                    }
                    Err(gone) => {
                        self.failed = true;
                        return Some(line("ERROR", &ApiError::from(gone).to_status()));
                    }
                },
                () = sleep_until(self.next_bookmark), if self.bookmarks => {
                    self.next_bookmark = Instant::now() + BOOKMARKS;
                    return Some(self.bookmark(self.watch.seen(), false));
                }
            }
        }
    }

    /// What a change is for this watch: an object that stops being selected is deleted, one that begins is added.
    fn translate(&mut self, change: &Change) -> Option<Bytes> {
        let object = &change.object;
        let elsewhere = |ns: &String| object["metadata"]["namespace"] != ns.as_str();
        if self.namespace.as_ref().is_some_and(elsewhere) {
            return None;
        }
        let uid = uid(object);
        let is = self.selector.matches(object);
        let was = match change.change {
            ChangeType::Added => Some(false),
            _ => self.selected.get(&uid).copied(),
        };
        if change.change == ChangeType::Deleted {
            self.selected.remove(&uid);
            return was.unwrap_or(is).then(|| self.event("DELETED", object));
        }
        self.selected.insert(uid, is);
        match (was, is) {
            (Some(false), true) => Some(self.event("ADDED", object)),
            (_, true) => Some(self.event("MODIFIED", object)),
            (Some(false), false) => None,
            // It may have been selected: a deletion of something unknown does no harm.
            (_, false) => Some(self.event("DELETED", object)),
        }
    }

    fn event(&self, kind: &str, object: &Arc<Value>) -> Bytes {
        match self.form {
            Form::Json => line(kind, object),
            Form::Table => {
                let version = object["metadata"]["resourceVersion"]
                    .as_str()
                    .unwrap_or_default();
                line(
                    kind,
                    &table(
                        self.kind,
                        std::slice::from_ref(object),
                        version,
                        &self.query,
                    ),
                )
            }
        }
    }

    fn bookmark(&self, version: u64, initial_end: bool) -> Bytes {
        let version = version.to_string();
        let mut object = match self.form {
            Form::Table => table(self.kind, &[], &version, &self.query),
            Form::Json => json!({
                "kind": self.kind.as_str(),
                "apiVersion": self.kind.api_version(),
                "metadata": {"resourceVersion": version, "creationTimestamp": null},
            }),
        };
        if initial_end {
            object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        line("BOOKMARK", &object)
    }
}

/// The version from which to watch; `None` for the present state first and then what follows.
fn start(query: &Query, current: u64) -> Result<Option<u64>, ApiError> {
    if query.flag("sendInitialEvents") {
        if query.get("resourceVersionMatch") != Some("NotOlderThan") {
            return Err(ApiError::bad_request(
                "sendInitialEvents needs resourceVersionMatch=NotOlderThan",
            ));
        }
        return Ok(None);
    }
    match query.get("resourceVersion") {
        // An explicit "no initial events" starts at the most recent version.
        None if query.get("sendInitialEvents") == Some("false") => Ok(Some(current)),
        None | Some("0") => Ok(None),
        Some(text) => match text.parse() {
            Ok(version) if version > current => Err(ApiError::version_too_large(version, current)),
            Ok(version) => Ok(Some(version)),
            Err(_) => Err(ApiError::bad_request(format!(
                "resourceVersion {text:?}: expected a number"
            ))),
        },
    }
}

fn lasting(query: &Query) -> Result<Duration, ApiError> {
    let Some(text) = query.get("timeoutSeconds") else {
        return Ok(LONGEST);
    };
    match text.parse::<u64>() {
        Ok(0) => Ok(LONGEST),
        Ok(seconds) => Ok(Duration::from_secs(seconds.min(86_400))),
        Err(_) => Err(ApiError::bad_request(format!(
            "timeoutSeconds {text:?}: expected a number"
        ))),
    }
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn line(kind: &str, object: &Value) -> Bytes {
    let mut text = format!(r#"{{"type":"{kind}","object":"#);
    text.push_str(&object.to_string());
    text.push_str("}\n");
    text.into()
}
