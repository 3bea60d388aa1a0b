//! Half of the cases of a server whose kind of failure is rare are aimed: drawn so that they reach it. The rest stays as
//! it was drawn.

use rand::RngExt;
use rand::rngs::StdRng;

use super::draw::{Case, PreStop, Server};
use super::mix::Asked;

/// The row of the ranges that tells of it.
pub(super) const WORDS: &str = "half of the cases of slow-start (lag under 0.2 s, deadlines of 0.5 s), pool-first and \
     double-owner (served for 0.5 s longer than the lag), keepalive-hang (a short drain delay, requests of 0.5 s, and \
     for http a lag over the grace), early-close (the close of idle connections 50 to 150 ms on its way, 100 requests/s \
     or more), the servers that never hear the signal (a lag over the grace), forced-exit (its timer 0.6 to 1.5 s after \
     the signal) and graceful without a proxy (its own deadline 0.3 to 1.5 s, long requests)";

/// Makes a case reach what its server is there for.
pub(super) fn aim(case: &mut Case, rng: &mut StdRng) {
    if !rng.random_bool(0.5) {
        return;
    }
    let http = case.front_end == "http";
    match case.server {
        Server::Subject("slow-start") => {
            case.lag_ms = (0, rng.random_range(50..200));
            quick(case, 500);
        }
        Server::Subject("pool-first" | "double-owner") => {
            case.drain_delay_ms = case.lag_ms.1 + 500;
            case.grace = case.grace.max(case.drain_delay_ms / 1000 + 3);
        }
        Server::Subject("keepalive-hang") => {
            case.drain_delay_ms = rng.random_range(0..300);
            case.rate = case.rate.max(60);
            no_hook(case);
            without_long(case);
            for asked in case.mix.0.iter_mut().filter(|a| a.name == "work") {
                "/work?ms=500".clone_into(&mut asked.path);
            }
            if http {
                over_the_grace(case, rng);
            }
        }
        Server::Subject("early-close") => {
            case.close_travel_ms = rng.random_range(50..=150);
            case.rate = case.rate.max(100);
        }
        Server::ShellWrapped | Server::Subject("no-handler") => {
            no_hook(case);
            over_the_grace(case, rng);
        }
        Server::Subject("forced-exit") => {
            case.safety_ms = Some(rng.random_range(600..1500));
            case.drain_delay_ms = case.drain_delay_ms.max(1600);
        }
        Server::Subject("graceful") if !case.sidecar => {
            case.drain_delay_ms = rng.random_range(0..500);
            case.drain_deadline_ms = rng.random_range(300..1500);
            case.grace = case.grace.max(5);
            with_long(case);
        }
        _ => {}
    }
}

fn quick(case: &mut Case, deadline_ms: u64) {
    let fast = |a: &&mut Asked| matches!(a.name.as_str(), "home" | "fresh");
    for asked in case.mix.0.iter_mut().filter(fast) {
        asked.deadline_ms = deadline_ms;
    }
}

/// What is routed to a pod reaches it until after its grace.
fn over_the_grace(case: &mut Case, rng: &mut StdRng) {
    case.grace = rng.random_range(2..=3);
    case.lag_ms = (case.grace * 1000 + 500, 5000);
}

/// Without a hook, the signal comes at once.
fn no_hook(case: &mut Case) {
    case.pre_stop = None::<PreStop>;
}

fn without_long(case: &mut Case) {
    case.mix.0.retain(|a| a.name != "long");
}

fn with_long(case: &mut Case) {
    if case.mix.named("long").is_none() {
        let work = case.mix.named("work").cloned();
        case.mix.0.extend(work.map(|work| Asked {
            name: "long".to_owned(),
            path: "/work?ms=4000".to_owned(),
            weight: 1,
            deadline_ms: 12_000,
            ..work
        }));
    }
}
