//! A patch as YAML for people.

use serde_json::Value;

/// `value` in block style, each line indented by `indent`.
pub(super) fn yaml(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write(value, indent, &mut text, false);
    text
}

/// Writes a value; `inline` where the line already has its indentation.
fn write(value: &Value, indent: usize, text: &mut String, inline: bool) {
    let pad = |text: &mut String, first: bool| {
        if !(first && inline) {
            text.push_str(&" ".repeat(indent));
        }
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (i, (key, value)) in map.iter().enumerate() {
                pad(text, i == 0);
                text.push_str(&scalar(&Value::from(key.as_str())));
                text.push(':');
                below(value, indent, text);
            }
        }
        Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => {
            for (i, item) in items.iter().enumerate() {
                pad(text, i == 0);
                text.push_str("- ");
                write(item, indent + 2, text, true);
            }
        }
        other => {
            pad(text, true);
            text.push_str(&scalar(other));
            text.push('\n');
        }
    }
}

/// A key's value: on its line, or on lines of its own below.
fn below(value: &Value, indent: usize, text: &mut String) {
    let nested = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => items.iter().any(|i| i.is_object() || i.is_array()),
        _ => false,
    };
    text.push(if nested { '\n' } else { ' ' });
    write(value, if nested { indent + 2 } else { 0 }, text, !nested);
}

/// A scalar or a list of scalars on one line; text is quoted where it could be read as something else.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let reserved = ["true", "false", "null", "yes", "no", "on", "off"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b))
        && !reserved.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_reads_as_a_manifest() {
        let patch = json!({"spec": {"containers": [
            {"name": "web", "command": ["node", "a b"], "env": [{"name": "A", "value": "1"}], "image": null}
        ], "os": {}}});
        let expected = "  spec:
    containers:
      - command: [\"node\",\"a b\"]
        env:
          - name: A
            value: \"1\"
        image: null
        name: web
    os: {}
";
        assert_eq!(yaml(&patch, 2), expected);
    }
}
