//! The stages as intervals.

use std::collections::BTreeMap;

use rollscope_records::{StageEvent, StageRecord};

use crate::analysis::{Ms, StageMark, StageReport};

/// One report for each stage that began, in the scenario's order.
pub(crate) fn stage_reports(stages: &[&StageRecord]) -> Vec<StageReport> {
    let mut reports: BTreeMap<usize, StageReport> = BTreeMap::new();
    for s in stages {
        let report = reports.entry(s.stage).or_insert_with(|| StageReport {
            kind: s.kind.clone(),
            from_ms: Ms(s.at),
            to_ms: None,
            marks: Vec::new(),
            end: "open",
            detail: None,
        });
        match s.event {
            StageEvent::Started => {}
            StageEvent::Mark => report.marks.push(StageMark {
                at_ms: Ms(s.at),
                mark: s.detail.clone(),
            }),
            StageEvent::Completed => {
                report.to_ms = Some(Ms(s.at));
                report.end = "completed";
            }
            StageEvent::Failed => {
                report.to_ms = Some(Ms(s.at));
                report.end = "failed";
                report.detail = Some(s.detail.clone());
            }
        }
    }
    reports.into_values().collect()
}
