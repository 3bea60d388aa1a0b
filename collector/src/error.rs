//! What can stop a collector, with what to do about it.

use crate::ApiFailure;

/// Why the cluster cannot be observed or changed. Each message names the phase, what failed, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectorError {
    /// The API server's URL is not one.
    #[error(
        "the API server's URL {url:?} cannot be used: {why}; expected http://HOST:PORT or https://HOST:PORT"
    )]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The kubeconfig cannot be used.
    #[error(
        "the kubeconfig cannot be used: {why}; name the file with --kubeconfig or KUBECONFIG, and one of its contexts with --context"
    )]
    Kubeconfig {
        /// What is wrong with it.
        why: String,
    },
    /// No answer from the API server.
    #[error(
        "{phase}: no answer from the API server at {server}: {failure}; check that it runs, that the address is right and that nothing between blocks it"
    )]
    Unreachable {
        /// What was being done.
        phase: &'static str,
        /// The API server.
        server: String,
        /// What happened.
        failure: Box<ApiFailure>,
    },
    /// 401.
    #[error("{phase}: {server} does not know us: {message}; check the credentials in use")]
    Unauthorized {
        /// What was being done.
        phase: &'static str,
        /// The API server.
        server: String,
        /// The server's words.
        message: String,
    },
    /// 403.
    #[error(
        "{phase}: not allowed to {verb} {resource} in namespace {namespace} on {server}: {message}; grant this verb on {resource} by a Role and RoleBinding in {namespace}"
    )]
    Forbidden {
        /// What was being done.
        phase: &'static str,
        /// The API server.
        server: String,
        /// The verb that is missing.
        verb: &'static str,
        /// The resource, plural.
        resource: &'static str,
        /// The namespace.
        namespace: String,
        /// The server's words.
        message: String,
    },
    /// 404.
    #[error(
        "{phase}: {what} does not exist in namespace {namespace} on {server}; check the name and the namespace in the scenario's target"
    )]
    NotFound {
        /// What was being done.
        phase: &'static str,
        /// The API server.
        server: String,
        /// What was asked for.
        what: String,
        /// The namespace.
        namespace: String,
    },
    /// Any other refusal, or an answer that makes no sense.
    #[error("{phase}: {verb} {what} on {server} failed: {failure}")]
    Api {
        /// What was being done.
        phase: &'static str,
        /// The API server.
        server: String,
        /// The verb.
        verb: &'static str,
        /// What was asked for.
        what: String,
        /// What happened.
        failure: Box<ApiFailure>,
    },
    /// The workload is there, but not as it must be.
    #[error("{phase}: {what}: {why}")]
    Workload {
        /// What was being done.
        phase: &'static str,
        /// The object.
        what: String,
        /// What is wrong with it, and what to do.
        why: String,
    },
}

/// What a request was for: the words of its error.
#[derive(Debug, Clone)]
pub(crate) struct Purpose {
    /// What is being done, as the start of a sentence.
    pub(crate) phase: &'static str,
    /// The API server.
    pub(crate) server: String,
    /// The verb.
    pub(crate) verb: &'static str,
    /// The resource, plural.
    pub(crate) resource: &'static str,
    /// The object's name, where one was asked for.
    pub(crate) name: Option<String>,
    /// The namespace.
    pub(crate) namespace: String,
}

impl Purpose {
    /// The error for a request of this purpose that failed.
    pub(crate) fn failed(self, failure: ApiFailure) -> CollectorError {
        let what = match &self.name {
            Some(name) => format!("{}/{name}", self.resource),
            None => self.resource.to_owned(),
        };
        let Self {
            phase,
            server,
            verb,
            resource,
            namespace,
            ..
        } = self;
        match failure {
            ApiFailure::Unreachable(_) | ApiFailure::Timeout(_) => CollectorError::Unreachable {
                phase,
                server,
                failure: Box::new(failure),
            },
            ApiFailure::Status {
                code: 401, message, ..
            } => CollectorError::Unauthorized {
                phase,
                server,
                message,
            },
            ApiFailure::Status {
                code: 403, message, ..
            } => CollectorError::Forbidden {
                phase,
                server,
                verb,
                resource,
                namespace,
                message,
            },
            ApiFailure::Status { code: 404, .. } => CollectorError::NotFound {
                phase,
                server,
                what,
                namespace,
            },
            failure => CollectorError::Api {
                phase,
                server,
                verb,
                what,
                failure: Box::new(failure),
            },
        }
    }
}
