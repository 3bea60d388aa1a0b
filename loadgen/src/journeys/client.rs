//! One user's HTTP client: goose's own, configured so that nothing is sent twice, followed or decompressed, and watched
//! where it connects.

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use reqwest::ClientBuilder;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rollscope_records::{Phase, RunOffset};
use rustls::ClientConfig;
use tower_layer::Layer;
use tower_service::Service;

use super::failure::refused;
use super::link::{Clock, Link};
use super::plan::TargetPlan;

/// The host in a step's URL where the parent says where each connection goes: the client must ask for it.
const DIALLED_HOST: &str = "dialled.invalid";

/// Where the steps go.
pub(super) struct Target {
    plan: TargetPlan,
    tls: Option<ClientConfig>,
    link: Arc<Link>,
}

impl Target {
    pub(super) const fn new(plan: TargetPlan, tls: Option<ClientConfig>, link: Arc<Link>) -> Self {
        Self { plan, tls, link }
    }

    /// Whether connections have TLS.
    pub(super) const fn is_secured(&self) -> bool {
        self.tls.is_some()
    }

    /// Scheme, host and port of the URLs of steps. The host is what TLS has to prove; where the connections go is decided
    /// by [`Resolver`], and a step's `Host` header by its plan.
    pub(super) fn base_url(&self) -> String {
        if self.plan.dialled {
            // Without a port, that of the dialled address counts.
            return format!("http://{DIALLED_HOST}");
        }
        let scheme = if self.is_secured() { "https" } else { "http" };
        let named = self.plan.tls.as_ref().and_then(|t| t.server_name.as_ref());
        let host = named.unwrap_or(&self.plan.host);
        if host.contains(':') {
            format!("{scheme}://[{host}]:{}", self.plan.port)
        } else {
            format!("{scheme}://{host}:{}", self.plan.port)
        }
    }

    /// The only address that a connection can have been made to.
    pub(super) fn only_address(&self, attempt: &Attempt) -> Option<SocketAddr> {
        match (self.plan.known.as_slice(), attempt.addresses.as_slice()) {
            ([only], _) | ([], [only]) => Some(*only),
            _ => None,
        }
    }

    /// The address to record for a connection that was made to `peer`: the one that was asked for.
    pub(super) fn asked_for(&self, peer: SocketAddr) -> SocketAddr {
        match self.plan.known.first() {
            Some(service) if self.plan.dialled => *service,
            _ => peer,
        }
    }
}

/// What one user's client last did to get a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempt {
    /// What the host stands for.
    addresses: Vec<SocketAddr>,
    resolving: bool,
    /// When the connection was ready, with its TLS.
    pub(super) connected: Option<RunOffset>,
}

impl Attempt {
    /// How far a step without a response has come, as far as can be seen.
    pub(super) const fn phase(&self) -> Phase {
        if self.connected.is_some() {
            Phase::Head
        } else if self.resolving {
            Phase::Resolve
        } else {
            Phase::Connect
        }
    }
}

/// The attempts of one user, who makes one at a time.
#[derive(Debug, Clone)]
pub(super) struct Attempts {
    last: Arc<Mutex<Attempt>>,
    clock: Clock,
}

impl Attempts {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            last: Arc::default(),
            clock,
        }
    }

    /// A step begins.
    pub(super) fn begin(&self) {
        self.note(|a| *a = Attempt::default());
    }

    /// What is known of the step's connection.
    pub(super) fn last(&self) -> Attempt {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    fn note(&self, change: impl FnOnce(&mut Attempt)) {
        change(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The client of one user, with cookies of its own.
pub(super) fn client(target: &Arc<Target>, attempts: &Attempts) -> ClientBuilder {
    let resolver = Resolver {
        target: Arc::clone(target),
        attempts: attempts.clone(),
    };
    let mut client = ClientBuilder::new()
        .cookie_store(true)
        // Nothing is re-sent: no connection is kept to re-send from, and no policy re-sends.
        .pool_max_idle_per_host(0)
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .no_gzip()
        .http1_only()
        .tcp_nodelay(true)
        .dns_resolver(Arc::new(resolver))
        .connector_layer(Watch(attempts.clone()));
    if let Some(tls) = &target.tls {
        client = client.use_preconfigured_tls(tls.clone());
    }
    client
}

/// The host could not be resolved.
#[derive(Debug)]
pub(super) struct NotResolved(pub(super) String);

impl fmt::Display for NotResolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for NotResolved {}

/// Says where connections go, whatever name the client asks for: to the target.
struct Resolver {
    target: Arc<Target>,
    attempts: Attempts,
}

impl Resolve for Resolver {
    fn resolve(&self, _: Name) -> Resolving {
        let (target, attempts) = (Arc::clone(&self.target), self.attempts.clone());
        Box::pin(async move {
            if target.plan.dialled {
                let address = target.link.dial().await.map_err(refused)?;
                return Ok(addresses(vec![address]));
            }
            if !target.plan.known.is_empty() {
                return Ok(addresses(target.plan.known.clone()));
            }
            attempts.note(|a| a.resolving = true);
            let host = (target.plan.host.as_str(), target.plan.port);
            let found = tokio::net::lookup_host(host).await;
            let found: Vec<_> = found.map_err(|e| NotResolved(e.to_string()))?.collect();
            if found.is_empty() {
                return Err(NotResolved("the name has no address".to_owned()).into());
            }
            attempts.note(|a| {
                a.resolving = false;
                a.addresses.clone_from(&found);
            });
            Ok(addresses(found))
        })
    }
}

fn addresses(all: Vec<SocketAddr>) -> Addrs {
    Box::new(all.into_iter())
}

/// Notes when a connection is ready.
#[derive(Debug, Clone)]
struct Watch(Attempts);

impl<S> Layer<S> for Watch {
    type Service = Watched<S>;

    fn layer(&self, inner: S) -> Watched<S> {
        Watched {
            inner,
            attempts: self.0.clone(),
        }
    }
}

/// A connector that is watched.
#[derive(Debug, Clone)]
struct Watched<S> {
    inner: S,
    attempts: Attempts,
}

impl<S, R> Service<R> for Watched<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let connecting = self.inner.call(request);
        let attempts = self.attempts.clone();
        Box::pin(async move {
            let connection = connecting.await;
            if connection.is_ok() {
                let now = attempts.clock.now();
                attempts.note(|a| a.connected = Some(now));
            }
            connection
        })
    }
}
