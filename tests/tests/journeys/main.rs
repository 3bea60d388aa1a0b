//! Journeys through goose, against a raw server that counts what it is asked.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod ending;
mod server;
mod tls;
mod walking;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rollscope-under-test");

/// A scenario of a few seconds on a server at `address`, with `journeys` (YAML of `load.users` and `load.journeys`) beside
/// 20 requests a second.
fn scenario(address: &str, max_failed: u64, exec: &str, journeys: &str) -> String {
    format!(
        r#"
name: walked
target: {{ none: {{}} }}
load:
  base_url: http://{address}
  rate: 20/s
  deadline: 5s
  pod_header: x-pod-name
  requests:
    - {{ name: home, get: /home }}
{journeys}
stages:
  - warmup: 1s
  - exec: {exec}
    complete_within: 20s
  - settle: 500ms
gate: {{ max_failed: {max_failed} }}
"#
    )
}
