//! A running front end.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rollscope_scenarios::{DurationRange, FrontEnd as FrontEndKind, HealthCheck, SandboxTarget};
use serde_json::json;
use tokio::task::JoinHandle;

use super::counters::{Counters, FrontEndCounters};
use super::error::FrontEndError;
use super::follow::Follower;
use super::health::HealthChecks;
use super::ingress;
use super::program::{Program, ProgramLog};
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
    /// `nginx` or `haproxy`.
    program: Option<Mutex<Program>>,
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

    /// Starts the front end of a scenario's target on loopback: [`start`](Self::start) for those that are built in, the
    /// program for `nginx` and `haproxy`.
    ///
    /// # Errors
    ///
    /// [`FrontEndError::Missing`] when the program is not installed, the others when it, or the listener, does not start.
    pub async fn of_target(
        target: &SandboxTarget,
        store: Store,
        service: (String, String),
        address: SocketAddr,
    ) -> Result<Self, FrontEndError> {
        let kind = target.front_end;
        let propagation = Propagation::new(target.endpoint_lag, target.seed);
        match kind {
            FrontEndKind::Http | FrontEndKind::L4 | FrontEndKind::Direct => {
                let timeouts = Timeouts::default();
                Self::start_with(kind, store, service, address, propagation, timeouts)
            }
            FrontEndKind::HealthChecked => {
                Self::health_checked(target.health_check, store, service, address, propagation)
            }
            FrontEndKind::Nginx | FrontEndKind::Haproxy => {
                let program = Program::start(kind, target.retries).await?;
                Ok(Self::of_program(kind, program, store, service, propagation))
            }
        }
    }

    fn of_program(
        kind: FrontEndKind,
        program: Program,
        store: Store,
        service: (String, String),
        mut propagation: Propagation,
    ) -> Self {
        let routes = Arc::new(Routes::new(kind, propagation.draw_seed()));
        let follower = Follower::new(store, service, propagation, Arc::clone(&routes));
        let tasks = vec![
            tokio::spawn(follower.run()),
            tokio::spawn(program.follow(Arc::clone(&routes))),
        ];
        Self {
            kind,
            address: program.address,
            routes,
            counters: Arc::default(),
            tasks,
            program: Some(Mutex::new(program)),
        }
    }

    fn health_checked(
        check: HealthCheck,
        store: Store,
        service: (String, String),
        address: SocketAddr,
        mut propagation: Propagation,
    ) -> Result<Self, FrontEndError> {
        let kind = FrontEndKind::HealthChecked;
        let routes = Arc::new(Routes::new(kind, propagation.draw_seed()));
        let counters = Arc::new(Counters::default());
        let proxy = Proxy {
            routes: Arc::clone(&routes),
            counters: Arc::clone(&counters),
            timeouts: Timeouts::default(),
        };
        let (address, serving) = Self::serve(proxy, address, &service.1)?;
        let checks = HealthChecks::new(store, service, check, Arc::clone(&routes));
        Ok(Self {
            kind,
            address,
            routes,
            counters,
            tasks: vec![serving, tokio::spawn(checks.run())],
            program: None,
        })
    }

    /// Opens the listener of a proxy and serves on it.
    fn serve(
        proxy: Proxy,
        mut address: SocketAddr,
        service: &str,
    ) -> Result<(SocketAddr, JoinHandle<()>), FrontEndError> {
        let listener = ingress::listen(address)
            .and_then(|listener| {
                address = listener.local_addr()?;
                Ok(listener)
            })
            .map_err(|source| FrontEndError::Listen {
                service: service.to_owned(),
                address,
                source,
            })?;
        let serving = tokio::spawn(ingress::serve(listener, Arc::new(proxy)));
        Ok((address, serving))
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
            let proxy = Proxy {
                routes: Arc::clone(&routes),
                counters: Arc::clone(&counters),
                timeouts,
            };
            let (listening, serving) = Self::serve(proxy, address, &service.1)?;
            address = listening;
            tasks.push(serving);
        }
        let follower = Follower::new(store, service, propagation, Arc::clone(&routes));
        tasks.push(tokio::spawn(follower.run()));
        Ok(Self {
            kind,
            address,
            routes,
            counters,
            tasks,
            program: None,
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

    /// Where a new connection to [`address`](Self::address) goes. `l4` and `direct` choose an endpoint and count it;
    /// `None` means that there is none, which a client sees as a refused connection. The others always give their own
    /// listener.
    pub fn choose(&self) -> Option<SocketAddr> {
        if !matches!(self.kind, FrontEndKind::L4 | FrontEndKind::Direct) {
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

    fn program(&self) -> Option<MutexGuard<'_, Program>> {
        let program = self.program.as_ref()?;
        Some(program.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The logs of the program; none where the front end is built in.
    pub fn logs(&self) -> Vec<ProgramLog> {
        self.program().map(|p| p.logs()).unwrap_or_default()
    }

    /// The lines that the program wrote since the last call, each with the index of its log in [`logs`](Self::logs).
    pub fn read_logs(&self) -> Vec<(usize, String)> {
        let lines = self
            .program()
            .map(|mut p| p.read_logs())
            .unwrap_or_default();
        let requests = lines.iter().filter(|(log, _)| *log == 0).count();
        self.counters.count(|c| c.requests += requests as u64);
        lines
    }

    /// Whether every change that has reached the front end is applied.
    pub fn has_applied(&self) -> bool {
        self.program().is_none_or(|p| p.has_applied(&self.routes))
    }

    /// Ends the program, so that all that it did is in its logs; blocks until it has ended, some seconds at most. A front
    /// end that is built in has nothing to end.
    pub fn quit(&self) {
        if let Some(mut program) = self.program() {
            program.quit();
        }
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
