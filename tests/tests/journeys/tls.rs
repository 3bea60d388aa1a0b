//! Users over TLS, on nginx, whose log says what it saw of them.

use std::fs;
use std::path::Path;

use rcgen::generate_simple_self_signed;
use rollscope_records::{Outcome, Phase, RequestRecord};
use rollscope_tests::{Nginx, Workdir};

use super::walking::steps;
use super::{PROGRAM, scenario};

/// The name in the server's certificate, which no resolver knows.
const NAME: &str = "shop.example";

/// The certificates of both sides, in the folder.
fn certificates(dir: &Path) {
    for (file, name) in [("server", NAME), ("client", "walker")] {
        let own = generate_simple_self_signed([name.to_owned()]).unwrap();
        fs::write(dir.join(format!("{file}.pem")), own.cert.pem()).unwrap();
        let key = own.signing_key.serialize_pem();
        fs::write(dir.join(format!("{file}.key")), key).unwrap();
    }
}

/// A server that asks its clients for a certificate.
const HTTP: &str = "
    log_format seen '$request_uri $status $ssl_protocol $ssl_server_name $ssl_client_verify';
    access_log DIR/access.log seen;
    server {
        listen 127.0.0.1:PORT ssl;
        ssl_certificate DIR/server.pem; ssl_certificate_key DIR/server.key; ssl_protocols TLSv1.3;
        ssl_client_certificate DIR/client.pem; ssl_verify_client optional;
        location / { return 200 'ok'; }
    }";

/// What a run left behind, and the lines that nginx wrote about the walkers' step.
struct Walked {
    steps: Vec<RequestRecord>,
    seen: Vec<String>,
}

/// A run of walkers with these keys of `load.tls`.
fn walked(tls: &str) -> Walked {
    let workdir = Workdir::new(PROGRAM);
    certificates(workdir.path());
    let nginx = Nginx::start(workdir.path(), HTTP);
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
