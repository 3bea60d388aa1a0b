//! What several formats have in common.

use std::borrow::Cow;

use crate::captures::{Captures, Field};
use crate::entry::{Emitter, Entry, Marks, Try};
use crate::error::LineError;
use crate::times;

/// A status as a number; a dash, zero and -1 mean that there was none.
pub(crate) fn status(text: &str) -> Result<Option<u16>, LineError> {
    match text {
        "-" | "0" | "000" | "-1" | "" => Ok(None),
        _ => {
            let number = text.parse().ok().filter(|n| (100..1000).contains(n));
            let number = number.ok_or_else(|| {
                LineError::value("the status", text, "a number such as 200, or `-`")
            })?;
            Ok(Some(number))
        }
    }
}

/// Method and path of `GET /path?query HTTP/1.1`.
pub(crate) fn request_line(text: &str) -> (Option<&str>, Option<&str>) {
    let mut words = text.split(' ');
    match (words.next(), words.next()) {
        (Some(method), Some(target))
            if !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase()) =>
        {
            (Some(method), Some(path(target)))
        }
        _ => (None, None),
    }
}

/// The path of a request's target: without scheme, host and query.
pub(crate) fn path(target: &str) -> &str {
    let target = match target.find("://") {
        Some(at) if !target.starts_with('/') => {
            let rest = &target[at + 3..];
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => target,
    };
    let end = target.find(['?', '#']).unwrap_or(target.len());
    &target[..end]
}

/// The entry of a line, without what its format says of upstreams and of who made the status.
pub(crate) fn entry<'a>(found: &Captures<'a>, zone_seconds: i32) -> Result<Entry<'a>, LineError> {
    let stamp = match (found.get(Field::Time), found.get(Field::StartTime)) {
        (Some(end), _) => times::stamp(end, Marks::End, zone_seconds)?,
        (None, Some(begin)) => times::stamp(begin, Marks::Begin, zone_seconds)?,
        (None, None) => return Err(LineError::Lacks("time")),
    };
    let duration = match found.get(Field::DurationSeconds) {
        Some(text) => times::seconds(text),
        None => found.get(Field::DurationMillis).and_then(times::millis),
    };
    let (mut method, mut target) = found.get(Field::Request).map_or((None, None), request_line);
    method = method.or_else(|| found.get(Field::Method));
    target = target.or_else(|| found.get(Field::Path).map(path));
    let status = found
        .raw(Field::Status)
        .ok_or(LineError::Lacks("status"))
        .and_then(status)?;
    Ok(Entry {
        stamp,
        duration_nanos: duration,
        client: client(found),
        request_id: found.get(Field::RequestId).map(Cow::Borrowed),
        method: method.map(Cow::Borrowed),
        path: target.map(Cow::Borrowed),
        status,
        emitter: Emitter::Unknown,
        tries: Vec::new(),
        unnamed_tries: 0,
        truncated: false,
        reason: found.get(Field::Reason).map(Cow::Borrowed),
    })
}

fn client<'a>(found: &Captures<'a>) -> Option<Cow<'a, str>> {
    let ip = found.get(Field::ClientIp)?;
    Some(match found.get(Field::ClientPort) {
        Some(port) => Cow::Owned(format!("{ip}:{port}")),
        None => Cow::Borrowed(ip),
    })
}

/// The members of a list as nginx writes it: `a, b` for tries of one group of servers, ` : ` between groups.
pub(crate) fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(", ")
        .flat_map(|part| part.split(" : "))
        .map(str::trim)
}

/// Who made a status that the last try may have given.
pub(crate) fn of_last_try(status: Option<u16>, tries: &[Try<'_>]) -> Emitter {
    match tries.last() {
        Some(last) if last.end == crate::TryEnd::Answered && last.status == status => {
            Emitter::Upstream
        }
        _ => Emitter::Balancer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_without_host_and_query() {
        assert_eq!(path("/a/b?token=1"), "/a/b");
        assert_eq!(path("https://shop.example:443/a?x=1#y"), "/a");
        assert_eq!(path("http://shop.example"), "/");
        assert_eq!(path("/to?next=http://x/y"), "/to");
    }

    #[test]
    fn what_is_no_request_line_has_neither_method_nor_path() {
        assert_eq!(request_line("GET /a HTTP/1.1"), (Some("GET"), Some("/a")));
        for wrong in ["", "-", "<BADREQ>", "\\x16\\x03\\x01 x", "get /a"] {
            assert_eq!(request_line(wrong), (None, None), "{wrong}");
        }
    }
}
