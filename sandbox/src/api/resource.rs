//! The resources that the API serves.

use crate::Kind;

/// One resource.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) kind: Kind,
    /// The name in paths.
    pub(super) plural: &'static str,
    pub(super) singular: &'static str,
    pub(super) short: &'static [&'static str],
    /// The API group; empty for the core.
    pub(super) group: &'static str,
    pub(super) namespaced: bool,
    /// Whether `kubectl get all` shows it.
    pub(super) in_all: bool,
    /// Subresources, with the group, version and kind of what they serve.
    pub(super) subresources: &'static [Subresource],
}

/// One subresource.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Subresource {
    pub(super) name: &'static str,
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) verbs: &'static [&'static str],
}

const STATUS_VERBS: &[&str] = &["get", "patch", "update"];

const fn status(group: &'static str, kind: &'static str) -> Subresource {
    Subresource {
        name: "status",
        group,
        version: "v1",
        kind,
        verbs: STATUS_VERBS,
    }
}

const SCALE: Subresource = Subresource {
    name: "scale",
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    verbs: STATUS_VERBS,
};

/// All resources.
pub(super) const RESOURCES: [Resource; 8] = [
    Resource {
        kind: Kind::Pod,
        plural: "pods",
        singular: "pod",
        short: &["po"],
        group: "",
        namespaced: true,
        in_all: true,
        subresources: &[
            Subresource {
                name: "log",
                group: "",
                version: "v1",
                kind: "Pod",
                verbs: &["get"],
            },
            Subresource {
                name: "eviction",
                group: "policy",
                version: "v1",
                kind: "Eviction",
                verbs: &["create"],
            },
            status("", "Pod"),
        ],
    },
    Resource {
        kind: Kind::ReplicaSet,
        plural: "replicasets",
        singular: "replicaset",
        short: &["rs"],
        group: "apps",
        namespaced: true,
        in_all: true,
        subresources: &[SCALE, status("apps", "ReplicaSet")],
    },
    Resource {
        kind: Kind::Deployment,
        plural: "deployments",
        singular: "deployment",
        short: &["deploy"],
        group: "apps",
        namespaced: true,
        in_all: true,
        subresources: &[SCALE, status("apps", "Deployment")],
    },
    Resource {
        kind: Kind::EndpointSlice,
        plural: "endpointslices",
        singular: "endpointslice",
        short: &[],
        group: "discovery.k8s.io",
        namespaced: true,
        in_all: false,
        subresources: &[],
    },
    Resource {
        kind: Kind::Service,
        plural: "services",
        singular: "service",
        short: &["svc"],
        group: "",
        namespaced: true,
        in_all: true,
        subresources: &[status("", "Service")],
    },
    Resource {
        kind: Kind::Event,
        plural: "events",
        singular: "event",
        short: &["ev"],
        group: "",
        namespaced: true,
        in_all: false,
        subresources: &[],
    },
    Resource {
        kind: Kind::Node,
        plural: "nodes",
        singular: "node",
        short: &["no"],
        group: "",
        namespaced: false,
        in_all: false,
        subresources: &[status("", "Node")],
    },
    Resource {
        kind: Kind::Namespace,
        plural: "namespaces",
        singular: "namespace",
        short: &["ns"],
        group: "",
        namespaced: false,
        in_all: false,
        subresources: &[],
    },
];

/// The API groups beside the core.
pub(super) const GROUPS: [&str; 2] = ["apps", "discovery.k8s.io"];

impl Resource {
    /// The resource of a group by its name in paths.
    pub(super) fn find(group: &str, plural: &str) -> Option<&'static Self> {
        RESOURCES
            .iter()
            .find(|r| r.group == group && r.plural == plural)
    }

    /// `pods`, `deployments.apps`: as error messages name it.
    pub(super) fn qualified(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }
}
