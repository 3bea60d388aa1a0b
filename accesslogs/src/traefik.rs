//! Traefik's access log as JSON.
//!
//! Traefik writes a status that it made for a server into `OriginStatus` too; its own responses have their reason
//! phrase as their body, by whose length they are known.

use std::borrow::Cow;

use crate::captures::Field;
use crate::entry::{Emitter, Entry, Try, TryEnd};
use crate::error::LineError;
use crate::{json, values};

/// Statuses that Traefik makes, with the lengths of the bodies that it gives them.
const OWN: &[(u16, &[&str])] = &[
    (502, &["11"]),
    (504, &["15"]),
    (503, &["20", "19"]),
    (500, &["21"]),
];

/// Traefik's status for a client that left.
const CLIENT_LEFT: u16 = 499;

/// The keys that hold a request's id, as they are written when that header is kept.
const IDS: &[&str] = &["request_X-Request-Id", "request_X-Request-ID", "RequestId"];

/// The entry of a line.
pub(crate) fn entry(line: &str) -> Result<Entry<'static>, LineError> {
    let object = json::object(line)?;
    let of = |key: &str| object.get(key).and_then(json::text);
    let begin = of("StartUTC").or_else(|| of("StartLocal"));
    let time = if begin.is_some() { None } else { of("time") };
    let mut texts: Vec<(Field, String)> = Vec::new();
    let mut add = |field, value: Option<String>| texts.extend(value.map(|v| (field, v)));
    add(Field::StartTime, begin);
    add(Field::Time, time);
    add(Field::Method, of("RequestMethod"));
    add(Field::Path, of("RequestPath"));
    add(Field::Status, of("DownstreamStatus"));
    add(Field::ClientIp, of("ClientAddr"));
    add(Field::RequestId, IDS.iter().find_map(|key| of(key)));
    let mut entry = json::with(&texts, |found| values::entry(found, 0))?;
    entry.duration_nanos = of("Duration").and_then(|d| d.parse().ok());
    let origin = of("OriginStatus").map_or(Ok(None), |s| values::status(&s))?;
    let own = is_own(origin, of("OriginContentSize").as_deref());
    let address = of("ServiceAddr").or_else(|| of("ServiceURL").map(|u| host(&u)));
    let time_nanos = of("OriginDuration").and_then(|d| d.parse().ok());
    entry.tries.extend(address.map(|address| Try {
        upstream: Cow::Owned(address),
        status: origin.filter(|_| !own),
        time_nanos,
        end: match origin {
            Some(504) if own => TryEnd::TimedOut,
            Some(CLIENT_LEFT) | None => TryEnd::Failed,
            Some(_) if own => TryEnd::Failed,
            Some(_) => TryEnd::Answered,
        },
    }));
    entry.unnamed_tries = of("RetryAttempts")
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    entry.emitter = match entry.status {
        Some(CLIENT_LEFT) | None => Emitter::ClientGone,
        status => values::of_last_try(status, &entry.tries),
    };
    Ok(entry)
}

fn is_own(origin: Option<u16>, size: Option<&str>) -> bool {
    let size = size.unwrap_or_default();
    OWN.iter()
        .any(|(status, sizes)| origin == Some(*status) && sizes.contains(&size))
}

/// Host and port of a URL.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find('/').unwrap_or(rest.len());
    let default = if url.starts_with("https") { 443 } else { 80 };
    let host = &rest[..end];
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, p)| p.parse::<u16>().is_ok());
    if has_port {
        host.to_owned()
    } else {
        format!("{host}:{default}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_address_has_its_port() {
        assert_eq!(host("http://10.0.0.1:8080/x"), "10.0.0.1:8080");
        assert_eq!(host("https://shop"), "shop:443");
        assert_eq!(host("10.0.0.1"), "10.0.0.1:80");
    }
}
