//! Each pod's watch events for the panel: lines, and the objects under them as differences to one another.
//!
//! What does not fit is counted, never left out in silence. Events near a pod's end and its bursts have room first.

use std::collections::{BTreeMap, BTreeSet};

use rollscope_analyzer::{Analysis, Ms};
use rollscope_records::{ObjectKind, Recording};
use serde_json::{Value, json};

use super::budget::{distance, share_out, spans};
use super::merge_patch::diff;
use super::watch::{PodEvent, pod_events};

/// Lines of one pod at most.
const MOST_LINES: usize = 150;
/// Characters of a line at most.
const LINE_CHARS: usize = 600;
/// What a line costs besides its text.
const LINE_COST: usize = 24;
/// The part of the room that lines may take; objects have the rest.
const LINES_PART: usize = 3;

/// The data of the script: `texts` of lines, each once; `bases`, one object of each kind; and for each pod its rows
/// `[at, what, text, object]`, the number of events without a row (`more`) and of rows without an object (`bare`).
/// An object is `[kind, from, value]`: the object itself (`from` 0), or a merge patch of the kind's base (1) or of the
/// pod's last object of that kind (2).
pub(super) fn watch_json(analysis: &Analysis, recording: &Recording, room: usize) -> Value {
    let events = pod_events(analysis, recording);
    let spans = spans(analysis);
    let mut pods = vec![Value::Null; events.len()];
    let mut writer = Writer::default();
    let lines = room / LINES_PART;
    let mut kept = vec![Vec::new(); events.len()];
    share_out(analysis, lines, |pod, share| {
        let (chosen, used) = near(&events[pod], &spans[pod], share.max(600));
        kept[pod] = chosen;
        used
    });
    share_out(analysis, room - lines, |pod, share| {
        let (shown, used) = writer.pod(&events[pod], &kept[pod], &spans[pod], share);
        pods[pod] = shown;
        used
    });
    json!({ "texts": writer.texts, "bases": writer.bases, "pods": pods })
}

type Spans = [(rollscope_records::RunOffset, rollscope_records::RunOffset)];

/// Indexes of the events that lines are written of, in order of time, and what they take.
fn near(events: &[PodEvent<'_>], spans: &Spans, share: usize) -> (Vec<usize>, usize) {
    let mut by_distance: Vec<usize> = (0..events.len()).collect();
    by_distance.sort_by_key(|i| distance(spans, events[*i].at));
    let mut used = 0;
    let mut chosen = Vec::new();
    for index in by_distance.into_iter().take(MOST_LINES) {
        let cost = events[index].text.len().min(LINE_CHARS) + LINE_COST;
        if used + cost > share {
            break;
        }
        used += cost;
        chosen.push(index);
    }
    chosen.sort_unstable();
    (chosen, used)
}

#[derive(Default)]
struct Writer {
    texts: Vec<String>,
    index: BTreeMap<String, usize>,
    bases: BTreeMap<&'static str, Value>,
}

impl Writer {
    fn text(&mut self, text: &str) -> usize {
        let text = crate::text::visible(text, LINE_CHARS);
        *self.index.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            self.texts.len() - 1
        })
    }

    /// The rows of a pod, and what their objects take.
    fn pod(
        &mut self,
        events: &[PodEvent<'_>],
        kept: &[usize],
        spans: &Spans,
        share: usize,
    ) -> (Value, usize) {
        let with_object = affordable(events, kept, spans, share);
        let mut last: BTreeMap<ObjectKind, &Value> = BTreeMap::new();
        let mut used = 0;
        let mut bare = 0;
        let mut rows = Vec::new();
        for index in kept {
            let event = &events[*index];
            let mut row = vec![
                json!(Ms(event.at)),
                json!(self.text(event.what)),
                json!(self.text(&event.text)),
            ];
            if with_object.contains(index) && used <= share {
                let object = self.object(event.kind, &event.object, last.get(&event.kind).copied());
                used += object.to_string().len();
                row.push(object);
                last.insert(event.kind, &event.object);
            } else {
                bare += 1;
            }
            rows.push(Value::Array(row));
        }
        let more = events.len() - kept.len();
        (json!({ "rows": rows, "more": more, "bare": bare }), used)
    }

    fn object(&mut self, kind: ObjectKind, object: &Value, last: Option<&Value>) -> Value {
        let name = kind.as_str();
        let (from, value) = match (last, self.bases.get(name)) {
            (Some(last), _) => (2, diff(last, object)),
            (None, Some(base)) => (1, diff(base, object)),
            (None, None) => {
                self.bases.insert(name, object.clone());
                (1, Some(json!({})))
            }
        };
        match value {
            Some(patch) => json!([name, from, patch]),
            None => json!([name, 0, object]),
        }
    }
}

/// Which of the kept events can have their object, the nearest to the pod's end and bursts first. What one takes is
/// judged by its difference to the event before.
fn affordable(
    events: &[PodEvent<'_>],
    kept: &[usize],
    spans: &Spans,
    share: usize,
) -> BTreeSet<usize> {
    let mut last: BTreeMap<ObjectKind, &Value> = BTreeMap::new();
    let mut costs = Vec::new();
    for index in kept {
        let event = &events[*index];
        let patch = last
            .insert(event.kind, &event.object)
            .and_then(|before| diff(before, &event.object));
        let cost = patch.map_or(1_200, |patch| patch.to_string().len() + 20);
        costs.push((distance(spans, event.at), *index, cost));
    }
    costs.sort_unstable();
    let mut used = 0;
    let fits = costs.into_iter().take_while(|(_, _, cost)| {
        used += cost;
        used <= share
    });
    fits.map(|(_, index, _)| index).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use rollscope_records::{RunOffset, WatchRecord, WatchType};

    use super::*;
    use crate::html::fixtures::{analysis_of, recording_of};

    fn seen(ms: i64, uid: &str, phase: &str) -> WatchRecord {
        WatchRecord::Event {
            at: RunOffset::from_millis(ms),
            kind: ObjectKind::Pod,
            event: WatchType::Modified,
            object: json!({ "metadata": { "uid": uid, "name": uid }, "status": { "phase": phase }, "spec": "s".repeat(2_000) }),
        }
    }

    fn recorded() -> (Analysis, Recording) {
        let analysis = analysis_of(&["a", "b"], &[(1, &["b"])]);
        let mut recording = recording_of(Vec::new());
        for (ms, uid, phase) in [
            (0, "uid-a", "Pending"),
            (0, "uid-b", "Pending"),
            (1, "uid-b", "Running"),
            (5_000, "uid-b", "Failed"),
        ] {
            recording.watch.push(seen(ms, uid, phase));
        }
        (analysis, recording)
    }

    #[test]
    fn objects_are_told_as_differences() {
        let (analysis, recording) = recorded();
        let data = watch_json(&analysis, &recording, 100_000);
        let rows = data["pods"][1]["rows"].as_array().unwrap();
        assert_eq!(
            rows[0][3],
            json!(["Pod", 1, {}]),
            "the first object is the base"
        );
        assert_eq!(
            rows[1][3],
            json!(["Pod", 2, { "status": { "phase": "Running" } }])
        );
        let other = &data["pods"][0]["rows"][0][3];
        assert_eq!(other[2]["metadata"]["uid"], "uid-a");
        assert!(data.to_string().len() < 4_000);
    }

    #[test]
    fn without_room_events_near_the_burst_are_kept_and_the_others_are_counted() {
        let (analysis, recording) = recorded();
        let data = watch_json(&analysis, &recording, 1_860);
        let pod = &data["pods"][1];
        let objects: Vec<bool> = pod["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row[3].is_array())
            .collect();
        assert_eq!(
            (objects, &pod["bare"]),
            (vec![true, false, false], &json!(2))
        );
    }
}
