//! Clients for API servers: at a plain URL, or in a context of a kubeconfig.

use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::{ApiServer, CollectorError};

/// A client for the API server at `url` (`http://127.0.0.1:8001`), without a kubeconfig or credentials. Nothing is
/// sent yet. Failed requests are not retried behind our back.
///
/// # Errors
///
/// [`CollectorError::Url`] when `url` is not an `http` or `https` URL with a host. Must be called within a tokio runtime.
pub fn connect(url: &str) -> Result<ApiServer, CollectorError> {
    let bad = |why: String| CollectorError::Url {
        url: url.to_owned(),
        why,
    };
    let uri: http::Uri = url
        .parse()
        .map_err(|e: http::uri::InvalidUri| bad(e.to_string()))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(bad("the scheme is neither http nor https".to_owned()));
    }
    if uri.host().unwrap_or_default().is_empty() {
        return Err(bad("it names no host".to_owned()));
    }
    let config = Config::new(uri);
    let client = client(config).map_err(|e| bad(e.to_string()))?;
    Ok(ApiServer::new(client, url))
}

/// A client for a context of a kubeconfig, and that context's namespace. Without `file` the kubeconfig is found as
/// kubectl finds it; without `context` it is the current one. In a pod without a kubeconfig it is that of its service
/// account. Nothing is sent yet. Failed requests are not retried.
///
/// # Errors
///
/// [`CollectorError::Kubeconfig`] when there is no such file or context, or when it cannot be used. Must be called
/// within a tokio runtime.
pub async fn connect_context(
    file: Option<&Path>,
    context: Option<&str>,
) -> Result<(ApiServer, String), CollectorError> {
    let bad = |error: &dyn std::error::Error| CollectorError::Kubeconfig {
        why: error.to_string(),
    };
    let kubeconfig = match read(file) {
        Err(_) if file.is_none() && context.is_none_or(|c| c == IN_CLUSTER) && in_pod() => {
            let config = Config::incluster().map_err(|e| bad(&e))?;
            let namespace = config.default_namespace.clone();
            let client = client(config).map_err(|e| bad(&e))?;
            return Ok((ApiServer::new(client, IN_CLUSTER), namespace));
        }
        kubeconfig => kubeconfig?,
    };
    let name = context
        .map(str::to_owned)
        .or_else(|| kubeconfig.current_context.clone());
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let config = config.map_err(|e| bad(&e))?;
    let namespace = config.default_namespace.clone();
    let client = client(config).map_err(|e| bad(&e))?;
    let name = name.unwrap_or_else(|| "the current context".to_owned());
    Ok((ApiServer::new(client, name), namespace))
}

/// What the service account of a pod is called, where there is no kubeconfig.
pub const IN_CLUSTER: &str = "in-cluster";

/// The context that [`connect_context`] would use, without a client for it: the one that is named, the current one of the
/// kubeconfig, or [`IN_CLUSTER`] in a pod that has no kubeconfig.
///
/// # Errors
///
/// [`CollectorError::Kubeconfig`] when there is no kubeconfig, or it names no context.
pub fn context_name(file: Option<&Path>, context: Option<&str>) -> Result<String, CollectorError> {
    if let Some(context) = context {
        return Ok(context.to_owned());
    }
    match read(file) {
        Ok(kubeconfig) => kubeconfig
            .current_context
            .ok_or(CollectorError::Kubeconfig {
                why: "the kubeconfig has no current context: name one with --context".to_owned(),
            }),
        Err(_) if file.is_none() && in_pod() => Ok(IN_CLUSTER.to_owned()),
        Err(error) => Err(error),
    }
}

fn read(file: Option<&Path>) -> Result<Kubeconfig, CollectorError> {
    let kubeconfig = match file {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    kubeconfig.map_err(|e| CollectorError::Kubeconfig { why: e.to_string() })
}

/// Whether this runs in a pod of a cluster.
fn in_pod() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

/// A client that sends each request once.
fn client(mut config: Config) -> Result<Client, kube::Error> {
    config.default_retry = false;
    config.connect_timeout = Some(std::time::Duration::from_secs(5));
    Client::try_from(config)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn url_without_scheme_is_refused_with_the_expected_form() {
        let message = connect("127.0.0.1:8001").unwrap_err().to_string();
        assert!(message.contains("127.0.0.1:8001"), "{message}");
        assert!(message.contains("expected http://HOST:PORT"), "{message}");
    }

    #[tokio::test]
    async fn loopback_url_is_accepted_without_a_kubeconfig() {
        assert_eq!(
            connect("http://127.0.0.1:8001").unwrap().name(),
            "http://127.0.0.1:8001"
        );
    }
}
