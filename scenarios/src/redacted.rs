//! The scenario as it is kept in a recording: without secrets.

use std::path::PathBuf;
use std::time::Duration;

use rollscope_records::redact::{self, REDACTED};
use serde_json::{Map, Value, json};

use crate::jobs::{HttpJobs, JobSource, JobsSpec, PostgresqlJobs};
use crate::model::{
    BalancerSpec, BodyCheck, BodySource, ExecCommand, HeaderSource, JourneySpec, Load, Pacing,
    PoolSpec, PreflightSpec, Rate, RateStep, RequestSpec, ResolveOverride, Scenario, Stage,
    StageKind, StreamSpec, Target, TlsSpec,
};
use crate::units::{write_duration, write_rate};

/// Headers whose literal values are kept; of all others only the name is.
const HARMLESS_HEADERS: &[&str] = &[
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-encoding",
    "content-type",
    "expect",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "keep-alive",
    "origin",
    "pragma",
    "prefer",
    "range",
    "te",
    "user-agent",
];

/// Parts of the names of query parameters and options whose values are secrets.
const SECRET_NAMES: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "apikey",
    "accesskey",
    "privatekey",
    "signature",
    "credential",
    "session",
    "auth",
    "jwt",
    "cookie",
    "bearer",
];

/// Names of query parameters that are secrets as a whole.
const SECRET_WORDS: &[&str] = &["key", "sig", "code", "pass", "sid", "pin", "otp"];

/// The scenario in the shape of its file, for `run.json`. Values of headers other than a few harmless ones, tokens in
/// paths and commands, and bodies are not in it.
pub fn redacted(scenario: &Scenario) -> Value {
    let mut value = json!({
        "name": scenario.name,
        "target": { scenario.target.as_str(): target(&scenario.target) },
        "load": load(&scenario.load),
        "stages": scenario.stages.iter().map(stage).collect::<Vec<_>>(),
        "gate": {
            "max_failed": scenario.gate.max_failed,
            "assertions": if scenario.gate.assertions_fail { "fail" } else { "warn" },
        },
        "logs": { "marks": scenario.log_marks },
    });
    if scenario.preflight != PreflightSpec::default() {
        value["preflight"] = Value::Object(preflight(&scenario.preflight));
    }
    if let Some(of) = &scenario.jobs {
        value["jobs"] = jobs(of);
    }
    if !scenario.balancers.is_empty() {
        let balancer =
            |b: &BalancerSpec| json!({ "name": b.name, "file": b.file, "format": b.format });
        value["balancers"] = scenario.balancers.iter().map(balancer).collect();
    }
    value
}

fn preflight(preflight: &PreflightSpec) -> Map<String, Value> {
    let written = |d: Option<Duration>| d.map(|d| json!(write_duration(d)));
    let allow: Vec<&str> = preflight.allow.iter().map(|r| r.code()).collect();
    present([
        ("allow", (!allow.is_empty()).then(|| json!(allow))),
        ("lag", written(preflight.lag)),
        ("delay", written(preflight.delay)),
        ("drain", written(preflight.drain)),
        ("balancer_idle", written(preflight.balancer_idle)),
    ])
}

fn jobs(jobs: &JobsSpec) -> Value {
    let mut value = json!({
        "submit": jobs.submit,
        "key_header": jobs.key_header,
        "poll": write_duration(jobs.poll),
        "complete_within": write_duration(jobs.complete_within),
        "max_repeats": jobs.max_repeats,
    });
    if let Some(rate) = jobs.rate {
        value["rate"] = json!(write_rate(rate));
    }
    match &jobs.source {
        JobSource::Redis { address, list } => {
            value["redis"] = json!({ "url": format!("redis://{address}"), "list": list });
        }
        JobSource::Http(http) => value["http"] = http_jobs(http),
        JobSource::Postgresql(of) => value["postgresql"] = postgresql_jobs(of),
        JobSource::Logs(pattern) => value["logs"] = json!(pattern),
    }
    if let Some(lease) = jobs.lease {
        value["lease"] = json!(write_duration(lease));
    }
    value
}

fn http_jobs(http: &HttpJobs) -> Value {
    let mut value = json!({
        "url": redacted_path(&http.url),
        "list": http.list,
        "job": http.fields.job,
        "event": http.fields.event,
        "pod": http.fields.pod,
        "t": http.fields.t,
    });
    if !http.headers.is_empty() {
        value["headers"] = Value::Object(http.headers.iter().map(header).collect());
    }
    value
}

fn postgresql_jobs(of: &PostgresqlJobs) -> Value {
    let mut value = json!({ "url": of.url, "query": redact::line(&of.query) });
    if let Some(password) = &of.password {
        value["password"] = header(&("password".to_owned(), password.clone())).1;
    }
    if let Some(ca) = &of.ca {
        value["ca"] = json!(ca.display().to_string());
    }
    value
}

fn load(load: &Load) -> Value {
    let mut value = json!({
        "rate": rate(&load.rate),
        "arrivals": load.arrivals.as_str(),
        "seed": load.seed,
        "pacing": pacing(&load.pacing),
        "limits": {
            "in_time": write_duration(load.limits.in_time),
            "min_in_time": load.limits.min_in_time,
            "max_dropped": load.limits.max_dropped,
        },
        "max_in_flight": load.max_in_flight,
        "requests": load.requests.iter().map(request).collect::<Vec<_>>(),
    });
    if let Some(url) = &load.base_url {
        value["base_url"] = json!(redact::line(url));
    }
    if !load.streams.is_empty() {
        value["streams"] = load.streams.iter().map(stream).collect();
    }
    if !load.journeys.is_empty() {
        value["users"] = json!(load.users);
        value["journeys"] = load.journeys.iter().map(journey).collect();
    }
    if let Some(header) = &load.pod_header {
        value["pod_header"] = json!(header);
    }
    let pool = pool(&load.pool);
    if !pool.is_empty() {
        value["pool"] = Value::Object(pool);
    }
    if !load.resolve.is_empty() {
        value["resolve"] = load.resolve.iter().map(resolve).collect();
    }
    if load.tls != TlsSpec::default() {
        value["tls"] = Value::Object(tls(&load.tls));
    }
    value
}

fn rate(rate: &Rate) -> Value {
    let step = |step: &RateStep| match step.lasts {
        Some(lasts) => {
            json!({ "rate": write_rate(step.per_second), "for": write_duration(lasts) })
        }
        None => json!({ "rate": write_rate(step.per_second) }),
    };
    match rate {
        Rate::Constant(rate) => json!(write_rate(*rate)),
        Rate::Steps(steps) => json!({ "steps": steps.iter().map(step).collect::<Vec<_>>() }),
        Rate::Ramp { from, to, over } => json!({ "ramp": {
            "from": write_rate(*from),
            "to": write_rate(*to),
            "over": write_duration(*over),
        } }),
    }
}

fn pacing(pacing: &Pacing) -> Value {
    let mut value = json!({ "catch_up": pacing.catch_up });
    match pacing.tolerance {
        Some(tolerance) if tolerance.is_zero() => value["precision"] = json!("exact"),
        Some(tolerance) => value["tolerance"] = json!(write_duration(tolerance)),
        None => value["precision"] = json!("adaptive"),
    }
    if let Some(threads) = pacing.threads {
        value["threads"] = json!(threads);
    }
    value
}

fn pool(pool: &PoolSpec) -> Map<String, Value> {
    let written = |d: Option<Duration>| d.map(|d| json!(write_duration(d)));
    let keys = [
        ("size", pool.size.map(|n| json!(n))),
        ("max_age", written(pool.max_age)),
        ("max_requests", pool.max_requests.map(|n| json!(n))),
        ("max_idle", written(pool.max_idle)),
    ];
    present(keys)
}

fn tls(tls: &TlsSpec) -> Map<String, Value> {
    let file = |path: &Option<PathBuf>| path.as_ref().map(|p| json!(p.display().to_string()));
    let keys = [
        ("ca", file(&tls.ca)),
        ("client_cert", file(&tls.client_cert)),
        ("client_key", file(&tls.client_key)),
        ("server_name", tls.server_name.as_ref().map(|n| json!(n))),
        ("insecure", tls.insecure.then_some(json!(true))),
    ];
    present(keys)
}

fn stream(stream: &StreamSpec) -> Value {
    let mut value = json!({
        "name": stream.request.name,
        "count": stream.count,
        "cadence": write_duration(stream.cadence),
        "max_silence": write_duration(stream.max_silence),
        "retry": write_duration(stream.retry),
        "expect": if stream.may_end { "orderly_end" } else { "open" },
        "deadline": write_duration(stream.request.deadline),
    });
    value[stream.kind.as_str()] = json!(redacted_path(&stream.request.path));
    let headers = &stream.request.headers;
    if !headers.is_empty() {
        value["headers"] = Value::Object(headers.iter().map(header).collect());
    }
    value
}

fn journey(journey: &JourneySpec) -> Value {
    json!({
        "name": journey.name,
        "weight": journey.weight,
        "think": format!(
            "{}..{}",
            write_duration(journey.think.min),
            write_duration(journey.think.max)
        ),
        "steps": journey.steps.iter().map(|s| step(journey, s)).collect::<Vec<_>>(),
    })
}

/// A step without what only requests of the mix have, and by its name in the journey.
fn step(journey: &JourneySpec, step: &RequestSpec) -> Value {
    let mut value = request(step);
    let own = step.name.strip_prefix(&journey.name);
    let own = own.and_then(|rest| rest.strip_prefix('/'));
    value["name"] = json!(own.unwrap_or(&step.name));
    if let Some(keys) = value.as_object_mut() {
        keys.remove("weight");
        keys.remove("connections");
    }
    value
}

fn present<const N: usize>(keys: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let present = keys
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    present.collect()
}

fn resolve(given: &ResolveOverride) -> Value {
    let addresses: Vec<String> = given.addresses.iter().map(ToString::to_string).collect();
    let host = match given.host.contains(':') {
        true => format!("[{}]", given.host),
        false => given.host.clone(),
    };
    json!(format!("{host}:{}:{}", given.port, addresses.join(",")))
}

/// A request's path with the values of secret query parameters replaced.
pub fn redacted_path(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else {
        return redact::line(path).into_owned();
    };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if is_secret_name(name) || is_opaque(value) => {
                format!("{name}={REDACTED}")
            }
            _ if is_opaque(pair) => REDACTED.to_owned(),
            _ => pair.to_owned(),
        })
        .collect();
    format!("{}?{}", redact::line(path), redact::line(&pairs.join("&")))
}

/// Whether the literal value of a header (name in lower case) may be shown.
pub(crate) fn is_harmless_header(name: &str) -> bool {
    HARMLESS_HEADERS.contains(&name)
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = name.replace(['-', '_', '.'], "");
    SECRET_NAMES.iter().any(|s| plain.contains(s))
        || name
            .split(['-', '_', '.'])
            .any(|word| SECRET_WORDS.contains(&word))
}

/// Whether a value looks like a token: 20 characters or more without a blank, letters and digits mixed.
fn is_opaque(value: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"-_.~+/%=".contains(&b);
    value.len() >= 20
        && value.bytes().all(token)
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_alphabetic())
}

fn target(target: &Target) -> Value {
    match target {
        Target::Sandbox(sandbox) => json!({
            "manifest": sandbox.manifest.display().to_string(),
            "front_end": sandbox.front_end.as_str(),
            "endpoint_lag": format!(
                "{}..{}",
                write_duration(sandbox.endpoint_lag.min),
                write_duration(sandbox.endpoint_lag.max)
            ),
            "seed": sandbox.seed,
            "retries": sandbox.retries,
            "health_check": {
                "period": write_duration(sandbox.health_check.period),
                "unhealthy_after": sandbox.health_check.unhealthy_after,
                "healthy_after": sandbox.health_check.healthy_after,
            },
        }),
        Target::Kubernetes(kubernetes) => json!({
            "allow_contexts": kubernetes.allow_contexts,
            "namespace": kubernetes.namespace,
            "workload": kubernetes.workload,
            "services": kubernetes.services,
        }),
        Target::None => json!({}),
    }
}

fn request(request: &RequestSpec) -> Value {
    let expect: Vec<Value> = request
        .expect
        .iter()
        .map(|r| {
            if r.from == r.to {
                json!(r.from)
            } else {
                json!(format!("{}xx", r.from / 100))
            }
        })
        .collect();
    let mut value = json!({
        "name": request.name,
        "weight": request.weight,
        "connections": request.connections.as_str(),
        "expect": expect,
        "deadline": write_duration(request.deadline),
    });
    value[request.method.to_ascii_lowercase()] = json!(redacted_path(&request.path));
    if !request.headers.is_empty() {
        value["headers"] = Value::Object(request.headers.iter().map(header).collect());
    }
    if let Some(abort_after) = request.abort_after {
        value["abort_after"] = json!(write_duration(abort_after));
    }
    if let Some(check) = &request.expect_body {
        value["expect_body"] = Value::Object(body_check(check));
    }
    match &request.body {
        Some(BodySource::Inline(text)) => value["body"] = json!({ "inline_bytes": text.len() }),
        Some(BodySource::File(path)) => {
            value["body"] = json!({ "file": path.display().to_string() });
        }
        Some(BodySource::Template(template)) => {
            value["body"] = json!({ "template_parts": template.parts().len() });
        }
        None => {}
    }
    value
}

/// What is expected of a body, without the texts: they may be those of a secret.
fn body_check(check: &BodyCheck) -> Map<String, Value> {
    let length = |text: &Option<String>| text.as_ref().map(|t| json!(t.len()));
    present([
        ("contains_bytes", length(&check.contains)),
        (
            "json_pointer",
            check.json_pointer.as_ref().map(|p| json!(p)),
        ),
        ("equals_bytes", length(&check.equals)),
    ])
}

fn header((name, source): &(String, HeaderSource)) -> (String, Value) {
    let value = match source {
        HeaderSource::Env(variable) => json!({ "env": variable }),
        HeaderSource::File(path) => json!({ "file": path.display().to_string() }),
        HeaderSource::Literal(value) if is_harmless_header(name) => json!(redact::line(value)),
        HeaderSource::Literal(_) => json!(REDACTED),
    };
    (name.clone(), value)
}

fn stage(stage: &Stage) -> Value {
    let mut value = Map::new();
    let what = match &stage.kind {
        StageKind::Warmup(duration) | StageKind::Settle(duration) => {
            json!(write_duration(*duration))
        }
        StageKind::Restart | StageKind::Signal => json!({}),
        StageKind::Exec(ExecCommand::Shell(command)) => json!(redacted_command(command)),
        StageKind::Exec(ExecCommand::Argv(argv)) => json!(redacted_argv(argv)),
    };
    value.insert(stage.kind.as_str().to_owned(), what);
    if !stage.kind.is_wait() {
        value.insert(
            "complete_within".to_owned(),
            json!(write_duration(stage.complete_within)),
        );
    }
    Value::Object(value)
}

/// A shell command without the secrets that can be recognised in it; blanks between words are kept.
fn redacted_command(command: &str) -> String {
    let mut clean = String::new();
    let mut after_secret_option = false;
    for piece in command.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        if word.is_empty() {
            clean.push_str(piece);
            continue;
        }
        clean.push_str(&redacted_word(word, after_secret_option));
        clean.push_str(&piece[word.len()..]);
        after_secret_option = is_secret_option(word);
    }
    redact::line(&clean).into_owned()
}

fn redacted_argv(argv: &[String]) -> Vec<String> {
    let mut after_secret_option = false;
    argv.iter()
        .map(|word| {
            let clean = redacted_word(word, after_secret_option);
            after_secret_option = is_secret_option(word);
            redact::line(&clean).into_owned()
        })
        .collect()
}

/// A word of a command: redacted after a secret option (`--token abc`), as the value of one (`--token=abc`,
/// `TOKEN=abc`), and where it looks like a token.
fn redacted_word(word: &str, after_secret_option: bool) -> String {
    let bare = word.trim_matches(['"', '\'']);
    if after_secret_option && !word.starts_with('-') {
        return REDACTED.to_owned();
    }
    match word.split_once('=') {
        Some((name, value))
            if is_secret_name(name.trim_start_matches('-')) && !value.is_empty() =>
        {
            format!("{name}={REDACTED}")
        }
        Some((name, value)) if is_opaque(value) && !value.contains('/') => {
            format!("{name}={REDACTED}")
        }
        None if is_opaque(bare) && !bare.contains(['/', '.', '-']) => REDACTED.to_owned(),
        _ => word.to_owned(),
    }
}

/// `--token`, `-password`, `--api-key`: an option whose value is the next word.
fn is_secret_option(word: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && is_secret_name(word.trim_start_matches('-'))
}
