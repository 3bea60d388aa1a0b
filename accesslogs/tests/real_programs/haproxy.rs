//! HAProxy.

use std::time::Duration;

use rollscope_accesslogs::{Emitter, Entry, Format, Parser, TryEnd};

use super::balancer::Balancer;
use super::upstream::{Does, Upstream, nobody};

/// `option httplog` with what identifies a request and its server.
const DECIDING: &str = "%ci:%cp [%tr] %ft %b/%s %si:%sp %TR/%Tw/%Tc/%Tr/%Ta %ST %B %tsc %rc %[capture.req.hdr(0)] %{+Q}r";

struct Site {
    haproxy: Balancer,
    good: Upstream,
    closes: Upstream,
}

impl Site {
    /// Two listeners: one with HAProxy's own format, one with ours.
    fn new(log_format: &str) -> Self {
        let (good, busy) = (Upstream::new(Does::Answer), Upstream::new(Does::Answer503));
        let (closes, cuts) = (Upstream::new(Does::Close), Upstream::new(Does::Truncate));
        let (hangs, refuses, address) = (Upstream::new(Does::Hang), nobody(), nobody());
        let mut config = format!(
            "global\n  log stdout format raw local0 info\n  maxconn 100\n  nbthread 1\n\
             defaults\n  mode http\n  log global\n  timeout connect 1s\n  timeout client 20s\n  timeout server 1s\n  retries 0\n  option abortonclose\n\
             frontend web\n  bind {address}\n  capture request header x-request-id len 64\n  {log_format}\n  use_backend %[path,field(2,/)]\n\
             backend none\n\
             backend both\n  retries 3\n  retry-on conn-failure empty-response\n  option redispatch 1\n  server one {}\n  server two {}\n",
            closes.address, good.address
        );
        for (name, upstream) in [
            ("good", good.address),
            ("busy", busy.address),
            ("closes", closes.address),
            ("cuts", cuts.address),
            ("hangs", hangs.address),
            ("refuses", refuses),
        ] {
            config += &format!("backend {name}\n  server only {upstream}\n");
        }
        let args = ["-db", "-f", "DIR/config.cfg"];
        Self {
            haproxy: Balancer::start("haproxy", &args, &config, address),
            good,
            closes,
        }
    }

    fn parsed(&mut self, format: &str, mark: &str, check: impl FnOnce(&Entry<'_>)) {
        let line = self.haproxy.line("stdout.log", mark);
        let format: Format = format.parse().unwrap();
        let parser = Parser::new(&format, 0).unwrap();
        check(
            &parser
                .parse(&line)
                .unwrap_or_else(|e| panic!("{e}:\n{line}")),
        );
    }

    fn check(
        &mut self,
        format: &str,
        path: &str,
        (status, emitter): (u16, Emitter),
        ends: &[TryEnd],
    ) {
        let id = format!("id-{}", &path[1..]);
        let (answer, port) = self.haproxy.get(path, &id);
        assert_eq!(
            answer.split(' ').nth(1),
            Some(status.to_string().as_str()),
            "{path}"
        );
        self.parsed(format, &id, |entry| {
            assert_eq!(
                (entry.status, entry.emitter),
                (Some(status), emitter),
                "{entry:?}"
            );
            assert_eq!(
                entry.tries.iter().map(|t| t.end).collect::<Vec<_>>(),
                ends,
                "{entry:?}"
            );
            assert_eq!(entry.client, Some(format!("127.0.0.1:{port}").into()));
            assert_eq!(entry.path.as_deref(), Some(path));
            assert_eq!(entry.truncated, ends.contains(&TryEnd::Truncated));
            assert_eq!(entry.unnamed_tries, 0);
        });
    }
}

#[test]
fn the_log_of_haproxy_tells_its_own_statuses_from_those_of_servers() {
    for (log, format) in [
        ("option httplog".to_owned(), "haproxy".to_owned()),
        (
            format!("log-format '{DECIDING}'"),
            format!("haproxy:{DECIDING}"),
        ),
    ] {
        let mut site = Site::new(&log);
        let (own, theirs) = (Emitter::Balancer, Emitter::Upstream);
        site.check(&format, "/good", (200, theirs), &[TryEnd::Answered]);
        site.check(&format, "/busy", (503, theirs), &[TryEnd::Answered]);
        site.check(&format, "/closes", (502, own), &[TryEnd::Cut]);
        site.check(&format, "/refuses", (503, own), &[TryEnd::Refused]);
        site.check(&format, "/hangs", (504, own), &[TryEnd::TimedOut]);
        site.check(&format, "/none", (503, own), &[]);
        site.check(&format, "/cuts", (200, theirs), &[TryEnd::Truncated]);
        assert_eq!((site.good.seen(), site.closes.seen()), (1, 1));
    }
}

#[test]
fn a_client_that_leaves_haproxy_is_nobodys_failure() {
    let mut site = Site::new("option httplog");
    site.haproxy
        .leave("/hangs", "id-left", Duration::from_millis(200));
    site.parsed("haproxy", "id-left", |entry| {
        assert_eq!(entry.emitter, Emitter::ClientGone, "{entry:?}");
    });
}

#[test]
fn retries_of_haproxy_are_counted_without_their_servers() {
    let mut site = Site::new(&format!("log-format '{DECIDING}'"));
    let mut counted = 0;
    for i in 0..4 {
        let id = format!("id-both-{i}");
        let (answer, _) = site.haproxy.get("/both", &id);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let good = site.good.address.to_string();
        site.parsed(&format!("haproxy:{DECIDING}"), &id, |entry| {
            assert_eq!(entry.tries.last().unwrap().upstream, good);
            assert_eq!(entry.is_near_miss(), entry.unnamed_tries > 0);
            counted += entry.unnamed_tries;
        });
    }
    assert!(counted > 0);
    assert_eq!(site.closes.seen(), usize::try_from(counted).unwrap());
}
