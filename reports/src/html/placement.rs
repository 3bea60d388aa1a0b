//! On which pod's lane a failed request is drawn: where the analysis laid it.

use std::collections::BTreeMap;

use rollscope_analyzer::{Analysis, FailureReport};
use rollscope_records::{Request, RunOffset};

/// The place of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index into [`Analysis::pods`].
    pub(crate) pod: Option<usize>,
    /// What that rests on, in words.
    pub(crate) basis: &'static str,
    /// The burst's number.
    pub(crate) burst: Option<u32>,
}

/// Where requests go: failed ones as [`Analysis::failures`] says, answered ones to the pod that answered.
pub(crate) struct Placement<'a> {
    analysis: &'a Analysis,
    by_name: BTreeMap<&'a str, Vec<usize>>,
    failures: BTreeMap<u64, &'a FailureReport>,
}

impl<'a> Placement<'a> {
    /// The places of an analysis's requests.
    pub(crate) fn new(analysis: &'a Analysis) -> Self {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, pod) in analysis.pods.iter().enumerate() {
            by_name.entry(&pod.name).or_default().push(index);
        }
        Self {
            analysis,
            by_name,
            failures: analysis.failures.iter().map(|f| (f.seq, f)).collect(),
        }
    }

    /// The place of `request`.
    pub(crate) fn of(&self, request: &Request<'_>) -> Place {
        let failure = self.failures.get(&request.seq).copied();
        let (name, how) = match failure {
            Some(failure) => (failure.pod.as_deref(), failure.how.as_str()),
            None if request.outcome.is_failure() => (None, "unknown"),
            None => (request.pod, "header"),
        };
        let at = request.ended.unwrap_or(request.scheduled);
        let pod = name.and_then(|name| self.pod(name, at));
        Place {
            pod,
            basis: basis(pod.map_or("unknown", |_| how)),
            burst: failure.and_then(|failure| failure.burst),
        }
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

/// [`FailureReport::how`] in more words.
fn basis(how: &str) -> &'static str {
    match how {
        "header" => "the response named it",
        "connection" => "other answers on its connection named it",
        "peer" => "the address that it went to is the pod's",
        "time" => "the likeliest by time, or by the verdict on its burst",
        _ => "nothing ties it to one pod",
    }
}

#[cfg(test)]
mod tests {
    use rollscope_analyzer::Ms;
    use rollscope_records::{Lane, Outcome, RequestRecord};

    use super::*;
    use crate::html::fixtures::analysis_of;

    fn request(outcome: Outcome, pod: Option<&str>) -> RequestRecord {
        let mut r = RequestRecord::scheduled(1, Lane::Reused, "list", RunOffset::from_millis(10));
        r.outcome = outcome;
        r.pod = pod.map(str::to_owned);
        r
    }

    fn failure(pod: Option<&str>, how: &str) -> FailureReport {
        FailureReport {
            seq: 1,
            pod: pod.map(str::to_owned),
            how: how.to_owned(),
            burst: Some(7),
        }
    }

    #[test]
    fn a_failed_request_is_where_the_analysis_laid_it() {
        let mut analysis = analysis_of(&["a", "b"], &[(1, &["a"])]);
        analysis.failures = vec![failure(Some("b"), "time")];
        let place = Placement::new(&analysis).of(&request(Outcome::EofBeforeHeaders, None).view());
        assert_eq!((place.pod, place.burst), (Some(1), Some(7)));
        assert_eq!(place.basis, basis("time"));
    }

    #[test]
    fn a_failed_request_that_the_analysis_laid_nowhere_is_on_no_lane() {
        let mut analysis = analysis_of(&["a", "b"], &[(1, &["a"])]);
        for failures in [vec![failure(None, "unknown")], Vec::new()] {
            analysis.failures = failures;
            let place = Placement::new(&analysis).of(&request(Outcome::Status, Some("a")).view());
            assert_eq!((place.pod, place.basis), (None, basis("unknown")));
        }
    }

    #[test]
    fn an_answered_request_is_on_the_pod_that_answered() {
        let analysis = analysis_of(&["a", "b"], &[]);
        let place = Placement::new(&analysis).of(&request(Outcome::Ok, Some("b")).view());
        assert_eq!((place.pod, place.basis), (Some(1), basis("header")));
    }

    #[test]
    fn of_two_pods_of_one_name_it_is_the_one_that_was_there() {
        let mut analysis = analysis_of(&["a", "a", "a"], &[]);
        for (pod, seen) in [(0, 0), (1, 5), (2, 90)] {
            analysis.pods[pod].first_seen_ms = Ms(RunOffset::from_millis(seen));
        }
        analysis.failures = vec![failure(Some("a"), "peer")];
        let place = Placement::new(&analysis).of(&request(Outcome::EofBeforeHeaders, None).view());
        assert_eq!(place.pod, Some(1));
    }
}
