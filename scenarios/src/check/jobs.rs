//! `jobs`: which request of the load submits jobs, and where their ends are read.

use regex::Regex;

use super::section::Section;
use super::{Checker, request};
use crate::jobs::{HttpJobs, JobFields, JobSource, JobsSpec, PostgresqlJobs};
use crate::model::Load;
use crate::{units, words};

/// The jobs; outer `None`: a problem, inner `None`: there are none.
#[expect(
    clippy::option_option,
    reason = "a problem and an absent value are different"
)]
pub(super) fn jobs(
    top: &Section<'_>,
    load: Option<&Load>,
    checker: &mut Checker<'_>,
) -> Option<Option<JobsSpec>> {
    if top.get("jobs").is_none() {
        return Some(None);
    }
    let section = top.section("jobs", checker)?;
    let submit = submit(&section, load, checker);
    let rate = match section.get("rate") {
        Some(_) => section.parsed("rate", checker, units::rate).map(Some),
        None => Some(None),
    };
    own_rate_has_others(&section, load, checker);
    let key_header = section.parsed("key_header", checker, |t| {
        words::is_header_name(t).then(|| t.to_ascii_lowercase())
    });
    let source = source(&section, checker);
    let poll = span(&section, "poll", checker);
    let complete_within = span(&section, "complete_within", checker);
    let max_repeats = section.whole("max_repeats", checker);
    let lease = match section.get("lease") {
        Some(_) => Some(span(&section, "lease", checker)?),
        None => None,
    };
    Some(Some(JobsSpec {
        submit: submit?,
        rate: rate?,
        key_header: key_header?,
        source: source?,
        poll: poll?,
        complete_within: complete_within?,
        max_repeats: max_repeats?,
        lease,
    }))
}

fn span(
    section: &Section<'_>,
    key: &str,
    checker: &mut Checker<'_>,
) -> Option<std::time::Duration> {
    section.parsed(key, checker, |t| {
        units::duration(t).filter(|d| !d.is_zero())
    })
}

/// The name of one of the load's requests.
fn submit(section: &Section<'_>, load: Option<&Load>, checker: &mut Checker<'_>) -> Option<String> {
    let name = section.parsed("submit", checker, |t| {
        words::is_label(t).then(|| t.to_owned())
    })?;
    // Where the load itself is wrong, its requests are not known.
    let requests = &load?.requests;
    if requests.iter().any(|r| r.name == name) {
        return Some(name);
    }
    let field = section.get("submit")?;
    let known = requests.iter().map(|r| r.name.as_str());
    let nearest = words::nearest(&name, known).map(str::to_owned);
    checker.unexpected(
        &field,
        "the name of one of `load.requests`, which submits a job each time",
        nearest,
    );
    None
}

/// A request with a rate of its own leaves `load.rate` to others.
fn own_rate_has_others(section: &Section<'_>, load: Option<&Load>, checker: &mut Checker<'_>) {
    if let (Some(rate), Some([_])) = (section.get("rate"), load.map(|l| l.requests.as_slice())) {
        checker.unexpected(
            &rate,
            "another request in `load.requests`, for which `load.rate` is then, or no `rate` here",
            None,
        );
    }
}

fn source(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<JobSource> {
    if section.get("redis").is_some() {
        let redis = section.section("redis", checker)?;
        let address = redis.parsed("url", checker, address);
        let list = redis.parsed("list", checker, |t| {
            words::is_label(t).then(|| t.to_owned())
        });
        return Some(JobSource::Redis {
            address: address?,
            list: list?,
        });
    }
    if section.get("http").is_some() {
        let http = section.section("http", checker)?;
        return http_jobs(&http, checker).map(JobSource::Http);
    }
    if section.get("postgresql").is_some() {
        let postgresql = section.section("postgresql", checker)?;
        return postgresql_jobs(&postgresql, checker).map(JobSource::Postgresql);
    }
    let pattern = section.parsed("logs", checker, |t| {
        let regex = Regex::new(t).ok()?;
        let named = regex.capture_names().flatten().any(|n| n == "job");
        named.then(|| t.to_owned())
    });
    pattern.map(JobSource::Logs)
}

fn http_jobs(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<HttpJobs> {
    let url = section.parsed("url", checker, |t| is_job_url(t).then(|| t.to_owned()));
    let headers = request::headers(section, checker);
    let mut pointer = |key: &str| section.parsed(key, checker, request::pointer);
    let [list, job, event, pod, t] = ["list", "job", "event", "pod", "t"].map(&mut pointer);
    Some(HttpJobs {
        url: url?,
        headers: headers?,
        list: list?,
        fields: JobFields {
            job: job?,
            event: event?,
            pod: pod?,
            t: t?,
        },
    })
}

/// A path, or a URL with or without one.
fn is_job_url(text: &str) -> bool {
    if text.starts_with('/') {
        return words::is_path(text);
    }
    words::http_url(text).is_ok_and(|url| match url.rest {
        "" => true,
        rest if rest.starts_with('?') => words::is_path(&format!("/{rest}")),
        rest => words::is_path(rest),
    })
}

fn postgresql_jobs(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<PostgresqlJobs> {
    let url = section.parsed("url", checker, |t| {
        is_postgresql_url(t).then(|| t.to_owned())
    });
    let password = match section.section("password", checker) {
        Some(password) => request::secret(&password, checker).map(Some),
        None => section.get("password").is_none().then_some(None),
    };
    let ca = section.file("ca", checker);
    let query = section.parsed("query", checker, |t| {
        let query = t.trim().trim_end_matches(';').trim_end();
        (!query.is_empty()).then(|| query.to_owned())
    });
    Some(PostgresqlJobs {
        url: url?,
        password: password?,
        ca: ca?,
        query: query?,
    })
}

/// `postgresql://user@host:port/database`. A password is refused: it would have to be kept out of recordings.
fn is_postgresql_url(url: &str) -> bool {
    let rest = ["postgresql://", "postgres://"]
        .into_iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    let Some((user, rest)) = rest.and_then(|rest| rest.split_once('@')) else {
        return false;
    };
    let Some((authority, database)) = rest.split_once('/') else {
        return false;
    };
    let (database, mode) = database.split_once('?').unwrap_or((database, ""));
    let plain = |text: &str| !text.is_empty() && !text.contains([':', '/', '@', '?', ' ']);
    let mode_is_known = matches!(mode, "" | "sslmode=require" | "sslmode=disable");
    plain(user) && plain(database) && mode_is_known && {
        words::http_url(&format!("http://{authority}")).is_ok_and(|u| u.rest.is_empty())
    }
}

/// `redis://host:port` as `host:port`. A name and password are refused: they would have to be kept out of recordings.
fn address(url: &str) -> Option<String> {
    let rest = url.strip_prefix("redis://")?.trim_end_matches('/');
    if rest.is_empty() || rest.contains(['/', '@', '?', ' ']) {
        return None;
    }
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (rest, 6379_u16),
    };
    (!host.is_empty() && port > 0).then(|| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_postgresql_url_has_a_user_and_no_password() {
        for (url, expected) in [
            ("postgresql://reader@127.0.0.1:5432/shop", true),
            ("postgres://reader@db/shop?sslmode=require", true),
            ("postgresql://reader@[::1]:5432/shop?sslmode=disable", true),
            ("postgresql://reader:secret@db/shop", false),
            ("postgresql://db/shop", false),
            ("postgresql://reader@db", false),
            ("postgresql://reader@db/shop?sslmode=prefer", false),
            ("postgresql://reader@db/shop?password=secret", false),
            ("redis://reader@db/shop", false),
        ] {
            assert_eq!(is_postgresql_url(url), expected, "{url}");
        }
    }

    #[test]
    fn a_document_of_jobs_is_at_a_path_or_a_url() {
        for (url, expected) in [
            ("/jobs/events?since=1h", true),
            ("https://jobs.example.com", true),
            ("http://127.0.0.1:8080/events", true),
            ("http://127.0.0.1:8080?all=1", true),
            ("https://user:pass@jobs.example.com/", false),
            ("jobs/events", false),
            ("ftp://jobs", false),
        ] {
            assert_eq!(is_job_url(url), expected, "{url}");
        }
    }

    #[test]
    fn a_redis_url_is_read_as_its_address() {
        for (url, expected) in [
            ("redis://127.0.0.1:6379", Some("127.0.0.1:6379")),
            ("redis://queue", Some("queue:6379")),
            ("redis://[::1]:7000/", Some("[::1]:7000")),
            ("redis://[::1]", Some("[::1]:6379")),
            ("redis://user:pass@queue:6379", None),
            ("redis://queue:none", None),
            ("http://queue:6379", None),
            ("redis://", None),
        ] {
            assert_eq!(address(url).as_deref(), expected, "{url}");
        }
    }
}
