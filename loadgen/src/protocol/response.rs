//! What a response's head says about who sent it.

use http::header::{CONNECTION, DATE, SERVER, VIA};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// The longest header value that goes into a record, characters.
const LONGEST_VALUE: usize = 256;

/// What a record keeps of a response's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseFacts {
    /// The status.
    pub(crate) status: u16,
    /// Whether it said `Connection: close`.
    pub(crate) close: bool,
    /// The pod, from the configured header.
    pub(crate) pod: Option<String>,
    /// Hints at who emitted it, `name=value` joined by `; `.
    pub(crate) emitted_by: Option<String>,
    /// What its sender's clock said.
    pub(crate) date: Option<HeaderValue>,
}

impl ResponseFacts {
    /// The facts of a response. `pod_header` names the pod.
    pub(crate) fn new<B>(response: &http::Response<B>, pod_header: Option<&HeaderName>) -> Self {
        Self::of(response.status(), response.headers(), pod_header)
    }

    /// The facts of a response with that status and those headers.
    pub(crate) fn of(
        status: StatusCode,
        headers: &HeaderMap,
        pod_header: Option<&HeaderName>,
    ) -> Self {
        Self {
            status: status.as_u16(),
            close: says_close(headers),
            pod: pod_header.and_then(|name| headers.get(name)).map(text),
            emitted_by: emitted_by(headers),
            date: headers.get(DATE).cloned(),
        }
    }
}

/// Whether the headers of a message ask for the connection's end.
pub(crate) fn says_close(headers: &HeaderMap) -> bool {
    headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|token| token.trim().eq_ignore_ascii_case("close"))
}

fn emitted_by(headers: &HeaderMap) -> Option<String> {
    let hints: Vec<String> = headers
        .iter()
        .filter(|(name, _)| is_hint(name))
        .map(|(name, value)| format!("{name}={}", text(value)))
        .collect();
    (!hints.is_empty()).then(|| hints.join("; "))
}

fn is_hint(name: &HeaderName) -> bool {
    *name == SERVER
        || *name == VIA
        || name.as_str() == "l5d-proxy-error"
        || name.as_str().starts_with("x-envoy-")
}

fn text(value: &HeaderValue) -> String {
    let text = String::from_utf8_lossy(value.as_bytes());
    text.chars().take(LONGEST_VALUE).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn close_is_found_among_other_tokens_and_in_any_case() {
        for (value, close) in [
            ("close", true),
            ("Keep-Alive, CLOSE", true),
            ("keep-alive", false),
            ("closed", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONNECTION, HeaderValue::from_static(value));
            assert_eq!(says_close(&headers), close, "{value}");
        }
    }

    #[test]
    fn emitters_are_named_by_their_headers() {
        let response = http::Response::builder()
            .status(503)
            .header("server", "envoy")
            .header("x-pod-name", "web-1")
            .header("x-envoy-overloaded", "true")
            .header("set-cookie", "session=secret")
            .body(())
            .unwrap();
        let pod = HeaderName::from_static("x-pod-name");
        let facts = ResponseFacts::new(&response, Some(&pod));
        assert_eq!(facts.pod.as_deref(), Some("web-1"));
        assert_eq!(
            facts.emitted_by.as_deref(),
            Some("server=envoy; x-envoy-overloaded=true")
        );
        assert_eq!((facts.status, facts.close), (503, false));
    }
}
