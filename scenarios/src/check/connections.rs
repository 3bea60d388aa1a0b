//! `load.pool`, `load.resolve` and `load.tls`: how connections are made and kept.

use std::net::IpAddr;

use super::Checker;
use super::field::{Field, text};
use super::section::Section;
use crate::model::{PoolSpec, ResolveOverride, TlsSpec};
use crate::words;

/// What is kept of connections; without `pool` its defaults.
pub(super) fn pool(load: &Section<'_>, checker: &mut Checker<'_>) -> Option<PoolSpec> {
    if load.get("pool").is_none() {
        return Some(PoolSpec::default());
    }
    let section = load.section("pool", checker)?;
    let mut whole = |key: &str| match section.get(key) {
        Some(_) => section.whole(key, checker).map(Some),
        None => Some(None),
    };
    let (size, max_requests) = (whole("size"), whole("max_requests"));
    let max_age = section.duration("max_age", checker);
    let max_idle = section.duration("max_idle", checker);
    Some(PoolSpec {
        size: size?.and_then(|n| usize::try_from(n).ok()),
        max_age: max_age?,
        max_requests: max_requests?.and_then(|n| u32::try_from(n).ok()),
        max_idle: max_idle?,
    })
}

/// Addresses that are given instead of the resolver's.
pub(super) fn resolve(
    load: &Section<'_>,
    checker: &mut Checker<'_>,
) -> Option<Vec<ResolveOverride>> {
    if load.get("resolve").is_none() {
        return Some(Vec::new());
    }
    let items = load.items("resolve", checker)?;
    let expected =
        "`host:port:address` with one or more addresses, such as `shop.example:443:127.0.0.1`";
    let overrides: Vec<_> = items
        .iter()
        .map(|item: &Field<'_>| text(item, checker, expected, resolve_override))
        .collect();
    overrides.into_iter().collect()
}

/// `host:port:address[,address]...`; addresses of IPv6 may stand in brackets, as curl has them.
fn resolve_override(text: &str) -> Option<ResolveOverride> {
    let (host, rest) = text.split_once(':')?;
    let (port, addresses) = rest.split_once(':')?;
    let url = format!("http://{host}:{port}");
    words::http_url(&url).ok()?;
    let address = |text: &str| -> Option<IpAddr> {
        let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        bare.unwrap_or(text).parse().ok()
    };
    Some(ResolveOverride {
        host: host.to_ascii_lowercase(),
        port: port.parse().ok()?,
        addresses: addresses.split(',').map(address).collect::<Option<_>>()?,
    })
}

/// TLS for an https target; `base_url` is the target's, if it is right.
pub(super) fn tls(
    load: &Section<'_>,
    base_url: Option<&Option<String>>,
    checker: &mut Checker<'_>,
) -> Option<TlsSpec> {
    let Some(field) = load.get("tls") else {
        return Some(TlsSpec::default());
    };
    let section = load.section("tls", checker)?;
    if let Some(url) = base_url
        && !url.as_ref().is_some_and(|u| u.starts_with("https://"))
    {
        let expected = "a `base_url` with `https://`, or no `tls`";
        checker.problem(
            field.key_at,
            &field.path,
            "`tls` for a target without TLS",
            expected,
            None,
        );
    }
    let ca = section.file("ca", checker);
    let client_cert = section.file("client_cert", checker);
    let client_key = section.file("client_key", checker);
    let (has_cert, has_key) = (section.get("client_cert"), section.get("client_key"));
    if has_cert.is_some() != has_key.is_some() {
        let expected = "`client_cert` and `client_key` together";
        checker.problem(
            section.at,
            &section.path,
            "one of them alone",
            expected,
            None,
        );
    }
    let server_name = match section.get("server_name") {
        Some(_) => section.parsed("server_name", checker, host).map(Some),
        None => Some(None),
    };
    let insecure = section.flag("insecure", checker);
    Some(TlsSpec {
        ca: ca?,
        client_cert: client_cert?,
        client_key: client_key?,
        server_name: server_name?,
        insecure: insecure?,
    })
}

fn host(text: &str) -> Option<String> {
    let address = text.parse::<IpAddr>().is_ok();
    let name = words::http_url(&format!("http://{text}")).is_ok_and(|u| u.rest.is_empty());
    (address || name && !text.contains(':')).then(|| text.to_owned())
}
