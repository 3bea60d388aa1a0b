//! Following a Service's EndpointSlices in the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::endpoint::{self, Endpoint};
use super::propagation::{EndpointChange, Propagation};
use super::routes::Routes;
use crate::{Change, ChangeType, Gone, Kind, Store, Watch};

/// Endpoints of a Service by slice and name.
type Slices = BTreeMap<String, BTreeMap<String, Endpoint>>;

/// Keeps the routes of a front end up to date.
#[derive(Debug)]
pub(super) struct Follower {
    store: Store,
    namespace: String,
    service: String,
    slices: Slices,
    propagation: Propagation,
    routes: Arc<Routes>,
    watch: Watch,
}

impl Follower {
    /// Reads the endpoints that there are. The front end knows them at once: it starts after them.
    pub(super) fn new(
        store: Store,
        (namespace, service): (String, String),
        mut propagation: Propagation,
        routes: Arc<Routes>,
    ) -> Self {
        let (slices, version) = list(&store, &namespace, &service);
        let known = all(&slices);
        let changes = known.iter().map(|(name, endpoint)| EndpointChange {
            name: name.clone(),
            state: Some(endpoint.clone()),
        });
        routes.apply(changes.collect());
        propagation.known(known);
        let watch = store.watch(Kind::EndpointSlice, version);
        Self {
            store,
            namespace,
            service,
            slices,
            propagation,
            routes,
            watch,
        }
    }

    /// Follows for as long as it is polled.
    pub(super) async fn run(mut self) {
        loop {
            let due = self.propagation.next_due();
            tokio::select! {
                change = self.watch.next() => self.observe(change),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.routes.apply(self.propagation.due(Instant::now()));
                }
            }
        }
    }

    fn observe(&mut self, change: Result<Change, Gone>) {
        match change {
            Ok(change) => self.merge(&change),
            Err(Gone { .. }) => {
                let (slices, version) = list(&self.store, &self.namespace, &self.service);
                self.slices = slices;
                self.watch = self.store.watch(Kind::EndpointSlice, version);
            }
        }
        let observed = all(&self.slices);
        self.routes.truth.note(
            "endpoints",
            || json!({"ready": observed.values().filter(|e| e.ready).count()}),
        );
        self.propagation.observe(Instant::now(), observed);
    }

    fn merge(&mut self, change: &Change) {
        let slice = &change.object;
        let name = slice["metadata"]["name"].as_str().unwrap_or_default();
        let belongs = endpoint::belongs_to(slice, &self.namespace, &self.service);
        if belongs && change.change != ChangeType::Deleted {
            let endpoints = endpoint::of_slice(&self.store, slice);
            self.slices.insert(name.to_owned(), endpoints);
        } else if slice["metadata"]["namespace"] == self.namespace.as_str() {
            self.slices.remove(name);
        }
    }
}

fn list(store: &Store, namespace: &str, service: &str) -> (Slices, u64) {
    let (found, version) = store.list(Kind::EndpointSlice, Some(namespace));
    let slices = found
        .iter()
        .filter(|slice| endpoint::belongs_to(slice, namespace, service))
        .map(|slice| {
            let name = slice["metadata"]["name"].as_str().unwrap_or_default();
            (name.to_owned(), endpoint::of_slice(store, slice))
        })
        .collect();
    (slices, version)
}

fn all(slices: &Slices) -> BTreeMap<String, Endpoint> {
    let endpoints = slices.values().flatten();
    endpoints.map(|(n, e)| (n.clone(), e.clone())).collect()
}
