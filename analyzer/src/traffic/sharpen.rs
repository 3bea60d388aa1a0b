//! What the requests say of when a pod ended: not before its last answer, and its connections died with it.

use rollscope_records::RunOffset;

use super::attribution::{How, Traffic};
use super::kind::Kind;
use crate::timeline::{PodIx, Timeline};

/// Narrows the ends of pods by their requests.
pub(crate) fn sharpen(timeline: &mut Timeline, traffic: &Traffic<'_>) {
    for (i, pod) in timeline.pods.iter_mut().enumerate() {
        let ix = PodIx(i);
        if let Some(end) = &mut pod.end
            && let Some(last) = traffic.pod(ix).and_then(|t| t.last_answer)
            && end.at.contains(last)
        {
            end.at.lo = last;
        }
        for end in &mut pod.earlier_ends {
            let last = traffic
                .pod(ix)
                .and_then(|t| t.answered_within(end.at.lo, end.at.hi));
            end.at.lo = last.unwrap_or(end.at.lo);
        }
        for end in pod.earlier_ends.iter_mut().chain(&mut pod.end) {
            end.witness = first_cut(ix, traffic, |t| end.at.contains(t));
        }
    }
}

/// The first moment, among those that fit, at which a connection that was certainly the pod's died under a request.
fn first_cut(
    ix: PodIx,
    traffic: &Traffic<'_>,
    fits: impl Fn(RunOffset) -> bool,
) -> Option<RunOffset> {
    traffic
        .pod(ix)?
        .failures
        .iter()
        .map(|f| &traffic.failures[*f])
        .filter(|f| {
            f.kind == Kind::Cut && matches!(f.how, How::Connection | How::Peer | How::Header)
        })
        .map(|f| f.ended)
        .filter(|t| fits(*t))
        .min()
}
