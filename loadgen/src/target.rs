//! Where the load goes: the checked base URL, and the addresses behind it.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use http::Uri;
use http::uri::{Authority, Scheme};

use rollscope_records::RunClock;
use rollscope_scenarios::ResolveOverride;

use crate::LoadError;

/// A checked base URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    /// Whether the scheme is https.
    pub(crate) tls: bool,
    /// Host name or address, without brackets.
    pub(crate) host: String,
    /// The port, the scheme's own when the URL names none.
    pub(crate) port: u16,
    /// Host and port as they go into the `Host` header.
    pub(crate) authority: String,
}

impl BaseUrl {
    /// Parses `scheme://host[:port][/]`. Anything else (path, query, user information) is an error.
    pub(crate) fn parse(url: &str) -> Result<Self, LoadError> {
        let problem = |problem: &str| LoadError::BaseUrl {
            url: without_user_information(url),
            problem: problem.to_owned(),
        };
        let uri: Uri = url.parse().map_err(|e| problem(&format!("{e}")))?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(problem("scheme or host is missing"));
        };
        let tls = match scheme {
            s if *s == Scheme::HTTP => false,
            s if *s == Scheme::HTTPS => true,
            _ => return Err(problem("the scheme is neither http nor https")),
        };
        if authority.as_str().contains('@') {
            return Err(problem(
                "user information does not belong in a URL, use an authorization header with `env`",
            ));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(problem("a path or query belongs into the requests"));
        }
        Self::of(tls, authority).ok_or_else(|| problem("the host or the port is not valid"))
    }

    fn of(tls: bool, authority: &Authority) -> Option<Self> {
        let host = authority.host();
        let bare = host
            .strip_prefix('[')
            .and_then(|h| h.strip_suffix(']'))
            .unwrap_or(host);
        let rest = &authority.as_str()[host.len()..];
        let port = match rest.strip_prefix(':') {
            None | Some("") => None,
            Some(port) => Some(port.parse::<u16>().ok().filter(|p| *p > 0)?),
        };
        if bare.is_empty() || (host != bare && bare.parse::<IpAddr>().is_err()) {
            return None;
        }
        Some(Self {
            tls,
            host: bare.to_owned(),
            port: port.unwrap_or(if tls { 443 } else { 80 }),
            authority: match port {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            },
        })
    }

    /// The address, when the host is one already.
    fn literal(&self) -> Option<SocketAddr> {
        let ip: IpAddr = self.host.parse().ok()?;
        Some(SocketAddr::new(ip, self.port))
    }
}

/// Where the load goes: the target, and addresses that the scenario gives instead of the resolver's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    host: String,
    port: u16,
    /// The addresses, when there is nothing to resolve.
    known: Option<Vec<SocketAddr>>,
}

/// What a host's name stood for at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// The addresses, in the resolver's order.
    pub(crate) addresses: Vec<SocketAddr>,
    /// How long resolving took, ns; `None` when there was nothing to resolve.
    pub(crate) took_nanos: Option<i64>,
}

impl Resolved {
    /// The addresses, joined by a blank.
    pub(crate) fn in_words(&self) -> String {
        let ips: Vec<String> = self.addresses.iter().map(|a| a.ip().to_string()).collect();
        ips.join(" ")
    }
}

impl Destination {
    /// The destination of `base`. An entry of `overrides` counts when it has the same host and port.
    pub(crate) fn new(base: &BaseUrl, overrides: &[ResolveOverride]) -> Self {
        let given = overrides
            .iter()
            .find(|o| o.port == base.port && o.host.eq_ignore_ascii_case(&base.host));
        let given = given.map(|o| {
            let with_port = |ip: &IpAddr| SocketAddr::new(*ip, base.port);
            o.addresses.iter().map(with_port).collect()
        });
        Self {
            host: base.host.clone(),
            port: base.port,
            known: given.or_else(|| base.literal().map(|a| vec![a])),
        }
    }

    /// The addresses, where there is nothing to resolve; otherwise none.
    pub(crate) fn known(&self) -> &[SocketAddr] {
        self.known.as_deref().unwrap_or_default()
    }

    /// Resolves the host once, blocking, so that a wrong name is reported before any load.
    pub(crate) fn check_resolves(&self) -> Result<(), LoadError> {
        if self.known.is_some() {
            return Ok(());
        }
        let resolve = |source| LoadError::Resolve {
            host: self.host.clone(),
            source,
        };
        let mut found = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(resolve)?;
        match found.next() {
            Some(_) => Ok(()),
            None => Err(resolve(no_address())),
        }
    }

    /// The addresses of the host, at least one. Names are resolved anew each time.
    pub(crate) async fn resolve(&self, clock: &RunClock) -> io::Result<Resolved> {
        if let Some(addresses) = &self.known {
            return Ok(Resolved {
                addresses: addresses.clone(),
                took_nanos: None,
            });
        }
        let asked = clock.now();
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await?;
        let addresses: Vec<_> = found.collect();
        if addresses.is_empty() {
            return Err(no_address());
        }
        Ok(Resolved {
            addresses,
            took_nanos: Some(clock.now().nanos_since(asked)),
        })
    }
}

fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the name has no address")
}

fn without_user_information(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => {
            format!("{}://***{}", &url[..scheme], &url[at..])
        }
        (None, Some(at)) => format!("***{}", &url[at..]),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn ports_default_to_the_scheme_and_stay_out_of_the_host_header() {
        let http = BaseUrl::parse("http://shop.example").unwrap();
        assert_eq!((http.tls, http.port), (false, 80));
        assert_eq!(http.authority, "shop.example");
        let https = BaseUrl::parse("https://shop.example:8443/").unwrap();
        assert_eq!((https.tls, https.port), (true, 8443));
        assert_eq!(https.authority, "shop.example:8443");
    }

    #[test]
    fn addresses_of_both_families_need_no_resolver() {
        let v6 = BaseUrl::parse("http://[::1]:8080").unwrap();
        assert_eq!(v6.literal().unwrap(), "[::1]:8080".parse().unwrap());
        assert_eq!(v6.authority, "[::1]:8080");
        let v4 = BaseUrl::parse("http://127.0.0.1").unwrap();
        assert_eq!(v4.literal().unwrap(), "127.0.0.1:80".parse().unwrap());
    }

    #[test]
    fn urls_that_are_no_base_are_refused_with_the_reason() {
        for (url, reason) in [
            ("shop.example", "scheme or host is missing"),
            ("ftp://shop.example", "neither http nor https"),
            ("http://shop.example/orders", "path or query"),
            ("http://shop.example?x=1", "path or query"),
            ("http://shop.example:99999", "port"),
            ("http://shop.example:0", "port"),
            ("http://", ""),
            ("", ""),
        ] {
            let error = BaseUrl::parse(url).unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }

    #[test]
    fn passwords_in_urls_are_refused_and_not_repeated() {
        for url in [
            "http://me:secret@shop.example",
            "http://me:se@cret@shop.example/x",
        ] {
            let error = BaseUrl::parse(url).unwrap_err().to_string();
            assert!(
                !error.contains("se@cret") && !error.contains("secret"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_host_that_does_not_resolve_is_named() {
        let url = BaseUrl::parse("http://no-such-host.invalid").unwrap();
        let destination = Destination::new(&url, &[]);
        let error = destination.check_resolves().unwrap_err().to_string();
        assert!(error.contains("no-such-host.invalid"), "{error}");
    }

    #[test]
    fn an_override_counts_for_its_host_and_port_alone() {
        let given = [ResolveOverride {
            host: "no-such-host.invalid".to_owned(),
            port: 8080,
            addresses: vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()],
        }];
        let url = |url: &str| BaseUrl::parse(url).unwrap();
        let matching = Destination::new(&url("http://No-Such-Host.invalid:8080"), &given);
        matching.check_resolves().unwrap();
        let expected = ["127.0.0.1:8080", "[::1]:8080"].map(|a| a.parse().unwrap());
        assert_eq!(matching.known, Some(expected.to_vec()));
        for other in ["http://no-such-host.invalid", "http://other.invalid:8080"] {
            assert_eq!(Destination::new(&url(other), &given).known, None);
        }
    }
}
