//! `load`: the rate, the limits and the mix of requests.

use std::time::Duration;

use super::Checker;
use super::connections;
use super::field::{Field, describe, shown};
use super::journey::journeys;
use super::rate::{limits, pacing, rate};
use super::request::request;
use super::scenario::TargetKind;
use super::section::Section;
use super::stream::stream;
use crate::keys::Shape;
use crate::model::{Arrivals, Load, RequestSpec, StreamSpec};
use crate::tree::Value;
use crate::{units, words};

/// The load.
pub(super) fn load(
    section: &Section<'_>,
    target: Option<TargetKind>,
    checker: &mut Checker<'_>,
) -> Option<Load> {
    let base_url = base_url(section, target, checker);
    let rate = rate(section, checker);
    let arrivals = section.choice("arrivals", checker);
    let seed = section.whole("seed", checker);
    let pacing = pacing(section, checker);
    let limits = limits(section, checker);
    let max_in_flight = section.whole("max_in_flight", checker);
    let patience = Patience {
        deadline: deadline(section, checker),
        abort_after: section.duration("abort_after", checker),
    };
    let pod_header = pod_header(section, checker);
    let pool = connections::pool(section, checker);
    let resolve = connections::resolve(section, checker);
    let tls = connections::tls(section, base_url.as_ref(), checker);
    let mut names = Names::default();
    let requests = requests(section, patience, &mut names, checker);
    let streams = streams(section, patience.deadline, &mut names, checker);
    let walked = journeys(section, requests.as_deref(), patience, checker);
    Some(Load {
        base_url: base_url?,
        rate: rate?,
        arrivals: match arrivals? {
            "poisson" => Arrivals::Poisson,
            _ => Arrivals::Even,
        },
        seed: seed?,
        pacing: pacing?,
        limits: limits?,
        max_in_flight: usize::try_from(max_in_flight?).ok()?,
        pod_header: pod_header?,
        pool: pool?,
        resolve: resolve?,
        tls: tls?,
        requests: requests?,
        streams: streams?,
        users: walked.as_ref()?.users,
        journeys: walked?.journeys,
        own_rate: None,
        job_key: None,
    })
}

/// How long the load's requests wait, unless they say otherwise; the outer `None` is a problem.
#[derive(Clone, Copy)]
#[expect(
    clippy::option_option,
    reason = "a problem and an absent value are different"
)]
pub(super) struct Patience {
    pub(super) deadline: Option<Duration>,
    pub(super) abort_after: Option<Option<Duration>>,
}

/// A deadline longer than nothing.
pub(super) fn deadline(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Duration> {
    section.parsed("deadline", checker, |t| {
        units::duration(t).filter(|d| !d.is_zero())
    })
}

/// Outer `None`: a problem. Inner `None`: the sandbox's own front end.
#[expect(
    clippy::option_option,
    reason = "a problem and an absent value are different"
)]
fn base_url(
    section: &Section<'_>,
    target: Option<TargetKind>,
    checker: &mut Checker<'_>,
) -> Option<Option<String>> {
    let Some(field) = section.get("base_url") else {
        if let Some(kind @ (TargetKind::Kubernetes | TargetKind::None)) = target {
            let name = if kind == TargetKind::None {
                "none"
            } else {
                "kubernetes"
            };
            let found = "no key `base_url`";
            let expected = format!("{} (target `{name}` needs it)", Shape::BaseUrl.expected());
            checker.problem(section.at, &section.path, found, expected, None);
            return None;
        }
        return Some(None);
    };
    if target == Some(TargetKind::Sandbox) {
        let found = "a URL together with target `sandbox`";
        let expected = "no `base_url` (the sandbox fills in its own front end)";
        checker.problem(field.key_at, &field.path, found, expected, None);
        return None;
    }
    let expected = Shape::BaseUrl.expected();
    let Value::Text(text) = &field.node.value else {
        checker.unexpected(&field, &expected, None);
        return None;
    };
    let found = match words::http_url(text) {
        Ok(url) if matches!(url.rest, "" | "/") => return Some(Some(url.base.to_owned())),
        Ok(url) if url.rest.starts_with('/') => "a URL with a path (paths belong in the requests)",
        Ok(_) => "a URL with a query or fragment",
        Err(fault) => fault.found(),
    };
    checker.problem(field.at, &field.path, found, expected, None);
    None
}

#[expect(
    clippy::option_option,
    reason = "a problem and an absent value are different"
)]
fn pod_header(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Option<String>> {
    if section.get("pod_header").is_none() {
        return Some(None);
    }
    let name = section.parsed("pod_header", checker, |t| {
        words::is_header_name(t).then(|| t.to_ascii_lowercase())
    });
    name.map(Some)
}

fn requests(
    section: &Section<'_>,
    patience: Patience,
    names: &mut Names,
    checker: &mut Checker<'_>,
) -> Option<Vec<RequestSpec>> {
    let mut requests = Vec::new();
    for section in section.sections("requests", checker)? {
        requests.push(section.and_then(|section| {
            names.check(&section, "request", checker);
            request(&section, patience, checker)
        }));
    }
    requests.into_iter().collect()
}

fn streams(
    section: &Section<'_>,
    deadline: Option<Duration>,
    names: &mut Names,
    checker: &mut Checker<'_>,
) -> Option<Vec<StreamSpec>> {
    if section.get("streams").is_none() {
        return Some(Vec::new());
    }
    let mut streams = Vec::new();
    for section in section.sections("streams", checker)? {
        streams.push(section.and_then(|section| {
            names.check(&section, "request", checker);
            stream(&section, deadline, checker)
        }));
    }
    streams.into_iter().collect()
}

/// The names that were given so far, each with its line.
#[derive(Default)]
pub(super) struct Names(Vec<(String, usize)>);

impl Names {
    /// Reports a name that another one has already; `each`: what has a name of its own.
    pub(super) fn check(&mut self, section: &Section<'_>, each: &str, checker: &mut Checker<'_>) {
        let Some(field) = section.get("name") else {
            return;
        };
        let Value::Text(name) = &field.node.value else {
            return;
        };
        match self.0.iter().find(|(n, _)| n == name) {
            Some((_, line)) => {
                let found = format!(
                    "the name `{}` a second time (first in line {line})",
                    shown(name)
                );
                let expected = format!("a name of its own for each {each}");
                checker.problem(field.at, &field.path, found, &expected, None);
            }
            None => self.0.push((name.clone(), field.at.line)),
        }
    }
}

/// What was found where a header's value should be, without the value: it may be a secret.
pub(super) fn header_value_found(field: &Field<'_>) -> Option<String> {
    match &field.node.value {
        Value::Text(_) => {
            Some("a value with a line break, control character or blanks at its ends".to_owned())
        }
        Value::Number(_) => Some("a number".to_owned()),
        _ => describe(field.node),
    }
}
