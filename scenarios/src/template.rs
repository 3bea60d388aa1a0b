//! A body with placeholders, which are filled in anew for each request.

use std::fmt;

/// A text with placeholders between double braces: `{{seq}}`, `{{uuid}}`, `{{random:1..100}}`, `{{env:NAME}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

/// A piece of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePart {
    /// Text that stands as it is.
    Text(String),
    /// The number of the slot, from 0.
    Seq,
    /// A UUID (version 4), drawn from the load's seed and the slot's number.
    Uuid,
    /// A whole number, drawn from the load's seed and the slot's number; both ends included.
    Random(u64, u64),
    /// An environment variable; its value never gets into a recording.
    Env(String),
}

/// The ends of `{{random}}` without a range.
const ANY_NUMBER: (u64, u64) = (0, u32::MAX as u64);

impl Template {
    /// Reads a template. The error is the placeholder that is none, or what follows two braces that are not closed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, tail) = after
                .split_once("}}")
                .ok_or_else(|| format!("{{{{{after}"))?;
            if !before.is_empty() {
                parts.push(TemplatePart::Text(before.to_owned()));
            }
            parts.push(placeholder(name.trim()).ok_or_else(|| format!("{{{{{name}}}}}"))?);
            rest = tail;
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// Its pieces, in order.
    pub fn parts(&self) -> &[TemplatePart] {
        &self.parts
    }
}

fn placeholder(name: &str) -> Option<TemplatePart> {
    match name.split_once(':') {
        None if name == "seq" => Some(TemplatePart::Seq),
        None if name == "uuid" => Some(TemplatePart::Uuid),
        None if name == "random" => Some(TemplatePart::Random(ANY_NUMBER.0, ANY_NUMBER.1)),
        Some(("random", range)) => {
            let (from, to) = range.split_once("..")?;
            let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            (from <= to).then_some(TemplatePart::Random(from, to))
        }
        Some(("env", variable)) if crate::words::is_variable(variable.trim()) => {
            Some(TemplatePart::Env(variable.trim().to_owned()))
        }
        _ => None,
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => f.write_str(text)?,
                TemplatePart::Seq => f.write_str("{{seq}}")?,
                TemplatePart::Uuid => f.write_str("{{uuid}}")?,
                TemplatePart::Random(from, to) => write!(f, "{{{{random:{from}..{to}}}}}")?,
                TemplatePart::Env(variable) => write!(f, "{{{{env:{variable}}}}}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_among_text_and_other_braces() {
        let text =
            r#"{"id": {{seq}}, "key": "{{ uuid }}", "n": {{random:1..6}}, "t": "{{env:TOKEN}}"}"#;
        let template = Template::parse(text).unwrap();
        let found: Vec<_> = template
            .parts()
            .iter()
            .filter(|p| !matches!(p, TemplatePart::Text(_)))
            .collect();
        assert_eq!(
            found,
            [
                &TemplatePart::Seq,
                &TemplatePart::Uuid,
                &TemplatePart::Random(1, 6),
                &TemplatePart::Env("TOKEN".to_owned())
            ]
        );
        assert_eq!(Template::parse(&template.to_string()).unwrap(), template);
    }

    #[test]
    fn what_is_no_placeholder_is_named() {
        for (text, wrong) in [
            ("a {{sequence}} b", "{{sequence}}"),
            ("{{random:6..1}}", "{{random:6..1}}"),
            ("{{random:a..b}}", "{{random:a..b}}"),
            ("{{env:1A}}", "{{env:1A}}"),
            ("{{}}", "{{}}"),
            ("x {{seq", "{{seq"),
        ] {
            assert_eq!(Template::parse(text).unwrap_err(), wrong, "{text}");
        }
    }
}
