//! What is in a log was written by strangers.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::LazyLock;
use std::time::Instant;

use proptest::prelude::*;
use rollscope_accesslogs::{Format, Malformed, Parser};

static PARSERS: LazyLock<Vec<Parser>> = LazyLock::new(|| {
    [
        "nginx",
        "ingress-nginx",
        "haproxy",
        "envoy",
        "istio",
        "alb",
        "traefik",
        r"regex:^(?P<time>\S+) (?P<status>\S+) (?P<upstream>.*)$",
        r#"json:{"time": "t", "status": "s", "upstream": "/a/0"}"#,
    ]
    .map(|f| Parser::new(&f.parse::<Format>().unwrap(), 0).unwrap())
    .to_vec()
});

/// Lines that are nearly right.
const LINES: &[&str] = &[
    r#"10.0.0.9 - - [02/Jul/2026:22:23:00 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl" 80 0.002 [shop-web-80] [] 10.0.0.1:80, 10.0.0.2:80 0, 5 0.001, 0.001 502, 200 f00d"#,
    r#"127.0.0.1:5000 [02/Jul/2026:22:23:00.123] web~ pods/slot1 0/0/1/2/3 200 5 - - ---- 1/1/0/0/0 0/0 "GET /a HTTP/1.1""#,
    r#"[2026-04-15T20:17:00.310Z] "GET / HTTP/1.1" 503 UF 154 0 226 - "-" "x" "id" "shop" "10.0.2.1:80""#,
    r#"http 2026-07-02T22:23:00.186641Z app/x 1.1.1.1:1 - -1 -1 -1 503 - 34 366 "GET http://a/ HTTP/1.1" "x""#,
    r#"{"StartUTC":"2026-07-02T22:23:00Z","DownstreamStatus":200,"t":1,"s":200,"start_time":"2026-07-02T22:23:00Z","response_code":200}"#,
];

proptest! {
    #[test]
    fn no_bytes_make_a_parser_fail_otherwise_than_by_an_error(bytes: Vec<u8>) {
        let text = String::from_utf8_lossy(&bytes);
        for parser in PARSERS.iter() {
            let _ = parser.parse(&text);
        }
    }

    #[test]
    fn nor_do_lines_that_are_nearly_right(
        which in 0..LINES.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<char>(), any::<bool>()), 0..6),
    ) {
        let mut text: Vec<char> = LINES[which].chars().collect();
        for (at, with, removes) in edits {
            let at = at.index(text.len().max(1));
            if at < text.len() {
                if removes { text.remove(at); } else { text.insert(at, with); }
            }
        }
        let text: String = text.into_iter().collect();
        for parser in PARSERS.iter() {
            if let Ok(entry) = parser.parse(&text) {
                let (lo, hi) = entry.stamp.began(entry.duration_nanos);
                prop_assert!(lo <= hi);
                let _ = (entry.is_near_miss(), entry.stamp.ended(entry.duration_nanos));
            }
        }
    }
}

#[test]
fn a_line_of_a_megabyte_is_read_in_time() {
    let long = "a, ".repeat(350_000);
    for line in [
        long.clone(),
        "\"".repeat(1 << 20),
        "[".repeat(1 << 20),
        format!("{}{}", &LINES[0][..LINES[0].len() - 40], long),
        format!("{{\"t\":1,\"s\":200,\"x\":\"{long}\"}}"),
    ] {
        let begun = Instant::now();
        let mut malformed = Malformed::default();
        for parser in PARSERS.iter() {
            if let Err(error) = parser.parse(&line) {
                malformed.count(1, &line, &error);
            }
        }
        // Anything that is not linear in the length takes hours.
        assert!(begun.elapsed().as_secs() < 30);
        assert!(
            malformed
                .examples
                .iter()
                .all(|e| e.excerpt.len() < 1000 && e.reason.len() < 2000)
        );
    }
}
