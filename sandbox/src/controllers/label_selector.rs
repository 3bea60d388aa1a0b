//! `metav1.LabelSelector`.

use serde_json::Value;

/// Whether a label selector (`matchLabels`, `matchExpressions`) matches the labels.
pub(crate) fn label_selector_matches(selector: &Value, labels: &Value) -> bool {
    let equal = selector["matchLabels"].as_object().into_iter().flatten();
    let expressions = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    equal
        .into_iter()
        .all(|(key, value)| labels.get(key) == Some(value))
        && expressions
            .into_iter()
            .all(|e| expression_matches(e, labels))
}

fn expression_matches(expression: &Value, labels: &Value) -> bool {
    let label = expression["key"].as_str().and_then(|k| labels.get(k));
    let listed = label.is_some_and(|label| {
        expression["values"]
            .as_array()
            .is_some_and(|values| values.contains(label))
    });
    match expression["operator"].as_str() {
        Some("In") => listed,
        Some("NotIn") => !listed,
        Some("Exists") => label.is_some(),
        Some("DoesNotExist") => label.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_requirement_of_a_selector_must_hold() {
        let labels = json!({"app": "web", "tier": "front"});
        let cases = [
            (json!({"matchLabels": {"app": "web"}}), true),
            (
                json!({"matchLabels": {"app": "web", "tier": "back"}}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["front", "x"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["front"]}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}),
                true,
            ),
        ];
        for (selector, expected) in cases {
            assert_eq!(
                label_selector_matches(&selector, &labels),
                expected,
                "{selector}"
            );
        }
    }
}
