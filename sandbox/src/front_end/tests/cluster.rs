//! A Service's objects, written by hand.

use std::net::SocketAddr;
use std::time::Duration;

use rollscope_scenarios::{DurationRange, FrontEnd as FrontEndKind};
use serde_json::{Value, json};

use super::super::FrontEnd;
use super::super::propagation::Propagation;
use super::super::proxy::Timeouts;
use crate::{Kind, Store};

/// Conditions of an endpoint: ready, serving, terminating.
pub(super) type Conditions = (bool, bool, bool);
pub(super) const READY: Conditions = (true, true, false);
pub(super) const DRAINING: Conditions = (false, true, true);

/// The store of a cluster with one Service `web` in `shop`.
pub(super) struct Cluster {
    pub(super) store: Store,
}

impl Cluster {
    /// A cluster with these pods, all of them ready.
    pub(super) fn new(pods: &[(&str, SocketAddr)]) -> Self {
        let store = Store::new();
        let slice = json!({
            "metadata": {"name": "web-x1", "namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}},
            "ports": [{"name": "http", "port": 3000}],
            "endpoints": [],
        });
        store.create(Kind::EndpointSlice, slice).unwrap();
        let cluster = Self { store };
        let ready: Vec<_> = pods.iter().map(|(n, a)| (*n, *a, READY)).collect();
        cluster.set(&ready);
        cluster
    }

    /// Writes the slice, and the pods that do not exist yet.
    pub(super) fn set(&self, endpoints: &[(&str, SocketAddr, Conditions)]) {
        for (name, address, _) in endpoints {
            // It exists already when it is set again.
            let _ = self.store.create(Kind::Pod, pod(name, *address));
        }
        let endpoints: Value = endpoints
            .iter()
            .map(|(n, a, c)| endpoint(n, *a, *c))
            .collect();
        self.store
            .update(Kind::EndpointSlice, "shop", "web-x1", |s| {
                s["endpoints"] = endpoints
            })
            .unwrap();
    }

    /// A front end with this lag, in milliseconds, and short timeouts.
    pub(super) fn front_end(&self, kind: FrontEndKind, (min, max): (u64, u64)) -> FrontEnd {
        let lag = DurationRange {
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
        };
        let timeouts = Timeouts {
            connect: Duration::from_millis(300),
            read: Duration::from_millis(300),
        };
        FrontEnd::start_with(
            kind,
            self.store.clone(),
            ("shop".to_owned(), "web".to_owned()),
            "127.0.0.1:0".parse().unwrap(),
            Propagation::new(lag, 7),
            timeouts,
        )
        .unwrap()
    }

    /// An `http` front end without lag.
    pub(super) fn http(&self) -> FrontEnd {
        self.front_end(FrontEndKind::Http, (0, 0))
    }
}

fn pod(name: &str, address: SocketAddr) -> Value {
    let port = address.port().to_string();
    json!({
        "metadata": {"name": name, "namespace": "shop", "annotations": {"sandbox.rollscope.dev/port": port}},
        "status": {"podIP": address.ip().to_string()},
    })
}

fn endpoint(name: &str, address: SocketAddr, (ready, serving, terminating): Conditions) -> Value {
    json!({
        "addresses": [address.ip().to_string()],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {"kind": "Pod", "name": name, "namespace": "shop"},
    })
}
