//! The hidden subcommands alone, for the tests of this crate, and what they need of a program: `hold POD.json` runs one
//! pod until it is killed; `serve` is a small HTTP server on POD_IP:PORT; `connect` tries to reach it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;

use rollscope_sandbox::kubelet::{Kubelet, KubeletConfig};
use rollscope_sandbox::logs::LogStore;
use rollscope_sandbox::{Kind, Store};

fn main() -> ExitCode {
    if let Some(code) = rollscope_sandbox::process::hidden_main(std::env::args_os()) {
        return code;
    }
    let done = match std::env::args().nth(1).as_deref() {
        Some("serve") => serve(),
        Some("connect") => connect(),
        _ => hold(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

fn address() -> Result<String, Box<dyn std::error::Error>> {
    Ok(format!(
        "{}:{}",
        std::env::var("POD_IP")?,
        std::env::var("PORT")?
    ))
}

fn connect() -> Done {
    TcpStream::connect(address()?)?;
    Ok(())
}

/// Answers 200 to everything and logs the path; once `/stop` was asked for, `/ready` gets 503.
fn serve() -> Done {
    let mut stopping = false;
    for client in TcpListener::bind(address()?)?.incoming() {
        let mut client = client?;
        let mut request = Vec::new();
        let mut head = BufReader::new(&client).split(b'\n');
        if let Some(line) = head.next() {
            request = line?;
        }
        let _ = head.by_ref().map_while(Result::ok).find(|l| l.len() <= 1);
        let request = String::from_utf8_lossy(&request);
        let path = request.split(' ').nth(1).unwrap_or_default();
        writeln!(std::io::stdout(), "{path}")?;
        stopping |= path == "/stop";
        let status = if stopping && path == "/ready" {
            "503 Unavailable"
        } else {
            "200 OK"
        };
        let _ = write!(
            client,
            "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
    }
    Ok(())
}

/// Runs the pod, and writes the kubelet's warnings and the pod's status to `POD.json.status` once it is ready.
#[tokio::main(flavor = "current_thread")]
async fn hold() -> Done {
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
        inherit_env: false,
        link_program: true,
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
