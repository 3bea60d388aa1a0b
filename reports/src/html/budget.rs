//! How the room for raw records is shared: pods that tell most come first, and nobody takes it all.

use rollscope_analyzer::{Analysis, PodReport};
use rollscope_records::RunOffset;

/// The pods whose records are worth room first (those that a burst names, then those that ended), and the others; each
/// in the order of the analysis.
pub(super) fn classes(analysis: &Analysis) -> [Vec<usize>; 2] {
    let named: std::collections::BTreeSet<&str> = analysis
        .bursts
        .iter()
        .flat_map(|b| &b.pods)
        .map(String::as_str)
        .collect();
    let is_named = |index: &usize| named.contains(analysis.pods[*index].name.as_str());
    let (mut telling, mut others): (Vec<_>, Vec<_>) = (0..analysis.pods.len()).partition(is_named);
    telling.extend(others.extract_if(.., |index| ended(&analysis.pods[*index])));
    [telling, others]
}

/// Gives each pod in turn its share of `characters`: `take` is told the pod and what it may use, and says what it used.
/// Pods of the first class share everything equally, what one leaves the next ones have; the second class has the rest.
pub(super) fn share_out(
    analysis: &Analysis,
    characters: usize,
    mut take: impl FnMut(usize, usize) -> usize,
) {
    let mut left = characters;
    for class in classes(analysis) {
        for (nth, pod) in class.iter().enumerate() {
            let used = take(*pod, left / (class.len() - nth));
            left = left.saturating_sub(used);
        }
    }
}

/// Whether the pod's end was seen, or asked for.
pub(super) fn ended(pod: &PodReport) -> bool {
    pod.deletion_requested_ms.is_some() || pod.exit.is_some() || !pod.earlier_exits.is_empty()
}

/// How far `at` is from what a pod's report is about, ns: its end, its restarts, and the bursts that name it.
pub(super) fn distance(spans: &[(RunOffset, RunOffset)], at: RunOffset) -> i64 {
    let away = spans.iter().map(|(from, to)| {
        let before = from.nanos_since(at);
        let after = at.nanos_since(*to);
        before.max(after).max(0)
    });
    away.min().unwrap_or(i64::MAX)
}

/// The spans that each pod's report is about, in the order of the analysis.
pub(super) fn spans(analysis: &Analysis) -> Vec<Vec<(RunOffset, RunOffset)>> {
    let of_pod = |pod: &PodReport| {
        let mut spans = Vec::new();
        let exit = pod.exit.as_ref().map(|exit| exit.at_ms.0);
        if let Some(from) = pod.deletion_requested_ms.map(|at| at.0.lo) {
            spans.push((from, exit.map_or(from, |at| at.hi).max(from)));
        }
        let exits = pod.exit.iter().chain(&pod.earlier_exits);
        spans.extend(exits.map(|exit| (exit.at_ms.0.lo, exit.at_ms.0.hi)));
        spans
    };
    let mut all: Vec<_> = analysis.pods.iter().map(of_pod).collect();
    for burst in &analysis.bursts {
        for (pod, spans) in analysis.pods.iter().zip(&mut all) {
            if burst.pods.contains(&pod.name) {
                spans.push((burst.from_ms.0, burst.to_ms.0));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::fixtures::analysis_of;

    #[test]
    fn pods_named_in_a_burst_come_first_and_leave_the_rest_to_others() {
        let analysis = analysis_of(&["a", "b", "c", "d"], &[(1, &["c", "d"])]);
        let mut shares = Vec::new();
        share_out(&analysis, 300, |pod, share| {
            shares.push((pod, share));
            if pod == 2 { 20 } else { 30 }
        });
        assert_eq!(shares, [(2, 150), (3, 280), (0, 125), (1, 220)]);
    }

    #[test]
    fn distance_is_zero_within_a_span() {
        let spans = [
            (RunOffset(10), RunOffset(20)),
            (RunOffset(50), RunOffset(50)),
        ];
        let from = |at| distance(&spans, RunOffset(at));
        assert_eq!(
            [from(10), from(15), from(25), from(49), from(60)],
            [0, 0, 5, 1, 10]
        );
    }
}
