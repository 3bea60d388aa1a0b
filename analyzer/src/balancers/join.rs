//! Which request a line is of.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use rollscope_accesslogs::Entry;
use rollscope_records::{Interval, RequestFacts, Requests, RunOffset};

/// A balancer and the client see the same moment this far apart, ns: each reads its clock when it gets to it.
const SLACK: i64 = 250_000_000;

/// The requests by our port, each in order of its dispatch.
pub(super) struct Join<'a> {
    pub(super) requests: &'a Requests,
    by_port: HashMap<u16, OfPort>,
    /// Path of each request by name, without its query.
    paths: BTreeMap<&'a str, &'a str>,
    /// Requests by `seq`; made when first asked for.
    by_seq: OnceCell<HashMap<u64, usize>>,
}

#[derive(Default)]
struct OfPort {
    /// In order of dispatch: index, and whether a line was found.
    requests: Vec<(usize, bool)>,
    /// The first without a line.
    next: usize,
}

impl<'a> Join<'a> {
    pub(super) fn of(requests: &'a Requests, facts: &'a [RequestFacts]) -> Self {
        let mut by_port: HashMap<u16, OfPort> = HashMap::new();
        for (i, r) in requests.iter().enumerate() {
            if let (Some(port), Some(_)) = (r.local_port, r.dispatched) {
                by_port.entry(port).or_default().requests.push((i, false));
            }
        }
        for of_port in by_port.values_mut() {
            of_port
                .requests
                .sort_by_key(|(i, _)| requests.row(*i).dispatched);
        }
        let path = |f: &'a RequestFacts| f.path.split('?').next().unwrap_or_default();
        Self {
            requests,
            by_port,
            paths: facts.iter().map(|f| (f.name.as_str(), path(f))).collect(),
            by_seq: OnceCell::new(),
        }
    }

    /// The request of that `seq`.
    pub(super) fn numbered(&self, seq: u64) -> Option<usize> {
        let by_seq = self.by_seq.get_or_init(|| {
            let all = self.requests.iter().enumerate();
            all.map(|(i, r)| (r.seq, i)).collect()
        });
        by_seq.get(&seq).copied()
    }

    /// The request of an entry that arrived and ended in these intervals; each request has one line at most.
    pub(super) fn request(
        &mut self,
        entry: &Entry<'_>,
        (began, ended): (Interval, Interval),
    ) -> Option<usize> {
        let port = entry.client.as_ref()?.rsplit_once(':')?.1.parse().ok()?;
        let of_port = self.by_port.get_mut(&port)?;
        let requests = self.requests;
        let over = |i: usize| requests.row(i).ended.unwrap_or(RunOffset(i64::MAX));
        while let Some((i, found)) = of_port.requests.get(of_port.next)
            && (*found || over(*i).plus_nanos(SLACK) < began.lo.plus_nanos(-SLACK))
        {
            of_port.next += 1;
        }
        let from = of_port.next;
        let candidates = of_port.requests[from..].iter_mut();
        let near = candidates.take_while(|(i, _)| {
            let dispatched = requests.row(*i).dispatched;
            dispatched.is_some_and(|d| d.plus_nanos(-SLACK) <= ended.hi)
        });
        let paths = &self.paths;
        let same_path = |i: usize| {
            let known = paths.get(requests.row(i).name);
            known.is_none_or(|known| entry.path.as_ref().is_none_or(|p| p == known))
        };
        let (i, found) = near
            .filter(|(i, found)| !found && same_path(*i))
            .min_by_key(|(i, _)| over(*i).nanos_since(ended.mid()).saturating_abs())?;
        *found = true;
        Some(*i)
    }
}
