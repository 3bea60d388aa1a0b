//! The forms of names and addresses in a scenario.

/// A scheme with a host and port, and what came after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpUrl<'a> {
    /// `https://host:port`, scheme and host as written.
    pub(crate) base: &'a str,
    /// What follows the host and port: empty, a path, a query, a fragment.
    pub(crate) rest: &'a str,
}

/// What is wrong with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlFault {
    /// Not `http://` or `https://`.
    Scheme,
    /// A user name or password.
    UserInfo,
    /// No host, or one that cannot be.
    Host,
    /// A port that cannot be.
    Port,
}

impl UrlFault {
    /// What was found, in words; never the URL itself, which may hold a password.
    pub(crate) const fn found(self) -> &'static str {
        match self {
            Self::Scheme => "a URL that does not start with `http://` or `https://`",
            Self::UserInfo => "a URL with a user name or password",
            Self::Host => "a URL without a valid host",
            Self::Port => "a URL with a port that is not a number from 1 to 65535",
        }
    }
}

/// Splits an http or https URL after its host and port.
pub(crate) fn http_url(text: &str) -> Result<HttpUrl<'_>, UrlFault> {
    let scheme = ["http://", "https://"]
        .into_iter()
        .find(|s| text.starts_with(s))
        .ok_or(UrlFault::Scheme)?;
    let end = text[scheme.len()..]
        .find(['/', '?', '#'])
        .map_or(text.len(), |i| i + scheme.len());
    let (base, rest) = text.split_at(end);
    let authority = &base[scheme.len()..];
    if authority.contains('@') {
        return Err(UrlFault::UserInfo);
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    if !is_host(host) {
        return Err(UrlFault::Host);
    }
    if port.is_some_and(|p| !is_port(p)) {
        return Err(UrlFault::Port);
    }
    Ok(HttpUrl { base, rest })
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    !host.is_empty()
        && host.len() <= 253
        && !host.starts_with(['.', '-'])
        && !host.contains("..")
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

fn is_port(port: &str) -> bool {
    port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|p| p > 0)
}

/// Whether `text` is a path with an optional query, as it stands in a request line (RFC 3986; no fragment).
pub(crate) fn is_path(text: &str) -> bool {
    text.starts_with('/')
        && text.len() <= 8192
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._~:/?[]@!$&'()*+,;=%".contains(&b))
}

/// Whether `text` is a DNS label (RFC 1123).
pub(crate) fn is_dns_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Whether `text` is `deployment/<name>`.
pub(crate) fn is_workload(text: &str) -> bool {
    text.strip_prefix("deployment/")
        .is_some_and(|name| name.len() <= 253 && name.split('.').all(is_dns_label))
}

/// Whether `text` is a header name (a token of RFC 9110).
pub(crate) fn is_header_name(text: &str) -> bool {
    (1..=256).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Whether `bytes` can be a header value: visible ASCII, spaces, tabs and bytes over 127, no space at the ends.
pub(crate) fn is_header_value(bytes: &[u8]) -> bool {
    let blank = |b: Option<&u8>| matches!(b, Some(b' ' | b'\t'));
    !blank(bytes.first())
        && !blank(bytes.last())
        && bytes
            .iter()
            .all(|&b| b == b'\t' || (b >= 0x20 && b != 0x7f))
}

/// Whether `text` can name an environment variable.
pub(crate) fn is_variable(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether `text` can be shown as a name: not blank, no control character, at most 100 characters.
pub(crate) fn is_label(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= 100 && !text.chars().any(char::is_control)
}

/// The word of `known` nearest to `word`, if one is near enough to have been meant.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let plain = |w: &str| w.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(word);
    known
        .map(|k| (strsim::normalized_damerau_levenshtein(&word, &plain(k)), k))
        .filter(|(similarity, _)| *similarity >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_after_host_and_port() {
        for (text, base, rest) in [
            (
                "https://staging.example.com",
                "https://staging.example.com",
                "",
            ),
            (
                "http://127.0.0.1:8080/a?b=c",
                "http://127.0.0.1:8080",
                "/a?b=c",
            ),
            ("http://[::1]:80?x", "http://[::1]:80", "?x"),
            ("http://[::1]#f", "http://[::1]", "#f"),
        ] {
            let url = http_url(text).unwrap();
            assert_eq!((url.base, url.rest), (base, rest), "{text}");
        }
    }

    #[test]
    fn a_url_says_what_is_wrong_with_it() {
        for (text, fault) in [
            ("ftp://a", UrlFault::Scheme),
            ("example.com", UrlFault::Scheme),
            ("http://user:pw@host", UrlFault::UserInfo),
            ("http://", UrlFault::Host),
            ("http:///x", UrlFault::Host),
            ("http://a b", UrlFault::Host),
            ("http://[::x]", UrlFault::Host),
            ("http://a..b", UrlFault::Host),
            ("http://a:0", UrlFault::Port),
            ("http://a:", UrlFault::Port),
            ("http://a:65536", UrlFault::Port),
        ] {
            assert_eq!(http_url(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn the_nearest_word_ignores_case_and_separators() {
        let known = ["max_in_flight", "rate", "requests"];
        for (word, expected) in [
            ("maxInFlight", Some("max_in_flight")),
            ("max-in-flight", Some("max_in_flight")),
            ("request", Some("requests")),
            ("zzz", None),
        ] {
            assert_eq!(nearest(word, known.into_iter()), expected, "{word}");
        }
    }

    #[test]
    fn a_path_has_no_space_line_break_or_fragment() {
        assert!(is_path("/"));
        assert!(is_path("/work?ms=300&x=%20"));
        for text in [
            "",
            "a",
            "/a b",
            "/a\r\nx: y",
            "/a#b",
            "/ü",
            "/a\"",
            "/a\\b",
            "/{id}",
        ] {
            assert!(!is_path(text), "{text}");
        }
    }
}
