//! On which pod's lane a failed request is drawn.
//!
//! This places marks; the analysis alone says what caused a failure. The page tells on what each place rests.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_analyzer::{Analysis, Burst, PodReport};
use rollscope_records::{Recording, RequestRecord, RunOffset};

/// What a place rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The response named the pod.
    Header,
    /// Every answer on the same connection named the same pod.
    Connection,
    /// The burst that the request is in has one pod.
    Burst,
    /// Of the burst's pods, one was ending at that time.
    Ending,
    /// Nothing ties it to one pod.
    Nothing,
}

impl Basis {
    /// In words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Header => "the response named it",
            Self::Connection => "every answer on its connection named it",
            Self::Burst => "its burst has no other pod",
            Self::Ending => "of its burst's pods, only this one was ending then",
            Self::Nothing => "nothing ties it to one pod",
        }
    }
}

/// The place of one failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index into [`Analysis::pods`].
    pub(crate) pod: Option<usize>,
    /// What that rests on.
    pub(crate) basis: Basis,
    /// The burst's number.
    pub(crate) burst: Option<u32>,
}

/// Where failed requests go.
pub(crate) struct Placement<'a> {
    analysis: &'a Analysis,
    by_name: BTreeMap<&'a str, Vec<usize>>,
    by_connection: BTreeMap<u64, Option<&'a str>>,
    burst_of: BTreeMap<u64, usize>,
}

impl<'a> Placement<'a> {
    /// The places of a recording's failed requests.
    pub(crate) fn new(analysis: &'a Analysis, recording: &'a Recording) -> Self {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, pod) in analysis.pods.iter().enumerate() {
            by_name.entry(&pod.name).or_default().push(index);
        }
        let bursts = analysis.bursts.iter().enumerate();
        let burst_of = bursts
            .flat_map(|(index, burst)| burst.requests.iter().map(move |seq| (*seq, index)))
            .collect();
        Self {
            analysis,
            by_name,
            by_connection: pods_of_connections(recording),
            burst_of,
        }
    }

    /// The place of `request`.
    pub(crate) fn of(&self, request: &RequestRecord) -> Place {
        let burst = self
            .burst_of
            .get(&request.seq)
            .map(|index| &self.analysis.bursts[*index]);
        let at = request.ended.unwrap_or(request.scheduled);
        let connection = request
            .connection
            .and_then(|id| self.by_connection.get(&id).copied().flatten());
        let only = burst.and_then(|burst| match burst.pods.as_slice() {
            [pod] => Some(pod.as_str()),
            _ => None,
        });
        let ending = burst.and_then(|burst| self.only_ending(burst, at));
        let candidates = [
            (request.pod.as_deref(), Basis::Header),
            (connection, Basis::Connection),
            (only, Basis::Burst),
            (ending, Basis::Ending),
        ];
        let found = candidates
            .into_iter()
            .find_map(|(name, basis)| Some((self.pod(name?, at)?, basis)));
        Place {
            pod: found.map(|(pod, _)| pod),
            basis: found.map_or(Basis::Nothing, |(_, basis)| basis),
            burst: burst.map(|burst| burst.id),
        }
    }

    /// The one pod of a burst whose ending includes `at`; `None` where none or several do.
    fn only_ending(&self, burst: &'a Burst, at: RunOffset) -> Option<&'a str> {
        let ends = |name: &&String| {
            self.pod(name, at)
                .is_some_and(|pod| ending(&self.analysis.pods[pod], at))
        };
        let mut ending = burst.pods.iter().filter(ends);
        let first = ending.next()?;
        ending.next().is_none().then_some(first.as_str())
    }

    /// The pod that had `name` at `at`: the last one first seen before it.
    fn pod(&self, name: &str, at: RunOffset) -> Option<usize> {
        let named = self.by_name.get(name)?;
        let seen = named
            .iter()
            .rev()
            .find(|index| self.analysis.pods[**index].first_seen_ms.0 <= at);
        seen.or(named.first()).copied()
    }
}

/// Whether `at` lies between a pod's deletion and the end of the last thing that is known of its ending.
fn ending(pod: &PodReport, at: RunOffset) -> bool {
    let Some(from) = pod.deletion_requested_ms.map(|m| m.0.lo) else {
        return false;
    };
    let exit = pod.exit.as_ref().map(|exit| exit.at_ms.0.hi);
    let until = exit.max(pod.last_new_connection_ms.map(|m| m.0));
    from <= at && until.is_none_or(|until| at <= until)
}

/// The pod that every answer on a connection named, for connections on which a request failed; `None` where they differ
/// (a proxy is between).
fn pods_of_connections(recording: &Recording) -> BTreeMap<u64, Option<&str>> {
    let failed = recording.requests.iter().filter(|r| r.outcome.is_failure());
    let wanted: BTreeSet<u64> = failed.filter_map(|r| r.connection).collect();
    let mut pods: BTreeMap<u64, Option<&str>> = BTreeMap::new();
    for request in &recording.requests {
        if let (Some(id), Some(pod)) = (request.connection, request.pod.as_deref())
            && wanted.contains(&id)
        {
            pods.entry(id)
                .and_modify(|known| *known = known.filter(|name| *name == pod))
                .or_insert(Some(pod));
        }
    }
    pods
}

#[cfg(test)]
mod tests {
    use rollscope_analyzer::{MsInterval, PodExit};
    use rollscope_records::{Interval, Lane, Outcome};

    use super::*;
    use crate::html::fixtures::{analysis_of, recording_of};

    fn failed(seq: u64, connection: Option<u64>, pod: Option<&str>) -> RequestRecord {
        let mut r = RequestRecord::scheduled(seq, Lane::Reused, "list", RunOffset::from_millis(10));
        r.outcome = Outcome::EofBeforeHeaders;
        r.connection = connection;
        r.pod = pod.map(str::to_owned);
        r
    }

    fn answered(connection: u64, pod: &str) -> RequestRecord {
        let mut r = failed(90, Some(connection), Some(pod));
        r.outcome = Outcome::Ok;
        r
    }

    #[test]
    fn the_response_header_comes_first() {
        let request = failed(1, Some(7), Some("b"));
        let recording = recording_of(vec![answered(7, "b"), request.clone()]);
        let analysis = analysis_of(&["a", "b"], &[(1, &["a"])]);
        let place = Placement::new(&analysis, &recording).of(&request);
        assert_eq!(
            place,
            Place {
                pod: Some(1),
                basis: Basis::Header,
                burst: Some(1)
            }
        );
    }

    #[test]
    fn a_connection_on_which_every_answer_named_one_pod_is_that_pods() {
        let request = failed(1, Some(7), None);
        let recording = recording_of(vec![answered(7, "b"), answered(7, "b"), request.clone()]);
        let analysis = analysis_of(&["a", "b"], &[(1, &["a"])]);
        let place = Placement::new(&analysis, &recording).of(&request);
        assert_eq!((place.pod, place.basis), (Some(1), Basis::Connection));
    }

    #[test]
    fn a_connection_through_a_proxy_places_nothing() {
        let request = failed(1, Some(7), None);
        let recording = recording_of(vec![answered(7, "a"), answered(7, "b"), request.clone()]);
        let analysis = analysis_of(&["a", "b"], &[(1, &["a", "b"])]);
        let place = Placement::new(&analysis, &recording).of(&request);
        assert_eq!(
            place,
            Place {
                pod: None,
                basis: Basis::Nothing,
                burst: Some(1)
            }
        );
    }

    #[test]
    fn of_a_bursts_pods_the_only_one_that_was_ending_is_it() {
        let request = failed(1, None, None);
        let recording = recording_of(vec![request.clone()]);
        let mut analysis = analysis_of(&["a", "b"], &[(1, &["a", "b"])]);
        let window = |lo, hi| {
            MsInterval(Interval::new(
                RunOffset::from_millis(lo),
                RunOffset::from_millis(hi),
            ))
        };
        for (pod, from) in [(0, 100), (1, 5)] {
            analysis.pods[pod].deletion_requested_ms = Some(window(from, from + 1));
            analysis.pods[pod].exit = Some(PodExit {
                code: 0,
                reason: String::new(),
                at_ms: window(from + 20, from + 21),
            });
        }
        let place = Placement::new(&analysis, &recording).of(&request);
        assert_eq!((place.pod, place.basis), (Some(1), Basis::Ending));
    }

    #[test]
    fn a_burst_of_one_pod_places_what_has_no_other_tie() {
        let request = failed(1, None, None);
        let recording = recording_of(vec![request.clone()]);
        let analysis = analysis_of(&["a", "b"], &[(1, &["b"])]);
        let place = Placement::new(&analysis, &recording).of(&request);
        assert_eq!((place.pod, place.basis), (Some(1), Basis::Burst));
    }
}
