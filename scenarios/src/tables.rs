//! Every key of a scenario, once.

use crate::keys::{Key, Planned, Shape, Table};

/// Front ends that the design knows but this version does not.
pub(crate) const PLANNED_FRONT_ENDS: &[&str] = &["nginx", "haproxy", "health_checked"];

const fn planned(name: &'static str, instead_of: &'static [&'static str]) -> Planned {
    Planned { name, instead_of }
}

const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key {
        name,
        doc,
        required: true,
        default: None,
        shape,
    }
}

const fn optional(
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
        optional("gate", Shape::Section(&GATE), None, "What the gate allows."),
        optional(
            "logs",
            Shape::Section(&LOGS),
            None,
            "What to look for in the logs of the containers.",
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
            Shape::Choice(&["http", "l4"]),
            Some("http"),
            "What stands between the load and the pods: `http` is a reverse proxy like an ingress, `l4` chooses an endpoint for each connection like kube-proxy.",
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
            Shape::Rate,
            "Requests per second (`200/s`), minute (`30/m`) or hour (`10/h`), on a fixed schedule.",
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
            "pod_header",
            Shape::HeaderName,
            None,
            "The response header that names the pod.",
        ),
        required(
            "requests",
            Shape::Sections(&REQUEST),
            "The mix of requests.",
        ),
    ],
    one_of: &[],
    planned: &[
        planned("journeys", &["requests"]),
        planned("abort_after", &[]),
    ],
};

/// The keys of a request that are HTTP methods.
pub(crate) const METHODS: &[&str] = &["get", "post", "put", "patch", "delete", "head", "options"];

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
            Shape::Choice(&["new", "reused"]),
            Some("reused"),
            "`reused` connections of the keep-alive pool, or a `new` one for each request.",
        ),
        optional(
            "expect",
            Shape::Statuses,
            None,
            "The statuses that are a success; 2xx when left out. Redirects are not followed.",
        ),
        optional(
            "headers",
            Shape::Headers,
            None,
            "Request headers. Take secrets from the environment.",
        ),
        optional("body", Shape::Section(&BODY), None, "The request's body."),
        optional(
            "deadline",
            Shape::Deadline,
            None,
            "From sending to the end of the response; the load's deadline when left out.",
        ),
    ],
    one_of: METHODS,
    planned: &[planned("abort_after", &[])],
};

const BODY: Table = Table {
    home: "load.requests[].body",
    doc: "The request's body.",
    keys: &[required("inline", Shape::Text, "The body itself.")],
    one_of: &[],
    planned: &[planned("file", &["inline"])],
};

pub(crate) const HEADER: Table = Table {
    home: "load.requests[].headers.*",
    doc: "A header's value from the environment.",
    keys: &[required(
        "env",
        Shape::Text,
        "Name of the environment variable; its value never gets into a recording.",
    )],
    one_of: &[],
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

/// Every table, from the outermost.
pub(crate) const TABLES: &[&Table] = &[
    &SCENARIO,
    &TARGET,
    &SANDBOX,
    &KUBERNETES,
    &LOAD,
    &REQUEST,
    &BODY,
    &STAGE,
    &GATE,
    &LOGS,
];
