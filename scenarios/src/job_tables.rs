//! The keys of `jobs`.

use crate::keys::{Shape, Table};
use crate::tables::{HEADER, optional, required};

pub(crate) const JOBS: Table = Table {
    home: "jobs",
    doc: "Background jobs that the load submits, and where to read what became of them: exactly one source.",
    keys: &[
        required(
            "submit",
            Shape::Text,
            "The request of `load.requests` that submits a job each time; its share of the rate is that of the jobs, unless they have a `rate` of their own.",
        ),
        optional(
            "rate",
            Shape::Rate,
            None,
            "So many jobs are submitted, at equal distances, beside the load's other requests and their rate; the weight of the request does not count then.",
        ),
        optional(
            "key_header",
            Shape::HeaderName,
            Some("idempotency-key"),
            "The header in which it carries the job's key, another one for each job.",
        ),
        optional(
            "redis",
            Shape::Section(&JOBS_REDIS),
            None,
            "Jobs' events are read from a list in Redis, which is not changed.",
        ),
        optional(
            "http",
            Shape::Section(&JOBS_HTTP),
            None,
            "Jobs' events are read from a JSON document, by GET.",
        ),
        optional(
            "postgresql",
            Shape::Section(&JOBS_POSTGRESQL),
            None,
            "Jobs' events are read from a database, in read-only transactions.",
        ),
        optional(
            "logs",
            Shape::JobPattern,
            None,
            "Jobs' events are found in the containers' log lines.",
        ),
        optional(
            "poll",
            Shape::Deadline,
            Some("500ms"),
            "How often `redis`, `http` or `postgresql` is asked.",
        ),
        optional(
            "complete_within",
            Shape::Deadline,
            Some("30s"),
            "A job that is not done so long after its acceptance is lost; one that was accepted later than that before the end is not judged.",
        ),
        optional(
            "max_repeats",
            Shape::Whole(0, u64::MAX),
            Some("0"),
            "How often a job may be done beyond once.",
        ),
        optional(
            "lease",
            Shape::Deadline,
            None,
            "For how long an instance may hold a job without a sign of life.",
        ),
    ],
    one_of: &["redis", "http", "postgresql", "logs"],
    planned: &[],
};

pub(crate) const JOBS_HTTP: Table = Table {
    home: "jobs.http",
    doc: "A JSON document with a list of jobs' events. An element that was not there before (or more often than before) is a new event. It is an object, or the key of a job that is done.",
    keys: &[
        required(
            "url",
            Shape::JobUrl,
            "Where it is; a path is one of the load's own target.",
        ),
        optional(
            "headers",
            Shape::Headers,
            None,
            "Request headers. Take secrets from the environment or a file.",
        ),
        optional(
            "list",
            Shape::JsonPointer,
            Some(""),
            "Where the list is in the document.",
        ),
        optional(
            "job",
            Shape::JsonPointer,
            Some("/job"),
            "Where an element has the job's key.",
        ),
        optional(
            "event",
            Shape::JsonPointer,
            Some("/event"),
            "Where it has what happened: `reserved`, `done`, `returned`, `lease_expired` or `failed`; `done` where it has nothing.",
        ),
        optional(
            "pod",
            Shape::JsonPointer,
            Some("/pod"),
            "Where it has the instance.",
        ),
        optional(
            "t",
            Shape::JsonPointer,
            Some("/t"),
            "Where it has the time: epoch milliseconds, or RFC 3339.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

pub(crate) const JOBS_POSTGRESQL: Table = Table {
    home: "jobs.postgresql",
    doc: "A query whose rows are jobs' events. A row that was not there before (or more often than before) is a new event.",
    keys: &[
        required(
            "url",
            Shape::PostgresqlUrl,
            "Where the database is, and as whom to connect. `?sslmode=require`: with TLS.",
        ),
        optional(
            "password",
            Shape::Section(&HEADER),
            None,
            "The password, from the environment or a file.",
        ),
        optional(
            "ca",
            Shape::File,
            None,
            "PEM file of the authority that the server's certificate must be from, instead of the machine's; with TLS.",
        ),
        required(
            "query",
            Shape::Text,
            "A SELECT with the columns `job` and, where they are known, `event` (`reserved`, `done`, `returned`, `lease_expired`, `failed`), `pod` and `t` (a timestamp with time zone, or epoch milliseconds). `$1` in it stands for what the keys of this run's jobs begin with.",
        ),
    ],
    one_of: &[],
    planned: &[],
};

pub(crate) const JOBS_REDIS: Table = Table {
    home: "jobs.redis",
    doc: "A list in Redis to which the jobs' events are appended.",
    keys: &[
        required("url", Shape::RedisUrl, "Where Redis listens."),
        required(
            "list",
            Shape::Text,
            "The key of the list. An element is a JSON object with `job`, `event` (`reserved`, `done`, `returned`, `lease_expired`, `failed`) and, where they are known, `pod` and `t` (epoch milliseconds); any other text is the key of a job that is done.",
        ),
    ],
    one_of: &[],
    planned: &[],
};
