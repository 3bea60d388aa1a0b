//! The checked load: everything that can be decided before the first slot.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use rollscope_records::Lane;
use rollscope_scenarios::{HeaderSource, Load, RequestSpec, StatusRange};

use crate::mix::Mix;
use crate::target::BaseUrl;
use crate::{ConstantRate, LoadError};

/// What the generator says it is.
const OWN_USER_AGENT: &str = concat!("rollscope/", env!("CARGO_PKG_VERSION"));

/// The pool keeps about as many connections as slots of its lane are due in this time, so that each of them is idle
/// for about this long between two requests: long enough that closes of idle connections are met, short enough that
/// no ordinary keep-alive timeout (5 s and more) runs out under load.
const POOL_IDLE: Duration = Duration::from_millis(100);

/// The most connections that the pool keeps idle.
const POOL_LARGEST: usize = 32;

/// A load that has been checked.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) base: BaseUrl,
    pub(crate) rate: ConstantRate,
    pub(crate) mix: Mix,
    pub(crate) requests: Vec<PreparedRequest>,
    pub(crate) max_in_flight: usize,
    pub(crate) pod_header: Option<HeaderName>,
    /// Connections that the reused lane keeps open.
    pub(crate) pool_size: usize,
}

/// A request, ready to be sent any number of times.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    pub(crate) name: String,
    pub(crate) lane: Lane,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) deadline: Duration,
    pub(crate) expect: Vec<StatusRange>,
    /// Whether it asks the server to close the connection.
    pub(crate) close_requested: bool,
}

impl Plan {
    /// Checks `load` against `base_url`. `env` gives the values of environment variables for headers.
    pub(crate) fn new(
        load: &Load,
        base_url: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, LoadError> {
        let base = BaseUrl::parse(base_url)?;
        let rate = ConstantRate::per_second(load.rate_per_second)
            .ok_or(LoadError::Rate(load.rate_per_second))?;
        if load.max_in_flight == 0 {
            return Err(LoadError::NothingInFlight);
        }
        if load.requests.is_empty() {
            return Err(LoadError::NoRequests);
        }
        let requests = load
            .requests
            .iter()
            .map(|spec| PreparedRequest::new(spec, &base, env))
            .collect::<Result<Vec<_>, _>>()?;
        let weights: Vec<u32> = load.requests.iter().map(|r| r.weight).collect();
        Ok(Self {
            base,
            rate,
            mix: Mix::new(&weights),
            requests,
            max_in_flight: load.max_in_flight,
            pod_header: load.pod_header.as_deref().map(pod_header).transpose()?,
            pool_size: pool_size(load),
        })
    }
}

fn pod_header(name: &str) -> Result<HeaderName, LoadError> {
    HeaderName::try_from(name).map_err(|_| LoadError::PodHeader(name.to_owned()))
}

fn pool_size(load: &Load) -> usize {
    let share = |lane: Option<Lane>| -> f64 {
        let of_lane = |r: &&RequestSpec| lane.is_none_or(|l| r.connections == l);
        let weights = load.requests.iter().filter(of_lane);
        weights.map(|r| f64::from(r.weight)).sum()
    };
    let rate = load.rate_per_second * share(Some(Lane::Reused)) / share(None);
    let wanted = (rate * POOL_IDLE.as_secs_f64()).ceil() as usize;
    wanted.clamp(1, POOL_LARGEST).min(load.max_in_flight)
}

impl PreparedRequest {
    fn new(
        spec: &RequestSpec,
        base: &BaseUrl,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, LoadError> {
        let problem = |problem: String| LoadError::Request {
            request: spec.name.clone(),
            problem,
        };
        if spec.weight == 0 {
            return Err(problem("the weight is 0, expected at least 1".to_owned()));
        }
        if spec.deadline.is_zero() {
            return Err(problem(
                "the deadline is 0, no answer could meet it".to_owned(),
            ));
        }
        if !spec.path.starts_with('/') {
            return Err(problem(format!(
                "the path {:?} does not begin with `/`",
                spec.path
            )));
        }
        let uri = spec
            .path
            .parse()
            .map_err(|e| problem(format!("the path {:?} is not valid: {e}", spec.path)))?;
        let method = Method::from_bytes(spec.method.as_bytes())
            .ok()
            .filter(|m| *m != Method::CONNECT)
            .ok_or_else(|| problem(format!("the method {:?} cannot be sent", spec.method)))?;
        let headers = headers(spec, base, env)?;
        Ok(Self {
            name: spec.name.clone(),
            lane: spec.connections,
            method,
            uri,
            close_requested: crate::protocol::says_close(&headers),
            headers,
            body: Bytes::from(spec.body.clone().unwrap_or_default()),
            deadline: spec.deadline,
            expect: spec.expect.clone(),
        })
    }

    /// Whether `status` is a success.
    pub(crate) fn expects(&self, status: u16) -> bool {
        self.expect
            .iter()
            .any(|range| range.from <= status && status <= range.to)
    }

    /// Whether a client that silently re-sends would re-send this request: its method is idempotent.
    pub(crate) fn replayable(&self) -> bool {
        self.method.is_idempotent()
    }
}

fn headers(
    spec: &RequestSpec,
    base: &BaseUrl,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<HeaderMap, LoadError> {
    let mut headers = HeaderMap::new();
    for (name, source) in &spec.headers {
        let problem = |problem: &str| LoadError::Request {
            request: spec.name.clone(),
            problem: format!("header {name:?}: {problem}"),
        };
        let key = HeaderName::try_from(name.as_str())
            .map_err(|_| problem("this is not a header's name"))?;
        if key == CONTENT_LENGTH || key == TRANSFER_ENCODING {
            return Err(problem("it is derived from the body, leave it out"));
        }
        let (text, secret) = match source {
            HeaderSource::Literal(text) => (text.clone(), false),
            HeaderSource::Env(variable) => {
                let value = env(variable).ok_or_else(|| LoadError::MissingVariable {
                    request: spec.name.clone(),
                    header: name.clone(),
                    variable: variable.clone(),
                })?;
                (value, true)
            }
        };
        let mut value = HeaderValue::try_from(text)
            .map_err(|_| problem("its value has characters that a header cannot carry"))?;
        value.set_sensitive(secret);
        headers.append(key, value);
    }
    add_defaults(&mut headers, base, &spec.name)?;
    Ok(headers)
}

fn add_defaults(headers: &mut HeaderMap, base: &BaseUrl, request: &str) -> Result<(), LoadError> {
    let host = HeaderValue::try_from(&base.authority).map_err(|e| LoadError::Request {
        request: request.to_owned(),
        problem: format!("the host {:?} cannot be sent: {e}", base.authority),
    })?;
    headers.entry(HOST).or_insert(host);
    headers
        .entry(USER_AGENT)
        .or_insert(HeaderValue::from_static(OWN_USER_AGENT));
    // Hop-by-hop headers other than `close` would promise something that this client does not do.
    if let Some(connection) = headers.get(CONNECTION)
        && !matches!(
            connection.as_bytes().to_ascii_lowercase().as_slice(),
            b"close" | b"keep-alive"
        )
    {
        return Err(LoadError::Request {
            request: request.to_owned(),
            problem: "header \"connection\": expected `close` or `keep-alive`".to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn spec() -> RequestSpec {
        RequestSpec {
            name: "list".to_owned(),
            method: "GET".to_owned(),
            path: "/orders?x=1".to_owned(),
            weight: 1,
            headers: Vec::new(),
            body: None,
            deadline: Duration::from_secs(1),
            expect: vec![StatusRange { from: 200, to: 299 }],
            connections: Lane::Reused,
        }
    }

    fn load(requests: Vec<RequestSpec>) -> Load {
        Load {
            base_url: None,
            rate_per_second: 200.0,
            max_in_flight: 100,
            pod_header: Some("x-pod-name".to_owned()),
            requests,
        }
    }

    fn plan(load: &Load) -> Result<Plan, LoadError> {
        Plan::new(load, "http://127.0.0.1:1", &|name| {
            (name == "TOKEN").then(|| "s3cret".to_owned())
        })
    }

    fn refused(change: impl FnOnce(&mut Load)) -> String {
        let mut load = load(vec![spec()]);
        change(&mut load);
        plan(&load).unwrap_err().to_string()
    }

    #[test]
    fn headers_get_their_values_from_the_environment_and_hide_them() {
        let mut spec = spec();
        spec.headers = vec![(
            "authorization".to_owned(),
            HeaderSource::Env("TOKEN".to_owned()),
        )];
        let plan = plan(&load(vec![spec])).unwrap();
        let headers = &plan.requests[0].headers;
        assert_eq!(headers["authorization"], "s3cret");
        assert!(!format!("{plan:?}").contains("s3cret"));
        assert_eq!(headers["host"], "127.0.0.1:1");
    }

    #[test]
    fn loads_that_cannot_run_are_refused_with_what_to_do() {
        type Change = fn(&mut Load);
        let cases: [(Change, &str); 10] = [
            (|l| l.rate_per_second = 0.0, "load.rate"),
            (|l| l.rate_per_second = 1e7, "load.rate"),
            (|l| l.max_in_flight = 0, "max_in_flight"),
            (|l| l.requests.clear(), "load.requests is empty"),
            (
                |l| l.requests[0].path = "orders".to_owned(),
                "does not begin with `/`",
            ),
            (|l| l.requests[0].path = "/a b".to_owned(), "is not valid"),
            (|l| l.requests[0].method = "GE T".to_owned(), "method"),
            (|l| l.requests[0].deadline = Duration::ZERO, "deadline"),
            (|l| l.requests[0].weight = 0, "weight"),
            (|l| l.pod_header = Some("x pod".to_owned()), "pod_header"),
        ];
        for (change, expected) in cases {
            let error = refused(change);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn headers_that_cannot_be_sent_are_refused() {
        for (name, source, expected) in [
            (
                "x y",
                HeaderSource::Literal("1".to_owned()),
                "not a header's name",
            ),
            (
                "x-y",
                HeaderSource::Literal("1\r\n2".to_owned()),
                "cannot carry",
            ),
            (
                "x-y",
                HeaderSource::Env("MISSING".to_owned()),
                "MISSING is not set",
            ),
            (
                "content-length",
                HeaderSource::Literal("1".to_owned()),
                "leave it out",
            ),
            (
                "connection",
                HeaderSource::Literal("upgrade".to_owned()),
                "`close`",
            ),
        ] {
            let error = refused(|l| l.requests[0].headers = vec![(name.to_owned(), source)]);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_pool_grows_with_the_rate_of_its_lane() {
        let size = |rate: f64, reused: u32, new: u32| {
            let mut fresh = spec();
            fresh.connections = Lane::New;
            fresh.weight = new;
            let mut kept = spec();
            kept.weight = reused;
            let mut load = load(vec![kept, fresh]);
            load.rate_per_second = rate;
            plan(&load).unwrap().pool_size
        };
        assert_eq!(size(200.0, 1, 1), 10);
        assert_eq!(size(1.0, 1, 1), 1);
        assert_eq!(size(100_000.0, 1, 1), POOL_LARGEST);
    }
}
