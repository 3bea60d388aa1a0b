//! Label selectors, from the object form to the form of a query.

use serde_json::Value;

/// A `metav1.LabelSelector` as the query parameter `labelSelector` takes it. `None` when it selects nothing or is malformed.
pub(crate) fn to_query(selector: &Value) -> Option<String> {
    let mut terms = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        terms.push(format!("{key}={}", value.as_str()?));
    }
    for expression in selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
    {
        terms.push(expression_to_query(expression)?);
    }
    (!terms.is_empty()).then(|| terms.join(","))
}

fn expression_to_query(expression: &Value) -> Option<String> {
    let key = expression["key"].as_str()?;
    let values = || -> Option<String> {
        let values: Option<Vec<&str>> = expression["values"]
            .as_array()?
            .iter()
            .map(Value::as_str)
            .collect();
        Some(values?.join(","))
    };
    match expression["operator"].as_str()? {
        "In" => Some(format!("{key} in ({})", values()?)),
        "NotIn" => Some(format!("{key} notin ({})", values()?)),
        "Exists" => Some(key.to_owned()),
        "DoesNotExist" => Some(format!("!{key}")),
        _ => None,
    }
}

/// The label selector of the EndpointSlices of these services. `None` when there are none.
pub(crate) fn of_services(services: &[String]) -> Option<String> {
    const LABEL: &str = "kubernetes.io/service-name";
    match services {
        [] => None,
        [one] => Some(format!("{LABEL}={one}")),
        many => Some(format!("{LABEL} in ({})", many.join(","))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_and_expressions_become_one_query() {
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["a", "b"]},
                {"key": "canary", "operator": "DoesNotExist"},
                {"key": "zone", "operator": "Exists"},
                {"key": "track", "operator": "NotIn", "values": ["dev"]},
            ]
        });
        assert_eq!(
            to_query(&selector).as_deref(),
            Some("app=web,tier in (a,b),!canary,zone,track notin (dev)")
        );
    }

    #[test]
    fn empty_or_unknown_selectors_are_none() {
        assert_eq!(to_query(&json!({})), None);
        let odd = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
        assert_eq!(to_query(&odd), None);
    }
}
