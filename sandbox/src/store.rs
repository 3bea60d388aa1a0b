//! The objects of the sandbox's cluster, with resource versions and watches, as an API server keeps them.
//!
//! Objects are JSON as Kubernetes writes it. Every write gets the next resource version of one global counter and is
//! kept in a bounded history, from which watches are served; a watch that asks for more than the history holds is
//! [`Gone`] (410).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::sync::watch;

/// Changes that the history keeps before a watch from an older version gets 410 Gone.
const HISTORY: usize = 20_000;

/// The kinds of objects that the sandbox knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `v1` Pod.
    Pod,
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
    /// `apps/v1` Deployment.
    Deployment,
    /// `discovery.k8s.io/v1` EndpointSlice.
    EndpointSlice,
    /// `v1` Service.
    Service,
    /// `v1` Event.
    Event,
    /// `v1` Node.
    Node,
    /// `v1` Namespace.
    Namespace,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Pod,
        Self::ReplicaSet,
        Self::Deployment,
        Self::EndpointSlice,
        Self::Service,
        Self::Event,
        Self::Node,
        Self::Namespace,
    ];

    /// The kind as objects spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::ReplicaSet => "ReplicaSet",
            Self::Deployment => "Deployment",
            Self::EndpointSlice => "EndpointSlice",
            Self::Service => "Service",
            Self::Event => "Event",
            Self::Node => "Node",
            Self::Namespace => "Namespace",
        }
    }

    /// The kind's `apiVersion`.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::Deployment | Self::ReplicaSet => "apps/v1",
            Self::EndpointSlice => "discovery.k8s.io/v1",
            _ => "v1",
        }
    }

    /// Whether the API server counts spec changes in `metadata.generation`.
    const fn has_generation(self) -> bool {
        matches!(
            self,
            Self::Deployment | Self::ReplicaSet | Self::EndpointSlice | Self::Pod
        )
    }
}

/// What a change did to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeType {
    /// It is new.
    Added,
    /// It changed.
    Modified,
    /// It is gone; the change carries its last state.
    Deleted,
}

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    /// The resource version that the change made.
    pub version: u64,
    /// The object's kind.
    pub kind: Kind,
    /// What happened.
    pub change: ChangeType,
    /// The object after it (for a deletion its last state).
    pub object: Arc<Value>,
}

/// Why a write was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// 404.
    #[error("{kind} {name:?} not found", kind = .0.as_str(), name = .1)]
    NotFound(Kind, String),
    /// 409 AlreadyExists.
    #[error("{kind} {name:?} already exists", kind = .0.as_str(), name = .1)]
    AlreadyExists(Kind, String),
}

/// The history no longer holds what a watch asked for (410).
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("too old resource version: {asked} (oldest kept: {oldest})")]
pub struct Gone {
    /// The version asked for.
    pub asked: u64,
    /// The oldest version from which a watch can start.
    pub oldest: u64,
}

#[derive(Debug, Default)]
struct Objects {
    version: u64,
    objects: BTreeMap<(Kind, String, String), Arc<Value>>,
    history: VecDeque<Change>,
    /// Changes at or before this version are no longer in the history.
    forgotten: u64,
}

/// The object store. Clones share the same objects.
#[derive(Debug, Clone)]
pub struct Store {
    objects: Arc<Mutex<Objects>>,
    written: Arc<watch::Sender<u64>>,
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            objects: Arc::default(),
            written: Arc::new(watch::channel(0).0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of the last write.
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// Adds an object. Fills `apiVersion`, `kind`, uid, creationTimestamp, generation and resourceVersion.
    pub fn create(&self, kind: Kind, mut object: Value) -> Result<Arc<Value>, StoreError> {
        let key = key_of(kind, &object);
        let mut objects = self.lock();
        if objects.objects.contains_key(&key) {
            return Err(StoreError::AlreadyExists(kind, key.2));
        }
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(kind.as_str());
        let meta = metadata(&mut object);
        meta.entry("uid").or_insert_with(|| json!(new_uid()));
        meta.entry("creationTimestamp")
            .or_insert_with(|| json!(crate::timestamp::seconds_now()));
        if kind.has_generation() {
            meta.insert("generation".to_owned(), json!(1));
        }
        let written = objects.write(kind, ChangeType::Added, key, object);
        self.announce(&objects);
        Ok(written)
    }

    /// The object as it is now.
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.lock()
            .objects
            .get(&(kind, namespace.to_owned(), name.to_owned()))
            .cloned()
    }

    /// All objects of a kind (of one namespace, if named) and the version at which the list is true.
    pub fn list(&self, kind: Kind, namespace: Option<&str>) -> (Vec<Arc<Value>>, u64) {
        let objects = self.lock();
        let found = objects
            .objects
            .iter()
            .filter(|((k, ns, _), _)| *k == kind && namespace.is_none_or(|n| n == ns))
            .map(|(_, o)| Arc::clone(o))
            .collect();
        (found, objects.version)
    }

    /// Changes an object in place, under the store's lock. A change that changes nothing is not written: it makes no
    /// new version and no watch event, as in Kubernetes. A change of `spec` counts up the generation.
    pub fn update(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, StoreError> {
        self.change(kind, namespace, name, true, change)
    }

    /// As [`Self::update`], for a change of `spec` that the system makes by itself and that therefore does not count
    /// up the generation (a pod's binding to a node).
    pub fn update_uncounted(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, StoreError> {
        self.change(kind, namespace, name, false, change)
    }

    fn change(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        counted: bool,
        change: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, StoreError> {
        let key = (kind, namespace.to_owned(), name.to_owned());
        let mut objects = self.lock();
        let Some(before) = objects.objects.get(&key).cloned() else {
            return Err(StoreError::NotFound(kind, name.to_owned()));
        };
        let mut after = Value::clone(&before);
        change(&mut after);
        if after == *before {
            return Ok(before);
        }
        let content = if kind == Kind::EndpointSlice {
            "endpoints"
        } else {
            "spec"
        };
        if counted && kind.has_generation() && after.get(content) != before.get(content) {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or(1);
            metadata(&mut after).insert("generation".to_owned(), json!(generation + 1));
        }
        let written = objects.write(kind, ChangeType::Modified, key, after);
        self.announce(&objects);
        Ok(written)
    }

    /// Removes an object for good (the end of a graceful deletion, or a deletion without grace).
    pub fn remove(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Arc<Value>, StoreError> {
        let key = (kind, namespace.to_owned(), name.to_owned());
        let mut objects = self.lock();
        let Some(last) = objects.objects.remove(&key) else {
            return Err(StoreError::NotFound(kind, name.to_owned()));
        };
        let written = objects.write(kind, ChangeType::Deleted, key, Value::clone(&last));
        self.announce(&objects);
        Ok(written)
    }

    fn announce(&self, objects: &Objects) {
        self.written.send_replace(objects.version);
    }

    /// Every change of `kind` after `version`, in order.
    pub fn watch(&self, kind: Kind, version: u64) -> Watch {
        Watch {
            store: self.clone(),
            kind,
            seen: version,
            written: self.written.subscribe(),
        }
    }

    /// Wakes when anything is written; its value is the version of the last write.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// Forgets the history up to now, so that every watch from an older version gets 410 Gone (as a compaction does).
    pub fn compact(&self) {
        let mut objects = self.lock();
        objects.history.clear();
        objects.forgotten = objects.version;
    }
}

impl Objects {
    fn write(
        &mut self,
        kind: Kind,
        change: ChangeType,
        key: (Kind, String, String),
        mut object: Value,
    ) -> Arc<Value> {
        self.version += 1;
        metadata(&mut object).insert(
            "resourceVersion".to_owned(),
            json!(self.version.to_string()),
        );
        let object = Arc::new(object);
        if change != ChangeType::Deleted {
            self.objects.insert(key, Arc::clone(&object));
        }
        self.history.push_back(Change {
            version: self.version,
            kind,
            change,
            object: Arc::clone(&object),
        });
        if self.history.len() > HISTORY
            && let Some(oldest) = self.history.pop_front()
        {
            self.forgotten = oldest.version;
        }
        object
    }

    fn next(&self, kind: Kind, seen: u64) -> Result<Option<Change>, Gone> {
        if seen < self.forgotten {
            return Err(Gone {
                asked: seen,
                oldest: self.forgotten,
            });
        }
        let from = self.history.partition_point(|c| c.version <= seen);
        Ok(self.history.range(from..).find(|c| c.kind == kind).cloned())
    }
}

/// A running watch.
#[derive(Debug)]
pub struct Watch {
    store: Store,
    kind: Kind,
    seen: u64,
    written: watch::Receiver<u64>,
}

impl Watch {
    /// The next change. Waits until there is one. Cancel safe.
    pub async fn next(&mut self) -> Result<Change, Gone> {
        loop {
            self.written.mark_unchanged();
            let found = {
                let objects = self.store.lock();
                let found = objects.next(self.kind, self.seen)?;
                if found.is_none() {
                    self.seen = objects.version;
                }
                found
            };
            if let Some(change) = found {
                self.seen = change.version;
                return Ok(change);
            }
            // The sender lives as long as `self.store`.
            let _ = self.written.changed().await;
        }
    }

    /// The version up to which this watch has seen everything (for bookmarks).
    pub const fn seen(&self) -> u64 {
        self.seen
    }
}

fn key_of(kind: Kind, object: &Value) -> (Kind, String, String) {
    let meta = &object["metadata"];
    let text = |field: &str| meta[field].as_str().unwrap_or_default().to_owned();
    (kind, text("namespace"), text("name"))
}

fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    match &mut object["metadata"] {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

fn new_uid() -> String {
    let [a, b, c, d] = rand::random::<[u32; 4]>();
    let (b1, b2) = (b >> 16, (b & 0x0fff) | 0x4000);
    let (c1, c2) = (((c >> 16) & 0x3fff) | 0x8000, c & 0xffff);
    format!("{a:08x}-{b1:04x}-{b2:04x}-{c1:04x}-{c2:04x}{d:08x}")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn pod(name: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "shop"}, "spec": {"a": 1}})
    }

    #[tokio::test]
    async fn a_watch_sees_every_change_of_its_kind_once_and_in_order() {
        let store = Store::new();
        let mut watch = store.watch(Kind::Pod, 0);
        store.create(Kind::Pod, pod("a")).unwrap();
        store.create(Kind::Service, pod("svc")).unwrap();
        store
            .update(Kind::Pod, "shop", "a", |p| {
                p["status"] = json!({"phase": "Running"})
            })
            .unwrap();
        store.update(Kind::Pod, "shop", "a", |_| ()).unwrap();
        store.remove(Kind::Pod, "shop", "a").unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            let change = watch.next().await.unwrap();
            seen.push((change.version, change.change));
        }
        assert_eq!(
            seen,
            [
                (1, ChangeType::Added),
                (3, ChangeType::Modified),
                (4, ChangeType::Deleted)
            ]
        );
    }

    #[tokio::test]
    async fn a_watch_from_a_forgotten_version_is_gone() {
        let store = Store::new();
        store.create(Kind::Pod, pod("a")).unwrap();
        store.create(Kind::Pod, pod("b")).unwrap();
        store.compact();
        assert_eq!(
            store.watch(Kind::Pod, 1).next().await.unwrap_err(),
            Gone {
                asked: 1,
                oldest: 2
            }
        );
    }

    #[test]
    fn only_a_change_of_the_spec_counts_up_the_generation() {
        let store = Store::new();
        store.create(Kind::Pod, pod("a")).unwrap();
        let status = store
            .update(Kind::Pod, "shop", "a", |p| p["status"] = json!({}))
            .unwrap();
        assert_eq!(status["metadata"]["generation"], 1);
        let spec = store
            .update(Kind::Pod, "shop", "a", |p| p["spec"]["a"] = json!(2))
            .unwrap();
        assert_eq!(spec["metadata"]["generation"], 2);
    }
}
