//! Every key of a scenario, once.

use crate::job_tables::{JOBS, JOBS_HTTP, JOBS_POSTGRESQL, JOBS_REDIS};
use crate::keys::{Key, Planned, Shape, Table};
use crate::rule_id::RuleId;

const fn planned(name: &'static str, instead_of: &'static [&'static str]) -> Planned {
    Planned { name, instead_of }
}

pub(crate) const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key {
        name,
        doc,
        required: true,
        default: None,
        shape,
    }
}

pub(crate) const fn optional(
    name: &'static str,
    shape: Shape,
    default: Option<&'static str>,
    doc: &'static str,
) -> Key {
    Key {
        name,
        doc,
        required: false,
        default,
        shape,
    }
}

pub(crate) const SCENARIO: Table = Table {
    home: "",
    doc: "A rollout under load: what it runs on, the load, the stages and the gate.",
    keys: &[
        required(
            "name",
            Shape::DnsLabel,
            "Name of the scenario; it names the output folder.",
        ),
        required(
            "target",
            Shape::Section(&TARGET),
            "What the rollout runs on: exactly one of the kinds.",
        ),
        required(
            "load",
            Shape::Section(&LOAD),
            "The load that runs during all stages.",
        ),
        required(
            "stages",
            Shape::Sections(&STAGE),
            "The stages, in order; at least one of them is a rollout (`restart` or `exec`).",
        ),
        optional(
            "jobs",
            Shape::Section(&JOBS),
            None,
            "Background jobs that the load submits, and where to read what became of them.",
        ),
        optional(
            "balancers",
            Shape::Sections(&BALANCER),
            None,
            "Access logs of load balancers before the target, which are followed while the load goes on.",
        ),
        optional("gate", Shape::Section(&GATE), None, "What the gate allows."),
        optional(
            "logs",
            Shape::Section(&LOGS),
            None,
            "What to look for in the logs of the containers.",
        ),
        optional(
            "preflight",
            Shape::Section(&PREFLIGHT),
            None,
            "What `rollscope preflight` is told that manifests do not say.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const TARGET: Table = Table {
    home: "target",
    doc: "What the rollout runs on: exactly one of the kinds.",
    keys: &[
        optional(
            "sandbox",
            Shape::Section(&SANDBOX),
            None,
            "A local rollout of real processes.",
        ),
        optional(
            "kubernetes",
            Shape::Section(&KUBERNETES),
            None,
            "A workload in a cluster.",
        ),
        optional(
            "none",
            Shape::Nothing,
            None,
            "Plain load on a URL; the rollout is whatever an `exec` stage does.",
        ),
    ],
    one_of: &["sandbox", "kubernetes", "none"],
    planned: &[],
};

const SANDBOX: Table = Table {
    home: "target.sandbox",
    doc: "A local rollout of real processes.",
    keys: &[
        required(
            "manifest",
            Shape::Text,
            "File with a Deployment and a Service; a relative path starts at the scenario's folder.",
        ),
        optional(
            "front_end",
            Shape::Choice(&["http", "l4", "nginx", "haproxy", "health_checked"]),
            Some("http"),
            "What stands between the load and the pods: `http` is a reverse proxy like an ingress, `l4` chooses an endpoint for each connection like kube-proxy, `nginx` and `haproxy` are the installed programs, `health_checked` is a reverse proxy that knows pods only by its own health check.",
        ),
        optional(
            "endpoint_lag",
            Shape::DurationRange,
            Some("500ms..1500ms"),
            "How long an endpoint change takes to reach the front end; drawn from this range for each change.",
        ),
        optional(
            "seed",
            Shape::Whole(0, u64::MAX),
            Some("1"),
            "Seed of everything that is drawn at random.",
        ),
        optional(
            "retries",
            Shape::Whole(0, 10),
            Some("0"),
            "How often `nginx` or `haproxy` tries a request again on another pod; the built-in front ends never do.",
        ),
        optional(
            "health_check",
            Shape::Section(&HEALTH_CHECK),
            None,
            "How `health_checked` asks the pods for their readiness path.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const HEALTH_CHECK: Table = Table {
    home: "target.sandbox.health_check",
    doc: "How a front end that looks only at its own health check asks the pods.",
    keys: &[
        optional(
            "period",
            Shape::Deadline,
            Some("1s"),
            "How often each pod is asked; an answer that takes longer is a failure.",
        ),
        optional(
            "unhealthy_after",
            Shape::Whole(1, 100),
            Some("2"),
            "Failures in a row that take a pod out.",
        ),
        optional(
            "healthy_after",
            Shape::Whole(1, 100),
            Some("2"),
            "Successes in a row that take a pod in.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const KUBERNETES: Table = Table {
    home: "target.kubernetes",
    doc: "A workload in a cluster.",
    keys: &[
        required(
            "allow_contexts",
            Shape::Texts {
                may_be_empty: false,
            },
            "The kubeconfig contexts on which this scenario may run.",
        ),
        required("namespace", Shape::DnsLabel, "The workload's namespace."),
        required(
            "workload",
            Shape::Workload,
            "The workload, as `deployment/<name>`.",
        ),
        optional(
            "services",
            Shape::Texts { may_be_empty: true },
            None,
            "The Services whose endpoints matter; none when left out.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const LOAD: Table = Table {
    home: "load",
    doc: "The load that runs during all stages.",
    keys: &[
        optional(
            "base_url",
            Shape::BaseUrl,
            None,
            "Scheme, host and port. The sandbox fills in its own front end, every other target needs it.",
        ),
        required(
            "rate",
            Shape::RateOrSection(&RATE),
            "Requests per second (`200/s`), minute (`30/m`) or hour (`10/h`), on a fixed schedule; or how that goes in steps or as a ramp.",
        ),
        optional(
            "arrivals",
            Shape::Choice(&["even", "poisson"]),
            Some("even"),
            "How requests lie between one another: at equal distances, or as independent users come (a Poisson process, drawn from the seed).",
        ),
        optional(
            "seed",
            Shape::Whole(0, u64::MAX),
            Some("1"),
            "Seed of everything in the load that is drawn at random.",
        ),
        optional(
            "pacing",
            Shape::Section(&PACING),
            None,
            "How exactly the schedule is kept.",
        ),
        optional(
            "limits",
            Shape::Section(&LIMITS),
            None,
            "Beyond which the run is invalid.",
        ),
        optional(
            "max_in_flight",
            Shape::Whole(1, 100_000),
            Some("500"),
            "Requests in flight at once; a request over it is recorded as dropped, and makes the run invalid.",
        ),
        optional(
            "deadline",
            Shape::Deadline,
            Some("5s"),
            "From sending a request to the end of its response; requests can have their own.",
        ),
        optional(
            "abort_after",
            Shape::Deadline,
            None,
            "The client gives up this long after sending, in mid-answer, as impatient users do; requests can have their own.",
        ),
        optional(
            "pod_header",
            Shape::HeaderName,
            None,
            "The response header that names the pod.",
        ),
        optional(
            "pool",
            Shape::Section(&POOL),
            None,
            "What is kept of connections between requests.",
        ),
        optional(
            "resolve",
            Shape::Resolves,
            None,
            "Addresses for a host and port instead of what the resolver says, as `host:port:address`.",
        ),
        optional(
            "tls",
            Shape::Section(&TLS),
            None,
            "TLS for an https target.",
        ),
        required(
            "requests",
            Shape::Sections(&REQUEST),
            "The mix of requests.",
        ),
        optional(
            "streams",
            Shape::Sections(&STREAM),
            None,
            "Connections that are held open beside the requests, for as long as the load goes on.",
        ),
        optional(
            "users",
            Shape::Whole(1, 10_000),
            None,
            "Users who walk through the journeys for as long as the load goes on, each with cookies of its own; at least one for each journey.",
        ),
        optional(
            "journeys",
            Shape::Sections(&JOURNEY),
            None,
            "What users do, step by step, beside the requests: closed loop, a step is sent when the one before is over.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const RATE: Table = Table {
    home: "load.rate",
    doc: "How the rate goes: exactly one of the shapes.",
    keys: &[
        optional(
            "steps",
            Shape::Sections(&STEP),
            None,
            "One rate after the other.",
        ),
        optional(
            "ramp",
            Shape::Section(&RAMP),
            None,
            "From one rate to another in a straight line.",
        ),
    ],
    one_of: &["steps", "ramp"],
    planned: &[],
};

const STEP: Table = Table {
    home: "load.rate.steps[]",
    doc: "A rate, and how long it lasts.",
    keys: &[
        required("rate", Shape::Rate, "Requests per second, minute or hour."),
        optional(
            "for",
            Shape::Deadline,
            None,
            "How long; the last step goes on to the end of the run.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const RAMP: Table = Table {
    home: "load.rate.ramp",
    doc: "From one rate to another in a straight line; the second one goes on to the end of the run.",
    keys: &[
        required("from", Shape::Rate, "The rate at the start of the load."),
        required("to", Shape::Rate, "The rate after `over`."),
        required("over", Shape::Deadline, "How long it takes."),
    ],
    one_of: &[],
    planned: &[],
};

const PACING: Table = Table {
    home: "load.pacing",
    doc: "How exactly the schedule is kept.",
    keys: &[
        optional(
            "precision",
            Shape::Choice(&["adaptive", "exact"]),
            Some("adaptive"),
            "`adaptive` lets requests that are due within a tolerance go together, which saves CPU at high rates; `exact` wakes for each of them.",
        ),
        optional(
            "tolerance",
            Shape::Duration,
            None,
            "The tolerance, instead of the one that follows from the rate; requests go up to this much late.",
        ),
        optional(
            "catch_up",
            Shape::Whole(1, 100),
            Some("4"),
            "After a delay, requests are caught up with at most at this multiple of the rate.",
        ),
        optional(
            "threads",
            Shape::Whole(1, 64),
            None,
            "Threads that send; as many as the rate needs when left out.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const LIMITS: Table = Table {
    home: "load.limits",
    doc: "Beyond which the run is invalid: it proves nothing.",
    keys: &[
        optional(
            "in_time",
            Shape::Deadline,
            Some("250ms"),
            "A request that is sent later than this after it was due is not in time.",
        ),
        optional(
            "min_in_time",
            Shape::Whole(0, 100),
            Some("99"),
            "Per cent of the planned requests that must be sent in time.",
        ),
        optional(
            "max_dropped",
            Shape::Whole(0, u64::MAX),
            Some("0"),
            "Requests that may be dropped at `max_in_flight`.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const POOL: Table = Table {
    home: "load.pool",
    doc: "What is kept of connections between requests.",
    keys: &[
        optional(
            "size",
            Shape::Whole(1, 10_000),
            None,
            "Connections that are kept open; by the rate when left out (`reused`), or one (`http2`).",
        ),
        optional(
            "max_age",
            Shape::Deadline,
            None,
            "A connection that is older carries no further request.",
        ),
        optional(
            "max_requests",
            Shape::Whole(1, u32::MAX as u64),
            None,
            "A connection carries no more requests than this.",
        ),
        optional(
            "max_idle",
            Shape::Deadline,
            None,
            "A connection that was idle for longer carries no further request (`reused`).",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const TLS: Table = Table {
    home: "load.tls",
    doc: "TLS for an https target.",
    keys: &[
        optional(
            "ca",
            Shape::File,
            None,
            "PEM file of the certificate authorities to trust instead of the machine's; a relative path starts at the scenario's folder.",
        ),
        optional(
            "client_cert",
            Shape::File,
            None,
            "PEM file of the client's certificate, with its chain.",
        ),
        optional(
            "client_key",
            Shape::File,
            None,
            "PEM file of the client's private key.",
        ),
        optional(
            "server_name",
            Shape::Host,
            None,
            "The name that the server must prove, instead of the URL's host.",
        ),
        optional(
            "insecure",
            Shape::Flag,
            Some("false"),
            "Take any certificate; the report says so.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

/// The keys of a request that are HTTP methods.
pub(crate) const METHODS: &[&str] = &["get", "post", "put", "patch", "delete", "head", "options"];

// What a request of the load and a step of a journey have in common.
const REQUEST_EXPECT: Key = optional(
    "expect",
    Shape::Statuses,
    None,
    "The statuses that are a success; 2xx when left out. Redirects are not followed.",
);
const REQUEST_EXPECT_BODY: Key = optional(
    "expect_body",
    Shape::Section(&EXPECT_BODY),
    None,
    "What the body of a successful response must be like.",
);
const REQUEST_HEADERS: Key = optional(
    "headers",
    Shape::Headers,
    None,
    "Request headers. Take secrets from the environment or a file.",
);
const REQUEST_BODY: Key = optional("body", Shape::Section(&BODY), None, "The request's body.");
const REQUEST_DEADLINE: Key = optional(
    "deadline",
    Shape::Deadline,
    None,
    "From sending to the end of the response; the load's deadline when left out.",
);
const REQUEST_ABORT_AFTER: Key = optional(
    "abort_after",
    Shape::Deadline,
    None,
    "The client gives up this long after sending; the load's when left out.",
);

const REQUEST: Table = Table {
    home: "load.requests[]",
    doc: "One kind of request in the mix: a name and exactly one method.",
    keys: &[
        required("name", Shape::Text, "Its name, unique in the scenario."),
        optional("get", Shape::Path, None, "GET this path."),
        optional("post", Shape::Path, None, "POST to this path."),
        optional("put", Shape::Path, None, "PUT to this path."),
        optional("patch", Shape::Path, None, "PATCH this path."),
        optional("delete", Shape::Path, None, "DELETE this path."),
        optional("head", Shape::Path, None, "HEAD of this path."),
        optional("options", Shape::Path, None, "OPTIONS of this path."),
        optional(
            "weight",
            Shape::Whole(1, 10_000),
            Some("1"),
            "Its share in the mix.",
        ),
        optional(
            "connections",
            Shape::Choice(&["new", "reused", "http2"]),
            Some("reused"),
            "`reused` connections of the keep-alive pool, a `new` one for each request, or streams on a shared `http2` connection.",
        ),
        REQUEST_EXPECT,
        REQUEST_EXPECT_BODY,
        REQUEST_HEADERS,
        REQUEST_BODY,
        REQUEST_DEADLINE,
        REQUEST_ABORT_AFTER,
    ],
    one_of: METHODS,
    planned: &[],
};

/// The keys of a stream that say what goes over it.
pub(crate) const STREAM_KINDS: &[&str] = &["sse", "chunked", "websocket"];

const STREAM: Table = Table {
    home: "load.streams[]",
    doc: "Connections that are held open: a name and exactly one kind.",
    keys: &[
        required(
            "name",
            Shape::Text,
            "Its name, unique among requests and streams.",
        ),
        optional(
            "sse",
            Shape::Path,
            None,
            "Server-sent events from this path.",
        ),
        optional(
            "chunked",
            Shape::Path,
            None,
            "A response of this path whose body goes on.",
        ),
        optional(
            "websocket",
            Shape::Path,
            None,
            "A WebSocket to this path, which echoes what it is sent.",
        ),
        optional(
            "count",
            Shape::Whole(1, 10_000),
            Some("1"),
            "How many are held open at once.",
        ),
        required(
            "cadence",
            Shape::Deadline,
            "How often a message is expected; a WebSocket is sent one as often, to be echoed.",
        ),
        optional(
            "max_silence",
            Shape::Deadline,
            None,
            "A connection on which nothing comes for longer is given up as failed; five times the cadence when left out.",
        ),
        optional(
            "retry",
            Shape::Deadline,
            Some("1s"),
            "From a failed attempt to the next one. The first attempt after a loss is made at once.",
        ),
        optional(
            "expect",
            Shape::Choice(&["orderly_end", "open"]),
            Some("orderly_end"),
            "Whether the server may end it in good order (the end of the body, a close frame 1000, 1001 or 1012), or must keep it `open`.",
        ),
        optional(
            "headers",
            Shape::Headers,
            None,
            "Request headers. Take secrets from the environment.",
        ),
        optional(
            "deadline",
            Shape::Deadline,
            None,
            "From sending to the response's head; the load's deadline when left out.",
        ),
    ],
    one_of: STREAM_KINDS,
    planned: &[],
};

const JOURNEY: Table = Table {
    home: "load.journeys[]",
    doc: "What a user does, step by step, again and again.",
    keys: &[
        required("name", Shape::Text, "Its name, unique among the journeys."),
        optional(
            "weight",
            Shape::Whole(1, 10_000),
            Some("1"),
            "Its share of the users.",
        ),
        optional(
            "think",
            Shape::DurationRange,
            Some("1s..3s"),
            "How long a user waits after each step; drawn from this range each time.",
        ),
        required(
            "steps",
            Shape::Sections(&JOURNEY_STEP),
            "The steps, in order; a step that fails does not end the journey.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

/// The keys of a step that say what is sent; goose knows no other methods.
pub(crate) const STEP_KINDS: &[&str] =
    &["request", "get", "post", "put", "patch", "delete", "head"];

const JOURNEY_STEP: Table = Table {
    home: "load.journeys[].steps[]",
    doc: "A step: one of the requests by its name, or a name and exactly one method. Each step has a connection of its own.",
    keys: &[
        optional(
            "name",
            Shape::Text,
            None,
            "Its name, unique in the journey; with `request`, that request's name when left out.",
        ),
        optional(
            "request",
            Shape::Text,
            None,
            "The name of one of `requests`, to be sent as it is there.",
        ),
        optional("get", Shape::Path, None, "GET this path."),
        optional("post", Shape::Path, None, "POST to this path."),
        optional("put", Shape::Path, None, "PUT to this path."),
        optional("patch", Shape::Path, None, "PATCH this path."),
        optional("delete", Shape::Path, None, "DELETE this path."),
        optional("head", Shape::Path, None, "HEAD of this path."),
        REQUEST_EXPECT,
        REQUEST_EXPECT_BODY,
        REQUEST_HEADERS,
        REQUEST_BODY,
        REQUEST_DEADLINE,
        REQUEST_ABORT_AFTER,
    ],
    one_of: STEP_KINDS,
    planned: &[],
};

const EXPECT_BODY: Table = Table {
    home: "load.requests[].expect_body",
    doc: "What the body of a successful response must be like; up to 1 MiB of it.",
    keys: &[
        optional("contains", Shape::Text, None, "It contains this text."),
        optional(
            "json_pointer",
            Shape::JsonPointer,
            None,
            "It is JSON and has a value at this pointer (RFC 6901).",
        ),
        optional(
            "equals",
            Shape::Scalar,
            None,
            "What the value at `json_pointer` must be.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const BODY: Table = Table {
    home: "load.requests[].body",
    doc: "The request's body: exactly one of the sources.",
    keys: &[
        optional("inline", Shape::Text, None, "The body itself."),
        optional(
            "file",
            Shape::File,
            None,
            "File with the body; a relative path starts at the scenario's folder.",
        ),
        optional(
            "template",
            Shape::Text,
            None,
            "The body with placeholders that are filled in for each request: `{{seq}}`, `{{uuid}}`, `{{random:1..100}}`, `{{env:NAME}}`.",
        ),
    ],
    one_of: &["inline", "file", "template"],
    planned: &[],
};

pub(crate) const HEADER: Table = Table {
    home: "load.requests[].headers.*",
    doc: "A header's value that never gets into a recording: from the environment or a file.",
    keys: &[
        optional(
            "env",
            Shape::Text,
            None,
            "Name of the environment variable.",
        ),
        optional(
            "file",
            Shape::File,
            None,
            "File with the value on one line; a relative path starts at the scenario's folder.",
        ),
    ],
    one_of: &["env", "file"],
    planned: &[],
};

/// The kinds of stages.
pub(crate) const STAGES: &[&str] = &["warmup", "restart", "exec", "settle"];

const STAGE: Table = Table {
    home: "stages[]",
    doc: "One stage: exactly one of the kinds.",
    keys: &[
        optional(
            "warmup",
            Shape::Duration,
            None,
            "Load alone, for this long.",
        ),
        optional(
            "restart",
            Shape::Nothing,
            None,
            "A rolling restart of the workload, as `kubectl rollout restart` does it.",
        ),
        optional(
            "exec",
            Shape::Command,
            None,
            "A command: text for the shell, or a list of program and arguments.",
        ),
        optional(
            "settle",
            Shape::Duration,
            None,
            "Load alone, for this long, once the last old pod is gone (target `none`: once the command returned).",
        ),
        optional(
            "complete_within",
            Shape::Deadline,
            Some("2m"),
            "Deadline of a rollout stage; `warmup` and `settle` have their duration.",
        ),
    ],
    one_of: STAGES,
    planned: &[
        planned("set_image", STAGES),
        planned("scale", STAGES),
        planned("external", STAGES),
    ],
};

const BALANCER: Table = Table {
    home: "balancers[]",
    doc: "A load balancer before the target, and its access log.",
    keys: &[
        required("name", Shape::Text, "Its name in reports."),
        required(
            "file",
            Shape::Text,
            "The log, followed from its end on, also when it is rotated or cut short.",
        ),
        required(
            "format",
            Shape::Text,
            "Its format: `nginx`, `ingress-nginx`, `haproxy`, `envoy`, `istio`, `alb`, `traefik`; `nginx:`, `haproxy:` or `envoy:` and the template that writes it; `regex:` or `json:` and what to take.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const GATE: Table = Table {
    home: "gate",
    doc: "What the gate allows.",
    keys: &[
        optional(
            "max_failed",
            Shape::Whole(0, u64::MAX),
            Some("0"),
            "Failed requests that are still a pass.",
        ),
        optional(
            "assertions",
            Shape::Choice(&["warn", "fail"]),
            Some("warn"),
            "What a failed shutdown assertion does.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

const LOGS: Table = Table {
    home: "logs",
    doc: "What to look for in the logs of the containers.",
    keys: &[optional(
        "marks",
        Shape::Patterns,
        None,
        "Names of marks, each with the regular expression of its lines.",
    )],
    one_of: &[],
    planned: &[],
};

const PREFLIGHT: Table = Table {
    home: "preflight",
    doc: "What `rollscope preflight` is told that manifests do not say.",
    keys: &[
        optional(
            "allow",
            Shape::Words(RuleId::CODES),
            None,
            "Rules whose findings are accepted.",
        ),
        optional(
            "lag",
            Shape::Deadline,
            None,
            "How long routing takes to follow a deletion; by default what `target.sandbox.endpoint_lag` says, or what is usual for the kind of balancer.",
        ),
        optional(
            "delay",
            Shape::Deadline,
            None,
            "How long the program keeps serving after the stop signal, where no environment variable says it.",
        ),
        optional(
            "drain",
            Shape::Deadline,
            None,
            "How long requests in flight take once the program stops accepting.",
        ),
        optional(
            "balancer_idle",
            Shape::Deadline,
            None,
            "How long a balancer keeps an idle connection to the program.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

/// Every table, from the outermost.
pub(crate) const TABLES: &[&Table] = &[
    &SCENARIO,
    &TARGET,
    &SANDBOX,
    &KUBERNETES,
    &LOAD,
    &RATE,
    &STEP,
    &RAMP,
    &PACING,
    &LIMITS,
    &POOL,
    &TLS,
    &REQUEST,
    &STREAM,
    &JOURNEY,
    &JOURNEY_STEP,
    &EXPECT_BODY,
    &BODY,
    &STAGE,
    &JOBS,
    &JOBS_REDIS,
    &BALANCER,
    &JOBS_HTTP,
    &JOBS_POSTGRESQL,
    &GATE,
    &LOGS,
    &PREFLIGHT,
];
