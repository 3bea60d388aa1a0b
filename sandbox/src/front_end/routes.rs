//! Where a front end sends traffic now: the endpoints that have reached it, and the rule that picks among them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rollscope_scenarios::FrontEnd as FrontEndKind;
use tokio::sync::watch;

use super::endpoint::Endpoint;
use super::propagation::EndpointChange;
use super::upstream::Upstream;
use crate::truth::LateTruth;

/// The routes of one front end.
#[derive(Debug)]
pub(super) struct Routes {
    kind: FrontEndKind,
    table: Mutex<Table>,
    turn: AtomicUsize,
    /// Counts the changes of the table.
    version: watch::Sender<u64>,
    pub(super) truth: LateTruth,
}

#[derive(Debug)]
struct Table {
    endpoints: BTreeMap<String, Endpoint>,
    /// The endpoints that get new traffic, by name.
    routable: Vec<Arc<Upstream>>,
    rng: StdRng,
}

impl Routes {
    /// No routes yet. `seed` decides where the turns begin (`http`) and every choice (`l4`).
    pub(super) fn new(kind: FrontEndKind, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        Self {
            kind,
            truth: LateTruth::default(),
            version: watch::Sender::new(0),
            turn: AtomicUsize::new(rng.random_range(0..1 << 16)),
            table: Mutex::new(Table {
                endpoints: BTreeMap::new(),
                routable: Vec::new(),
                rng,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes have reached the front end. Endpoints that get no new traffic any more are retired.
    pub(super) fn apply(&self, changes: Vec<EndpointChange>) {
        let mut table = self.lock();
        for change in changes {
            match change.state {
                Some(endpoint) => table.endpoints.insert(change.name, endpoint),
                None => table.endpoints.remove(&change.name),
            };
        }
        let before = std::mem::take(&mut table.routable);
        table.routable = routable(self.kind, &table.endpoints)
            .map(|endpoint| {
                let kept = before.iter().find(|u| u.is(endpoint));
                kept.map_or_else(|| Arc::new(Upstream::new(endpoint)), Arc::clone)
            })
            .collect();
        for upstream in &before {
            if !table.routable.iter().any(|u| Arc::ptr_eq(u, upstream)) {
                upstream.retire();
            }
        }
        drop(table);
        self.version.send_modify(|v| *v += 1);
    }

    /// Tells of every change, by its number.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Where the endpoints are that get new traffic.
    pub(super) fn sockets(&self) -> Vec<SocketAddr> {
        let table = self.lock();
        table.routable.iter().map(|u| u.socket()).collect()
    }

    /// Whether no endpoint is ready, so that those that terminate are all there is.
    pub(super) fn is_fallback(&self) -> bool {
        !self.lock().endpoints.values().any(|e| e.ready)
    }

    /// The addresses of the endpoints that get new traffic.
    pub(super) fn routed(&self) -> Vec<SocketAddr> {
        self.lock().routable.iter().map(|u| u.socket()).collect()
    }

    /// Any endpoint, at random, as iptables rules choose.
    pub(super) fn at_random(&self) -> Option<Arc<Upstream>> {
        let mut table = self.lock();
        let count = table.routable.len();
        if count == 0 {
            return None;
        }
        let chosen = table.rng.random_range(0..count);
        Some(Arc::clone(&table.routable[chosen]))
    }

    /// The endpoint whose turn it is.
    pub(super) fn in_turn(&self) -> Option<Arc<Upstream>> {
        let table = self.lock();
        let turn = self.turn.fetch_add(1, Relaxed);
        let chosen = turn.checked_rem(table.routable.len())?;
        Some(Arc::clone(&table.routable[chosen]))
    }
}

/// The endpoints that get new traffic. An ingress takes those that are ready. kube-proxy does too; if there is none,
/// those that are terminating and still serving.
fn routable(
    kind: FrontEndKind,
    endpoints: &BTreeMap<String, Endpoint>,
) -> impl Iterator<Item = &Endpoint> {
    let fall_back = kind == FrontEndKind::L4 && !endpoints.values().any(|e| e.ready);
    endpoints.values().filter(move |e| {
        if fall_back {
            e.serving && e.terminating
        } else {
            e.ready
        }
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A change to (ready, serving, terminating).
    fn change(name: &str, (ready, serving, terminating): (bool, bool, bool)) -> EndpointChange {
        let state = Endpoint {
            name: name.to_owned(),
            socket: "127.0.0.1:1".parse().unwrap(),
            ready,
            serving,
            terminating,
        };
        EndpointChange {
            name: name.to_owned(),
            state: Some(state),
        }
    }

    const READY: (bool, bool, bool) = (true, true, false);
    const DRAINING: (bool, bool, bool) = (false, true, true);
    const FAILED: (bool, bool, bool) = (false, false, true);

    fn chosen(routes: &Routes) -> BTreeSet<String> {
        let picks = (0..100).filter_map(|_| routes.at_random());
        picks.map(|u| u.name().to_owned()).collect()
    }

    fn routes(kind: FrontEndKind, changes: Vec<EndpointChange>) -> Routes {
        let routes = Routes::new(kind, 7);
        routes.apply(changes);
        routes
    }

    #[test]
    fn ready_endpoints_alone_get_traffic_while_there_are_any() {
        let changes = || {
            vec![
                change("a", READY),
                change("b", DRAINING),
                change("c", READY),
            ]
        };
        for kind in [FrontEndKind::L4, FrontEndKind::Http, FrontEndKind::Direct] {
            let chosen = chosen(&routes(kind, changes()));
            assert_eq!(chosen, BTreeSet::from(["a".to_owned(), "c".to_owned()]));
        }
    }

    #[test]
    fn without_ready_endpoints_l4_falls_back_to_those_that_drain_and_still_serve() {
        let changes = || {
            let starting = change("c", (false, false, false));
            vec![change("a", DRAINING), change("b", FAILED), starting]
        };
        let chosen = |kind| chosen(&routes(kind, changes()));
        assert_eq!(chosen(FrontEndKind::L4), BTreeSet::from(["a".to_owned()]));
        assert_eq!(chosen(FrontEndKind::Http), BTreeSet::new());
        assert_eq!(chosen(FrontEndKind::Direct), BTreeSet::new());
    }

    #[test]
    fn turns_are_shared_evenly() {
        let routes = routes(
            FrontEndKind::Http,
            ["a", "b", "c"].map(|n| change(n, READY)).into(),
        );
        let mut count = BTreeMap::new();
        for _ in 0..300 {
            *count
                .entry(routes.in_turn().unwrap().name().to_owned())
                .or_insert(0) += 1;
        }
        assert!(count.values().all(|n| *n == 100), "{count:?}");
    }

    #[test]
    fn the_same_seed_makes_the_same_choices() {
        let names = |seed| {
            let routes = Routes::new(FrontEndKind::L4, seed);
            routes.apply(["a", "b", "c"].map(|n| change(n, READY)).into());
            let picks = (0..50).filter_map(|_| routes.at_random());
            picks.map(|u| u.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(3), names(3));
        assert_ne!(names(3), names(4));
    }
}
