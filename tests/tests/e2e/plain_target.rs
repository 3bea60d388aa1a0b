//! Target `none`: any deploy command against any URL.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use rollscope_tests::Workdir;

use super::PROGRAM;

/// A server that answers until `/deploy` is asked for; the next ten requests get a FIN instead of an answer.
struct Server {
    address: String,
    cut: Arc<AtomicU64>,
    authorised: Arc<AtomicBool>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (to_cut, cut) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let authorised = Arc::new(AtomicBool::new(false));
        let server = Self {
            address,
            cut: Arc::clone(&cut),
            authorised: Arc::clone(&authorised),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (to_cut, cut) = (Arc::clone(&to_cut), Arc::clone(&cut));
                let authorised = Arc::clone(&authorised);
                std::thread::spawn(move || {
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    let mut out = stream;
                    while let Some(Ok(request)) = lines.next() {
                        let headers: Vec<_> = lines
                            .by_ref()
                            .map_while(Result::ok)
                            .take_while(|l| !l.is_empty())
                            .collect();
                        if headers
                            .iter()
                            .any(|h| h == "authorization: Bearer sesame-1234")
                        {
                            authorised.store(true, SeqCst);
                        }
                        if request.starts_with("GET /deploy") {
                            to_cut.store(10, SeqCst);
                        } else if to_cut
                            .fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1))
                            .is_ok()
                        {
                            cut.fetch_add(1, SeqCst);
                            let _ = out.shutdown(Shutdown::Both);
                            return;
                        }
                        if out
                            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                            .is_err()
                        {
                            return;
                        }
                    }
                });
            }
        });
        server
    }

    /// A shell command that asks for `/deploy`, without any program beside the shell's host.
    fn deploy_command(&self) -> String {
        let (host, port) = self.address.split_once(':').unwrap();
        format!(
            "bash -c 'exec 3<>/dev/tcp/{host}/{port}; printf \"GET /deploy HTTP/1.1\\r\\n\\r\\n\" >&3; head -n 1 <&3; echo deployed'"
        )
    }
}

#[test]
fn any_deploy_command_is_tested_against_any_url() {
    let server = Server::start();
    let workdir = Workdir::new(PROGRAM);
    workdir.write(
        "scenario.yaml",
        &format!(
            r#"
name: any-deploy
target: {{ none: {{}} }}
load:
  base_url: http://{}
  rate: 100/s
  deadline: 2s
  requests:
    - {{ name: home, get: /, headers: {{ authorization: {{ env: TEST_TOKEN }} }}, connections: reused }}
stages:
  - warmup: 2s
  - exec: {}
    complete_within: 20s
  - settle: 2s
"#,
            server.address,
            serde_json::Value::from(server.deploy_command())
        ),
    );
    let mut command = workdir.command(&["run", "scenario.yaml", "--out", "out"]);
    let output = command
        .env("TEST_TOKEN", "Bearer sesame-1234")
        .output()
        .unwrap();
    let run = workdir.finished(output);
    run.expect_exit(1);
    let report = run.report();
    assert_eq!(
        report["requests"]["failed"].as_u64().unwrap(),
        server.cut.load(SeqCst)
    );
    assert_eq!(server.cut.load(SeqCst), 10);
    assert!(
        server.authorised.load(SeqCst),
        "the header's value came from the environment"
    );
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("pod"),
        "the report says that pods could not be observed: {notes}"
    );
    let burst = &report["bursts"][0];
    assert_eq!(burst["pods"].as_array().unwrap().len(), 0);
    assert!(
        burst["summary"].as_str().unwrap().contains("exec"),
        "{burst}"
    );
    let recording = run.recording();
    assert!(
        recording.logs.iter().any(|l| l.line == "deployed"),
        "{:?}",
        recording.logs
    );
    for entry in std::fs::read_dir(run.recording_dir()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let leaked = bytes.windows(11).any(|w| w == b"sesame-1234");
        assert!(!leaked, "a secret is in the recording");
    }
}

#[test]
fn a_scenario_can_be_made_of_flags() {
    let server = Server::start();
    let workdir = Workdir::new(PROGRAM);
    let url = format!("http://{}/health", server.address);
    let run = workdir.rollscope(&[
        "run", "--url", &url, "--rate", "50/s", "--exec", "true", "--warmup", "1s", "--settle",
        "1s", "--out", "out",
    ]);
    run.expect_exit(0);
    assert_eq!(run.report()["requests"]["failed"], 0);
}

#[test]
fn a_deploy_command_that_fails_makes_the_run_invalid() {
    let server = Server::start();
    let workdir = Workdir::new(PROGRAM);
    let url = format!("http://{}/", server.address);
    let run = workdir.rollscope(&[
        "run",
        "--url",
        &url,
        "--rate",
        "50/s",
        "--exec",
        "echo no luck >&2; exit 7",
        "--warmup",
        "1s",
        "--settle",
        "1s",
        "--out",
        "out",
    ]);
    run.expect_exit(3);
    let reasons = run.report()["verdict"]["reasons"].to_string();
    assert!(reasons.contains('7'), "{reasons}");
}
