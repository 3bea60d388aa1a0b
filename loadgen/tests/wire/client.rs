//! What the client does of its own accord: gives up, checks bodies, fills in templates, keeps connections for a while,
//! resolves as it is told.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Duration;

use rollscope_loadgen::Direct;
use rollscope_records::{ClosedBy, Lane, Outcome, Phase};
use rollscope_scenarios::{BodyCheck, BodySource, PoolSpec, ResolveOverride, Template};

use crate::harness::{Run, ended, get, load, one, run, start};
use crate::server::{OK, Server};

#[test]
fn a_client_that_gives_up_in_mid_answer_closes_the_connection_and_has_not_failed() {
    for lane in [Lane::New, Lane::Reused] {
        let server = Server::start(|peer| {
            while peer.read_request().is_some() {
                peer.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this");
            }
        });
        let mut spec = get(lane);
        spec.abort_after = Some(Duration::from_millis(60));
        let running = start(&server.url(), load(20.0, vec![spec]), Arc::new(Direct));
        running.wait(|s| s.aborted >= 3);
        let run = running.stop(Duration::from_secs(1));
        run.check(&server);
        assert_eq!(run.count(Outcome::GaveUp), run.requests.len(), "{run:?}");
        for request in &run.requests {
            assert_eq!((request.phase, request.status), (Phase::Body, Some(200)));
            let waited = request
                .ended
                .unwrap()
                .nanos_since(request.dispatched.unwrap());
            assert!(waited >= 60_000_000 && !request.maskable);
        }
        let closed = run.connections.iter().map(|c| c.closed_by);
        assert!(closed.eq(vec![Some(ClosedBy::Client); run.requests.len()]));
    }
}

#[test]
fn answers_that_come_in_time_are_not_given_up() {
    let server = Server::answering(OK);
    let mut spec = get(Lane::Reused);
    spec.abort_after = Some(Duration::from_secs(4));
    let run = run(&server, 50.0, spec, 5);
    assert_eq!(run.count(Outcome::Ok), run.requests.len());
}

#[test]
fn a_body_that_is_not_as_expected_is_a_failure_with_its_reason() {
    let answer = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let check = BodyCheck {
        contains: Some("status".to_owned()),
        json_pointer: Some("/status".to_owned()),
        equals: Some("up".to_owned()),
    };
    for (body, outcome, reason) in [
        (r#"{"status": "up"}"#, Outcome::Ok, None),
        (
            r#"{"status": "down"}"#,
            Outcome::BodyMismatch,
            Some("the value at `/status` is not the expected one"),
        ),
        (
            "status",
            Outcome::BodyMismatch,
            Some("the body is not JSON"),
        ),
        (
            "",
            Outcome::BodyMismatch,
            Some("the body does not contain the expected text"),
        ),
    ] {
        let server = Server::answering(answer(body));
        let mut spec = get(Lane::New);
        spec.expect_body = Some(check.clone());
        let (request, _) = one(&server, spec);
        assert_eq!((request.outcome, request.phase), (outcome, Phase::Done));
        assert_eq!(request.detail.as_deref(), reason);
        assert!(!request.maskable);
    }
    // A status that is wrong already is not made worse by its body.
    let server = Server::answering("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n");
    let mut spec = get(Lane::New);
    spec.expect_body = Some(check);
    assert_eq!(one(&server, spec).0.outcome, Outcome::Status);
}

#[test]
fn every_slot_has_its_own_body_from_the_template() {
    let server = Server::start(|peer| {
        while let Some(head) = peer.read_request() {
            let length = head
                .lines()
                .find_map(|l| l.strip_prefix("content-length: "));
            assert_eq!(length, Some("43"), "{head}");
            peer.write(OK);
        }
    });
    let mut spec = get(Lane::Reused);
    spec.method = "POST".to_owned();
    let template = Template::parse("{{uuid}} {{random:100000..999999}}").unwrap();
    spec.body = Some(BodySource::Template(template));
    let run = run(&server, 200.0, spec, 40);
    assert_eq!(run.count(Outcome::Ok), run.requests.len());
}

fn with_pool(server: &Server, pool: PoolSpec, requests: u64) -> Run {
    let mut load = load(50.0, vec![get(Lane::Reused)]);
    load.pool = pool;
    let running = start(&server.url(), load, Arc::new(Direct));
    running.wait(|s| ended(s) >= requests);
    let run = running.stop(Duration::from_secs(5));
    run.check(server);
    assert_eq!(run.count(Outcome::Ok), run.requests.len());
    run
}

#[test]
fn the_pool_has_the_size_that_the_scenario_says() {
    let server = Server::answering(OK);
    let size = Some(3);
    with_pool(
        &server,
        PoolSpec {
            size,
            ..PoolSpec::default()
        },
        30,
    );
    assert_eq!(server.accepted(), 3);
}

#[test]
fn connections_carry_no_more_requests_than_the_scenario_says() {
    let server = Server::answering(OK);
    let pool = PoolSpec {
        size: Some(1),
        max_requests: Some(4),
        ..PoolSpec::default()
    };
    let run = with_pool(&server, pool, 20);
    let ordinals: BTreeSet<_> = run.requests.iter().map(|r| r.ordinal.unwrap()).collect();
    assert_eq!(ordinals, (0..4).collect());
    let full = run.connections.iter().filter(|c| c.requests == 4).count();
    assert!(full >= 4, "{run:?}");
    let by_us = |c: &rollscope_records::ConnectionRecord| c.closed_by == Some(ClosedBy::Client);
    assert!(run.connections.iter().all(by_us));
    assert_eq!(run.generator.idle_closes, 0);
}

#[test]
fn connections_that_are_old_or_idle_for_long_are_not_used_again() {
    let limit = Duration::from_millis(5);
    let one = PoolSpec {
        size: Some(1),
        ..PoolSpec::default()
    };
    let (max_idle, max_age) = (Some(limit), Some(limit));
    for pool in [
        PoolSpec {
            max_idle,
            ..one.clone()
        },
        PoolSpec { max_age, ..one },
    ] {
        let server = Server::answering(OK);
        let run = with_pool(&server, pool.clone(), 10);
        // A machine under load can bring two requests close to one another.
        for request in run.requests.iter().filter(|r| r.reused) {
            let kept = if pool.max_idle.is_some() {
                request.idle
            } else {
                request.connection_age
            };
            assert!(kept.unwrap() <= 5_000_000, "{request:?}");
        }
        assert!(run.connections.len() > 2, "{run:?}");
        assert_eq!(run.generator.idle_closes, 0);
    }
}

#[test]
fn a_host_is_resolved_as_the_scenario_says_and_keeps_its_name() {
    let server = Server::answering(OK);
    let port = server.address.port();
    let mut load = load(50.0, vec![get(Lane::New)]);
    load.resolve = vec![ResolveOverride {
        host: "no-such-host.invalid".to_owned(),
        port,
        addresses: vec![server.address.ip()],
    }];
    let url = format!("http://no-such-host.invalid:{port}");
    let running = start(&url, load, Arc::new(Direct));
    running.wait(|s| ended(s) >= 3);
    let run = running.stop(Duration::from_secs(5));
    run.check(&server);
    assert_eq!(run.count(Outcome::Ok), run.requests.len());
    assert!(run.connections.iter().all(|c| c.resolved.is_none()));
    let host = format!("host: no-such-host.invalid:{port}\r\n");
    assert!(server.seen().iter().all(|s| s.head.contains(&host)));
}

#[test]
fn names_are_resolved_for_each_connection_and_the_answer_is_recorded() {
    let server = Server::answering(OK);
    let url = format!("http://localhost:{}", server.address.port());
    let running = start(&url, load(50.0, vec![get(Lane::New)]), Arc::new(Direct));
    running.wait(|s| ended(s) >= 3);
    let run = running.stop(Duration::from_secs(5));
    for connection in &run.connections {
        let resolved = connection.resolved.as_deref().unwrap();
        assert!(
            resolved.split(' ').any(|ip| ip == "127.0.0.1"),
            "{resolved}"
        );
        assert!(connection.resolve_nanos.unwrap() > 0);
    }
    let made = run.connections.iter().filter(|c| c.established.is_some());
    assert!(
        made.map(|c| c.local_ip.as_deref())
            .all(|ip| ip == Some("127.0.0.1"))
    );
}

#[test]
fn ipv6_servers_are_spoken_to() {
    let v6 = Ipv6Addr::LOCALHOST.into();
    if std::net::TcpListener::bind((v6, 0)).is_err() {
        assert!(std::env::var_os("CI").is_none(), "no IPv6 on loopback");
        return;
    }
    let server = Server::start_on(v6, |peer| {
        while peer.read_request().is_some() {
            peer.write(OK);
        }
    });
    let (request, connection) = one(&server, get(Lane::New));
    assert_eq!(request.outcome, Outcome::Ok);
    let address = format!("[::1]:{}", server.address.port());
    assert_eq!(request.peer, Some(address.clone()));
    assert_eq!(connection.local_ip.as_deref(), Some("::1"));
    assert!(
        server.seen()[0]
            .head
            .contains(&format!("host: {address}\r\n"))
    );
}
