//! A workload and what goes with it, read once.

use kube::api::{GetParams, ListParams};
use serde_json::Value;

use crate::error::Purpose;
use crate::resource::built;
use crate::{ApiServer, CollectorError};

/// A kind of objects in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ApiKind {
    kind: &'static str,
    plural: &'static str,
    version: &'static str,
}

/// Kinds of workloads, by what they are called on a command line.
const WORKLOADS: &[(&[&str], ApiKind)] = &[
    (
        &["deployment", "deployments", "deploy"],
        api("Deployment", "deployments", "apps/v1"),
    ),
    (
        &["statefulset", "statefulsets", "sts"],
        api("StatefulSet", "statefulsets", "apps/v1"),
    ),
    (
        &["daemonset", "daemonsets", "ds"],
        api("DaemonSet", "daemonsets", "apps/v1"),
    ),
    (&["pod", "pods", "po"], api("Pod", "pods", "v1")),
    (&["job", "jobs"], api("Job", "jobs", "batch/v1")),
    (
        &["cronjob", "cronjobs", "cj"],
        api("CronJob", "cronjobs", "batch/v1"),
    ),
    (
        &["rollout", "rollouts"],
        api("Rollout", "rollouts", "argoproj.io/v1alpha1"),
    ),
];

/// What is joined to a workload.
const JOINED: &[ApiKind] = &[
    api("Service", "services", "v1"),
    api("PodDisruptionBudget", "poddisruptionbudgets", "policy/v1"),
    api(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "autoscaling/v2",
    ),
    api("Ingress", "ingresses", "networking.k8s.io/v1"),
];

const fn api(kind: &'static str, plural: &'static str, version: &'static str) -> ApiKind {
    ApiKind {
        kind,
        plural,
        version,
    }
}

impl ApiKind {
    fn path(self, namespace: &str) -> String {
        let root = if self.version.contains('/') {
            "apis"
        } else {
            "api"
        };
        format!(
            "/{root}/{}/namespaces/{namespace}/{}",
            self.version, self.plural
        )
    }
}

/// A workload by kind and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadName {
    kind: ApiKind,
    name: String,
}

impl WorkloadName {
    /// Reads `deployment/checkout`; `None` for anything that is not a known kind, a slash and a name.
    pub fn read(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once('/')?;
        let kind = kind.to_ascii_lowercase();
        let known = WORKLOADS
            .iter()
            .find(|(words, _)| words.contains(&kind.as_str()))?;
        let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
        (!name.is_empty() && name.bytes().all(good)).then(|| Self {
            kind: known.1,
            name: name.to_owned(),
        })
    }
}

/// A workload and what goes with it, as the API server has them.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveObjects {
    /// The workload first, then Services, disruption budgets, autoscalers and Ingresses of its namespace.
    pub objects: Vec<Value>,
    /// What could not be listed, in words.
    pub notes: Vec<String>,
}

const PHASE: &str = "reading the workload";

/// Reads a workload and what may be joined to it in its namespace. Nothing is written. A list that is not allowed, or
/// that the server does not have, becomes a note.
///
/// # Errors
///
/// A [`CollectorError`] when the server cannot be reached, refuses the workload, or does not have it.
pub async fn read_workload(
    api: &ApiServer,
    namespace: &str,
    workload: &WorkloadName,
) -> Result<LiveObjects, CollectorError> {
    let WorkloadName { kind, name } = workload;
    let request = kube::core::Request::new(kind.path(namespace)).get(name, &GetParams::default());
    let purpose = |kind: ApiKind, verb, name: Option<&str>| Purpose {
        phase: PHASE,
        server: api.name().to_owned(),
        verb,
        resource: kind.plural,
        name: name.map(str::to_owned),
        namespace: namespace.to_owned(),
    };
    let answer = async { api.json(built(request)?).await }.await;
    let object = answer.map_err(|f| purpose(*kind, "get", Some(name)).failed(f))?;
    let mut found = LiveObjects {
        objects: vec![typed(object, *kind)],
        notes: Vec::new(),
    };
    for kind in JOINED {
        let request = kube::core::Request::new(kind.path(namespace)).list(&ListParams::default());
        let answer = async { api.json(built(request)?).await }.await;
        match answer {
            Ok(mut list) => {
                let items = list["items"].as_array_mut().map(std::mem::take);
                found.objects.extend(items.into_iter().flatten().map(|item| typed(item, *kind)));
            }
            Err(failure) if matches!(failure.code(), Some(403 | 404)) => found.notes.push(format!(
                "{} of namespace {namespace} could not be listed, and what depends on them was not checked: {failure}",
                kind.plural
            )),
            Err(failure) => return Err(purpose(*kind, "list", None).failed(failure)),
        }
    }
    Ok(found)
}

/// The object with its kind, which the items of a list do not say.
fn typed(mut object: Value, kind: ApiKind) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.insert("kind".to_owned(), kind.kind.into());
        map.insert("apiVersion".to_owned(), kind.version.into());
    }
    object
}
