//! The schedule as the server and the records see it: shapes, threads, delays.

use std::sync::Arc;
use std::time::Duration;

use rollscope_loadgen::{Direct, Schedule};
use rollscope_records::{Lane, Outcome};
use rollscope_scenarios::{Arrivals, Load, OwnRate, Rate, RateStep, RequestSpec};

use crate::harness::{Run, ended, get, load, start};
use crate::server::{OK, Server};

fn sent(server: &Server, load: Load, requests: u64) -> Run {
    let running = start(&server.url(), load, Arc::new(Direct));
    running.wait(|s| ended(s) + s.dropped >= requests);
    let run = running.stop(Duration::from_secs(5));
    run.check(server);
    run
}

#[test]
fn every_shape_puts_its_slots_where_the_schedule_says_on_any_number_of_threads() {
    let step = |per_second, lasts| RateStep { per_second, lasts };
    let shapes = [
        Rate::Constant(700.0),
        Rate::Steps(vec![
            step(100.0, Some(Duration::from_millis(200))),
            step(900.0, None),
        ]),
        Rate::Ramp {
            from: 50.0,
            to: 1_500.0,
            over: Duration::from_millis(500),
        },
    ];
    for rate in shapes {
        for (arrivals, threads) in [
            (Arrivals::Even, 3),
            (Arrivals::Poisson, 1),
            (Arrivals::Poisson, 2),
        ] {
            let server = Server::answering(OK);
            let mut load = load(1.0, vec![get(Lane::Reused), get(Lane::New)]);
            (load.rate, load.arrivals) = (rate.clone(), arrivals);
            load.pacing.threads = Some(threads);
            let schedule = Schedule::new(&load).unwrap();
            let run = sent(&server, load, 250);
            assert_eq!(run.generator.threads, threads);
            let from = run.generator.from;
            for request in &run.requests {
                assert_eq!(request.scheduled, from.plus(schedule.due(request.seq)));
                assert!(request.dispatched >= Some(request.scheduled));
            }
            assert_eq!(run.generator.to, run.requests.last().unwrap().scheduled);
            let mut ids: Vec<_> = run.connections.iter().map(|c| c.id).collect();
            ids.dedup();
            assert_eq!(ids.len(), run.connections.len(), "ids are unique");
        }
    }
}

#[test]
fn a_request_with_a_rate_of_its_own_comes_beside_the_mix_on_any_number_of_threads() {
    for threads in [1, 3] {
        let server = Server::answering(OK);
        let named = |name: &str, lane| RequestSpec {
            name: name.to_owned(),
            ..get(lane)
        };
        let mix = [
            ("kept", Lane::Reused),
            ("enqueue", Lane::New),
            ("fresh", Lane::New),
        ];
        let requests = mix.map(|(name, lane)| named(name, lane)).to_vec();
        let mut load = load(400.0, requests);
        load.own_rate = Some(OwnRate {
            request: "enqueue".to_owned(),
            per_second: 100.0,
        });
        load.pacing.threads = Some(threads);
        let run = sent(&server, load, 500);
        let from = run.generator.from;
        let due = |name: &str| -> Vec<_> {
            let own = run.requests.iter().filter(|r| r.name == name);
            own.map(|r| r.scheduled.nanos_since(from)).collect()
        };
        // 100 a second, whatever else is sent; and the others share out the load's rate among themselves.
        for (i, at) in due("enqueue").into_iter().enumerate() {
            assert_eq!(at, i as i64 * 10_000_000);
        }
        for (name, first) in [("kept", 0), ("fresh", 2_500_000)] {
            for (i, at) in due(name).into_iter().enumerate() {
                assert_eq!(at, first + i as i64 * 5_000_000, "{name}");
            }
        }
        let seqs: Vec<u64> = run.requests.iter().map(|r| r.seq).collect();
        assert_eq!(seqs, (0..run.generator.planned).collect::<Vec<_>>());
        assert_eq!(
            run.generator.planned,
            run.generator.sent + run.generator.dropped
        );
        assert!(due("enqueue").len().abs_diff(due("kept").len() / 2) <= 1);
    }
}

#[test]
fn the_server_reads_as_many_requests_as_were_sent_at_every_rate() {
    for (rate, requests) in [(1_000.0, 1_000), (5_000.0, 5_000), (20_000.0, 10_000)] {
        let server = Server::answering(OK);
        let mut load = load(rate, vec![get(Lane::Reused)]);
        load.max_in_flight = 200;
        let run = sent(&server, load, requests);
        let generator = &run.generator;
        assert_eq!(generator.planned, generator.sent + generator.dropped);
        assert_eq!(server.seen().len() as u64, generator.sent);
        assert_eq!(run.count(Outcome::Ok) as u64, generator.sent);
        assert!(generator.tolerance_us.is_some() && generator.lost_records == 0);
    }
}

#[test]
fn a_server_that_stops_reading_breaks_no_count_on_several_threads() {
    let server = Server::start(|peer| {
        for _ in 0..20 {
            if peer.read_request().is_none() {
                return;
            }
            peer.write(OK);
        }
        peer.pause(Duration::from_millis(400));
    });
    let mut spec = get(Lane::Reused);
    spec.deadline = Duration::from_millis(200);
    let mut load = load(2_000.0, vec![spec]);
    load.max_in_flight = 5;
    load.pacing.threads = Some(2);
    let run = sent(&server, load, 2_000);
    let generator = &run.generator;
    assert!(generator.dropped > 0 && generator.max_in_flight <= 5);
    assert_eq!(run.count(Outcome::Dropped) as u64, generator.dropped);
}
