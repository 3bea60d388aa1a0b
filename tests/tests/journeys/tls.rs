//! Users over TLS, on nginx, whose log says what it saw of them.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rcgen::generate_simple_self_signed;
use rollscope_records::{Outcome, Phase, RequestRecord};
use rollscope_tests::{Workdir, wait_until};

use super::walking::steps;
use super::{PROGRAM, scenario};

/// The name in the server's certificate, which no resolver knows.
const NAME: &str = "shop.example";

/// nginx that asks its clients for a certificate, in a folder that holds those of both sides.
struct Nginx {
    server: Child,
    port: u16,
}

impl Nginx {
    fn start(dir: &Path) -> Self {
        for (file, name) in [("server", NAME), ("client", "walker")] {
            let own = generate_simple_self_signed([name.to_owned()]).unwrap();
            fs::write(dir.join(format!("{file}.pem")), own.cert.pem()).unwrap();
            let key = own.signing_key.serialize_pem();
            fs::write(dir.join(format!("{file}.key")), key).unwrap();
        }
        let port = free_port();
        let dir = dir.display();
        let config = format!(
            "daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/error.log;
             events {{ worker_connections 256; }}
             http {{
               client_body_temp_path {dir}/b; proxy_temp_path {dir}/p; fastcgi_temp_path {dir}/f;
               uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;
               log_format seen '$request_uri $status $ssl_protocol $ssl_server_name $ssl_client_verify';
               access_log {dir}/access.log seen;
               server {{
                 listen 127.0.0.1:{port} ssl;
                 ssl_certificate {dir}/server.pem; ssl_certificate_key {dir}/server.key;
                 ssl_protocols TLSv1.3; ssl_client_certificate {dir}/client.pem; ssl_verify_client optional;
                 location / {{ return 200 'ok'; }}
               }}
             }}"
        );
        let file = format!("{dir}/nginx.conf");
        fs::write(&file, config).unwrap();
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        let server = Command::new("nginx")
            .args(["-c", &file, "-e", &format!("{dir}/error.log")])
            .env("PATH", path)
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx, from the package nginx-light");
        let listens = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        wait_until("nginx listens", Duration::from_secs(10), listens);
        Self { server, port }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}

/// What a run left behind, and the lines that nginx wrote about the walkers' step.
struct Walked {
    steps: Vec<RequestRecord>,
    seen: Vec<String>,
}

/// A run of walkers with these keys of `load.tls`.
fn walked(tls: &str) -> Walked {
    let workdir = Workdir::new(PROGRAM);
    let nginx = Nginx::start(workdir.path());
    let port = nginx.port;
    let journeys = format!(
        "  tls: {tls}
  resolve: ['{NAME}:{port}:127.0.0.1']
  users: 2
  journeys:
    - {{ name: walker, think: 20ms, steps: [{{ name: walk, get: /walked }}] }}
"
    );
    let text = scenario(&format!("{NAME}:{port}"), 1_000_000, "'true'", &journeys);
    workdir.write("scenario.yaml", &text.replace("http://", "https://"));
    let run = workdir.run("scenario.yaml");
    run.expect_exit(0);
    drop(nginx);
    let log = fs::read_to_string(workdir.path().join("access.log")).unwrap();
    let seen = log.lines().filter(|l| l.starts_with("/walked"));
    Walked {
        steps: steps(&run.recording()),
        seen: seen.map(str::to_owned).collect(),
    }
}

#[test]
fn users_show_the_certificate_and_ask_for_the_name_that_the_scenario_gives() {
    let tls = "{ ca: server.pem, client_cert: client.pem, client_key: client.key }";
    let walked = walked(tls);
    let sent = walked.steps.len();
    assert!(sent > 0);
    assert!(walked.steps.iter().all(|r| r.outcome == Outcome::Ok));
    assert_eq!(walked.seen.len(), sent, "sent and seen");
    for line in &walked.seen {
        assert_eq!(line, &format!("/walked 200 TLSv1.3 {NAME} SUCCESS"));
    }
}

#[test]
fn users_trust_nobody_whom_the_scenario_does_not_name() {
    for tls in [
        "{ ca: client.pem }",
        "{ ca: server.pem, server_name: elsewhere.example }",
    ] {
        let walked = walked(tls);
        assert!(!walked.steps.is_empty());
        for step in &walked.steps {
            assert_eq!(
                (step.outcome, step.phase),
                (Outcome::Tls, Phase::Tls),
                "{step:?}"
            );
        }
        assert_eq!(walked.seen, Vec::<String>::new(), "{tls}");
    }
}

#[test]
fn users_of_an_insecure_scenario_go_through() {
    let walked = walked("{ insecure: true }");
    assert!(!walked.steps.is_empty());
    assert!(walked.steps.iter().all(|r| r.outcome == Outcome::Ok));
    assert_eq!(walked.seen.len(), walked.steps.len(), "sent and seen");
}
