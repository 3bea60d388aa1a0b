//! The checked load: everything that can be decided before the first slot.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING, USER_AGENT};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use hyper::body::Body as _;
use rollscope_records::{ConnectionRecord, Lane, Outcome, RunOffset, Text};
use rollscope_scenarios::{
    BodyCheck, HeaderSource, JobKey, Load, PoolSpec, RequestSpec, StatusRange, StreamKind,
    StreamSpec,
};

use crate::body::Body;
use crate::journeys::{CheckPlan, StepPlan};
use crate::mix::Mix;
use crate::pacing::{Place, Timetable};
use crate::target::{BaseUrl, Destination};
use crate::{LoadError, LoadShare};

/// What the generator says it is.
const OWN_USER_AGENT: &str = concat!("rollscope/", env!("CARGO_PKG_VERSION"));

/// The pool keeps about as many connections as slots of its lane are due in this time, so that each of them is idle
/// for about this long between two requests: long enough that closes of idle connections are met, short enough that
/// no ordinary keep-alive timeout (5 s and more) runs out under load.
const POOL_IDLE: Duration = Duration::from_millis(100);

/// The most connections that the pool keeps idle, unless the scenario says otherwise.
const POOL_LARGEST: usize = 32;

/// Slots per second that one thread sends with ease.
const RATE_OF_A_THREAD: f64 = 20_000.0;

/// Gives the value of an environment variable, `None` when it is not set.
pub(crate) type Env<'e> = &'e dyn Fn(&str) -> Option<String>;

/// A load that has been checked.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) base: BaseUrl,
    pub(crate) destination: Destination,
    pub(crate) load: Load,
    pub(crate) timetable: Timetable,
    mix: Mix,
    /// The requests of the mix, by their places among all.
    mixed: Vec<usize>,
    /// The request with a rate of its own.
    own: usize,
    pub(crate) requests: Vec<PreparedRequest>,
    pub(crate) max_in_flight: usize,
    pub(crate) pod_header: Option<HeaderName>,
    /// Threads that send.
    pub(crate) threads: usize,
    /// Connections that the reused lane keeps open.
    pub(crate) pool_size: usize,
    /// Connections of the http2 lane.
    pub(crate) multiplex_size: usize,
    pub(crate) keep_alive: KeepAlive,
    /// Connections that are held open beside the slots.
    pub(crate) streams: Vec<PreparedStream>,
    /// The steps of each journey.
    pub(crate) journeys: Vec<Vec<PreparedRequest>>,
    /// This generator's share where several make the load together.
    pub(crate) share: Option<LoadShare>,
}

/// Connections to hold open, ready to be opened any number of times.
#[derive(Debug)]
pub(crate) struct PreparedStream {
    pub(crate) kind: StreamKind,
    pub(crate) request: PreparedRequest,
    pub(crate) count: u32,
    pub(crate) cadence: Duration,
    pub(crate) max_silence: Duration,
    pub(crate) retry: Duration,
    may_end: bool,
}

impl PreparedStream {
    fn new(spec: &StreamSpec, base: &BaseUrl, seed: u64, env: Env<'_>) -> Result<Self, LoadError> {
        Ok(Self {
            kind: spec.kind,
            request: PreparedRequest::new(&spec.request, base, seed, env)?,
            count: spec.count,
            cadence: spec.cadence,
            max_silence: spec.max_silence,
            retry: spec.retry,
            may_end: spec.may_end,
        })
    }

    /// What it means that the peer ended one in good order.
    pub(crate) const fn orderly_end(&self) -> Outcome {
        if self.may_end {
            Outcome::Ok
        } else {
            Outcome::EndedEarly
        }
    }
}

/// How long a connection is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KeepAlive {
    max_age: Option<Duration>,
    max_requests: Option<u32>,
    max_idle: Option<Duration>,
}

impl KeepAlive {
    fn new(pool: &PoolSpec) -> Self {
        Self {
            max_age: pool.max_age,
            max_requests: pool.max_requests,
            max_idle: pool.max_idle,
        }
    }

    /// Whether connections are kept as long as they live.
    pub(crate) fn is_for_ever(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a connection whose last response ended at `last_response` is to carry no further request at `now`.
    pub(crate) fn is_over(
        &self,
        connection: &ConnectionRecord,
        last_response: Option<RunOffset>,
        now: RunOffset,
    ) -> bool {
        let longer = |since: Option<RunOffset>, limit: Option<Duration>| {
            let (Some(since), Some(limit)) = (since, limit) else {
                return false;
            };
            since.plus(limit) < now
        };
        longer(connection.established, self.max_age)
            || longer(last_response, self.max_idle)
            || self.max_requests.is_some_and(|m| connection.requests >= m)
    }
}

/// A request, ready to be sent any number of times.
#[derive(Debug)]
pub(crate) struct PreparedRequest {
    pub(crate) name: Text,
    pub(crate) lane: Lane,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    /// The header that carries the key of a job, and what the key begins with.
    job_key: Option<(HeaderName, String)>,
    body: Body,
    pub(crate) deadline: Duration,
    abort_after: Option<Duration>,
    expect: Vec<StatusRange>,
    pub(crate) check: Option<BodyCheck>,
    /// Whether it asks the server to close the connection.
    pub(crate) close_requested: bool,
}

impl Plan {
    /// Checks `load` against `base_url`. `env` gives the values of environment variables.
    pub(crate) fn new(load: &Load, base_url: &str, env: Env<'_>) -> Result<Self, LoadError> {
        let base = BaseUrl::parse(base_url)?;
        let timetable = Timetable::new(load).ok_or(LoadError::Rate(load.highest_rate()))?;
        if load.max_in_flight == 0 {
            return Err(LoadError::NothingInFlight);
        }
        if load.requests.is_empty() {
            return Err(LoadError::NoRequests);
        }
        let mut requests = load
            .requests
            .iter()
            .map(|spec| PreparedRequest::new(spec, &base, load.seed, env))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(key) = &load.job_key {
            let submits = requests.iter_mut().filter(|r| *r.name == *key.request);
            submits.for_each(|r| r.carry(key));
        }
        let streams = load.streams.iter();
        let streams = streams.map(|spec| PreparedStream::new(spec, &base, load.seed, env));
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        let journeys = load.journeys.iter().map(|journey| {
            let steps = journey.steps.iter();
            let steps = steps.map(|spec| PreparedRequest::new(spec, &base, load.seed, env));
            steps.collect::<Result<Vec<_>, _>>()
        });
        let journeys = journeys.collect::<Result<Vec<_>, _>>()?;
        let (mixed, own): (Vec<usize>, Vec<usize>) =
            (0..load.requests.len()).partition(|i| load.is_mixed(&load.requests[*i]));
        if mixed.is_empty() {
            return Err(LoadError::NoRequests);
        }
        let weights: Vec<u32> = mixed.iter().map(|i| load.requests[*i].weight).collect();
        Ok(Self {
            destination: Destination::new(&base, &load.resolve),
            base,
            timetable,
            mix: Mix::new(&weights),
            mixed,
            own: own.first().copied().unwrap_or(0),
            requests,
            max_in_flight: load.max_in_flight,
            pod_header: load.pod_header.as_deref().map(pod_header).transpose()?,
            threads: threads(load),
            pool_size: pool_size(load),
            multiplex_size: load.pool.size.unwrap_or(1),
            keep_alive: KeepAlive::new(&load.pool),
            streams,
            journeys,
            share: None,
            load: load.clone(),
        })
    }
}

impl Plan {
    /// Makes it the plan of one generator of several.
    pub(crate) fn take(&mut self, share: LoadShare) {
        self.max_in_flight = share.part_of(self.max_in_flight);
        self.pool_size = share.part_of(self.pool_size);
        self.share = Some(share);
    }

    /// Which of the requests a slot sends.
    pub(crate) fn sends(&self, place: Place) -> usize {
        match place {
            Place::Mix(slot) => self.mixed[self.mix.request(slot)],
            Place::Own => self.own,
        }
    }

    /// Connections that can be open at once.
    pub(crate) fn most_connections(&self) -> usize {
        let held: usize = self.streams.iter().map(|s| s.count as usize).sum();
        self.max_in_flight + held + self.load.users as usize
    }
}

fn pod_header(name: &str) -> Result<HeaderName, LoadError> {
    HeaderName::try_from(name).map_err(|_| LoadError::PodHeader(name.to_owned()))
}

/// As many threads as the rate needs, one for each core at most.
fn threads(load: &Load) -> usize {
    let needed = (load.highest_rate() / RATE_OF_A_THREAD).ceil() as usize;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let chosen = load.pacing.threads.map(|t| t as usize);
    chosen.unwrap_or(needed.min(cores)).max(1)
}

fn pool_size(load: &Load) -> usize {
    if let Some(size) = load.pool.size {
        return size.clamp(1, load.max_in_flight);
    }
    let of_lane = |r: &&RequestSpec, lane: Option<Lane>| lane.is_none_or(|l| r.connections == l);
    let share = |lane: Option<Lane>| -> f64 {
        let mixed = load.requests.iter().filter(|r| load.is_mixed(r));
        let weights = mixed.filter(|r| of_lane(r, lane));
        weights.map(|r| f64::from(r.weight)).sum()
    };
    let mut own = load.requests.iter().filter(|r| !load.is_mixed(r));
    let own = own.any(|r| of_lane(&r, Some(Lane::Reused)));
    let own_rate = load.own_rate.iter().map(|o| o.per_second).sum::<f64>();
    let rate = load.rate.highest() * share(Some(Lane::Reused)) / share(None)
        + if own { own_rate } else { 0.0 };
    let wanted = (rate * POOL_IDLE.as_secs_f64()).ceil() as usize;
    wanted.clamp(1, POOL_LARGEST).min(load.max_in_flight)
}

impl PreparedRequest {
    fn new(spec: &RequestSpec, base: &BaseUrl, seed: u64, env: Env<'_>) -> Result<Self, LoadError> {
        let problem = |problem: String| LoadError::Request {
            request: spec.name.clone(),
            problem,
        };
        if spec.weight == 0 {
            return Err(problem("the weight is 0, expected at least 1".to_owned()));
        }
        if spec.deadline.is_zero() || spec.abort_after.is_some_and(|a| a.is_zero()) {
            return Err(problem(
                "the deadline or abort_after is 0, no answer could meet it".to_owned(),
            ));
        }
        let method = Method::from_bytes(spec.method.as_bytes())
            .ok()
            .filter(|m| *m != Method::CONNECT)
            .ok_or_else(|| problem(format!("the method {:?} cannot be sent", spec.method)))?;
        let mut headers = headers(spec, base, env)?;
        let uri = uri(spec, base, &mut headers).map_err(problem)?;
        Ok(Self {
            name: Text::from(spec.name.as_str()),
            lane: spec.connections,
            method,
            uri,
            close_requested: crate::protocol::says_close(&headers),
            headers,
            job_key: None,
            body: Body::new(spec.body.as_ref(), seed, env).map_err(problem)?,
            deadline: spec.deadline,
            abort_after: spec.abort_after,
            expect: spec.expect.clone(),
            check: spec.expect_body.clone(),
        })
    }

    /// Makes it carry the key of the job that it submits.
    fn carry(&mut self, key: &JobKey) {
        let name = HeaderName::try_from(&key.header).ok();
        self.job_key = name.map(|name| (name, key.prefix.clone()));
    }

    /// The message for slot `seq`.
    pub(crate) fn message(&self, seq: u64) -> Request<Full<Bytes>> {
        let mut message = Request::new(Full::new(self.body.of(seq)));
        *message.method_mut() = self.method.clone();
        *message.uri_mut() = self.uri.clone();
        *message.headers_mut() = self.headers.clone();
        if let Some((name, prefix)) = &self.job_key
            && let Ok(key) = HeaderValue::try_from(format!("{prefix}{seq}"))
        {
            message.headers_mut().insert(name, key);
        }
        message
    }

    /// As another process needs it to send it.
    pub(crate) fn step(&self) -> StepPlan {
        let headers = self.headers.iter();
        StepPlan {
            name: self.name.to_string(),
            method: self.method.to_string(),
            path: self.uri.to_string(),
            headers: headers
                .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
                .collect(),
            body: self.body.clone(),
            deadline: self.deadline,
            abort_after: self.abort_after,
            expect: self.expect.iter().map(|r| (r.from, r.to)).collect(),
            check: self.check.as_ref().map(CheckPlan::from),
            close_requested: self.close_requested,
        }
    }

    /// Bytes of a message's body.
    pub(crate) fn body_length(&self, message: &Request<Full<Bytes>>) -> u64 {
        message.body().size_hint().lower()
    }

    /// How long the client waits for the end of the response.
    pub(crate) fn patience(&self) -> Duration {
        self.abort_after
            .map_or(self.deadline, |a| a.min(self.deadline))
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

/// The request's target as its protocol has it: HTTP/2 names the host in it, HTTP/1.1 in a header.
fn uri(spec: &RequestSpec, base: &BaseUrl, headers: &mut HeaderMap) -> Result<Uri, String> {
    if !spec.path.starts_with('/') {
        return Err(format!("the path {:?} does not begin with `/`", spec.path));
    }
    let path: Uri = spec
        .path
        .parse()
        .map_err(|e| format!("the path {:?} is not valid: {e}", spec.path))?;
    if spec.connections != Lane::Http2 {
        return Ok(path);
    }
    if headers.contains_key(CONNECTION) {
        return Err("HTTP/2 has no `connection` header, leave it out".to_owned());
    }
    let host = headers.remove(HOST);
    let authority = host
        .as_ref()
        .and_then(|h| Authority::try_from(h.as_bytes()).ok());
    let authority = authority.ok_or_else(|| format!("the host {:?} cannot be sent", base.host))?;
    let mut parts = path.into_parts();
    parts.scheme = Some(if base.tls {
        Scheme::HTTPS
    } else {
        Scheme::HTTP
    });
    parts.authority = Some(authority);
    Uri::from_parts(parts).map_err(|e| format!("the path {:?} is not valid: {e}", spec.path))
}

fn headers(spec: &RequestSpec, base: &BaseUrl, env: Env<'_>) -> Result<HeaderMap, LoadError> {
    let mut headers = HeaderMap::new();
    for (name, source) in &spec.headers {
        let problem = |problem: String| LoadError::Request {
            request: spec.name.clone(),
            problem: format!("header {name:?}: {problem}"),
        };
        let key = HeaderName::try_from(name.as_str())
            .map_err(|_| problem("this is not a header's name".to_owned()))?;
        if key == CONTENT_LENGTH || key == TRANSFER_ENCODING {
            return Err(problem(
                "it is derived from the body, leave it out".to_owned(),
            ));
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
            HeaderSource::File(path) => (line_in(path).map_err(problem)?, true),
        };
        let mut value = HeaderValue::try_from(text).map_err(|_| {
            problem("its value has characters that a header cannot carry".to_owned())
        })?;
        value.set_sensitive(secret);
        headers.append(key, value);
    }
    add_defaults(&mut headers, base, &spec.name)?;
    Ok(headers)
}

/// The content of a file, without the line break at its end.
fn line_in(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("its file {} cannot be read: {e}", path.display()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
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
    use rollscope_scenarios::{BodySource, Rate};

    use super::*;

    fn spec() -> RequestSpec {
        RequestSpec::new("list", "GET", "/orders?x=1")
    }

    fn load(requests: Vec<RequestSpec>) -> Load {
        Load {
            max_in_flight: 100,
            pod_header: Some("x-pod-name".to_owned()),
            ..Load::new(Rate::Constant(200.0), requests)
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
            (|l| l.rate = Rate::Constant(0.0), "load.rate"),
            (|l| l.rate = Rate::Constant(1e7), "load.rate"),
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
            load.rate = Rate::Constant(rate);
            plan(&load).unwrap().pool_size
        };
        assert_eq!(size(200.0, 1, 1), 10);
        assert_eq!(size(1.0, 1, 1), 1);
        assert_eq!(size(100_000.0, 1, 1), POOL_LARGEST);
    }

    #[test]
    fn http2_requests_name_their_host_in_the_target() {
        let mut spec = spec();
        spec.connections = Lane::Http2;
        let prepared = plan(&load(vec![spec.clone()])).unwrap();
        let message = prepared.requests[0].message(0);
        assert_eq!(message.uri(), "http://127.0.0.1:1/orders?x=1");
        assert!(!message.headers().contains_key(HOST));
        let close = HeaderSource::Literal("close".to_owned());
        spec.headers = vec![("connection".to_owned(), close)];
        let error = plan(&load(vec![spec])).unwrap_err().to_string();
        assert!(error.contains("no `connection` header"), "{error}");
    }

    #[test]
    fn files_of_headers_and_bodies_are_read_before_the_load() {
        let dir = tempfile::tempdir().unwrap();
        let (token, body) = (dir.path().join("token"), dir.path().join("body"));
        std::fs::write(&token, "s3cret\n").unwrap();
        std::fs::write(&body, [1, 2, 0xff]).unwrap();
        let mut spec = spec();
        let source = HeaderSource::File(token.clone());
        spec.headers = vec![("authorization".to_owned(), source)];
        spec.body = Some(BodySource::File(body.clone()));
        let prepared = plan(&load(vec![spec.clone()])).unwrap();
        assert_eq!(prepared.requests[0].headers["authorization"], "s3cret");
        assert_eq!(prepared.requests[0].body.of(0).as_ref(), [1, 2, 0xff]);
        for gone in [token, body] {
            std::fs::remove_file(&gone).unwrap();
            let error = plan(&load(vec![spec.clone()])).unwrap_err().to_string();
            let named = error.contains(&gone.display().to_string()) && error.contains("list");
            assert!(named, "{error}");
            std::fs::write(&gone, "x").unwrap();
        }
    }

    #[test]
    fn connections_are_kept_as_long_as_the_scenario_says() {
        let mut connection = ConnectionRecord::attempt(0, Lane::Reused, RunOffset::ZERO);
        connection.established = Some(RunOffset::ZERO);
        connection.requests = 3;
        let second = Duration::from_secs(1);
        let over = |pool: PoolSpec, idle_since: i64, now: i64| {
            let idle_since = Some(RunOffset::from_millis(idle_since));
            KeepAlive::new(&pool).is_over(&connection, idle_since, RunOffset::from_millis(now))
        };
        let (age, idle) = (Some(second), Some(second));
        assert!(!over(PoolSpec::default(), 0, i64::MAX / 1_000_000));
        for (now, expected) in [(1_000, false), (1_001, true)] {
            assert_eq!(
                over(
                    PoolSpec {
                        max_age: age,
                        ..PoolSpec::default()
                    },
                    now,
                    now
                ),
                expected
            );
        }
        for (now, expected) in [(1_500, false), (1_501, true)] {
            assert_eq!(
                over(
                    PoolSpec {
                        max_idle: idle,
                        ..PoolSpec::default()
                    },
                    500,
                    now
                ),
                expected
            );
        }
        for (most, expected) in [(3, true), (4, false)] {
            let pool = PoolSpec {
                max_requests: Some(most),
                ..PoolSpec::default()
            };
            assert_eq!(over(pool, 0, 0), expected);
        }
    }

    #[test]
    fn threads_grow_with_the_rate() {
        let threads = |rate: f64, chosen: Option<u32>| {
            let mut load = load(vec![spec()]);
            load.rate = Rate::Constant(rate);
            load.pacing.threads = chosen;
            plan(&load).unwrap().threads
        };
        assert_eq!((threads(200.0, None), threads(20_000.0, None)), (1, 1));
        assert_eq!(threads(200.0, Some(3)), 3);
        let cores = std::thread::available_parallelism().unwrap().get();
        assert_eq!(threads(1e6, None), cores.min(50));
    }
}
