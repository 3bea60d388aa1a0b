//! What a response's head says about who sent it.

use std::borrow::Cow;

use http::header::{CONNECTION, DATE, SERVER, VIA};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rollscope_records::Text;

use crate::recording::Texts;

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
    pub(crate) pod: Option<Text>,
    /// Hints at who emitted it, `name=value` joined by `; `.
    pub(crate) emitted_by: Option<Text>,
    /// What its sender's clock said.
    pub(crate) date: Option<HeaderValue>,
}

impl ResponseFacts {
    /// The facts of a response with that status and those headers. `pod_header` names the pod.
    pub(crate) fn of(
        status: StatusCode,
        headers: &HeaderMap,
        pod_header: Option<&HeaderName>,
        texts: &Texts,
    ) -> Self {
        let pod = pod_header.and_then(|name| headers.get(name));
        Self {
            status: status.as_u16(),
            close: says_close(headers),
            pod: pod.map(|pod| texts.shared(&text(pod))),
            emitted_by: texts.written(|hints| emitted_by(headers, hints)),
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

fn emitted_by(headers: &HeaderMap, hints: &mut String) {
    for (name, value) in headers.iter().filter(|(name, _)| is_hint(name)) {
        if !hints.is_empty() {
            hints.push_str("; ");
        }
        hints.push_str(name.as_str());
        hints.push('=');
        hints.push_str(&text(value));
    }
}

fn is_hint(name: &HeaderName) -> bool {
    *name == SERVER
        || *name == VIA
        || name.as_str() == "l5d-proxy-error"
        || name.as_str().starts_with("x-envoy-")
}

fn text(value: &HeaderValue) -> Cow<'_, str> {
    match value.to_str() {
        Ok(text) if text.len() <= LONGEST_VALUE => Cow::Borrowed(text),
        _ => {
            let text = String::from_utf8_lossy(value.as_bytes());
            Cow::Owned(text.chars().take(LONGEST_VALUE).collect())
        }
    }
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
        let (pod, texts) = (HeaderName::from_static("x-pod-name"), Texts::default());
        let (status, headers) = (response.status(), response.headers());
        let facts = ResponseFacts::of(status, headers, Some(&pod), &texts);
        assert_eq!(facts.pod.as_deref(), Some("web-1"));
        assert_eq!(
            facts.emitted_by.as_deref(),
            Some("server=envoy; x-envoy-overloaded=true")
        );
        assert_eq!((facts.status, facts.close), (503, false));
    }
}
