//! `load.users` and `load.journeys[]`: what users do, step by step.

use rollscope_records::Lane;

use super::Checker;
use super::field::shown;
use super::load::{Names, Patience};
use super::request::sent;
use super::section::Section;
use crate::model::{JourneySpec, RequestSpec};
use crate::tables::STEP_KINDS;
use crate::{units, words};

/// What stands beside a `request` in a step.
const BESIDE_REQUEST: &[&str] = &[
    "expect",
    "expect_body",
    "headers",
    "body",
    "deadline",
    "abort_after",
];

/// The users and what they do.
pub(super) struct Walked {
    pub(super) users: u32,
    pub(super) journeys: Vec<JourneySpec>,
}

/// The journeys of the load in `section`, whose requests are `requests` where those are right.
pub(super) fn journeys(
    section: &Section<'_>,
    requests: Option<&[RequestSpec]>,
    patience: Patience,
    checker: &mut Checker<'_>,
) -> Option<Walked> {
    if section.get("journeys").is_none() && section.get("users").is_none() {
        return Some(Walked {
            users: 0,
            journeys: Vec::new(),
        });
    }
    let users = users(section, checker);
    let mut names = Names::default();
    let mut journeys = Vec::new();
    for section in section.sections("journeys", checker)? {
        journeys.push(section.and_then(|section| {
            names.check(&section, "request", checker);
            journey(&section, requests, patience, checker)
        }));
    }
    enough(section, users, journeys.len(), checker)?;
    Some(Walked {
        users: users?,
        journeys: journeys.into_iter().collect::<Option<_>>()?,
    })
}

/// The number of users; both keys must be there.
fn users(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<u32> {
    let (at, found, expected) = match (section.get("users"), section.get("journeys")) {
        (Some(users), None) => (users, "`users` without `journeys`", "`journeys` beside it"),
        (None, Some(journeys)) => (
            journeys,
            "`journeys` without `users`",
            "`users` beside it: how many walk through them",
        ),
        _ => return u32::try_from(section.whole("users", checker)?).ok(),
    };
    checker.problem(at.key_at, &at.path, found, expected, None);
    None
}

/// A journey that nobody walks through would show nothing.
fn enough(
    section: &Section<'_>,
    users: Option<u32>,
    journeys: usize,
    checker: &mut Checker<'_>,
) -> Option<()> {
    let (Some(users), Some(field)) = (users, section.get("users")) else {
        return Some(());
    };
    if users as usize >= journeys {
        return Some(());
    }
    let found = format!("{users} for {journeys} journeys");
    let expected = "at least one user for each journey";
    checker.problem(field.at, &field.path, found, expected, None);
    None
}

fn journey(
    section: &Section<'_>,
    requests: Option<&[RequestSpec]>,
    patience: Patience,
    checker: &mut Checker<'_>,
) -> Option<JourneySpec> {
    let name = section.parsed("name", checker, label);
    let weight = section.whole("weight", checker);
    let think = section.parsed("think", checker, units::duration_range);
    let mut names: Vec<String> = Vec::new();
    let mut steps = Vec::new();
    for section in section.sections("steps", checker)? {
        let step = section.and_then(|section| {
            let step = step(&section, requests, patience, checker)?;
            first_of_its_name(&section, &step, &mut names, checker)?;
            Some(step)
        });
        steps.push(step);
    }
    let (name, steps) = (name?, steps.into_iter().collect::<Option<Vec<_>>>()?);
    let named = |step: RequestSpec| RequestSpec {
        name: format!("{name}/{}", step.name),
        weight: 1,
        connections: Lane::Journey,
        ..step
    };
    Some(JourneySpec {
        steps: steps.into_iter().map(named).collect(),
        weight: u32::try_from(weight?).ok()?,
        think: think?,
        name,
    })
}

fn label(text: &str) -> Option<String> {
    words::is_label(text).then(|| text.to_owned())
}

fn first_of_its_name(
    section: &Section<'_>,
    step: &RequestSpec,
    names: &mut Vec<String>,
    checker: &mut Checker<'_>,
) -> Option<()> {
    if names.contains(&step.name) {
        let found = format!("the step `{}` a second time", shown(&step.name));
        let expected = "a name of its own for each step of a journey";
        let field = section.get("name").or_else(|| section.get("request"))?;
        checker.problem(field.at, &field.path, found, expected, None);
        return None;
    }
    names.push(step.name.clone());
    Some(())
}

fn step(
    section: &Section<'_>,
    requests: Option<&[RequestSpec]>,
    patience: Patience,
    checker: &mut Checker<'_>,
) -> Option<RequestSpec> {
    let name = match section.get("name") {
        Some(_) => Some(section.parsed("name", checker, label)?),
        None => None,
    };
    if section.get("request").is_some() {
        let request = named_request(section, requests, checker)?;
        let name = name.unwrap_or_else(|| request.name.clone());
        return Some(RequestSpec { name, ..request });
    }
    let mut method_and_path = None;
    for method in STEP_KINDS.iter().filter(|k| **k != "request") {
        let path = section.parsed(method, checker, |t| words::is_path(t).then(|| t.to_owned()));
        method_and_path = method_and_path.or(path.map(|p| (method.to_ascii_uppercase(), p)));
    }
    let sent = sent(section, patience, checker);
    if name.is_none() {
        let expected = "a name (or `request` with the name of one of `requests`)";
        checker.problem(section.at, &section.path, "no key `name`", expected, None);
    }
    let (method, path) = method_and_path?;
    Some(sent?.spec(&name?, &method, &path))
}

/// The request that `request` names, which must be the only thing that is said of it.
fn named_request(
    section: &Section<'_>,
    requests: Option<&[RequestSpec]>,
    checker: &mut Checker<'_>,
) -> Option<RequestSpec> {
    if let Some((key, field)) = section.first(BESIDE_REQUEST) {
        let found = format!("`{key}` beside `request`");
        let expected = "no more than a `name`: the request is sent as it is in `requests`";
        checker.problem(field.key_at, &field.path, found, expected, None);
        return None;
    }
    let wanted = section.parsed("request", checker, label)?;
    let field = section.get("request")?;
    // Where the requests themselves are wrong, nothing is said of their names.
    let requests = requests?;
    let Some(request) = requests.iter().find(|r| r.name == wanted) else {
        let names = requests.iter().map(|r| r.name.as_str());
        let nearest = words::nearest(&wanted, names).map(shown);
        checker.unexpected(&field, "the name of one of `requests`", nearest);
        return None;
    };
    if request.method == "OPTIONS" {
        let found = format!("the request `{}` with the method OPTIONS", shown(&wanted));
        let expected = "one with another method: journeys cannot send OPTIONS";
        checker.problem(field.at, &field.path, found, expected, None);
        return None;
    }
    Some(request.clone())
}
