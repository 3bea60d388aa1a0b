//! Label and field selectors as query parameters write them.

use serde_json::Value;

use super::error::ApiError;
use super::query::Query;
use crate::Kind;

/// Which objects a request is about.
#[derive(Debug, Default, Clone)]
pub(super) struct Selector {
    labels: Vec<LabelTerm>,
    fields: Vec<FieldTerm>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LabelTerm {
    key: String,
    test: LabelTest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LabelTest {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Missing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldTerm {
    path: Vec<String>,
    value: String,
    equal: bool,
}

impl Selector {
    /// Reads `labelSelector` and `fieldSelector`.
    pub(super) fn parse(kind: Kind, query: &Query) -> Result<Self, ApiError> {
        let labels = label_terms(query.get("labelSelector").unwrap_or_default())?;
        let fields = query.get("fieldSelector").unwrap_or_default();
        let fields = fields
            .split(',')
            .filter(|t| !t.trim().is_empty())
            .map(|term| field_term(kind, term))
            .collect::<Result<_, _>>()?;
        Ok(Self { labels, fields })
    }

    /// Whether an object is meant.
    pub(super) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels.iter().all(|term| term.matches(labels))
            && self.fields.iter().all(|term| term.matches(object))
    }
}

impl LabelTerm {
    fn matches(&self, labels: &Value) -> bool {
        let label = labels[&self.key].as_str();
        match &self.test {
            LabelTest::In(values) => label.is_some_and(|l| values.iter().any(|v| v == l)),
            LabelTest::NotIn(values) => label.is_none_or(|l| values.iter().all(|v| v != l)),
            LabelTest::Exists => label.is_some(),
            LabelTest::Missing => label.is_none(),
        }
    }
}

impl FieldTerm {
    fn matches(&self, object: &Value) -> bool {
        let found = self.path.iter().fold(object, |value, key| &value[key]);
        (found.as_str().unwrap_or_default() == self.value) == self.equal
    }
}

/// Splits at commas outside of parentheses.
fn label_terms(text: &str) -> Result<Vec<LabelTerm>, ApiError> {
    let mut depth = 0_i32;
    let terms = text.split(|c| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    });
    let terms: Vec<&str> = terms.map(str::trim).filter(|t| !t.is_empty()).collect();
    terms.into_iter().map(label_term).collect()
}

fn label_term(term: &str) -> Result<LabelTerm, ApiError> {
    let broken =
        || ApiError::bad_request(format!("unable to parse the label selector term {term:?}"));
    let (key, test) = if let Some((key, value)) = term.split_once("!=") {
        (key, LabelTest::NotIn(vec![value.trim().to_owned()]))
    } else if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        (key, LabelTest::In(vec![value.trim().to_owned()]))
    } else if let Some((head, values)) = term.split_once('(') {
        let values = values.trim().strip_suffix(')').ok_or_else(broken)?;
        let values = values.split(',').map(|v| v.trim().to_owned()).collect();
        match head.trim().rsplit_once(char::is_whitespace) {
            Some((key, "in")) => (key, LabelTest::In(values)),
            Some((key, "notin")) => (key, LabelTest::NotIn(values)),
            _ => return Err(broken()),
        }
    } else if let Some(key) = term.strip_prefix('!') {
        (key, LabelTest::Missing)
    } else {
        (term, LabelTest::Exists)
    };
    let key = key.trim();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(broken());
    }
    Ok(LabelTerm {
        key: key.to_owned(),
        test,
    })
}

fn field_term(kind: Kind, term: &str) -> Result<FieldTerm, ApiError> {
    let (path, value, equal) = if let Some((path, value)) = term.split_once("!=") {
        (path, value, false)
    } else if let Some((path, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        (path, value, true)
    } else {
        return Err(ApiError::bad_request(format!(
            "invalid field selector term {term:?}: expected <field>=<value> or <field>!=<value>"
        )));
    };
    let path = path.trim();
    if !is_selectable(kind, path) {
        return Err(ApiError::bad_request(format!(
            "field label not supported: {path}"
        )));
    }
    let path = if path == "source" {
        "source.component"
    } else {
        path
    };
    Ok(FieldTerm {
        path: path.split('.').map(str::to_owned).collect(),
        value: value.trim().to_owned(),
        equal,
    })
}

fn is_selectable(kind: Kind, path: &str) -> bool {
    match path {
        "metadata.name" | "metadata.namespace" => true,
        "spec.nodeName"
        | "spec.restartPolicy"
        | "spec.schedulerName"
        | "spec.serviceAccountName"
        | "status.phase"
        | "status.podIP"
        | "status.nominatedNodeName" => kind == Kind::Pod,
        "status.replicas" => kind == Kind::ReplicaSet,
        "spec.unschedulable" => kind == Kind::Node,
        "reason" | "type" | "source" | "reportingComponent" => kind == Kind::Event,
        _ => kind == Kind::Event && path.starts_with("involvedObject."),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(kind: Kind, query: &str, object: &Value) -> bool {
        Selector::parse(kind, &Query::parse(Some(query)))
            .unwrap()
            .matches(object)
    }

    #[test]
    fn label_selectors_select() {
        let pod = json!({"metadata": {"name": "a", "labels": {"app": "web", "tier": "front"}}});
        for (selector, expected) in [
            ("app=web", true),
            ("app==web,tier=front", true),
            ("app=web,tier=back", false),
            ("app!=web", false),
            ("zone!=a", true),
            ("app in (web,api),tier", true),
            ("app in (api, db)", false),
            ("app notin (api)", true),
            ("!app", false),
            ("!zone", true),
            ("", true),
        ] {
            assert_eq!(
                selects(Kind::Pod, &format!("labelSelector={selector}"), &pod),
                expected,
                "{selector}"
            );
        }
    }

    #[test]
    fn field_selectors_select() {
        let event =
            json!({"metadata": {"name": "e"}, "involvedObject": {"name": "web-1", "kind": "Pod"}});
        assert!(selects(
            Kind::Event,
            "fieldSelector=involvedObject.name%3Dweb-1,involvedObject.kind=Pod",
            &event
        ));
        assert!(!selects(
            Kind::Event,
            "fieldSelector=involvedObject.name=web-2",
            &event
        ));
        let pod = json!({"metadata": {"name": "a"}, "status": {"phase": "Running"}});
        assert!(selects(
            Kind::Pod,
            "fieldSelector=status.phase!=Failed,metadata.name=a",
            &pod
        ));
        assert!(!selects(
            Kind::Pod,
            "fieldSelector=spec.nodeName=node1",
            &pod
        ));
        assert!(selects(Kind::Pod, "fieldSelector=spec.nodeName=", &pod));
    }

    #[test]
    fn what_cannot_be_selected_is_a_bad_request() {
        for (kind, query) in [
            (Kind::Pod, "fieldSelector=spec.colour=red"),
            (Kind::Service, "fieldSelector=status.phase=Running"),
            (Kind::Pod, "fieldSelector=nonsense"),
            (Kind::Pod, "labelSelector=app in (a"),
            (Kind::Pod, "labelSelector=a b"),
        ] {
            let error = Selector::parse(kind, &Query::parse(Some(query))).unwrap_err();
            assert_eq!(error.code, 400, "{query}");
        }
    }
}
