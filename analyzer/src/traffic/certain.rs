//! The pod of each request, where it is certain.

use std::collections::{BTreeMap, HashMap};

use rollscope_records::Requests;

use super::attribution::How;
use crate::timeline::{PodIx, Timeline};

const NONE: u32 = u32::MAX;

/// The pod of each request and how it is known, five bytes a request.
#[derive(Debug, Default)]
pub(crate) struct Certain {
    pods: Vec<u32>,
    how: Vec<How>,
}

impl Certain {
    /// The pods that the responses themselves name.
    pub(super) fn named(requests: &Requests, timeline: &Timeline) -> Self {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut certain = Self::default();
        certain.pods.reserve_exact(requests.len());
        certain.how.reserve_exact(requests.len());
        for r in requests {
            let pod = r.pod.map_or(NONE, |name| {
                let found = || timeline.by_name.get(name).map_or(NONE, |ix| ix.0 as u32);
                *known.entry(name).or_insert_with(found)
            });
            certain.pods.push(pod);
            certain.how.push(if pod == NONE {
                How::Unknown
            } else {
                How::Header
            });
        }
        certain
    }

    /// Fills in what is not known yet.
    pub(super) fn fill(&mut self, mut find: impl FnMut(usize) -> Option<(PodIx, How)>) {
        for i in 0..self.pods.len() {
            if self.pods[i] == NONE
                && let Some((pod, how)) = find(i)
            {
                (self.pods[i], self.how[i]) = (pod.0 as u32, how);
            }
        }
    }

    /// The pod of the request at `index`.
    pub(crate) fn pod(&self, index: usize) -> Option<PodIx> {
        let pod = self.pods.get(index).copied().filter(|pod| *pod != NONE);
        pod.map(|pod| PodIx(pod as usize))
    }

    /// How it is known.
    pub(super) fn how(&self, index: usize) -> How {
        self.how.get(index).copied().unwrap_or(How::Unknown)
    }
}

/// The pod that each connection's responses name. Ids are near each other in a recording of our own.
pub(super) struct ByConnection {
    near: Vec<u32>,
    far: BTreeMap<u64, u32>,
}

impl ByConnection {
    /// `None` where a connection was answered by two pods.
    pub(super) fn of(requests: &Requests, named: &Certain) -> Option<Self> {
        let most = requests.len().saturating_mul(4) as u64;
        let near = |id: &u64| *id < most;
        let length = requests.iter().filter_map(|r| r.connection).filter(near);
        let mut map = Self {
            near: vec![NONE; length.max().map_or(0, |id| id as usize + 1)],
            far: BTreeMap::new(),
        };
        for (i, r) in requests.iter().enumerate() {
            let (Some(id), Some(pod)) = (r.connection, named.pod(i)) else {
                continue;
            };
            let slot = match map.near.get_mut(id as usize) {
                Some(slot) if id < most => slot,
                _ => map.far.entry(id).or_insert(NONE),
            };
            if *slot == NONE {
                *slot = pod.0 as u32;
            } else if *slot != pod.0 as u32 {
                return None;
            }
        }
        Some(map)
    }

    /// The pod of a connection.
    pub(super) fn pod(&self, id: u64) -> Option<PodIx> {
        let near = usize::try_from(id).ok().and_then(|id| self.near.get(id));
        let pod = near.or_else(|| self.far.get(&id)).copied();
        pod.filter(|pod| *pod != NONE)
            .map(|pod| PodIx(pod as usize))
    }
}
