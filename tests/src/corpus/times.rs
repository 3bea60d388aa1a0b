//! How far the analyzer's measured times are from the truth.

use std::collections::BTreeMap;

use rollscope_analyzer::{Analysis, PodReport};
use rollscope_records::{Interval, RunOffset};

use super::draw::Case;
use super::truth::{PodTruth, Truth};

/// A point in time is within its bound when it is this near, ns: what the two clocks' readings can differ by.
const POINT: i64 = 10_000_000;

/// From the request of a deletion until the kubelet has learnt of it, at most, ns.
const LEARNT: i64 = 20_000_000;

/// Errors of one measured time, over many pods.
#[derive(Debug, Clone, Default)]
pub(crate) struct Errors {
    /// Distance from the truth to the middle of the interval, ns, absolute.
    pub(crate) distance: Vec<i64>,
    /// Half the width of the interval, ns.
    pub(crate) half_width: Vec<i64>,
    /// Pods whose truth lay in the interval.
    pub(crate) within: u64,
    /// Pods for which there is a truth but no measurement.
    pub(crate) unmeasured: u64,
    /// Where the truth lay outside: case, pod, ns outside.
    pub(crate) outside: Vec<(String, String, i64)>,
}

/// The errors by measured time.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeErrors(pub(crate) BTreeMap<&'static str, Errors>);

impl TimeErrors {
    /// Adds a run.
    pub(crate) fn add(&mut self, case: &Case, analysis: &Analysis, truth: &Truth) {
        let last_seen = analysis.stages.last().and_then(|s| s.to_ms).map(|t| t.0);
        for report in &analysis.pods {
            let Some(pod) = truth.pods.get(&report.name) else {
                continue;
            };
            let Some((deleted, _)) = pod.deleted else {
                continue;
            };
            if last_seen.is_some_and(|end| deleted > end) {
                continue;
            }
            self.pod(case, report, pod, deleted);
            if case.front_end == "l4" {
                let last = truth
                    .dialled
                    .iter()
                    .rfind(|d| d.pod.as_ref() == Some(&report.name) && d.at >= deleted);
                let measured = report.last_new_connection_ms.map(|t| Interval {
                    lo: t.0.plus_nanos(-POINT),
                    hi: t.0.plus_nanos(POINT),
                });
                if let Some(last) = last {
                    self.one("last new connection", case, report, last.at, measured);
                }
            }
        }
    }

    fn pod(&mut self, case: &Case, report: &PodReport, pod: &PodTruth, deleted: RunOffset) {
        // The kubelet, our witness, learns of it a little later.
        let requested = report.deletion_requested_ms.map(|i| Interval {
            hi: i.0.hi.plus_nanos(LEARNT),
            ..i.0
        });
        self.one("deletion requested", case, report, deleted, requested);
        let Some(run) = pod.runs.last().filter(|r| r.stopping.is_some()) else {
            return;
        };
        // Where the hook used up everything, or the process was gone, there was no signal.
        if let Some(signal) = run.signal
            && !run.is_restart()
        {
            let measured = report.signal_ms.map(|i| i.0);
            self.one("signal", case, report, signal, measured);
        }
        if let Some((exited, _)) = run.exited {
            let measured = report.exit.as_ref().map(|e| e.at_ms.0);
            self.one("exit", case, report, exited, measured);
        }
    }

    fn one(
        &mut self,
        what: &'static str,
        case: &Case,
        report: &PodReport,
        truth: RunOffset,
        measured: Option<Interval>,
    ) {
        let errors = self.0.entry(what).or_default();
        let Some(measured) = measured else {
            errors.unmeasured += 1;
            return;
        };
        errors
            .distance
            .push(measured.mid().nanos_since(truth).abs());
        errors
            .half_width
            .push(measured.hi.nanos_since(measured.lo) / 2);
        if measured.contains(truth) {
            errors.within += 1;
        } else {
            let outside = if truth < measured.lo {
                truth.nanos_since(measured.lo)
            } else {
                truth.nanos_since(measured.hi)
            };
            errors
                .outside
                .push((case.folder(), report.name.clone(), outside));
        }
    }
}

/// The quantile of a list, in the given thousandths; 0 for an empty one.
pub(crate) fn quantile(values: &[i64], permille: usize) -> i64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * permille / 1000).copied().unwrap_or(0)
}
