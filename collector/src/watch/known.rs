//! The objects of a kind as they were last seen: what a new list is compared with.

use std::collections::{BTreeMap, HashSet};

use rollscope_records::WatchType;
use serde_json::Value;

use super::event::version;
use crate::workload::text;

/// Names that a description of changes spells out.
const NAMED: usize = 8;

/// The last recorded state of each object, by uid.
#[derive(Debug, Default)]
pub(super) struct Known {
    objects: BTreeMap<String, Value>,
    /// Objects that are gone, so that a repeated deletion is known for one.
    gone: HashSet<String>,
}

/// What a new list shows against what was known.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Difference {
    /// Events that lead from the old state to the new one. They are what changed, not what happened.
    pub(super) events: Vec<(WatchType, Value)>,
}

impl Known {
    /// Whether an event says something new. One that repeats what is already known, or is older, does not; the first
    /// deletion of an object always does.
    pub(super) fn is_news(&self, event: WatchType, object: &Value) -> bool {
        let uid = text(&object["metadata"], "uid");
        if self.gone.contains(&uid) {
            return false;
        }
        let newer = |known: &Value| is_newer(&version(object), &version(known));
        event == WatchType::Deleted || self.objects.get(&uid).is_none_or(newer)
    }

    /// Takes in an event that is news.
    pub(super) fn take(&mut self, event: WatchType, object: &Value) {
        let uid = text(&object["metadata"], "uid");
        if event == WatchType::Deleted {
            self.objects.remove(&uid);
            self.gone.insert(uid);
        } else {
            self.objects.insert(uid, object.clone());
        }
    }

    /// Compares with a new list. Nothing is taken in yet.
    pub(super) fn difference(&self, listed: Vec<Value>) -> Difference {
        let mut present = HashSet::new();
        let mut events = Vec::new();
        for object in listed {
            let uid = text(&object["metadata"], "uid");
            match self.objects.get(&uid) {
                None => events.push((WatchType::Added, object)),
                Some(known) if version(known) != version(&object) => {
                    events.push((WatchType::Modified, object));
                }
                Some(_) => {}
            }
            present.insert(uid);
        }
        let vanished = self
            .objects
            .iter()
            .filter(|(uid, _)| !present.contains(*uid));
        let vanished = vanished.map(|(_, last)| (WatchType::Deleted, last.clone()));
        let mut all: Vec<_> = vanished.collect();
        all.append(&mut events);
        Difference { events: all }
    }
}

/// Resource versions of one kind grow. Where they are no numbers, only equality says something.
pub(super) fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<u128>(), than.parse::<u128>()) {
        (Ok(version), Ok(than)) => version > than,
        _ => version != than,
    }
}

impl Difference {
    /// In words: `added web-a; changed web-b, web-c; gone (last state from before the gap) web-d`.
    pub(super) fn in_words(&self) -> String {
        let words = [
            (WatchType::Added, "added"),
            (WatchType::Modified, "changed"),
            (
                WatchType::Deleted,
                "gone (recorded with the last state from before the gap)",
            ),
        ];
        let parts: Vec<String> = words
            .into_iter()
            .filter_map(|(event, word)| self.list(event).map(|names| format!("{word}: {names}")))
            .collect();
        if parts.is_empty() {
            "nothing changed across it".to_owned()
        } else {
            format!("across it {}", parts.join("; "))
        }
    }

    fn list(&self, event: WatchType) -> Option<String> {
        let names: Vec<&str> = self
            .events
            .iter()
            .filter(|(e, _)| *e == event)
            .map(|(_, o)| o["metadata"]["name"].as_str().unwrap_or("?"))
            .collect();
        let named = names[..names.len().min(NAMED)].join(", ");
        match names.len() {
            0 => None,
            n if n > NAMED => Some(format!("{named} and {} more", n - NAMED)),
            _ => Some(named),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(uid: &str, version: &str) -> Value {
        json!({"metadata": {"uid": uid, "name": format!("web-{uid}"), "resourceVersion": version}})
    }

    fn known() -> Known {
        let mut known = Known::default();
        for (uid, version) in [("a", "1"), ("b", "2"), ("c", "3")] {
            known.take(WatchType::Added, &object(uid, version));
        }
        known
    }

    #[test]
    fn repeated_and_older_events_are_recognised() {
        let mut known = known();
        let (changed, older) = (object("a", "10"), object("a", "9"));
        assert!(known.is_news(WatchType::Modified, &changed));
        known.take(WatchType::Modified, &changed);
        assert!(!known.is_news(WatchType::Modified, &changed));
        assert!(!known.is_news(WatchType::Modified, &older));
        assert!(known.is_news(WatchType::Deleted, &changed));
        known.take(WatchType::Deleted, &changed);
        assert!(!known.is_news(WatchType::Deleted, &changed));
        assert!(!known.is_news(WatchType::Modified, &object("a", "12")));
    }

    #[test]
    fn a_new_list_gives_what_changed_and_the_last_state_of_what_is_gone() {
        let known = known();
        let listed = vec![object("b", "2"), object("c", "9"), object("d", "8")];
        let difference = known.difference(listed);
        assert_eq!(
            difference.events,
            [
                (WatchType::Deleted, object("a", "1")),
                (WatchType::Modified, object("c", "9")),
                (WatchType::Added, object("d", "8")),
            ]
        );
        let words = difference.in_words();
        for part in ["added: web-d", "changed: web-c", "gone", "web-a"] {
            assert!(words.contains(part), "{words}");
        }
    }

    #[test]
    fn an_unchanged_list_says_so() {
        let known = known();
        let listed = vec![object("a", "1"), object("b", "2"), object("c", "3")];
        assert_eq!(
            known.difference(listed).in_words(),
            "nothing changed across it"
        );
    }
}
