//! nginx.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rollscope_accesslogs::{Emitter, Entry, Format, Parser, TryEnd};

use super::balancer::Balancer;
use super::upstream::{Does, Upstream, nobody};

/// A format that decides who made a status.
const DECIDING: &str = r#"$remote_addr:$remote_port $msec $request_time "$request" $status $body_bytes_sent $sent_http_content_length "$request_completion" "$http_x_request_id" [$upstream_addr] [$upstream_status] [$upstream_connect_time] [$upstream_header_time] [$upstream_response_time]"#;
const INGRESS: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $http_x_request_id"#;

struct Site {
    nginx: Balancer,
    good: Upstream,
    closes: Upstream,
    refuses: SocketAddr,
}

impl Site {
    fn new() -> Self {
        let (good, busy) = (Upstream::new(Does::Answer), Upstream::new(Does::Answer503));
        let (closes, resets) = (Upstream::new(Does::Close), Upstream::new(Does::Reset));
        let (cuts, hangs) = (Upstream::new(Does::Truncate), Upstream::new(Does::Hang));
        let (refuses, address) = (nobody(), nobody());
        let to = |name: &str, upstream: SocketAddr| {
            format!("location /{name} {{ proxy_pass http://{upstream}; }}\n")
        };
        let locations: String = [
            ("good", good.address),
            ("busy", busy.address),
            ("closes", closes.address),
            ("resets", resets.address),
            ("cuts", cuts.address),
            ("hangs", hangs.address),
            ("refuses", refuses),
        ]
        .map(|(name, upstream)| to(name, upstream))
        .concat();
        let config = format!(
            "daemon off; master_process off; pid DIR/nginx.pid; error_log DIR/error.log;
             events {{ worker_connections 64; }}
             http {{
               proxy_temp_path DIR/p; client_body_temp_path DIR/b; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
               log_format deciding '{DECIDING}'; log_format ingress '{INGRESS}';
               access_log DIR/deciding.log deciding; access_log DIR/combined.log combined; access_log DIR/ingress.log ingress;
               proxy_read_timeout 1s; proxy_next_upstream off;
               upstream both {{ server {refuses} max_fails=0; server {} max_fails=0; server {} backup; }}
               server {{
                 listen {address};
                 set $proxy_upstream_name shop-web-80; set $proxy_alternative_upstream_name '';
                 {locations}
                 location /none {{ return 503; }}
                 location /both {{ proxy_pass http://both; proxy_next_upstream error timeout; }}
               }}
             }}",
            closes.address, good.address
        );
        let args = ["-p", "DIR", "-e", "DIR/error.log", "-c", "DIR/config.cfg"];
        Self {
            nginx: Balancer::start("nginx", &args, &config, address),
            good,
            closes,
            refuses,
        }
    }

    fn parsed(&mut self, log: &str, format: &str, mark: &str, check: impl FnOnce(&Entry<'_>)) {
        let line = self.nginx.line(log, mark);
        let format: Format = format.parse().unwrap();
        let parser = Parser::new(&format, 0).unwrap();
        check(
            &parser
                .parse(&line)
                .unwrap_or_else(|e| panic!("{e}:\n{line}")),
        );
    }

    /// Requests a path, and checks the line that decides.
    fn check(&mut self, path: &str, status: u16, emitter: Emitter, ends: &[TryEnd]) {
        let before = SystemTime::now();
        let id = format!("id-{}", &path[1..]);
        let (answer, port) = self.nginx.get(&format!("{path}?password=x"), &id);
        assert_eq!(
            answer.split(' ').nth(1),
            Some(status.to_string().as_str()),
            "{path}"
        );
        self.parsed("deciding.log", &format!("nginx:{DECIDING}"), &id, |entry| {
            assert_eq!(
                (entry.status, entry.emitter),
                (Some(status), emitter),
                "{entry:?}"
            );
            let seen: Vec<_> = entry.tries.iter().map(|t| t.end).collect();
            assert_eq!(seen, ends, "{entry:?}");
            assert_eq!(entry.request_id.as_deref(), Some(id.as_str()));
            assert_eq!(entry.client, Some(format!("127.0.0.1:{port}").into()));
            assert_eq!(entry.path.as_deref(), Some(path));
            assert_eq!(entry.truncated, ends.contains(&TryEnd::Truncated));
            // nginx reads its clock once in an event loop's turn.
            let (lo, hi) = entry.stamp.began(entry.duration_nanos);
            let slack = Duration::from_millis(50);
            let before = (before - slack)
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_nanos();
            assert!(i128::from(hi) >= before as i128 && hi > lo, "{entry:?}");
        });
    }
}

#[test]
fn the_log_of_nginx_tells_its_own_statuses_from_those_of_upstreams() {
    let mut site = Site::new();
    site.check("/good", 200, Emitter::Upstream, &[TryEnd::Answered]);
    site.check("/busy", 503, Emitter::Upstream, &[TryEnd::Answered]);
    site.check("/closes", 502, Emitter::Balancer, &[TryEnd::Cut]);
    site.check("/resets", 502, Emitter::Balancer, &[TryEnd::Cut]);
    site.check("/refuses", 502, Emitter::Balancer, &[TryEnd::Refused]);
    site.check("/hangs", 504, Emitter::Balancer, &[TryEnd::TimedOut]);
    site.check("/none", 503, Emitter::Balancer, &[]);
    site.check("/cuts", 200, Emitter::Upstream, &[TryEnd::Truncated]);
    assert_eq!((site.good.seen(), site.closes.seen()), (1, 1));
}

#[test]
fn a_client_that_leaves_is_nobodys_failure() {
    let mut site = Site::new();
    site.nginx
        .leave("/hangs", "id-left", Duration::from_millis(200));
    site.parsed(
        "deciding.log",
        &format!("nginx:{DECIDING}"),
        "id-left",
        |entry| {
            assert_eq!(
                (entry.status, entry.emitter),
                (Some(499), Emitter::ClientGone)
            );
            assert!(!entry.is_near_miss());
        },
    );
}

#[test]
fn tries_that_failed_under_a_200_are_a_near_miss() {
    let mut site = Site::new();
    for i in 0..4 {
        let (answer, _) = site.nginx.get("/both", &format!("id-both-{i}"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let (refuses, closes) = (site.refuses.to_string(), site.closes.address.to_string());
    let mut tries = 0;
    for i in 0..4 {
        let id = format!("id-both-{i}");
        for (log, format, ends) in [
            (
                "deciding.log",
                format!("nginx:{DECIDING}"),
                [TryEnd::Refused, TryEnd::Cut],
            ),
            (
                "ingress.log",
                "ingress-nginx".to_owned(),
                [TryEnd::Failed, TryEnd::Failed],
            ),
        ] {
            let (refuses, closes) = (&refuses, &closes);
            let mut closed = 0;
            site.parsed(log, &format, &id, |entry| {
                assert!(entry.is_near_miss(), "{entry:?}");
                assert_eq!(entry.emitter, Emitter::Upstream);
                let of = |upstream: &str| {
                    let tried = entry.tries.iter().find(|t| t.upstream == upstream);
                    tried.map(|t| t.end)
                };
                assert_eq!((of(refuses), of(closes)), (Some(ends[0]), Some(ends[1])));
                assert_eq!(entry.hidden_failures(), 2);
                closed += entry.tries.iter().filter(|t| t.upstream == *closes).count();
            });
            if log == "deciding.log" {
                tries += closed;
            }
        }
    }
    assert_eq!(
        site.closes.seen(),
        tries,
        "what the upstream saw is what the log says"
    );
    assert_eq!(site.good.seen(), 4);
}

#[test]
fn the_usual_formats_say_what_they_can() {
    let mut site = Site::new();
    site.check("/closes", 502, Emitter::Balancer, &[TryEnd::Cut]);
    site.check("/busy", 503, Emitter::Upstream, &[TryEnd::Answered]);
    site.check("/none", 503, Emitter::Balancer, &[]);
    site.parsed("combined.log", "nginx", "/closes", |entry| {
        assert_eq!((entry.status, entry.emitter), (Some(502), Emitter::Unknown));
        assert_eq!(entry.method.as_deref(), Some("GET"));
        assert_eq!(entry.stamp.resolution_nanos, 1_000_000_000);
    });
    for (path, emitter, ends) in [
        ("/closes", Emitter::Balancer, vec![TryEnd::Failed]),
        ("/busy", Emitter::Upstream, vec![TryEnd::Answered]),
        ("/none", Emitter::Balancer, vec![]),
    ] {
        site.parsed("ingress.log", "ingress-nginx", path, |entry| {
            assert_eq!(entry.emitter, emitter, "{entry:?}");
            assert_eq!(entry.tries.iter().map(|t| t.end).collect::<Vec<_>>(), ends);
            assert_eq!(
                entry.request_id.as_deref(),
                Some(format!("id-{}", &path[1..]).as_str())
            );
        });
    }
}
