//! A response's body: read to its end, and held against what the scenario expects.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use rollscope_scenarios::BodyCheck;
use serde_json::Value;

/// A body that is checked is kept up to this many bytes.
const LONGEST_CHECKED: usize = 1 << 20;

/// Reads `body` to its end and keeps nothing of it, except to hold it against `check`. Says what is wrong with it.
pub(super) async fn read(
    mut body: Incoming,
    check: Option<&BodyCheck>,
    mut came: impl FnMut(usize),
) -> Result<Option<String>, hyper::Error> {
    let mut reader = BodyReader::new(check);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        came(data.len());
        reader.came(&data);
    }
    Ok(reader.mismatch())
}

/// Keeps of a body what is needed to hold it against a check.
#[derive(Debug)]
pub(crate) struct BodyReader<'c> {
    check: Option<&'c BodyCheck>,
    kept: Vec<u8>,
    length: usize,
}

impl<'c> BodyReader<'c> {
    /// Nothing has come yet.
    pub(crate) const fn new(check: Option<&'c BodyCheck>) -> Self {
        Self {
            check,
            kept: Vec::new(),
            length: 0,
        }
    }

    /// A piece has come.
    pub(crate) fn came(&mut self, data: &[u8]) {
        self.length += data.len();
        if self.check.is_some() && self.length <= LONGEST_CHECKED {
            self.kept.extend_from_slice(data);
        }
    }

    /// What is wrong with the body, now that it has come to its end.
    pub(crate) fn mismatch(&self) -> Option<String> {
        match self.check {
            Some(_) if self.length > LONGEST_CHECKED => Some(format!(
                "a body of {} bytes is too long to be checked (1 MiB at most)",
                self.length
            )),
            Some(check) => mismatch(check, &self.kept),
            None => None,
        }
    }
}

/// What is wrong with `body`; never shows any of it.
fn mismatch(check: &BodyCheck, body: &[u8]) -> Option<String> {
    if let Some(text) = &check.contains
        && !String::from_utf8_lossy(body).contains(text.as_str())
    {
        return Some("the body does not contain the expected text".to_owned());
    }
    let pointer = check.json_pointer.as_ref()?;
    let Ok(json) = serde_json::from_slice::<Value>(body) else {
        return Some("the body is not JSON".to_owned());
    };
    let Some(value) = json.pointer(pointer) else {
        return Some(format!("the body has no value at `{pointer}`"));
    };
    let found = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let differs = check.equals.as_ref().is_some_and(|e| *e != found);
    differs.then(|| format!("the value at `{pointer}` is not the expected one"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_held_against_texts_and_json_values() {
        let json = br#"{"status": "up", "checks": [{"n": 3}, null]}"#;
        let check = |contains: Option<&str>, pointer: Option<&str>, equals: Option<&str>| {
            let check = BodyCheck {
                contains: contains.map(str::to_owned),
                json_pointer: pointer.map(str::to_owned),
                equals: equals.map(str::to_owned),
            };
            mismatch(&check, json)
        };
        for good in [
            check(Some("\"up\""), None, None),
            check(None, Some("/status"), Some("up")),
            check(None, Some("/checks/0/n"), Some("3")),
            check(None, Some("/checks/1"), Some("null")),
            check(None, Some("/checks"), None),
            check(Some("status"), Some(""), None),
        ] {
            assert_eq!(good, None);
        }
        for (bad, why) in [
            (check(Some("down"), None, None), "does not contain"),
            (check(None, Some("/state"), None), "no value at `/state`"),
            (
                check(None, Some("/status"), Some("down")),
                "not the expected",
            ),
            (
                check(Some("up"), Some("/checks/0/n"), Some("4")),
                "not the expected",
            ),
        ] {
            let why_not = bad.unwrap();
            assert!(why_not.contains(why), "{why_not}");
        }
        let pointer = BodyCheck {
            json_pointer: Some("/a".to_owned()),
            ..BodyCheck::default()
        };
        assert_eq!(
            mismatch(&pointer, b"<html>").unwrap(),
            "the body is not JSON"
        );
    }
}
