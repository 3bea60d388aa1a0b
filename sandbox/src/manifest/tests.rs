use super::*;

const GOOD: &str = "\
# A web server.
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
spec:
  selector: { app: web }
  ports:
    - { name: http, port: 80, targetPort: http }
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 3
  selector:
    matchLabels: { app: web }
  template:
    metadata:
      labels: { app: web }
    spec:
      containers:
        - name: web
          image: local/web:1
          command: [rollscope, subject]
          env:
            - name: POD
              valueFrom: { fieldRef: { fieldPath: metadata.name } }
          ports:
            - { name: http, containerPort: 3000 }
          readinessProbe:
            httpGet: { path: /healthz/ready, port: http }
            periodSeconds: 2
";

fn problems(text: &str) -> Vec<String> {
    let problems = Manifest::parse(text).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

/// The problems of the good manifest with one piece replaced.
fn changed(from: &str, to: &str) -> Vec<String> {
    assert!(GOOD.contains(from), "{from}");
    problems(&GOOD.replacen(from, to, 1))
}

#[test]
fn an_ordinary_manifest_gets_the_defaults_of_an_api_server() {
    let manifest = Manifest::parse(GOOD).unwrap();
    assert_eq!(manifest.namespace, "shop");
    assert_eq!(manifest.deployment_name(), "web");
    assert_eq!((manifest.services.len(), manifest.selecting), (1, 1));
    assert_eq!(manifest.warnings, Vec::<String>::new());
    let at = |pointer: &str| {
        manifest
            .deployment
            .pointer(pointer)
            .unwrap_or(&Value::Null)
            .clone()
    };
    let container = "/spec/template/spec/containers/0";
    for (pointer, expected) in [
        (
            "/spec/strategy/rollingUpdate/maxSurge".to_owned(),
            Value::from("25%"),
        ),
        ("/spec/revisionHistoryLimit".to_owned(), 10.into()),
        ("/spec/progressDeadlineSeconds".to_owned(), 600.into()),
        (
            "/spec/template/spec/restartPolicy".to_owned(),
            "Always".into(),
        ),
        (
            "/spec/template/spec/terminationGracePeriodSeconds".to_owned(),
            30.into(),
        ),
        (
            "/spec/template/spec/dnsPolicy".to_owned(),
            "ClusterFirst".into(),
        ),
        (format!("{container}/ports/0/protocol"), "TCP".into()),
        (
            format!("{container}/imagePullPolicy"),
            "IfNotPresent".into(),
        ),
        (
            format!("{container}/readinessProbe/periodSeconds"),
            2.into(),
        ),
        (
            format!("{container}/readinessProbe/failureThreshold"),
            3.into(),
        ),
        (
            format!("{container}/readinessProbe/httpGet/scheme"),
            "HTTP".into(),
        ),
        (
            format!("{container}/env/0/valueFrom/fieldRef/apiVersion"),
            "v1".into(),
        ),
        (format!("{container}/lifecycle"), Value::Null),
        ("/spec/template/spec/initContainers".to_owned(), Value::Null),
    ] {
        assert_eq!(at(&pointer), expected, "{pointer}");
    }
}

#[test]
fn the_namespace_is_default_unless_named() {
    let text = GOOD.replace("  namespace: shop\n", "");
    assert_eq!(Manifest::parse(&text).unwrap().namespace, "default");
}

#[test]
fn a_list_is_read_as_its_items() {
    let items: Vec<Value> = GOOD
        .split("---\n")
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    let read = Manifest::parse(&serde_json::to_string_pretty(&list).unwrap()).unwrap();
    assert_eq!(read, Manifest::parse(GOOD).unwrap());
}

#[test]
fn other_kinds_are_named_and_ignored() {
    let text = format!(
        "{GOOD}---\napiVersion: batch/v1\nkind: Job\nmetadata: {{ name: migrate }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: settings }}\n"
    );
    let manifest = Manifest::parse(&text).unwrap();
    assert_eq!(
        manifest.warnings,
        ["Job migrate (batch/v1) is ignored: the sandbox knows Deployment and Service"]
    );
}

#[test]
fn a_service_that_selects_nothing_is_a_warning_beside_one_that_does() {
    let other = "---\napiVersion: v1\nkind: Service\nmetadata: { name: other, namespace: shop }\nspec: { selector: { app: api }, ports: [{ port: 80 }] }\n";
    let manifest = Manifest::parse(&format!("{other}---\n{GOOD}")).unwrap();
    assert_eq!(manifest.services[0]["metadata"]["name"], "web");
    assert_eq!((manifest.services.len(), manifest.selecting), (2, 1));
    assert!(
        manifest.warnings[0].contains("other"),
        "{:?}",
        manifest.warnings
    );
}

#[test]
fn problems_name_their_line() {
    for (from, to, expected) in [
        ("replicas: 3", "replicas: many", "line 22: "),
        (
            "replicas: 3",
            "replicas: -1",
            "line 22: spec.replicas must not be negative",
        ),
        (
            "labels: { app: web }",
            "labels: { app: api }",
            "line 23: spec.selector does not match",
        ),
        (
            "command: [rollscope, subject]",
            "stdin: true",
            "line 29: container \"web\" has no command",
        ),
        (
            "periodSeconds: 2",
            "periodSecond: 2",
            "line 40: unknown field \"spec.template.spec.containers.0.readinessProbe.periodSecond\"",
        ),
        (
            "port: http }\n            period",
            "port: admin }\n            period",
            "readinessProbe names port \"admin\"",
        ),
        (
            "targetPort: http",
            "targetPort: admin",
            "line 13: Service web: targetPort \"admin\"",
        ),
        (
            "kind: Deployment",
            "kind: Deployment\nkind: Deployment",
            "line 18: ",
        ),
        (
            "apiVersion: apps/v1",
            "apiVersion: apps/v1beta1",
            "line 16: Deployment of apiVersion \"apps/v1beta1\"",
        ),
        (
            "  replicas: 3",
            "  strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } }",
            "line 22: maxSurge and maxUnavailable are both 0",
        ),
    ] {
        let found = changed(from, to);
        assert!(
            found.iter().any(|p| p.contains(expected)),
            "{to:?}: {found:#?}"
        );
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let text = GOOD
        .replace("command: [rollscope, subject]", "args: [a]")
        .replace("targetPort: http", "targetPort: x");
    assert_eq!(problems(&text).len(), 2);
}

#[test]
fn a_manifest_needs_one_deployment_and_a_service_for_it() {
    let documents: Vec<&str> = GOOD.split("---\n").collect();
    let found = problems(documents[1]);
    assert!(found[0].contains("no apps/v1 Deployment"), "{found:?}");
    let found = problems(documents[2]);
    assert!(found[0].contains("no v1 Service"), "{found:?}");
    let found = problems(&format!("{GOOD}---\n{}", documents[2]));
    assert!(
        found[0].starts_with("line 42: a second Deployment"),
        "{found:?}"
    );
    let found = changed("selector: { app: web }", "selector: { app: api }");
    assert!(found[0].contains("no Service selects"), "{found:?}");
    assert!(problems("")[0].contains("no apps/v1 Deployment"));
}

#[test]
fn broken_yaml_names_its_line_and_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yaml");
    std::fs::write(&file, "apiVersion: v1\nkind: [Service\nmetadata:\n").unwrap();
    let message = Manifest::read(&file).unwrap_err().to_string();
    assert!(
        message.contains("web.yaml") && message.contains("line "),
        "{message}"
    );
    let message = Manifest::read(&folder.path().join("none.yaml"))
        .unwrap_err()
        .to_string();
    assert!(message.contains("none.yaml"), "{message}");
}
