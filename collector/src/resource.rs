//! Where the watched kinds live in the API.

use http::Request;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Resource as _;
use kube::api::{GetParams, ListParams, WatchParams};
use rollscope_records::ObjectKind;

use crate::ApiFailure;

/// The objects of one kind that a run watches.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// Their kind.
    pub(crate) kind: ObjectKind,
    /// The collection's path.
    path: String,
    labels: Option<String>,
    fields: Option<String>,
}

/// The kind's name in paths and roles.
pub(crate) const fn plural(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Pod => "pods",
        ObjectKind::ReplicaSet => "replicasets",
        ObjectKind::Deployment => "deployments",
        ObjectKind::EndpointSlice => "endpointslices",
        ObjectKind::Event => "events",
        ObjectKind::Node => "nodes",
    }
}

impl Resource {
    /// All objects of a kind in a namespace (nodes have none).
    pub(crate) fn new(kind: ObjectKind, namespace: &str) -> Self {
        let ns = Some(namespace);
        let path = match kind {
            ObjectKind::Pod => Pod::url_path(&(), ns),
            ObjectKind::ReplicaSet => ReplicaSet::url_path(&(), ns),
            ObjectKind::Deployment => Deployment::url_path(&(), ns),
            ObjectKind::EndpointSlice => EndpointSlice::url_path(&(), ns),
            ObjectKind::Event => Event::url_path(&(), ns),
            ObjectKind::Node => Node::url_path(&(), None),
        };
        Self {
            kind,
            path,
            labels: None,
            fields: None,
        }
    }

    /// Only those with these labels.
    pub(crate) fn labelled(mut self, selector: String) -> Self {
        self.labels = Some(selector);
        self
    }

    /// Only the one of this name.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.fields = Some(format!("metadata.name={name}"));
        self
    }

    /// The collection's path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// A request for all of them.
    pub(crate) fn list(&self) -> Result<Request<Vec<u8>>, ApiFailure> {
        let params = ListParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            ..ListParams::default()
        };
        built(self.request().list(&params))
    }

    /// A request for one of them.
    pub(crate) fn get(&self, name: &str) -> Result<Request<Vec<u8>>, ApiFailure> {
        built(self.request().get(name, &GetParams::default()))
    }

    /// A request for a watch from `version` on that the server ends after `seconds`.
    pub(crate) fn watch(
        &self,
        version: &str,
        seconds: u32,
    ) -> Result<Request<Vec<u8>>, ApiFailure> {
        let params = WatchParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            timeout: Some(seconds),
            bookmarks: true,
            send_initial_events: false,
        };
        built(self.request().watch(&params, version))
    }

    fn request(&self) -> kube::core::Request {
        kube::core::Request::new(self.path.clone())
    }
}

/// The request, or why there is none.
pub(crate) fn built(
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<Request<Vec<u8>>, ApiFailure> {
    request.map_err(|e| ApiFailure::Request(e.to_string()))
}
