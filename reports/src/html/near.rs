//! The answered requests that evidence rests on: those that were under way on a pod at a moment that the report names.

use std::collections::BTreeMap;

use rollscope_analyzer::{Analysis, MsInterval, PodReport};
use rollscope_records::{Interval, Recording, Request, RunOffset};

/// Requests of one moment at most.
const MOST_OF_A_MOMENT: usize = 8;
/// How far from a moment a request may have been, ns.
const NEAR: i64 = 5_000_000;

/// Answered requests near the moments of evidence and of each pod's end, in the order in which they were due, no more
/// than `most`; moments of bursts come first.
pub(super) fn near_evidence<'a>(
    analysis: &Analysis,
    recording: &'a Recording,
    most: usize,
) -> Vec<Request<'a>> {
    let mut moments = moments(analysis);
    let by_pod = by_pod(recording, &moments);
    let mut chosen: BTreeMap<(RunOffset, u64), Request<'_>> = BTreeMap::new();
    for (pod, at) in moments.drain(..) {
        if chosen.len() >= most {
            break;
        }
        let mut candidates: Vec<_> = by_pod
            .get(pod)
            .into_iter()
            .flatten()
            .filter(|r| away(r, at) <= NEAR)
            .collect();
        candidates.sort_by_key(|r| (away(r, at), r.scheduled));
        let nearest = candidates.into_iter().take(MOST_OF_A_MOMENT);
        chosen.extend(nearest.map(|r| ((r.scheduled, r.seq), *r)));
    }
    chosen.into_values().take(most).collect()
}

/// Pods with the moments that matter on them; those of evidence first.
fn moments(analysis: &Analysis) -> Vec<(&str, Interval)> {
    let evidence = analysis
        .bursts
        .iter()
        .flat_map(|b| b.evidence.iter().chain(&b.against))
        .chain(analysis.findings.iter().flat_map(|f| &f.evidence));
    let mut moments: Vec<_> = evidence
        .filter_map(|e| Some((e.pod.as_deref()?, e.at_ms?.0)))
        .collect();
    for pod in &analysis.pods {
        moments.extend(of_end(pod).map(|at| (pod.name.as_str(), at)));
    }
    moments
}

fn of_end(pod: &PodReport) -> impl Iterator<Item = Interval> {
    let points = [pod.last_new_connection_ms, pod.last_reused_request_ms];
    let points = points.map(|at| at.map(|at| Interval::new(at.0, at.0)));
    let exit = pod.exit.as_ref().map(|exit| exit.at_ms);
    let spans =
        [pod.deletion_requested_ms, pod.signal_ms, exit].map(|at| at.map(|MsInterval(at)| at));
    spans.into_iter().chain(points).flatten()
}

/// Answered requests of the pods with moments, if they were under way within the span of all of a pod's moments.
fn by_pod<'a>(
    recording: &'a Recording,
    moments: &[(&str, Interval)],
) -> BTreeMap<&'a str, Vec<Request<'a>>> {
    let mut spans: BTreeMap<&str, Interval> = BTreeMap::new();
    for (pod, at) in moments {
        let span = spans.entry(pod).or_insert(*at);
        *span = Interval::new(span.lo.min(at.lo), span.hi.max(at.hi));
    }
    let mut by_pod: BTreeMap<&str, Vec<Request<'_>>> = BTreeMap::new();
    for request in &recording.requests {
        if let Some(pod) = request.pod
            && !request.outcome.is_failure()
            && spans
                .get(pod)
                .is_some_and(|span| away(&request, *span) <= NEAR)
        {
            by_pod.entry(pod).or_default().push(request);
        }
    }
    by_pod
}

/// How far a request was from an interval, ns: 0 when it was under way within it.
fn away(request: &Request<'_>, at: Interval) -> i64 {
    let from = request.dispatched.unwrap_or(request.scheduled);
    let to = request.ended.unwrap_or(from);
    let before = at.lo.nanos_since(to);
    let after = from.nanos_since(at.hi);
    before.max(after).max(0)
}

#[cfg(test)]
mod tests {
    use rollscope_analyzer::Ms;
    use rollscope_records::{Lane, Outcome, RequestRecord};

    use super::*;
    use crate::html::fixtures::{analysis_of, recording_of};

    #[test]
    fn the_requests_under_way_at_a_named_moment_are_chosen() {
        let answered = |seq: u64, pod: &str| {
            let due = RunOffset::from_millis(seq as i64 * 10);
            let mut r = RequestRecord::scheduled(seq, Lane::New, "list", due);
            r.dispatched = Some(due);
            r.ended = Some(due.plus_nanos(2_000_000));
            r.outcome = Outcome::Ok;
            r.pod = Some(pod.to_owned());
            r
        };
        let requests = (0..100).map(|seq| answered(seq, if seq % 2 == 0 { "a" } else { "b" }));
        let recording = recording_of(requests.collect());
        let mut analysis = analysis_of(&["a", "b"], &[]);
        analysis.pods[0].last_new_connection_ms = Some(Ms(RunOffset::from_millis(201)));
        let seqs = |most| {
            near_evidence(&analysis, &recording, most)
                .iter()
                .map(|r| r.seq)
                .collect::<Vec<_>>()
        };
        assert_eq!(seqs(100), [20]);
        assert!(seqs(0).is_empty());
    }
}
