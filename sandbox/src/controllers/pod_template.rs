//! Names and pods made from a pod template.

use serde_json::{Value, json};

use super::object::{meta, owner_reference};

/// The letters of generated names: no vowels, nothing that looks like something else.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The `pod-template-hash` of a template; `collisions` tells apart templates whose hash is the same.
///
/// FNV-1a over the template's canonical JSON, its decimal digits written in the alphabet of generated names.
pub(super) fn template_hash(template: &Value, collisions: u64) -> String {
    let mut text = template.to_string();
    if collisions > 0 {
        text.push_str(&collisions.to_string());
    }
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash.to_string().bytes().map(safe_letter).collect()
}

fn safe_letter(byte: u8) -> char {
    char::from(ALPHABET[usize::from(byte) % ALPHABET.len()])
}

/// Five random letters, for `generateName`.
pub(crate) fn random_suffix() -> String {
    rand::random::<[u8; 5]>()
        .into_iter()
        .map(safe_letter)
        .collect()
}

/// A new pod of a ReplicaSet.
pub(super) fn pod_of(replica_set: &Value) -> Value {
    let template = &replica_set["spec"]["template"];
    let prefix = format!("{}-", meta(replica_set, "name"));
    let mut metadata = json!({
        "name": format!("{prefix}{}", random_suffix()),
        "generateName": prefix,
        "namespace": replica_set["metadata"]["namespace"],
        "labels": template["metadata"]["labels"],
        "ownerReferences": [owner_reference(replica_set)],
    });
    if let Some(annotations) = template["metadata"]["annotations"].as_object() {
        metadata["annotations"] = json!(annotations);
    }
    let mut spec = template["spec"].clone();
    admit(&mut spec);
    let qos = qos_class(&spec);
    json!({
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Pending", "qosClass": qos},
    })
}

/// What admission adds to every pod.
pub(crate) fn admit(spec: &mut Value) {
    let tolerate = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    for (field, value) in [
        ("serviceAccountName", json!("default")),
        ("serviceAccount", json!("default")),
        ("priority", json!(0)),
        ("enableServiceLinks", json!(true)),
        ("preemptionPolicy", json!("PreemptLowerPriority")),
        (
            "tolerations",
            json!([
                tolerate("node.kubernetes.io/not-ready"),
                tolerate("node.kubernetes.io/unreachable")
            ]),
        ),
    ] {
        if spec[field].is_null() {
            spec[field] = value;
        }
    }
}

/// The quality-of-service class that follows from the containers' resources.
pub(crate) fn qos_class(spec: &Value) -> &'static str {
    let containers = spec["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let asks = |c: &Value, what: &str| {
        c["resources"][what]
            .as_object()
            .is_some_and(|r| !r.is_empty())
    };
    if !containers
        .iter()
        .any(|c| asks(c, "requests") || asks(c, "limits"))
    {
        return "BestEffort";
    }
    let guaranteed = containers.iter().all(|c| {
        ["cpu", "memory"].iter().all(|r| {
            let (limit, request) = (
                &c["resources"]["limits"][*r],
                &c["resources"]["requests"][*r],
            );
            !limit.is_null() && (request.is_null() || request == limit)
        })
    });
    if guaranteed {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_templates_have_equal_hashes_and_others_do_not() {
        let a = json!({"spec": {"x": 1, "y": 2}});
        let same = json!({"spec": {"y": 2, "x": 1}});
        let other = json!({"spec": {"x": 1, "y": 3}});
        assert_eq!(template_hash(&a, 0), template_hash(&same, 0));
        assert_ne!(template_hash(&a, 0), template_hash(&other, 0));
        assert_ne!(template_hash(&a, 0), template_hash(&a, 1));
        let hash = template_hash(&a, 0);
        assert!(hash.bytes().all(|b| ALPHABET.contains(&b)), "{hash}");
    }

    #[test]
    fn the_class_follows_from_requests_and_limits() {
        let with = |r: Value| json!({"containers": [{"resources": r}]});
        assert_eq!(qos_class(&with(json!({}))), "BestEffort");
        assert_eq!(
            qos_class(&with(json!({"requests": {"cpu": "1"}}))),
            "Burstable"
        );
        let full = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
        assert_eq!(qos_class(&with(full)), "Guaranteed");
    }
}
