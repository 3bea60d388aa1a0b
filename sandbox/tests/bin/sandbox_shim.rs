//! The hidden subcommands alone, for the tests of this crate, and `hold POD.json`: runs one pod until it is killed.

use std::process::ExitCode;

use rollscope_sandbox::kubelet::{Kubelet, KubeletConfig};
use rollscope_sandbox::logs::LogStore;
use rollscope_sandbox::{Kind, Store};

fn main() -> ExitCode {
    if let Some(code) = rollscope_sandbox::process::hidden_main(std::env::args_os()) {
        return code;
    }
    match hold() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Runs the pod, and writes the kubelet's warnings and the pod's status to `POD.json.status` once it is ready.
#[tokio::main(flavor = "current_thread")]
async fn hold() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(2).ok_or("hold POD.json")?;
    let pod: serde_json::Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    let store = Store::new();
    let kubelet = Kubelet::start(KubeletConfig {
        store: store.clone(),
        logs: LogStore::new(),
        program: std::env::current_exe()?,
        node_name: "node1".to_owned(),
        working_dir: "/".into(),
        seed: 1,
    })?;
    let mut watch = store.watch(Kind::Pod, 0);
    store.create(Kind::Pod, pod)?;
    loop {
        let change = watch.next().await?;
        if change.object["status"]["containerStatuses"][0]["ready"] == true {
            let told = serde_json::json!({"warnings": kubelet.warnings(), "pod": *change.object});
            std::fs::write(format!("{path}.new"), told.to_string())?;
            std::fs::rename(format!("{path}.new"), format!("{path}.status"))?;
        }
    }
}
