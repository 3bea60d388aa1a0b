//! tmp
#![allow(missing_docs, clippy::unwrap_used)]
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use rollscope_sandbox::{Sandbox, SandboxConfig};
use rollscope_scenarios::{DurationRange, FrontEnd, SandboxTarget};

#[tokio::test]
async fn dump() {
    let dir = PathBuf::from("/tmp/sbx-dump");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let target = SandboxTarget { manifest: "/tmp/dump.yaml".into(), front_end: FrontEnd::L4, endpoint_lag: DurationRange { min: Duration::ZERO, max: Duration::ZERO }, seed: 7 };
    let s = Sandbox::start(SandboxConfig::new(target, PathBuf::from(env!("CARGO_BIN_EXE_sandbox-shim")))).await.unwrap();
    s.wait_available(Duration::from_secs(30)).await.unwrap();
    let addr = s.api_url().trim_start_matches("http://").to_owned();
    for (name, path) in [("pods", "/api/v1/namespaces/shop/pods"), ("events", "/api/v1/namespaces/shop/events"), ("replicasets", "/apis/apps/v1/namespaces/shop/replicasets"), ("deployments", "/apis/apps/v1/namespaces/shop/deployments"), ("endpointslices", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"), ("node", "/api/v1/nodes")] {
        let mut c = TcpStream::connect(&addr).unwrap();
        write!(c, "GET {path}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let f = dir.join(format!("{name}.watch"));
        std::thread::spawn(move || {
            let mut out = std::fs::File::create(f).unwrap();
            for l in BufReader::new(c).lines() {
                let Ok(l) = l else { return };
                if l.starts_with('{') { writeln!(out, "{} {l}", SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos()).unwrap(); }
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let ok = std::process::Command::new("kubectl").args(["--server", s.api_url(), "-n", "shop", "rollout", "restart", "deployment/web"]).env("KUBECONFIG", "/dev/null").status().unwrap();
    assert!(ok.success());
    tokio::time::sleep(Duration::from_secs(14)).await;
    s.stop().await;
}
