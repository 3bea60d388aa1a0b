//! Which of the events that are there were not there before.

use std::collections::HashMap;

use serde_json::Value;

/// The events of a run's jobs that were there, and how often each.
#[derive(Debug)]
pub(super) struct Seen {
    key_prefix: String,
    times: HashMap<String, usize>,
}

impl Seen {
    /// For jobs whose keys begin so; others are never new.
    pub(super) fn of_keys(prefix: &str) -> Self {
        Self {
            key_prefix: prefix.to_owned(),
            times: HashMap::new(),
        }
    }

    /// Those of `events` that were not there before, or not so often. All that are there now count as seen.
    pub(super) fn new_among(&mut self, events: Vec<String>) -> Vec<String> {
        let mut now: HashMap<String, usize> = HashMap::new();
        let mut new = Vec::new();
        for event in events.into_iter().filter(|e| is_of(e, &self.key_prefix)) {
            let times = now.entry(event.clone()).or_default();
            *times += 1;
            let most = self.times.entry(event.clone()).or_default();
            if *times > *most {
                *most = *times;
                new.push(event);
            }
        }
        new
    }
}

/// Whether an event is of a job whose key begins so.
fn is_of(event: &str, prefix: &str) -> bool {
    match serde_json::from_str::<Value>(event) {
        Ok(Value::Object(fields)) => {
            let key = fields.get("job").and_then(Value::as_str);
            key.is_some_and(|key| key.starts_with(prefix))
        }
        _ => event.starts_with(prefix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(events: &[&str]) -> Vec<String> {
        events.iter().map(|e| (*e).to_owned()).collect()
    }

    #[test]
    fn what_was_there_as_often_before_is_not_new() {
        let mut seen = Seen::of_keys("17-");
        assert_eq!(seen.new_among(owned(&["17-1", "17-2"])), ["17-1", "17-2"]);
        assert_eq!(seen.new_among(owned(&["17-2", "17-1"])), owned(&[]));
        assert_eq!(seen.new_among(owned(&["17-1", "17-1"])), ["17-1"]);
        assert_eq!(seen.new_among(owned(&["17-2", "17-1", "17-1"])), owned(&[]));
    }

    #[test]
    fn jobs_of_other_runs_are_left_out() {
        let mut seen = Seen::of_keys("17-");
        let own = r#"{"job":"17-3","event":"done"}"#;
        let events = owned(&["16-1", r#"{"job":"16-3","event":"done"}"#, own, "{}"]);
        assert_eq!(seen.new_among(events), [own]);
    }
}
