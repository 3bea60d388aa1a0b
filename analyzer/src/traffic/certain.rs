//! The pod of each request, where it is certain.

use std::collections::BTreeMap;

use rollscope_records::{ABSENT, Fate, Field, Requests, RunOffset};

use super::attribution::How;
use crate::balancers::{Balancers, Met};
use crate::timeline::{PodIx, Timeline};

const NONE: u32 = u32::MAX;

/// The bits of a pod; those above it say how it is known.
const POD: u32 = (1 << 30) - 1;

/// The pod of each request and how it is known, four bytes a request.
#[derive(Debug, Default)]
pub(crate) struct Certain {
    pods: Vec<u32>,
}

/// What tells the pod of a request.
pub(super) struct Signs<'a> {
    /// By the number of a name in the responses.
    named: Vec<Option<PodIx>>,
    /// By the number of a peer: the pods that had its address.
    peers: Vec<Vec<PodIx>>,
    by_ip: BTreeMap<&'a str, Vec<PodIx>>,
    timeline: &'a Timeline,
}

impl<'a> Signs<'a> {
    pub(super) fn of(requests: &Requests, timeline: &'a Timeline) -> Self {
        let by_ip = by_ip(timeline);
        let of_peer = |peer: &str| {
            let (ip, _) = peer.rsplit_once(':')?;
            by_ip.get(ip.trim_matches(['[', ']'])).cloned()
        };
        Self {
            named: requests
                .texts(Field::Pod)
                .map(|name| timeline.by_name.get(name).copied())
                .collect(),
            peers: requests
                .texts(Field::Peer)
                .map(|peer| of_peer(peer).unwrap_or_default())
                .collect(),
            by_ip,
            timeline,
        }
    }

    #[inline]
    fn named(&self, number: i64) -> Option<PodIx> {
        *self.named.get(usize::try_from(number).ok()?)?
    }

    /// The pod that had the peer's address alone at `at`.
    fn of_peer(&self, number: i64, at: RunOffset) -> Option<PodIx> {
        self.alone(self.peers.get(usize::try_from(number).ok()?)?, at)
    }

    /// The pod that had that address alone at `at`.
    fn of_ip(&self, ip: &str, at: RunOffset) -> Option<PodIx> {
        self.alone(self.by_ip.get(ip)?, at)
    }

    fn alone(&self, pods: &[PodIx], at: RunOffset) -> Option<PodIx> {
        let pod = |p: &PodIx| self.timeline.pod(*p);
        let last = pods
            .iter()
            .filter(|p| pod(p).first_seen <= at)
            .max_by_key(|p| pod(p).first_seen)?;
        let alive = |p: &PodIx| pod(p).gone.is_none_or(|gone| gone > at);
        let others_alive = pods.iter().any(|p| p != last && alive(p));
        (!others_alive).then_some(*last)
    }
}

/// Pods by address; an address that several pods had is known by time only.
fn by_ip(timeline: &Timeline) -> BTreeMap<&str, Vec<PodIx>> {
    let mut map: BTreeMap<&str, Vec<PodIx>> = BTreeMap::new();
    for ix in timeline.indices() {
        if let Some(ip) = timeline.pod(ix).ip.as_deref() {
            map.entry(ip).or_default().push(ix);
        }
    }
    map
}

impl Certain {
    /// The pods that the responses name, that their connections' other responses name, or whose address the peer has.
    pub(super) fn of(
        requests: &Requests,
        signs: &Signs<'_>,
        by_connection: Option<&ByConnection>,
    ) -> Self {
        let fields = [
            Field::Pod,
            Field::Connection,
            Field::Peer,
            Field::Scheduled,
            Field::Dispatched,
        ];
        let stretches = requests.by_stretch(|blocks| {
            let mut pods = Vec::with_capacity(blocks.len() * Requests::BLOCK);
            let mut unpacked = requests.unpacked(fields);
            for block in blocks {
                let [names, connections, peers, scheduled, dispatched] = unpacked.block(block);
                for (i, name) in names.iter().enumerate() {
                    if let Some(pod) = signs.named(*name) {
                        pods.push(code(pod, How::Header));
                        continue;
                    }
                    let of_connection = by_connection.filter(|_| connections[i] != ABSENT);
                    let pod = of_connection.and_then(|c| c.pod(connections[i].cast_unsigned()));
                    let at = match dispatched[i] {
                        ABSENT => scheduled[i],
                        after => scheduled[i].wrapping_add(after),
                    };
                    let by_peer = || signs.of_peer(peers[i], RunOffset(at));
                    pods.push(match pod {
                        Some(pod) => code(pod, How::Connection),
                        None => by_peer().map_or(NONE, |pod| code(pod, How::Peer)),
                    });
                }
            }
            pods
        });
        let mut pods = Vec::with_capacity(requests.len());
        stretches.into_iter().for_each(|part| pods.extend(part));
        Self { pods }
    }

    /// Adds those that a balancer's log names, where the response does not.
    pub(super) fn fill_from(
        &mut self,
        balancers: &Balancers,
        requests: &Requests,
        signs: &Signs<'_>,
    ) {
        for (i, met) in balancers.all_met() {
            let r = requests.row(i);
            if self.pods[i] != NONE || r.pod.is_some() {
                continue;
            }
            let at = r.dispatched.unwrap_or(r.scheduled);
            if let Some(pod) = met.ip().and_then(|ip| signs.of_ip(ip, at)) {
                self.pods[i] = code(pod, How::BalancerLog);
            }
        }
    }

    /// The pod of the request at `index`.
    #[inline]
    pub(crate) fn pod(&self, index: usize) -> Option<PodIx> {
        let code = self.pods.get(index).copied().filter(|code| *code != NONE);
        code.map(|code| PodIx((code & POD) as usize))
    }

    /// Whether the failed request's status was made for its pod, by a balancer whose log names the pod: it did not
    /// answer then.
    pub(super) fn is_made_for_it(&self, index: usize, fate: Fate, balancers: &Balancers) -> bool {
        fate.outcome().is_failure()
            && matches!(self.how(index), How::BalancerLog | How::Peer)
            && balancers.met(index).is_some_and(Met::is_not_upstreams)
    }

    /// How it is known.
    pub(super) fn how(&self, index: usize) -> How {
        match self.pods.get(index).copied().unwrap_or(NONE) {
            NONE => How::Unknown,
            code => HOW[(code >> 30) as usize],
        }
    }
}

/// By their number in the two bits above those of a pod.
const HOW: [How; 4] = [How::Header, How::Connection, How::Peer, How::BalancerLog];

fn code(pod: PodIx, how: How) -> u32 {
    let how = HOW.iter().position(|h| *h == how).unwrap_or(0);
    pod.0 as u32 & POD | (how as u32) << 30
}

/// The pod that each connection's responses name. Ids are near each other in a recording of our own.
pub(super) struct ByConnection {
    near: Vec<u32>,
    far: BTreeMap<u64, u32>,
}

impl ByConnection {
    /// `None` where a connection was answered by two pods.
    pub(super) fn of(requests: &Requests, signs: &Signs<'_>) -> Option<Self> {
        let most = requests.len().saturating_mul(4) as u64;
        let mut map = Self {
            near: Vec::new(),
            far: BTreeMap::new(),
        };
        let mut unpacked = requests.unpacked([Field::Connection, Field::Pod]);
        for block in requests.blocks() {
            let [connections, names] = unpacked.block(block);
            for (id, name) in connections.iter().zip(names) {
                let (Some(pod), false) = (signs.named(*name), *id == ABSENT) else {
                    continue;
                };
                let slot = map.slot(id.cast_unsigned(), most);
                if *slot == NONE {
                    *slot = pod.0 as u32;
                } else if *slot != pod.0 as u32 {
                    return None;
                }
            }
        }
        Some(map)
    }

    #[inline]
    fn slot(&mut self, id: u64, most: u64) -> &mut u32 {
        if id >= most {
            return self.far.entry(id).or_insert(NONE);
        }
        let id = id as usize;
        if id >= self.near.len() {
            self.near.resize(id + 1, NONE);
        }
        &mut self.near[id]
    }

    /// The pod of a connection.
    fn pod(&self, id: u64) -> Option<PodIx> {
        let near = usize::try_from(id).ok().and_then(|id| self.near.get(id));
        let pod = near.or_else(|| self.far.get(&id)).copied();
        pod.filter(|pod| *pod != NONE)
            .map(|pod| PodIx(pod as usize))
    }
}
