use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use rollscope_collector::{ClusterState, EventNote, PodView, Progress};
use rollscope_loadgen::{LatencySnapshot, LoadStats};

use super::draw::draw;
use super::events::{EventLine, Events};
use super::pods::{self, PodLine};
use super::view::View;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 10)];
const HOSTILE: &str = "pod\u{1b}[2J\u{1b}]0;x\u{7}\n\r\t\u{202e}\u{200b}\u{9b}31m-x2x9z";

fn pod(name: &str, new: bool, phase: &str, terminating: bool, ready: bool) -> PodLine {
    PodLine {
        name: name.to_owned(),
        new,
        phase: phase.to_owned(),
        terminating,
        ready,
        restarts: 0,
    }
}

fn event(at: u64, text: &str) -> EventLine {
    EventLine {
        at: Duration::from_millis(at),
        text: text.to_owned(),
        warning: false,
    }
}

fn view() -> View {
    View {
        name: "checkout-restart".to_owned(),
        progress: Progress {
            stage: 1,
            stages: 3,
            kind: "restart",
            stage_planned: Duration::from_secs(120),
            planned: Duration::from_secs(145),
            last_mark: Some("drain_started".to_owned()),
            ..Progress::default()
        },
        elapsed: Duration::from_millis(14_200),
        stage_elapsed: Duration::from_millis(4_200),
        planned_rate: 200.0,
        stats: LoadStats {
            planned: 2840,
            sent: 2838,
            ok: 2790,
            failed: 41,
            dropped: 2,
            in_flight: 7,
            achieved_per_second: 199.8,
            lateness_p99_us: 412,
            from_scheduled: LatencySnapshot {
                p50_us: 5_100,
                p99_us: 87_000,
                max_us: 2_930_000,
            },
            ..LoadStats::default()
        },
        pods: Some(vec![
            pod("checkout-7d9f8-aaaaa", false, "Terminating", true, false),
            pod("checkout-7d9f8-bbbbb", false, "Running", false, true),
            pod(
                "checkout-5c4b6-ccccc",
                true,
                "ContainerCreating",
                false,
                false,
            ),
        ]),
        events: vec![
            event(10_000, "stage restart begins"),
            event(11_300, "Killing checkout-7d9f8-aaaaa: Stopping container"),
        ],
        stopping: false,
    }
}

fn screen(view: &View, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| {
        (0..width)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
    };
    (0..height).map(row).collect()
}

#[test]
fn every_size_shows_stage_rate_outcomes_latency_pods_and_the_way_out() {
    for size in SIZES {
        let text = screen(&view(), size).join("\n");
        for part in [
            "restart 2/3",
            "4.2s of at most 120s",
            "rate 199.8 of 200/s",
            "failed 41",
            "ok 2790",
            "in flight 7",
            "sent 2838",
            "dropped 2",
            "p50 5.1ms",
            "p99 87ms",
            "max 2.9s",
            "1 old, 1 new, 1 terminating",
            "Terminating",
            "q or Ctrl-C",
        ] {
            assert!(text.contains(part), "{part:?} is not on {size:?}:\n{text}");
        }
    }
}

#[test]
fn a_usual_terminal_shows_every_pod_and_the_last_events() {
    for size in [(80, 24), (120, 40)] {
        let text = screen(&view(), size).join("\n");
        for part in [
            "old Terminating          not ready checkout-7d9f8-aaaaa",
            "old Running              ready     checkout-7d9f8-bbbbb",
            "new ContainerCreating    not ready checkout-5c4b6-ccccc",
            "  11.3s Killing checkout-7d9f8-aaaaa",
            "(drain_started)",
            "checkout-restart",
        ] {
            assert!(text.contains(part), "{part:?} is not on {size:?}:\n{text}");
        }
    }
}

#[test]
fn pods_without_room_are_counted_and_those_that_change_stay_in_sight() {
    let mut view = view();
    let mut pods: Vec<_> = (0..500)
        .map(|n| {
            pod(
                &format!("checkout-7d9f8-{n:05}"),
                false,
                "Running",
                false,
                true,
            )
        })
        .collect();
    pods.push(pod(
        "checkout-7d9f8-zzzzz",
        false,
        "Terminating",
        true,
        true,
    ));
    view.pods = Some(pods);
    for size in SIZES {
        let text = screen(&view, size).join("\n");
        assert!(text.contains("zzz"), "{size:?}:\n{text}");
        assert!(text.contains(" more"), "{size:?}:\n{text}");
        assert!(text.contains("500 old, 0 new, 1 terminating"), "{text}");
    }
}

#[test]
fn any_size_can_be_drawn() {
    for width in [1, 2, 7, 23, 69, 70, 300] {
        for height in [1, 2, 5, 6, 9, 19, 20, 21, 100] {
            screen(&view(), (width, height));
        }
    }
}

#[test]
fn nothing_is_claimed_of_pods_where_there_is_no_cluster() {
    let mut view = view();
    view.pods = None;
    let text = screen(&view, (80, 24)).join("\n");
    assert!(text.contains("nothing is known of them"), "{text}");
}

#[test]
fn a_run_that_is_to_stop_says_so() {
    let mut view = view();
    view.stopping = true;
    let text = screen(&view, (40, 10)).join("\n");
    assert!(text.contains("stopping"), "{text}");
}

/// A state as a cluster that says anything gives it.
fn hostile_state() -> ClusterState {
    let mut state = ClusterState::default();
    let pod = PodView {
        uid: "u".to_owned(),
        name: HOSTILE.to_owned(),
        template_hash: None,
        node: None,
        phase: HOSTILE.to_owned(),
        ready: false,
        terminating: false,
        grace_seconds: 30,
        unschedulable: None,
        containers: Vec::new(),
    };
    state.pods.insert(pod.uid.clone(), pod);
    state.events.push_back(EventNote {
        uid: "e".to_owned(),
        about_kind: "Pod".to_owned(),
        about: HOSTILE.to_owned(),
        severity: "Warning".to_owned(),
        reason: HOSTILE.to_owned(),
        message: HOSTILE.repeat(1000),
        count: 3,
    });
    state
}

#[test]
fn text_of_a_pod_commands_nothing() {
    let state = hostile_state();
    let mut progress = view().progress;
    progress.last_mark = Some(HOSTILE.to_owned());
    let mut events = Events::default();
    events.update(Duration::ZERO, &progress, Some(&state));
    let run = (HOSTILE, 1.0);
    let now = rollscope_records::RunOffset::ZERO;
    let view =
        View::of(run, now, &progress, &view().stats, Some(&state)).with(events.lines(), false);
    for size in SIZES {
        let text = screen(&view, size).concat();
        let acts = |c: char| c.is_control() || matches!(c, '\u{200b}' | '\u{202e}');
        assert!(!text.contains(acts), "{size:?}: {text:?}");
        assert!(text.contains("x2x9z"), "{size:?}: {text}");
    }
    let text = screen(&view, (120, 40)).join("\n");
    assert!(text.contains("pod\\u{1b}[2J"), "{text}");
    assert!(text.contains("! "), "{text}");
}

#[test]
fn an_event_is_told_once_and_again_when_it_happens_again() {
    let mut state = hostile_state();
    let progress = view().progress;
    let mut events = Events::default();
    for _ in 0..3 {
        events.update(Duration::ZERO, &progress, Some(&state));
    }
    assert_eq!(events.lines().len(), 3, "stage, event, mark");
    state.events[0].count = 4;
    events.update(Duration::from_secs(1), &progress, Some(&state));
    let last = events.lines().pop().unwrap();
    assert!(last.warning && last.text.contains("(x4)"), "{last:?}");
}

#[test]
fn before_the_template_changes_every_pod_is_old() {
    let lines = pods::lines(&hostile_state());
    assert_eq!(lines.len(), 1);
    assert!(!lines[0].new);
}
