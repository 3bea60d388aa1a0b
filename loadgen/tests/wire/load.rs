//! The load as a whole: counts that hold whatever the server does.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rollscope_loadgen::{Direct, LoadConfig, LoadError, RunningLoad};
use rollscope_records::{
    Lane, Outcome, Phase, Recording, RecordingWriter, RunClock, RunRecord, TargetFacts,
};

use crate::harness::{block_on, ended, get, load, start};
use crate::server::{OK, Server};

#[test]
fn every_slot_is_sent_on_the_absolute_schedule_in_both_lanes() {
    let server = Server::answering(OK);
    let mut kept = get(Lane::Reused);
    kept.name = "kept".to_owned();
    kept.weight = 3;
    let running = start(
        &server.url(),
        load(400.0, vec![kept, get(Lane::New)]),
        Arc::new(Direct),
    );
    running.wait(|s| ended(s) >= 400);
    let run = running.stop(Duration::from_secs(5));
    run.check(&server);
    assert_eq!(run.count(Outcome::Ok), run.requests.len());
    for request in &run.requests {
        let due = run
            .generator
            .from
            .plus_nanos(request.seq as i64 * 2_500_000);
        assert_eq!(request.scheduled, due);
        let lane = if request.name == "kept" {
            Lane::Reused
        } else {
            Lane::New
        };
        assert_eq!(request.lane, lane);
    }
    let kept = run.requests.iter().filter(|r| r.name == "kept").count();
    assert!(kept.abs_diff(run.requests.len() * 3 / 4) <= 2);
    assert!(run.generator.cpu_us > 0);
    assert!(run.generator.lateness_us.p50 <= run.generator.lateness_us.max);
    assert_eq!(run.generator.to, run.requests.last().unwrap().scheduled);
}

#[test]
fn slots_over_the_cap_are_recorded_as_dropped() {
    let server = Server::start(|peer| {
        if peer.read_request().is_some() {
            peer.wait_for_end();
        }
    });
    let mut spec = get(Lane::New);
    spec.deadline = Duration::from_secs(60);
    let mut load = load(200.0, vec![spec]);
    load.max_in_flight = 5;
    let running = start(&server.url(), load, Arc::new(Direct));
    running.wait(|s| s.dropped >= 50);
    let stats = running.load.stats();
    assert_eq!((stats.sent, stats.in_flight), (5, 5));
    let run = running.stop(Duration::from_millis(50));
    run.check(&server);
    assert_eq!((run.generator.sent, run.generator.max_in_flight), (5, 5));
    assert_eq!(run.count(Outcome::Aborted), 5);
    assert_eq!(run.count(Outcome::Dropped) as u64, run.generator.dropped);
    for dropped in run
        .requests
        .iter()
        .filter(|r| r.outcome == Outcome::Dropped)
    {
        assert_eq!((dropped.phase, dropped.dispatched), (Phase::Queue, None));
        assert_eq!((dropped.connection, dropped.bytes_sent), (None, 0));
    }
}

#[test]
fn a_server_that_stops_accepting_breaks_no_count() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut spec = get(Lane::Reused);
    spec.deadline = Duration::from_millis(150);
    let mut load = load(500.0, vec![spec, get(Lane::New)]);
    load.max_in_flight = 40;
    let running = start(&url, load, Arc::new(Direct));
    running.wait(|s| s.planned >= 300);
    let stats = running.load.stats();
    assert_eq!(stats.planned, stats.sent + stats.dropped);
    let run = running.stop(Duration::from_millis(100));
    let generator = &run.generator;
    assert_eq!(generator.planned, run.requests.len() as u64);
    assert_eq!(generator.planned, generator.sent + generator.dropped);
    let over = run.count(Outcome::DeadlineExceeded) + run.count(Outcome::Aborted);
    assert_eq!(over as u64, generator.sent);
    assert!(generator.dropped > 0 && generator.max_in_flight == 40);
}

#[test]
fn stopping_waits_for_what_is_in_flight() {
    let server = Server::start(|peer| {
        while peer.read_request().is_some() {
            std::thread::sleep(Duration::from_millis(200));
            peer.write(OK);
        }
    });
    let running = start(
        &server.url(),
        load(100.0, vec![get(Lane::New)]),
        Arc::new(Direct),
    );
    running.wait(|s| s.sent >= 5);
    let run = running.stop(Duration::from_secs(5));
    run.check(&server);
    assert_eq!(run.count(Outcome::Ok) as u64, run.generator.sent);
}

#[test]
fn aborting_records_what_is_in_flight_with_its_phase() {
    let server = Server::start(|peer| {
        if peer.read_request().is_some() {
            peer.wait_for_end();
        }
    });
    let running = start(
        &server.url(),
        load(100.0, vec![get(Lane::Reused)]),
        Arc::new(Direct),
    );
    running.wait(|s| s.sent >= 3 && server.seen().len() >= 3);
    let run = running.abort();
    run.check(&server);
    assert_eq!(run.count(Outcome::Aborted) as u64, run.generator.sent);
    assert!(run.requests[..3].iter().all(|r| r.phase == Phase::Head));
    assert!(
        run.requests
            .iter()
            .all(|r| r.ended.is_some() && !r.maskable)
    );
    assert_eq!(run.connections.len(), run.requests.len());
}

#[test]
fn a_drain_that_is_cut_short_aborts_what_is_left() {
    let server = Server::start(|peer| {
        if peer.read_request().is_some() {
            peer.wait_for_end();
        }
    });
    let mut spec = get(Lane::New);
    spec.deadline = Duration::from_secs(60);
    let load = load(100.0, vec![spec]);
    let running = start(&server.url(), load, Arc::new(Direct));
    running.wait(|s| s.sent >= 3);
    let begun = Instant::now();
    let run = running.stop_impatiently(Duration::from_secs(60));
    assert!(begun.elapsed() < Duration::from_secs(10));
    run.check(&server);
    assert_eq!(run.count(Outcome::Aborted) as u64, run.generator.sent);
}

#[test]
fn a_load_that_is_dropped_leaves_its_records() {
    let server = Server::start(|peer| peer.wait_for_end());
    let running = start(
        &server.url(),
        load(100.0, vec![get(Lane::New)]),
        Arc::new(Direct),
    );
    running.wait(|s| s.sent >= 2);
    let sink = running.forget();
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while sink.recorded() < 2 {
        assert!(std::time::Instant::now() < deadline, "no records");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_is_recorded_on_disk_is_what_was_counted() {
    let server = Server::answering(OK);
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("load.rollscope");
    let clock = RunClock::start();
    let facts = run_facts(&clock);
    let writer = RecordingWriter::create(&dir, &facts).unwrap();
    let load = RunningLoad::start(LoadConfig {
        load: load(300.0, vec![get(Lane::Reused), get(Lane::New)]),
        base_url: server.url(),
        env: Box::new(|_| None),
        clock,
        recorder: Arc::new(writer.clone()),
        dialer: Arc::new(Direct),
        share: None,
        program: None,
    })
    .unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while ended(&load.stats()) < 200 {
        assert!(Instant::now() < deadline, "{:?}", load.stats());
        std::thread::sleep(Duration::from_millis(1));
    }
    let generator = block_on(load.stop(Duration::from_secs(5)));
    writer.finish(Some(&generator), &facts).unwrap();
    let recording = Recording::open(&dir).unwrap();
    assert_eq!(recording.requests.len() as u64, generator.planned);
    assert_eq!(recording.connections.len(), server.accepted());
    assert_eq!(server.seen().len() as u64, generator.sent);
    assert_eq!(recording.generator, Some(generator));
    assert_eq!(recording.losses, []);
}

fn run_facts(clock: &RunClock) -> RunRecord {
    RunRecord {
        rate_per_second: 300.0,
        ..RunRecord::new(
            "1",
            "load",
            "rollscope",
            clock.wall_start_unix_nanos(),
            TargetFacts::of("none"),
        )
    }
}

#[test]
fn wrong_targets_are_refused_before_anything_is_sent() {
    for (url, expected) in [
        ("http://no-such-host.invalid", "no-such-host.invalid"),
        ("127.0.0.1:80", "base_url"),
        ("gopher://127.0.0.1", "neither http nor https"),
    ] {
        let error: LoadError = RunningLoad::start(LoadConfig {
            load: load(1.0, vec![get(Lane::New)]),
            base_url: url.to_owned(),
            env: Box::new(|_| None),
            clock: RunClock::start(),
            recorder: Arc::<crate::harness::Sink>::default(),
            dialer: Arc::new(Direct),
            share: None,
            program: None,
        })
        .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
