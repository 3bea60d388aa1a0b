//! What must never get into a recording: secrets in objects and in log lines.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// What stands in a secret's place.
pub const REDACTED: &str = "redacted";

static PATTERNS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        // scheme://user:password@host
        (r"(?i)([a-z][a-z0-9+.-]*://)[^\s/@]+@", "${1}redacted@"),
        // Authorization schemes wherever they stand
        (r"(?i)\b(bearer|basic|digest)\s+[a-z0-9+/=._~-]{6,}", "${1} redacted"),
        // tokens that tell themselves by their beginning
        (r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|AKIA|ASIA)[A-Za-z0-9_-]{10,}", "redacted"),
        // the body of a PEM block, on one line or on lines of their own
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", "-----BEGIN PRIVATE KEY----- redacted"),
        (r"^[A-Za-z0-9+/]{60,}={0,2}$", "redacted"),
        // command lines: --token value, -u user:password
        (
            r"(?i)(--?(?:[a-z-]*(?:password|passwd|passphrase|secret|token|api-?key|access-?key|credentials?)))\s+[^\s-][^\s]*",
            "${1} redacted",
        ),
        (r#"(\s(?:-u|--user)[\s=]+["']?)[^\s:"']+:[^\s"']+"#, "${1}redacted"),
        // JSON Web Tokens
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*", "redacted"),
        // header-like and key-like pairs: `cookie: ...` to the end of the line or the closing quote
        (
            r#"(?i)\b((?:set-)?cookie|(?:proxy-)?authorization)("?\s*[:=]\s*"?)[^"\r\n]+"#,
            "${1}${2}redacted",
        ),
        (
            r#"(?i)((?:pass(?:word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|signature|session[_-]?id)\\?["']?\s*[:=]\s*\\?["']?)[^\s"'&,;}\])\\]+"#,
            "${1}redacted",
        ),
    ]
    .into_iter()
    .map(|(pattern, with)| (Regex::new(pattern).expect("the table above compiles"), with))
    .collect()
});

/// `text` for a message: without secrets and control characters, and at most `longest` characters of it.
pub fn shown(text: &str, longest: usize) -> String {
    let clean = line(text);
    let mut shown = String::new();
    for (i, c) in clean.chars().enumerate() {
        if i == longest {
            shown.push_str("...");
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A line of text without the secrets that can be recognised in it.
pub fn line(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    for (pattern, with) in PATTERNS.iter() {
        if let Cow::Owned(changed) = pattern.replace_all(&clean, *with) {
            clean = Cow::Owned(changed);
        }
    }
    clean
}

/// Strips a Kubernetes object in place: values of environment variables, managedFields, the last-applied annotation,
/// header values of probes, data of Secrets and ConfigMaps; other strings are cleaned as [`line()`] does it.
pub fn object(object: &mut Value) {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("managedFields");
        if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    if matches!(object["kind"].as_str(), Some("Secret" | "ConfigMap")) {
        for field in ["data", "stringData", "binaryData"] {
            if let Some(data) = object.get_mut(field).and_then(Value::as_object_mut) {
                data.values_mut().for_each(|v| *v = Value::from(REDACTED));
            }
        }
    }
    strip(object, false);
}

fn strip(value: &mut Value, of_named_values: bool) {
    match value {
        Value::Object(fields) => {
            if of_named_values && fields.contains_key("name") && fields.contains_key("value") {
                fields.insert("value".to_owned(), Value::from(REDACTED));
            }
            for (key, field) in fields {
                strip(field, matches!(key.as_str(), "env" | "httpHeaders"));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|i| strip(i, of_named_values)),
        Value::String(text) => {
            if let Cow::Owned(clean) = line(text) {
                *text = clean;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_in_lines_are_redacted_and_the_rest_is_kept() {
        for (text, clean) in [
            ("GET /orders 200 3ms", "GET /orders 200 3ms"),
            (
                "Authorization: Bearer abc.def-123456",
                "Authorization: redacted",
            ),
            (
                "got header bearer abcdefghij ok",
                "got header bearer redacted ok",
            ),
            (
                r#"{"password":"hunter2","user":"a"}"#,
                r#"{"password":"redacted","user":"a"}"#,
            ),
            (
                "GET /cb?access_token=xyz&x=1",
                "GET /cb?access_token=redacted&x=1",
            ),
            (
                "dial postgres://app:pw@db:5432/x",
                "dial postgres://redacted@db:5432/x",
            ),
            ("cookie: a=b; c=d", "cookie: redacted"),
            ("jwt eyJhbGciOiJI.eyJzdWIiOiIx.sig-_", "jwt redacted"),
            ("DB_PASSWORD=topsecret next", "DB_PASSWORD=redacted next"),
            (
                "deploy --token abc123 --env x",
                "deploy --token redacted --env x",
            ),
            ("deploy --token --env x", "deploy --token --env x"),
            ("curl -u user:pw http://x", "curl -u redacted http://x"),
            (
                r#"curl -d '{\"token\": \"abc\"}'"#,
                r#"curl -d '{\"token\": \"redacted\"}'"#,
            ),
            ("key ghp_0123456789abcdefghij ok", "key redacted ok"),
            (
                "-----BEGIN RSA PRIVATE KEY----- MIIEow",
                "-----BEGIN PRIVATE KEY----- redacted",
            ),
            (
                "MIIEowIBAAKCAQEAuvJ1sUb3yX9lCkqXc1p3o0m2b5r8w7d6f5e4c3b2a1Z0Y9X8",
                "redacted",
            ),
            (
                "sha256:9f86d081884c7d659a2feaa0c55ad015 pulled",
                "sha256:9f86d081884c7d659a2feaa0c55ad015 pulled",
            ),
        ] {
            assert_eq!(line(text), clean);
        }
    }

    #[test]
    fn objects_lose_env_values_and_bookkeeping_but_keep_their_shape() {
        let mut pod = json!({
            "kind": "Pod",
            "metadata": {"name": "a", "managedFields": [1],
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "x": "y"}},
            "spec": {"containers": [{"env": [{"name": "A", "value": "s3cret"}, {"name": "B", "valueFrom": {}}],
                "readinessProbe": {"httpGet": {"httpHeaders": [{"name": "authorization", "value": "x"}]}}}]}
        });
        object(&mut pod);
        assert_eq!(
            pod,
            json!({
                "kind": "Pod",
                "metadata": {"name": "a", "annotations": {"x": "y"}},
                "spec": {"containers": [{"env": [{"name": "A", "value": "redacted"}, {"name": "B", "valueFrom": {}}],
                    "readinessProbe": {"httpGet": {"httpHeaders": [{"name": "authorization", "value": "redacted"}]}}}]}
            })
        );
    }
}
