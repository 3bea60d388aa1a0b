//! `load.requests[]`: one kind of request.

use std::path::PathBuf;
use std::time::Duration;

use rollscope_records::Lane;

use super::Checker;
use super::field::{Field, entries_of, shown, text};
use super::load::{Patience, deadline as own_deadline, header_value_found};
use super::section::Section;
use crate::keys::Shape;
use crate::model::{BodyCheck, BodySource, HeaderSource, RequestSpec, StatusRange};
use crate::tables::{HEADER, METHODS};
use crate::template::Template;
use crate::tree::Value;
use crate::{units, words};

/// Headers that the load generator writes itself.
const OWN_HEADERS: &[&str] = &["content-length", "transfer-encoding"];

/// The request in `section`; `patience` is the load's.
pub(super) fn request(
    section: &Section<'_>,
    patience: Patience,
    checker: &mut Checker<'_>,
) -> Option<RequestSpec> {
    let name = section.parsed("name", checker, |t| {
        words::is_label(t).then(|| t.to_owned())
    });
    let mut method_and_path = None;
    for method in METHODS {
        let path = section.parsed(method, checker, |t| words::is_path(t).then(|| t.to_owned()));
        method_and_path = method_and_path.or(path.map(|p| (method.to_ascii_uppercase(), p)));
    }
    let weight = section.whole("weight", checker);
    let connections = section.choice("connections", checker);
    let sent = sent(section, patience, checker);
    let (method, path) = method_and_path?;
    Some(RequestSpec {
        weight: u32::try_from(weight?).ok()?,
        connections: match connections? {
            "new" => Lane::New,
            "http2" => Lane::Http2,
            _ => Lane::Reused,
        },
        ..sent?.spec(&name?, &method, &path)
    })
}

/// What is sent beside method and path, what is expected, and for how long.
pub(super) struct Sent {
    headers: Vec<(String, HeaderSource)>,
    body: Option<BodySource>,
    deadline: Duration,
    abort_after: Option<Duration>,
    expect: Vec<StatusRange>,
    expect_body: Option<BodyCheck>,
}

impl Sent {
    /// The request of that name.
    pub(super) fn spec(self, name: &str, method: &str, path: &str) -> RequestSpec {
        RequestSpec {
            headers: self.headers,
            body: self.body,
            deadline: self.deadline,
            abort_after: self.abort_after,
            expect: self.expect,
            expect_body: self.expect_body,
            ..RequestSpec::new(name, method, path)
        }
    }
}

/// The keys that a request and a step of a journey have in common; `patience` is the load's.
pub(super) fn sent(
    section: &Section<'_>,
    patience: Patience,
    checker: &mut Checker<'_>,
) -> Option<Sent> {
    let expect = expect(section, checker);
    let expect_body = expect_body(section, checker);
    let headers = headers(section, checker);
    let body = body(section, checker);
    let deadline = match section.get("deadline") {
        Some(_) => own_deadline(section, checker),
        None => patience.deadline,
    };
    let abort_after = match section.get("abort_after") {
        Some(_) => section.duration("abort_after", checker),
        None => patience.abort_after,
    };
    Some(Sent {
        headers: headers?,
        body: body?,
        deadline: deadline?,
        abort_after: abort_after?,
        expect: expect?,
        expect_body: expect_body?,
    })
}

fn expect(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Vec<StatusRange>> {
    if section.get("expect").is_none() {
        return Some(vec![StatusRange { from: 200, to: 299 }]);
    }
    let items = section.items("expect", checker)?;
    let ranges: Vec<_> = items.iter().map(|item| status(item, checker)).collect();
    ranges.into_iter().collect()
}

fn status(item: &Field<'_>, checker: &mut Checker<'_>) -> Option<StatusRange> {
    let (Value::Number(text) | Value::Text(text)) = &item.node.value else {
        checker.unexpected(
            item,
            "a status from 100 to 599, or a class such as `2xx`",
            None,
        );
        return None;
    };
    let range = units::statuses(text);
    if range.is_none() {
        checker.unexpected(
            item,
            "a status from 100 to 599, or a class such as `2xx`",
            None,
        );
    }
    range
}

/// The headers under `headers`.
pub(super) fn headers(
    section: &Section<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<(String, HeaderSource)>> {
    let Some(field) = section.get("headers") else {
        return Some(Vec::new());
    };
    let Value::Map(entries) = &field.node.value else {
        checker.unexpected(&field, &Shape::Headers.expected(), None);
        return None;
    };
    let mut headers: Vec<(String, HeaderSource)> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut complete = true;
    for (entry, value) in entries_of(&field, entries) {
        let name = entry.key.to_ascii_lowercase();
        let fault = name_fault(&entry.key, &name, &seen);
        if let Some((found, expected)) = fault {
            checker.problem(entry.at, &field.path, found, expected, None);
            complete = false;
        }
        seen.push(name.clone());
        match header_source(&value, checker) {
            Some(source) => headers.push((name, source)),
            None => complete = false,
        }
    }
    complete.then_some(headers)
}

/// What is wrong with a header's name (`name` is `written` in lower case), and what was expected.
fn name_fault(written: &str, name: &str, seen: &[String]) -> Option<(String, &'static str)> {
    if !words::is_header_name(name) {
        let found = format!("the header name `{}`", shown(written));
        Some((found, "a header name such as `accept`"))
    } else if OWN_HEADERS.contains(&name) {
        let found = format!("the header `{name}`");
        Some((found, "no such header (it follows from the body)"))
    } else if seen.iter().any(|n| n == name) {
        Some((
            format!("the header `{name}` a second time"),
            "each header once",
        ))
    } else {
        None
    }
}

fn header_source(value: &Field<'_>, checker: &mut Checker<'_>) -> Option<HeaderSource> {
    match &value.node.value {
        Value::Map(_) => {
            let section = Section::open(value, &HEADER, checker)?;
            secret(&section, checker)
        }
        Value::Text(text) if words::is_header_value(text.as_bytes()) => {
            Some(HeaderSource::Literal(text.clone()))
        }
        _ => {
            let found = header_value_found(value)?;
            let expected = "text on one line, `{ env: VARIABLE }` or `{ file: PATH }`";
            checker.problem(value.at, &value.path, found, expected, None);
            None
        }
    }
}

/// A secret's variable or file.
pub(super) fn secret(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<HeaderSource> {
    let Some(variable) = section.get("env") else {
        return header_file(section, checker);
    };
    let expected = "the name of an environment variable such as `TOKEN`";
    text(&variable, checker, expected, |t| {
        words::is_variable(t).then(|| HeaderSource::Env(t.to_owned()))
    })
}

/// A secret's file need not be there where a scenario is only checked, as little as a variable.
fn header_file(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<HeaderSource> {
    let path = section.parsed("file", checker, |t| {
        (!t.is_empty()).then(|| PathBuf::from(t))
    })?;
    Some(HeaderSource::File(checker.base_dir.join(path)))
}

#[expect(
    clippy::option_option,
    reason = "a problem and an absent value are different"
)]
fn body(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Option<BodySource>> {
    let Some(field) = section.get("body") else {
        return Some(None);
    };
    if let Value::Text(_) = field.node.value {
        checker.problem(field.at, &field.path, "text", "`{ inline: 'text' }`", None);
        return None;
    }
    let body = section.section("body", checker)?;
    let (source, field) = body.first(&["inline", "file", "template"])?;
    if source == "file" {
        return Some(body.file("file", checker)?.map(BodySource::File));
    }
    // What is in a body is never shown: it may hold secrets.
    let Value::Text(text) = &field.node.value else {
        checker.unexpected(&field, "text (in quotes)", None);
        return None;
    };
    if source == "inline" {
        return Some(Some(BodySource::Inline(text.clone())));
    }
    match Template::parse(text) {
        Ok(template) => Some(Some(BodySource::Template(template))),
        Err(placeholder) => {
            let found = format!("the placeholder `{}`", shown(&placeholder));
            let expected =
                "`{{seq}}`, `{{uuid}}`, `{{random}}`, `{{random:1..100}}` or `{{env:NAME}}`";
            checker.problem(field.at, &field.path, found, expected, None);
            None
        }
    }
}

#[expect(
    clippy::option_option,
    reason = "a problem and an absent value are different"
)]
fn expect_body(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Option<BodyCheck>> {
    if section.get("expect_body").is_none() {
        return Some(None);
    }
    let check = section.section("expect_body", checker)?;
    let own = |t: &str| Some(t.to_owned()).filter(|t| !t.is_empty());
    let contains = match check.get("contains") {
        Some(_) => check.parsed("contains", checker, own).map(Some),
        None => Some(None),
    };
    let json_pointer = match check.get("json_pointer") {
        Some(_) => check.parsed("json_pointer", checker, pointer).map(Some),
        None => Some(None),
    };
    let equals = match check.get("equals") {
        Some(field) => scalar(&field, checker).map(Some),
        None => Some(None),
    };
    if check.first(&["contains", "json_pointer"]).is_none() {
        let expected = "`contains` or `json_pointer`";
        checker.problem(check.at, &check.path, "nothing to check", expected, None);
        return None;
    }
    if let (Some(field), None) = (check.get("equals"), check.get("json_pointer")) {
        let expected = "`json_pointer` beside it";
        checker.problem(field.key_at, &field.path, "`equals` alone", expected, None);
        return None;
    }
    Some(Some(BodyCheck {
        contains: contains?,
        json_pointer: json_pointer?,
        equals: equals?,
    }))
}

/// A JSON pointer.
pub(super) fn pointer(text: &str) -> Option<String> {
    (text.is_empty() || text.starts_with('/')).then(|| text.to_owned())
}

fn scalar(field: &Field<'_>, checker: &mut Checker<'_>) -> Option<String> {
    match &field.node.value {
        Value::Text(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null => Some("null".to_owned()),
        _ => {
            checker.unexpected(field, &Shape::Scalar.expected(), None);
            None
        }
    }
}
