//! The stages of an imported run, from the timeline in `meta.json`.

use rollscope_records::{RunOffset, StageEvent, StageRecord, marks};

use super::meta::Entry;

/// What an entry of the timeline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    LoadStart,
    RestartStart,
    RestartReturned,
    StatusReturned,
    OldPodsGone,
    LoadStop,
}

fn moment(what: &str) -> Option<Moment> {
    Some(match what {
        "load start" => Moment::LoadStart,
        "load stop" => Moment::LoadStop,
        "kubectl rollout restart: start" => Moment::RestartStart,
        "kubectl rollout restart: returned" => Moment::RestartReturned,
        "kubectl rollout status: returned" => Moment::StatusReturned,
        other if other.starts_with("only ") && other.ends_with(" pods left") => Moment::OldPodsGone,
        _ => return None,
    })
}

/// `warmup` until the restart, `restart` until the last old pod is gone, `settle` until the load stops. Without a
/// restart in the timeline there are no stages.
pub(super) fn of(timeline: &[Entry], zero: i64, warnings: &mut Vec<String>) -> Vec<StageRecord> {
    let find = |wanted| timeline.iter().find(|e| moment(&e.what) == Some(wanted));
    let at = |entry: &Entry| RunOffset(entry.nanos - zero);
    let Some(restart) = find(Moment::RestartStart) else {
        warnings.push("meta.json names no restart: the stages are not known".to_owned());
        return Vec::new();
    };
    let mut stages = Stages::default();
    if let Some(start) = find(Moment::LoadStart).filter(|s| s.nanos <= restart.nanos) {
        stages.begin("warmup", at(start));
        stages.end(at(restart), None);
    }
    stages.begin("restart", at(restart));
    for entry in timeline.iter().filter(|e| e.nanos >= restart.nanos) {
        let mark = match moment(&entry.what) {
            Some(Moment::RestartReturned) if succeeded(entry) => marks::ROLLOUT_REQUESTED,
            Some(Moment::StatusReturned) if succeeded(entry) => marks::ROLLOUT_COMPLETE,
            Some(Moment::OldPodsGone) => marks::OLD_PODS_GONE,
            Some(_) => continue,
            None => {
                warnings.push(format!("meta.json: {:?} is not a known mark", entry.what));
                continue;
            }
        };
        stages.push(at(entry), StageEvent::Mark, mark.to_owned());
    }
    let stop = find(Moment::LoadStop);
    let failed = timeline.iter().find(|e| !succeeded(e));
    let failed = failed.map(|e| format!("{} with code {}", e.what, e.code.unwrap_or_default()));
    let gone = find(Moment::OldPodsGone);
    match (gone, stop) {
        (Some(gone), Some(stop)) => {
            stages.end(at(gone), failed);
            stages.begin("settle", at(gone));
            stages.end(at(stop), None);
        }
        (Some(gone), None) => stages.end(at(gone), failed),
        (None, Some(stop)) => {
            let why = "when the last old pod was gone is not in meta.json".to_owned();
            stages.end(at(stop), Some(failed.unwrap_or(why)));
        }
        (None, None) => warnings.push("meta.json names no end of the rollout".to_owned()),
    }
    stages.records
}

fn succeeded(entry: &Entry) -> bool {
    entry.code.unwrap_or(0) == 0
}

#[derive(Default)]
struct Stages {
    records: Vec<StageRecord>,
    /// The stage's index and kind.
    current: Option<(usize, &'static str)>,
}

impl Stages {
    fn begin(&mut self, kind: &'static str, at: RunOffset) {
        let index = self.current.map_or(0, |(index, _)| index + 1);
        self.current = Some((index, kind));
        self.push(at, StageEvent::Started, String::new());
    }

    fn end(&mut self, at: RunOffset, failed: Option<String>) {
        match failed {
            None => self.push(at, StageEvent::Completed, String::new()),
            Some(why) => self.push(at, StageEvent::Failed, why),
        }
    }

    fn push(&mut self, at: RunOffset, event: StageEvent, detail: String) {
        let (stage, kind) = self.current.unwrap_or((0, ""));
        self.records.push(StageRecord {
            at,
            stage,
            kind: kind.to_owned(),
            event,
            detail,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(nanos: i64, what: &str, code: Option<i64>) -> Entry {
        Entry {
            nanos,
            what: what.to_owned(),
            code,
            service: None,
        }
    }

    fn timeline(status_code: i64) -> Vec<Entry> {
        vec![
            entry(100, "load start", None),
            entry(200, "kubectl rollout restart: start", None),
            entry(210, "kubectl rollout restart: returned", None),
            entry(300, "kubectl rollout status: returned", Some(status_code)),
            entry(400, "only 3 pods left", None),
            entry(500, "load stop", None),
        ]
    }

    fn in_short(records: &[StageRecord]) -> Vec<(i64, usize, &str, &str)> {
        records
            .iter()
            .map(|r| {
                let what = match r.event {
                    StageEvent::Started => "started",
                    StageEvent::Completed => "completed",
                    StageEvent::Failed => "failed",
                    StageEvent::Mark => r.detail.as_str(),
                };
                (r.at.nanos(), r.stage, r.kind.as_str(), what)
            })
            .collect()
    }

    #[test]
    fn the_timeline_becomes_three_stages_with_marks() {
        let mut warnings = Vec::new();
        let records = of(&timeline(0), 50, &mut warnings);
        assert_eq!(
            in_short(&records),
            [
                (50, 0, "warmup", "started"),
                (150, 0, "warmup", "completed"),
                (150, 1, "restart", "started"),
                (160, 1, "restart", marks::ROLLOUT_REQUESTED),
                (250, 1, "restart", marks::ROLLOUT_COMPLETE),
                (350, 1, "restart", marks::OLD_PODS_GONE),
                (350, 1, "restart", "completed"),
                (350, 2, "settle", "started"),
                (450, 2, "settle", "completed"),
            ]
        );
        assert!(warnings.is_empty());
    }

    #[test]
    fn a_rollout_status_that_failed_fails_the_stage() {
        let records = of(&timeline(1), 0, &mut Vec::new());
        let failed = records.iter().find(|r| r.event == StageEvent::Failed);
        assert!(failed.is_some_and(|r| r.detail.contains("code 1")));
        assert!(!records.iter().any(|r| r.detail == marks::ROLLOUT_COMPLETE));
    }

    #[test]
    fn without_a_restart_there_are_no_stages_but_a_warning() {
        let mut warnings = Vec::new();
        assert!(of(&[], 0, &mut warnings).is_empty());
        assert_eq!(warnings.len(), 1);
    }
}
