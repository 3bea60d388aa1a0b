//! What the user reads when the cluster cannot be observed.

use rollscope_collector::{ApiServer, Collector, CollectorError, connect};
use rollscope_records::RunClock;

use crate::standin::Standin;
use crate::world::{recorder, scope, standin};

async fn start(api: ApiServer) -> CollectorError {
    let clock = RunClock::start();
    let (recorder, _, _dir) = recorder(&clock);
    Collector::start(api, scope(), clock, recorder)
        .await
        .unwrap_err()
}

#[tokio::test]
async fn a_refused_connection_names_the_server_and_what_to_check() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let message = start(connect(&url).unwrap()).await.to_string();
    for part in [url.as_str(), "Connection refused", "check that it runs"] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_workload_that_does_not_exist_is_named_with_its_namespace() {
    let standin = Standin::start().await;
    let error = start(connect(&standin.url).unwrap()).await;
    assert!(matches!(error, CollectorError::NotFound { .. }));
    let message = error.to_string();
    for part in ["deployments/web", "namespace shop", "scenario's target"] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_forbidden_verb_is_named_with_the_role_to_grant() {
    let standin = standin().await;
    standin.down(Some(403));
    let error = start(connect(&standin.url).unwrap()).await;
    assert!(
        matches!(error, CollectorError::Forbidden { verb: "get", .. }),
        "{error:?}"
    );
    let message = error.to_string();
    for part in ["get deployments", "namespace shop", "Role and RoleBinding"] {
        assert!(message.contains(part), "{message}");
    }
}
