//! A client for a plain API URL.

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
    let mut config = Config::new(uri);
    config.default_retry = false;
    config.connect_timeout = Some(std::time::Duration::from_secs(5));
    let client = Client::try_from(config).map_err(|e| bad(e.to_string()))?;
    Ok(ApiServer::new(client, url))
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
