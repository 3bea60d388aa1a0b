//! The HTTP server of the API.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::body::{self, Body};
use super::error::ApiError;
use super::patch::Patch;
use super::query::Query;
use super::read::{self, Form};
use super::resource::Resource;
use super::route::{Route, Target};
use super::write::{self, Part};
use super::{delete, discovery, log, scale, watch};
use crate::Store;
use crate::logs::LogStore;

/// The API server can't listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the sandbox's API on 127.0.0.1:{port}: {source}{hint}", hint = hint(source))]
pub struct ApiServerError {
    /// The port asked for (0: any).
    pub port: u16,
    /// What the system said.
    pub source: std::io::Error,
}

fn hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::AddrInUse => "; choose another port, or 0 for any free one",
        _ => "",
    }
}

/// The running API server; it ends, with all its connections, when this is dropped.
#[derive(Debug)]
pub struct ApiServer {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl ApiServer {
    /// Listens on a loopback port (0: any free one) and serves the store's objects and the pods' logs.
    ///
    /// # Errors
    /// The port can't be listened on.
    pub async fn start(store: Store, logs: LogStore, port: u16) -> Result<Self, ApiServerError> {
        let failed = |source| ApiServerError { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let api = Arc::new(Api { store, logs });
        let task = tokio::spawn(accept(listener, api));
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, api: Arc<Api>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => (),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, Arc::clone(&api)));
                }
                // Out of file descriptors, mostly: connections have to end first.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            },
        }
    }
}

async fn serve(stream: TcpStream, api: Arc<Api>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let api = Arc::clone(&api);
        async move { Ok::<_, Infallible>(api.respond(request).await) }
    });
    // A client that goes away is its own business.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

#[derive(Debug)]
struct Api {
    store: Store,
    logs: LogStore,
}

/// A request, read.
struct Call {
    method: Method,
    query: Query,
    form: Form,
    content_type: String,
    body: bytes::Bytes,
}

impl Call {
    /// The body as JSON; null when there is none.
    fn json(&self) -> Result<Value, ApiError> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        if self.content_type.contains("protobuf") || self.content_type.contains("yaml") {
            return Err(ApiError::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: application/json",
            ));
        }
        body::parse(&self.body)
    }
}

impl Api {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        match self.handle(request).await {
            Ok(response) => response,
            Err(error) => body::json(error.code, &error.to_status()),
        }
    }

    async fn handle(&self, request: Request<Incoming>) -> Result<Response<Body>, ApiError> {
        let (parts, incoming) = request.into_parts();
        let route = Route::parse(parts.uri.path()).ok_or_else(ApiError::no_such_path)?;
        let content_type = parts.headers.get(header::CONTENT_TYPE);
        let call = Call {
            query: Query::parse(parts.uri.query()),
            form: Form::wanted(&parts.headers),
            content_type: content_type
                .and_then(|c| c.to_str().ok())
                .unwrap_or_default()
                .to_owned(),
            body: body::read(incoming).await?,
            method: parts.method,
        };
        match route {
            Route::Object(target) => self.object(&target, &call),
            Route::Collection {
                resource,
                namespace,
            } => self.collection(resource, namespace.as_deref(), &call),
            Route::AccessReview if call.method == Method::POST => {
                // kubectl sends it as protobuf; the answer is the same for every question.
                let answer = discovery::access_review(call.json().unwrap_or_default());
                Ok(body::json(StatusCode::CREATED, &answer))
            }
            _ if call.method != Method::GET => Err(ApiError::method_not_allowed()),
            Route::Health => Ok(body::text(StatusCode::OK, "ok")),
            Route::Version => Ok(ok(discovery::version())),
            Route::CoreVersions => Ok(ok(discovery::core_versions())),
            Route::Groups => Ok(ok(discovery::groups())),
            Route::Group(group) => Ok(ok(discovery::group(group))),
            Route::Resources(group) => Ok(ok(discovery::resources(group))),
            Route::AccessReview => Err(ApiError::method_not_allowed()),
        }
    }

    fn collection(
        &self,
        resource: &'static Resource,
        namespace: Option<&str>,
        call: &Call,
    ) -> Result<Response<Body>, ApiError> {
        let (store, query) = (&self.store, &call.query);
        match call.method {
            Method::GET if query.flag("watch") => {
                watch::watch(store, resource, namespace, call.form, query)
            }
            Method::GET => read::list(store, resource, namespace, call.form, query).map(ok),
            Method::POST => {
                let dry_run = query.is_dry_run();
                let made = write::create(store, resource, namespace, call.json()?, dry_run)?;
                Ok(body::json(StatusCode::CREATED, &made))
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    fn object(&self, target: &Target, call: &Call) -> Result<Response<Body>, ApiError> {
        let known = |name: &str| target.resource.subresources.iter().any(|s| s.name == name);
        match target.subresource.as_deref() {
            None => self.main(target, call),
            Some(name) if !known(name) => Err(ApiError::no_such_path()),
            Some("status") => self.part(target, Part::Status, call),
            Some("scale") => self.scale(target, call),
            Some("log") if call.method == Method::GET => {
                log::log(&self.store, &self.logs, target, &call.query)
            }
            Some("eviction") if call.method == Method::POST => {
                let dry_run = call.query.is_dry_run();
                let done = delete::evict(&self.store, target, &call.json()?, dry_run)?;
                Ok(body::json(StatusCode::CREATED, &done))
            }
            Some(_) => Err(ApiError::method_not_allowed()),
        }
    }

    fn main(&self, target: &Target, call: &Call) -> Result<Response<Body>, ApiError> {
        if call.method == Method::DELETE {
            return delete::delete(&self.store, target, &call.query, &call.json()?).map(ok);
        }
        self.part(target, Part::Main, call)
    }

    fn part(&self, target: &Target, part: Part, call: &Call) -> Result<Response<Body>, ApiError> {
        let (store, query) = (&self.store, &call.query);
        let Target {
            resource,
            namespace,
            name,
            ..
        } = target;
        let written = match call.method {
            Method::GET => {
                return read::get(store, resource, namespace, name, call.form, query).map(ok);
            }
            Method::PUT => {
                let wanted = call.json()?;
                write::update(store, target, part, query.is_dry_run(), |_| Ok(wanted))
            }
            Method::PATCH => {
                let patch = Patch::parse(&call.content_type, &call.body)?;
                write::update(store, target, part, query.is_dry_run(), |before| {
                    patch.apply(before)
                })
            }
            _ => return Err(ApiError::method_not_allowed()),
        };
        written.map(|object| body::json(StatusCode::OK, &object))
    }

    fn scale(&self, target: &Target, call: &Call) -> Result<Response<Body>, ApiError> {
        let dry_run = call.query.is_dry_run();
        match call.method {
            Method::GET => self
                .store
                .get(target.resource.kind, &target.namespace, &target.name)
                .map(|object| ok(scale::scale_of(&object)))
                .ok_or_else(|| ApiError::not_found(target.resource, &target.name)),
            Method::PUT => {
                let wanted = call.json()?;
                scale::update_scale(&self.store, target, dry_run, |_| Ok(wanted)).map(ok)
            }
            Method::PATCH => {
                let patch = Patch::parse(&call.content_type, &call.body)?;
                scale::update_scale(&self.store, target, dry_run, |before| patch.apply(before))
                    .map(ok)
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    }
}

fn ok(value: Value) -> Response<Body> {
    body::json(StatusCode::OK, &value)
}
