//! Fills in the fields that an API server fills in.

use serde_json::{Map, Value, json};

use crate::Kind;

/// Fills the defaults of an object of `kind`.
pub(crate) fn fill(kind: Kind, object: &mut Value) {
    match kind {
        Kind::Deployment => deployment(object),
        Kind::ReplicaSet => {
            set(&mut object["spec"], "replicas", json!(1));
            pod_spec(&mut object["spec"]["template"]["spec"]);
        }
        Kind::Pod => pod_spec(&mut object["spec"]),
        Kind::Service => service(object),
        _ => (),
    }
}

fn deployment(object: &mut Value) {
    let spec = &mut object["spec"];
    set(spec, "replicas", json!(1));
    set(spec, "revisionHistoryLimit", json!(10));
    set(spec, "progressDeadlineSeconds", json!(600));
    set(spec, "strategy", json!({}));
    let strategy = &mut spec["strategy"];
    set(strategy, "type", json!("RollingUpdate"));
    if strategy["type"] == "RollingUpdate" {
        set(strategy, "rollingUpdate", json!({}));
        set(&mut strategy["rollingUpdate"], "maxSurge", json!("25%"));
        set(
            &mut strategy["rollingUpdate"],
            "maxUnavailable",
            json!("25%"),
        );
    }
    pod_spec(&mut spec["template"]["spec"]);
}

fn pod_spec(spec: &mut Value) {
    set(spec, "restartPolicy", json!("Always"));
    set(spec, "terminationGracePeriodSeconds", json!(30));
    set(spec, "dnsPolicy", json!("ClusterFirst"));
    set(spec, "securityContext", json!({}));
    set(spec, "schedulerName", json!("default-scheduler"));
    for list in ["initContainers", "containers"] {
        items(spec, list).for_each(container);
    }
}

fn container(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let tag = image.rsplit('/').next().and_then(|n| n.split_once(':'));
    let latest =
        !image.is_empty() && !image.contains('@') && tag.is_none_or(|(_, t)| t == "latest");
    let policy = if latest { "Always" } else { "IfNotPresent" };
    set(container, "imagePullPolicy", json!(policy));
    set(container, "resources", json!({}));
    set(
        container,
        "terminationMessagePath",
        json!("/dev/termination-log"),
    );
    set(container, "terminationMessagePolicy", json!("File"));
    items(container, "ports").for_each(|port| set(port, "protocol", json!("TCP")));
    for env in items(container, "env") {
        if let Some(field) = object_at(env, "/valueFrom/fieldRef") {
            set(field, "apiVersion", json!("v1"));
        }
    }
    for name in ["/livenessProbe", "/readinessProbe", "/startupProbe"] {
        if let Some(found) = object_at(container, name) {
            probe(found);
        }
    }
    for hook in ["/lifecycle/preStop/httpGet", "/lifecycle/postStart/httpGet"] {
        http_get(container, hook);
    }
}

fn probe(probe: &mut Value) {
    set(probe, "timeoutSeconds", json!(1));
    set(probe, "periodSeconds", json!(10));
    set(probe, "successThreshold", json!(1));
    set(probe, "failureThreshold", json!(3));
    http_get(probe, "/httpGet");
}

fn http_get(owner: &mut Value, pointer: &str) {
    if let Some(action) = object_at(owner, pointer) {
        set(action, "path", json!("/"));
        set(action, "scheme", json!("HTTP"));
    }
}

fn service(object: &mut Value) {
    let spec = &mut object["spec"];
    set(spec, "type", json!("ClusterIP"));
    set(spec, "sessionAffinity", json!("None"));
    set(spec, "internalTrafficPolicy", json!("Cluster"));
    set(spec, "ipFamilies", json!(["IPv4"]));
    set(spec, "ipFamilyPolicy", json!("SingleStack"));
    for port in items(spec, "ports") {
        set(port, "protocol", json!("TCP"));
        let number = port["port"].clone();
        set(port, "targetPort", number);
    }
}

fn items<'a>(object: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    let list = object.get_mut(list).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

fn object_at<'a>(object: &'a mut Value, pointer: &str) -> Option<&'a mut Value> {
    object.pointer_mut(pointer).filter(|v| v.is_object())
}

fn set(object: &mut Value, field: &str, default: Value) {
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    if object[field].is_null() {
        object[field] = default;
    }
}
