//! The closing summary, as it stands on a terminal.

#[path = "../examples/sample/mod.rs"]
mod sample;

use rollscope_reports::{SCREEN_LINES, summary};

#[test]
fn a_failed_gate_ends_with_verdict_cause_advice_and_path() {
    let (a, _) = sample::early_close(4_400);
    let expected = "\
run         checkout-restart (sandbox, deployment/checkout), 22.89 s at 200/s
requests    4,400 planned = 4,400 sent + 0 dropped; 4,339 ok, 61 failed, 0 aborted
failures    connect_refused 59, eof_before_headers 2; silent retries would hide 2
latency     p50 3.92 ms, p99 881 ms, max 900 ms from due time (p99 881 ms from dispatch)
pods        6 seen, 3 terminated (exit 0 ×3), longest lag 2.90 s, tightest margin 29.08 s
findings    1: no_prestop_no_delay
assertions  1 held, 2 broken (readiness_before_listener, definite_outcome), 1 not seen

GATE FAILED (exit code 1): 61 of 4,400 requests failed, 0 allowed
  early_close (refused): Closed before traffic stopped coming (61 failed, 3 bursts)
    22 requests refused by checkout-7d9f6bb8c4-4xk2p: it closed its listener 0.1 s after SIGTERM and
    new connections came for 1.8 s more.
    → lifecycle.preStop.sleep.seconds: Set it to at least 5: new connections came for up to 2.9 s
      after the deletion (maximum of 3 pods), plus 2 s margin.
timeline    out/timeline.html
";
    assert_eq!(summary(&a, "out/timeline.html", 100, false), expected);
}

#[test]
fn a_clean_run_says_what_it_rests_on() {
    let (a, _) = sample::clean();
    let expected = "\
run         checkout-restart (sandbox, deployment/checkout), 22.89 s at 200/s
requests    4,400 planned = 4,400 sent + 0 dropped; 4,400 ok, 0 failed, 0 aborted
latency     p50 3.93 ms, p99 875 ms, max 900 ms from due time (p99 875 ms from dispatch)
pods        6 seen, 3 terminated (exit 0 ×3), longest lag 2.90 s, tightest margin 25.10 s
assertions  3 held, 0 broken, 1 not seen

PASSED (exit code 0): 0 of 4,400 requests failed, 0 allowed
  3 pods terminated under load, in flight at the signal: 3, 5, 2
timeline    out/timeline.html
";
    assert_eq!(summary(&a, "out/timeline.html", 100, false), expected);
}

#[test]
fn many_causes_still_fit_a_screen() {
    let (mut a, _) = sample::early_close(4_400);
    let burst = a.bursts[0].clone();
    for (i, cause) in [
        "sigkill_overrun",
        "unforwarded_signal",
        "oom_kill",
        "crash",
        "unknown",
    ]
    .iter()
    .enumerate()
    {
        let mut other = burst.clone();
        other.id = 10 + i as u32;
        (*cause).clone_into(&mut other.cause);
        other.summary = "A sentence that goes on and on. ".repeat(20);
        a.bursts.push(other);
    }
    a.unattributed = 3;
    a.verdict.reasons = vec!["a reason that is long ".repeat(20); 6];
    a.gaps = sample::invalid().0.gaps;
    for width in [40, 80, 120] {
        let text = summary(&a, "out/timeline.html", width, false);
        assert!(text.lines().count() <= SCREEN_LINES, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= width),
            "{text}"
        );
        assert!(text.contains("more causes: see the timeline"), "{text}");
        assert!(text.contains("early_close"), "{text}");
        assert!(text.contains("sigkill_overrun"), "{text}");
        assert!(text.contains("3 failed requests are in no burst"), "{text}");
        assert!(text.ends_with("timeline    out/timeline.html\n"), "{text}");
    }
}

#[test]
fn colour_comes_only_when_it_is_asked_for() {
    let (a, _) = sample::early_close(4_400);
    assert!(!summary(&a, "t.html", 80, false).contains('\u{1b}'));
    assert!(summary(&a, "t.html", 80, true).contains("\u{1b}[1;31mGATE FAILED"));
}
