//! How long a change of an endpoint takes to reach a front end. Pure: times come from the caller.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rollscope_scenarios::DurationRange;
use tokio::time::Instant;

use super::endpoint::Endpoint;

/// A change of one endpoint: its new state, or `None` when it is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndpointChange {
    pub(super) name: String,
    pub(super) state: Option<Endpoint>,
}

/// Changes on their way. Each takes a lag of its own, drawn uniformly from a range, but none overtakes an earlier
/// change of the same endpoint.
#[derive(Debug)]
pub(super) struct Propagation {
    lag: DurationRange,
    rng: StdRng,
    /// The endpoints as they were last observed.
    observed: BTreeMap<String, Endpoint>,
    /// Changes by the time at which they are due; those of one time in order of observation.
    under_way: BTreeMap<Instant, VecDeque<EndpointChange>>,
    /// When the last change of an endpoint is due.
    last_due: BTreeMap<String, Instant>,
}

impl Propagation {
    /// Nothing observed, nothing under way.
    pub(super) fn new(lag: DurationRange, seed: u64) -> Self {
        Self {
            lag,
            rng: StdRng::seed_from_u64(seed),
            observed: BTreeMap::new(),
            under_way: BTreeMap::new(),
            last_due: BTreeMap::new(),
        }
    }

    /// A seed for the front end's other choices.
    pub(super) fn draw_seed(&mut self) -> u64 {
        self.rng.random()
    }

    /// Takes over endpoints that the front end knows from its start, without lag.
    pub(super) fn known(&mut self, endpoints: BTreeMap<String, Endpoint>) {
        self.observed = endpoints;
    }

    /// All endpoints of the Service were observed to be these at `now`: what differs from before is under way.
    pub(super) fn observe(&mut self, now: Instant, endpoints: BTreeMap<String, Endpoint>) {
        let before = std::mem::take(&mut self.observed);
        for name in before.keys().filter(|name| !endpoints.contains_key(*name)) {
            self.send(now, name, None);
        }
        for (name, endpoint) in &endpoints {
            if before.get(name) != Some(endpoint) {
                self.send(now, name, Some(endpoint.clone()));
            }
        }
        self.observed = endpoints;
    }

    fn send(&mut self, now: Instant, name: &str, state: Option<Endpoint>) {
        let mut due = now + self.draw();
        if let Some(last) = self.last_due.get(name) {
            due = due.max(*last);
        }
        self.last_due.insert(name.to_owned(), due);
        let name = name.to_owned();
        let at_that_time = self.under_way.entry(due).or_default();
        at_that_time.push_back(EndpointChange { name, state });
    }

    fn draw(&mut self) -> Duration {
        if self.lag.min >= self.lag.max {
            return self.lag.min;
        }
        self.rng.random_range(self.lag.min..=self.lag.max)
    }

    /// When the next change is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.under_way.keys().next().copied()
    }

    /// The changes that are due at `now`, in order.
    pub(super) fn due(&mut self, now: Instant) -> Vec<EndpointChange> {
        let mut due = Vec::new();
        while let Some(entry) = self.under_way.first_entry() {
            if *entry.key() > now {
                break;
            }
            due.extend(entry.remove());
        }
        for change in due.iter().filter(|change| change.state.is_none()) {
            if self.last_due.get(&change.name).is_some_and(|t| *t <= now) {
                self.last_due.remove(&change.name);
            }
        }
        due
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn endpoint(name: &str, ready: bool) -> Endpoint {
        Endpoint {
            name: name.to_owned(),
            socket: "127.0.0.1:1".parse().unwrap(),
            ready,
            serving: ready,
            terminating: false,
        }
    }

    fn of(endpoints: &[Endpoint]) -> BTreeMap<String, Endpoint> {
        let named = endpoints.iter().map(|e| (e.name.clone(), e.clone()));
        named.collect()
    }

    fn range(min: u64, max: u64) -> DurationRange {
        DurationRange {
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
        }
    }

    /// When each change of `a` becomes due, in milliseconds from the start, with its state.
    fn run(
        lag: DurationRange,
        seed: u64,
        observed: &[(u64, Option<bool>)],
    ) -> Vec<(u64, Option<bool>)> {
        let start = Instant::now();
        let mut propagation = Propagation::new(lag, seed);
        for (at, ready) in observed {
            let endpoints: Vec<_> = ready.iter().map(|r| endpoint("a", *r)).collect();
            propagation.observe(start + Duration::from_millis(*at), of(&endpoints));
        }
        let mut applied = Vec::new();
        while let Some(due) = propagation.next_due() {
            for change in propagation.due(due) {
                let at = due.duration_since(start).as_millis() as u64;
                applied.push((at, change.state.map(|e| e.ready)));
            }
        }
        applied
    }

    #[test]
    fn a_change_is_due_after_a_fixed_lag() {
        let applied = run(
            range(300, 300),
            1,
            &[(0, Some(true)), (100, Some(false)), (200, None)],
        );
        assert_eq!(
            applied,
            [(300, Some(true)), (400, Some(false)), (500, None)]
        );
    }

    #[test]
    fn what_did_not_change_is_not_under_way() {
        let applied = run(range(0, 0), 1, &[(0, Some(true)), (10, Some(true))]);
        assert_eq!(applied, [(0, Some(true))]);
    }

    #[test]
    fn known_endpoints_are_not_changes() {
        let mut propagation = Propagation::new(range(0, 0), 1);
        propagation.known(of(&[endpoint("a", true)]));
        propagation.observe(Instant::now(), of(&[endpoint("a", true)]));
        assert_eq!(propagation.next_due(), None);
    }

    #[test]
    fn endpoints_that_change_together_have_lags_of_their_own() {
        let start = Instant::now();
        let mut propagation = Propagation::new(range(0, 10_000), 7);
        let endpoints: Vec<_> = (0..10).map(|i| endpoint(&format!("e{i}"), true)).collect();
        propagation.observe(start, of(&endpoints));
        let at_half_time = propagation.due(start + Duration::from_secs(5)).len();
        assert!((1..10).contains(&at_half_time));
    }

    proptest! {
        #[test]
        fn changes_of_an_endpoint_keep_their_order_and_their_lag(
            seed: u64,
            (min, more) in (0u64..500, 0u64..2000),
            steps in prop::collection::vec((0u64..300, prop::option::of(any::<bool>())), 1..30),
        ) {
            let mut now = 0;
            let mut before = None;
            let mut observed = Vec::new();
            let mut expected = Vec::new();
            for (pause, state) in steps {
                now += pause;
                observed.push((now, state));
                if state != before {
                    expected.push((now, state));
                    before = state;
                }
            }
            let applied = run(range(min, min + more), seed, &observed);
            let states = |of: &[(u64, Option<bool>)]| of.iter().map(|s| s.1).collect::<Vec<_>>();
            prop_assert_eq!(states(&applied), states(&expected));
            for (was, became) in expected.iter().zip(&applied) {
                prop_assert!(became.0 >= was.0 + min && became.0 <= now + min + more);
            }
            prop_assert!(applied.is_sorted_by_key(|a| a.0));
            prop_assert_eq!(applied, run(range(min, min + more), seed, &observed));
        }
    }
}
