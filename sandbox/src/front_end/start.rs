//! A running front end.

use std::net::SocketAddr;
use std::sync::Arc;

use rollscope_scenarios::{DurationRange, FrontEnd as FrontEndKind};
use serde_json::json;
use tokio::task::JoinHandle;

use super::counters::{Counters, FrontEndCounters};
use super::error::FrontEndError;
use super::follow::Follower;
use super::ingress;
use super::propagation::Propagation;
use super::proxy::{Proxy, Timeouts};
use super::routes::Routes;
use crate::{Store, TruthLog};

/// The front end of one Service. It stops when dropped.
#[derive(Debug)]
pub struct FrontEnd {
    kind: FrontEndKind,
    address: SocketAddr,
    routes: Arc<Routes>,
    counters: Arc<Counters>,
    tasks: Vec<JoinHandle<()>>,
}

impl FrontEnd {
    /// Starts the front end of a Service. The endpoints that the store has now are known to it at once; each later
    /// change of an endpoint takes a lag drawn from `lag`. `seed` decides every lag and every choice.
    ///
    /// With `http` it listens on `address` (port 0: any free one). With `l4` and `direct` nothing listens: `address` is
    /// the Service's virtual address, which clients of `l4` show as their peer while they connect to what
    /// [`choose`](Self::choose) gives.
    ///
    /// # Errors
    ///
    /// [`FrontEndError::Listen`] when the address is taken or not of this machine.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time.
    pub fn start(
        kind: FrontEndKind,
        store: Store,
        namespace: &str,
        service: &str,
        address: SocketAddr,
        lag: DurationRange,
        seed: u64,
    ) -> Result<Self, FrontEndError> {
        let service_key = (namespace.to_owned(), service.to_owned());
        let propagation = Propagation::new(lag, seed);
        let timeouts = Timeouts::default();
        Self::start_with(kind, store, service_key, address, propagation, timeouts)
    }

    /// [`start`](Self::start), with the timeouts of `http` given.
    pub(super) fn start_with(
        kind: FrontEndKind,
        store: Store,
        service: (String, String),
        mut address: SocketAddr,
        mut propagation: Propagation,
        timeouts: Timeouts,
    ) -> Result<Self, FrontEndError> {
        let routes = Arc::new(Routes::new(kind, propagation.draw_seed()));
        let counters = Arc::new(Counters::default());
        let mut tasks = Vec::new();
        if kind == FrontEndKind::Http {
            let listener = ingress::listen(address)
                .and_then(|listener| {
                    address = listener.local_addr()?;
                    Ok(listener)
                })
                .map_err(|source| FrontEndError::Listen {
                    service: service.1.clone(),
                    address,
                    source,
                })?;
            let proxy = Proxy {
                routes: Arc::clone(&routes),
                counters: Arc::clone(&counters),
                timeouts,
            };
            tasks.push(tokio::spawn(ingress::serve(listener, Arc::new(proxy))));
        }
        let follower = Follower::new(store, service, propagation, Arc::clone(&routes));
        tasks.push(tokio::spawn(follower.run()));
        Ok(Self {
            kind,
            address,
            routes,
            counters,
            tasks,
        })
    }

    /// Has every decision written to `truth` from now on.
    pub(crate) fn witnessed_by(&self, truth: TruthLog) {
        self.routes.truth.set(truth);
    }

    /// The pods' own addresses that get new connections now.
    pub fn routed(&self) -> Vec<SocketAddr> {
        self.routes.routed()
    }

    /// Where clients send their requests: the listener (`http`), or the Service's virtual address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where a new connection to [`address`](Self::address) goes. `l4` and `direct` choose an endpoint and count it; `None` means
    /// that there is none, which a client sees as a refused connection. `http` always gives its own listener.
    pub fn choose(&self) -> Option<SocketAddr> {
        if self.kind == FrontEndKind::Http {
            return Some(self.address);
        }
        let chosen = self.routes.at_random();
        self.routes.truth.note("dialled", || {
            let pod = chosen.as_ref().map(|u| u.name());
            json!({"pod": pod, "fallback": self.routes.is_fallback()})
        });
        let Some(upstream) = chosen else {
            self.counters.count(|c| c.no_endpoint += 1);
            return None;
        };
        self.counters.count(|c| c.connections += 1);
        self.counters
            .pod(upstream.name(), |pod| pod.connections += 1);
        Some(upstream.socket())
    }

    /// The counts since the start.
    pub fn counters(&self) -> FrontEndCounters {
        self.counters.snapshot()
    }

    /// Stops: closes the listener and every connection, and returns when they are closed.
    pub async fn stop(mut self) {
        for task in std::mem::take(&mut self.tasks) {
            task.abort();
            // Cancelled, as it should be.
            let _ = task.await;
        }
    }
}

impl Drop for FrontEnd {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
