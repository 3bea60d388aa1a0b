//! `jobs`: which request of the load submits jobs, and where their ends are read.

use regex::Regex;

use super::Checker;
use super::section::Section;
use crate::model::{JobSource, JobsSpec, Load};
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
    let pattern = section.parsed("logs", checker, |t| {
        let regex = Regex::new(t).ok()?;
        let named = regex.capture_names().flatten().any(|n| n == "job");
        named.then(|| t.to_owned())
    });
    pattern.map(JobSource::Logs)
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
