//! Formats whose programs cannot be run here, by what their makers publish.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use rollscope_accesslogs::{Emitter, Entry, Format, Marks, Parser, TryEnd};

fn parsed<T>(format: &str, line: &str, check: impl FnOnce(&Entry<'_>) -> T) -> T {
    let format: Format = format.parse().unwrap();
    let parser = Parser::new(&format, 0).unwrap();
    check(
        &parser
            .parse(line)
            .unwrap_or_else(|e| panic!("{e}:\n{line}")),
    )
}

/// Status, who made it, and how the tries ended.
type Said = (Option<u16>, Emitter, Vec<(String, TryEnd)>);

fn said(format: &str, line: &str) -> Said {
    parsed(format, line, |e| {
        let tries = e.tries.iter().map(|t| (t.upstream.to_string(), t.end));
        (e.status, e.emitter, tries.collect())
    })
}

fn one(upstream: &str, end: TryEnd) -> Vec<(String, TryEnd)> {
    vec![(upstream.to_owned(), end)]
}

mod envoy {
    use super::*;

    fn line(status: u16, flags: &str, host: &str) -> String {
        format!(
            r#"[2026-04-15T20:17:00.310Z] "POST /pay?card=1 HTTP/2" {status} {flags} 154 0 226 100 "10.0.35.28" "shop/1" "cc21d9b0-cf5c" "shop" "{host}""#
        )
    }

    #[test]
    fn the_default_text_has_its_fields() {
        parsed("envoy", &line(204, "-", "10.0.2.1:80"), |e| {
            assert_eq!(e.stamp.marks, Marks::Begin);
            assert_eq!(e.stamp.resolution_nanos, 1_000_000);
            assert_eq!(e.duration_nanos, Some(226_000_000));
            assert_eq!(e.method.as_deref(), Some("POST"));
            assert_eq!(e.path.as_deref(), Some("/pay"));
            assert_eq!(e.request_id.as_deref(), Some("cc21d9b0-cf5c"));
            assert_eq!(e.reason, None);
        });
    }

    #[test]
    fn flags_say_who_made_a_status_and_how_the_try_ended() {
        let host = "10.0.2.1:80";
        let (own, theirs) = (Emitter::Balancer, Emitter::Upstream);
        for (status, flags, emitter, end) in [
            (200, "-", theirs, TryEnd::Answered),
            (503, "-", theirs, TryEnd::Answered),
            (503, "UF", own, TryEnd::Refused),
            (503, "UF,URX", own, TryEnd::Refused),
            (503, "URX,UF", own, TryEnd::Refused),
            (503, "URX", theirs, TryEnd::Answered),
            (503, "UC", own, TryEnd::Cut),
            (503, "UR", own, TryEnd::Cut),
            (504, "UT", own, TryEnd::TimedOut),
            (0, "DC", Emitter::ClientGone, TryEnd::Failed),
        ] {
            let expected = ((status != 0).then_some(status), emitter, one(host, end));
            assert_eq!(
                said("envoy", &line(status, flags, host)),
                expected,
                "{status} {flags}"
            );
        }
        let none = |flags| said("envoy", &line(503, flags, "-"));
        for flags in ["UH", "NR", "NC", "UO"] {
            assert_eq!(none(flags), (Some(503), own, vec![]));
        }
    }

    #[test]
    fn istio_adds_details_that_decide() {
        let line = |status: u16, flags: &str, details: &str, failure: &str| {
            format!(
                r#"[2026-04-15T20:17:00.310Z] "GET /list HTTP/1.1" {status} {flags} {details} - "{failure}" 0 95 10012 - "-" "curl/8" "f00d" "shop" "10.0.2.1:80" outbound|80||shop.shop.svc.cluster.local 10.0.1.1:40000 10.96.0.9:80 10.0.1.1:50000 - default"#
            )
        };
        let timeout = "upstream_reset_before_response_started{connection_timeout}";
        let cases = [
            (
                line(503, "-", "via_upstream", "-"),
                Emitter::Upstream,
                TryEnd::Answered,
            ),
            (
                line(503, "URX", "via_upstream", "-"),
                Emitter::Upstream,
                TryEnd::Answered,
            ),
            (
                line(503, "URX,UF", timeout, "-"),
                Emitter::Balancer,
                TryEnd::TimedOut,
            ),
            (
                line(
                    503,
                    "UF",
                    "upstream_reset_before_response_started{remote_connection_failure}",
                    "delayed connect error: 111",
                ),
                Emitter::Balancer,
                TryEnd::Refused,
            ),
        ];
        for (line, emitter, end) in cases {
            let expected = (Some(503), emitter, one("10.0.2.1:80", end));
            assert_eq!(said("istio", &line), expected, "{line}");
        }
        let cut = line(
            200,
            "UC",
            "upstream_reset_after_response_started{connection_termination}",
            "-",
        );
        parsed("istio", &cut, |e| {
            assert!(e.truncated);
            assert_eq!(
                (e.emitter, e.tries[0].end),
                (Emitter::Upstream, TryEnd::Truncated)
            );
        });
    }

    #[test]
    fn json_is_read_by_istios_keys() {
        let line = r#"{"start_time":"2026-04-15T20:17:00.310Z","method":"GET","path":"/a?b","response_code":503,"response_flags":"UC","response_code_details":"upstream_reset_before_response_started{connection_termination}","upstream_host":"10.0.2.1:80","duration":12,"request_id":"f00d","upstream_request_attempt_count":"3","authority":null}"#;
        for format in ["envoy", "istio"] {
            parsed(format, line, |e| {
                assert_eq!((e.status, e.emitter), (Some(503), Emitter::Balancer));
                assert_eq!(e.tries[0].end, TryEnd::Cut);
                assert_eq!(e.unnamed_tries, 2);
                assert_eq!(e.path.as_deref(), Some("/a"));
            });
        }
    }
}

mod alb {
    use super::*;

    fn line(times: &str, statuses: &str, target: &str, error: &str) -> String {
        format!(
            r#"https 2026-07-02T22:23:00.186641Z app/shop/50dc6c495c0c9188 192.168.131.39:2817 {target} {times} {statuses} 34 366 "GET https://shop.example:443/list?token=1 HTTP/1.1" "agent \"x\" 1" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/shop/73e2d6bc24d8a067 "Root=1-58337262-36d228ad" "shop.example" "session-reused" 1 2026-07-02T22:22:48.364000Z "forward" "-" "{error}" "{target}" "{}" "-" "-" TID_dead"#,
            statuses.split(' ').nth(1).unwrap()
        )
    }

    #[test]
    fn elb_and_target_status_tell_who_made_it() {
        let target = "10.0.0.1:80";
        let (own, theirs) = (Emitter::Balancer, Emitter::Upstream);
        for (times, statuses, status, emitter, end) in [
            (
                "0.086 0.048 0.037",
                "200 200",
                200,
                theirs,
                TryEnd::Answered,
            ),
            (
                "0.000 0.001 0.000",
                "502 502",
                502,
                theirs,
                TryEnd::Answered,
            ),
            ("0.001 -1 -1", "502 -", 502, own, TryEnd::Failed),
            ("-1 -1 -1", "504 -", 504, own, TryEnd::TimedOut),
            (
                "0.001 -1 -1",
                "460 -",
                460,
                Emitter::ClientGone,
                TryEnd::Failed,
            ),
        ] {
            let line = line(times, statuses, target, "-");
            assert_eq!(
                said("alb", &line),
                (Some(status), emitter, one(target, end))
            );
        }
        let none = line("-1 -1 -1", "503 -", "-", "-");
        assert_eq!(said("alb", &none), (Some(503), own, vec![]));
    }

    #[test]
    fn quoted_fields_keep_their_quotes_and_the_id_is_the_trace() {
        let line = line(
            "0.086 0.048 0.037",
            "502 -",
            "10.0.0.1:80",
            "TargetConnectionError",
        );
        parsed("alb", &line, |e| {
            assert_eq!(e.request_id.as_deref(), Some("Root=1-58337262-36d228ad"));
            assert_eq!(e.reason.as_deref(), Some("TargetConnectionError"));
            assert_eq!(e.path.as_deref(), Some("/list"));
            assert_eq!(e.duration_nanos, Some(171_000_000));
            assert_eq!(
                (e.stamp.marks, e.stamp.resolution_nanos),
                (Marks::End, 1000)
            );
        });
    }
}

mod traefik {
    use super::*;

    fn line(down: u16, origin: u16, size: u64, retries: u64) -> String {
        format!(
            r#"{{"ClientAddr":"10.0.0.9:5000","DownstreamStatus":{down},"Duration":1500000,"OriginContentSize":{size},"OriginDuration":1200000,"OriginStatus":{origin},"RequestMethod":"GET","RequestPath":"/list?x=1","RetryAttempts":{retries},"ServiceAddr":"10.0.0.1:80","ServiceURL":"http://10.0.0.1:80","StartUTC":"2026-07-02T22:23:00.186641123Z","level":"info","request_X-Request-Id":"f00d","time":"2026-07-02T22:23:00Z"}}"#
        )
    }

    #[test]
    fn its_own_bad_gateway_is_told_by_its_length() {
        let target = "10.0.0.1:80";
        for (down, size, emitter, end) in [
            (200, 5000, Emitter::Upstream, TryEnd::Answered),
            (502, 11, Emitter::Balancer, TryEnd::Failed),
            (502, 300, Emitter::Upstream, TryEnd::Answered),
            (504, 15, Emitter::Balancer, TryEnd::TimedOut),
            (499, 21, Emitter::ClientGone, TryEnd::Failed),
        ] {
            let expected = (Some(down), emitter, one(target, end));
            assert_eq!(said("traefik", &line(down, down, size, 0)), expected);
        }
    }

    #[test]
    fn retries_under_a_200_are_a_near_miss() {
        parsed("traefik", &line(200, 200, 10, 2), |e| {
            assert!(e.is_near_miss());
            assert_eq!(e.hidden_failures(), 2);
            assert_eq!(e.duration_nanos, Some(1_500_000));
            assert_eq!(e.request_id.as_deref(), Some("f00d"));
            assert_eq!(e.stamp.resolution_nanos, 1);
        });
    }
}

mod custom {
    use super::*;

    const PATTERN: &str = r"regex:^(?P<time>\S+) (?P<method>\S+) (?P<path>\S+) (?P<status>\d+) (?P<duration_ms>\d+)ms via (?P<upstream>.*) as (?P<upstream_status>.*)$";

    #[test]
    fn a_pattern_names_its_fields() {
        let line =
            "2026-07-02T22:23:00.5Z GET /a?x 200 12ms via 10.0.0.1:80, 10.0.0.2:80 as -, 200";
        parsed(PATTERN, line, |e| {
            assert!(e.is_near_miss());
            assert_eq!(e.emitter, Emitter::Upstream);
            let ends: Vec<_> = e.tries.iter().map(|t| t.end).collect();
            assert_eq!(ends, [TryEnd::Failed, TryEnd::Answered]);
            assert_eq!(e.duration_nanos, Some(12_000_000));
        });
        let own = "2026-07-02T22:23:00.5Z GET /a?x 502 12ms via 10.0.0.1:80 as -";
        assert_eq!(said(PATTERN, own).1, Emitter::Balancer);
    }

    #[test]
    fn a_mapping_points_into_json() {
        let format = r#"json:{"time": "ts", "status": "/response/code", "path": "/request/url"}"#;
        let line = r#"{"ts": 1466713020310, "response": {"code": 503}, "request": {"url": "http://x/a?b"}}"#;
        parsed(format, line, |e| {
            assert_eq!((e.status, e.emitter), (Some(503), Emitter::Unknown));
            assert_eq!(e.path.as_deref(), Some("/a"));
            assert_eq!(e.stamp.unix_nanos, 1_466_713_020_310_000_000);
        });
    }

    #[test]
    fn a_format_that_cannot_be_used_says_why() {
        for (format, why) in [
            ("nginxx", "ingress-nginx"),
            ("nginx:$status$msec", "nothing between $status and $msec"),
            ("nginx:$status", "no time"),
            ("haproxy:%tr", "no status"),
            ("regex:(", "not a regular expression"),
            ("regex:(?P<time>.)(?P<code>.)", "\"code\" is not a field"),
            ("json:[]", "not JSON of the shape"),
            ("json:{\"time\": \"t\"}", "no status"),
        ] {
            let error = format.parse::<Format>().unwrap_err().to_string();
            assert!(error.contains(why), "{format}: {error}");
        }
    }
}
