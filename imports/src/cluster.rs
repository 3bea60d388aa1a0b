//! What a cluster wrote down: watch streams, events, an audit log.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rollscope_collector::read_watch_dir;
use rollscope_records::{LogRecord, ObjectKind, TargetFacts, WatchRecord, WatchType, redact};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::{LogImportError, Sources};

/// An object as it was at a time.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// ns since the epoch.
    pub(crate) at: i64,
    pub(crate) kind: ObjectKind,
    pub(crate) event: WatchType,
    pub(crate) object: Value,
}

/// Everything, in order of time.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    pub(crate) seen: Vec<Seen>,
    /// Lines of containers, with their receipt in ns since the epoch.
    pub(crate) logs: Vec<(i64, LogRecord)>,
    pub(crate) target: Option<TargetFacts>,
    pub(crate) notes: Vec<String>,
    /// Requests to the API server that change a rollout, ns since the epoch.
    asked: Vec<i64>,
}

/// Reasons of events that come with a change of pods.
const CHANGES: [&str; 4] = [
    "Killing",
    "ScalingReplicaSet",
    "SuccessfulCreate",
    "SuccessfulDelete",
];

impl Cluster {
    pub(crate) fn read(sources: &Sources) -> Result<Self, LogImportError> {
        let mut cluster = Self::default();
        if let Some(dir) = &sources.watch {
            cluster.watch(dir)?;
        }
        if let Some(file) = &sources.events {
            cluster.events(file)?;
        }
        if let Some(file) = &sources.audit {
            cluster.audit(file)?;
        }
        cluster.seen.sort_by_key(|s| s.at);
        cluster.logs.sort_by_key(|(at, _)| *at);
        if !cluster.seen.iter().any(|s| s.kind == ObjectKind::Pod) {
            let note = "no pods were observed: causes rest on the balancer's own words";
            cluster.notes.push(note.to_owned());
        }
        Ok(cluster)
    }

    fn watch(&mut self, dir: &Path) -> Result<(), LogImportError> {
        let imported = read_watch_dir(dir)?;
        let zero = imported.recording.run.wall_start_unix_nanos;
        for record in imported.recording.watch {
            if let WatchRecord::Event {
                at,
                kind,
                event,
                object,
            } = record
            {
                let at = zero.saturating_add(at.nanos());
                self.seen.push(Seen {
                    at,
                    kind,
                    event,
                    object,
                });
            }
        }
        let logs = imported.recording.logs.into_iter();
        self.logs
            .extend(logs.map(|l| (zero.saturating_add(l.at.nanos()), l)));
        self.target = Some(imported.recording.run.target);
        // The load of such a folder is not asked for here.
        let of_watch = |w: &String| w.contains(".watch") || w.contains("log");
        self.notes
            .extend(imported.warnings.into_iter().filter(of_watch));
        Ok(())
    }

    /// The list of `kubectl get events -o json`.
    fn events(&mut self, file: &Path) -> Result<(), LogImportError> {
        let mut list: Value = serde_json::from_str(&text(file)?).map_err(|e| {
            malformed(
                file,
                e.line(),
                e.to_string(),
                "the output of kubectl get events -o json",
            )
        })?;
        let Some(items) = list["items"].as_array_mut() else {
            let why = "no list of events".to_owned();
            return Err(malformed(
                file,
                1,
                why,
                "the output of kubectl get events -o json",
            ));
        };
        for mut object in std::mem::take(items) {
            let times = ["eventTime", "lastTimestamp", "firstTimestamp"];
            let at = times.iter().find_map(|key| nanos(&object[*key]));
            let at = at.or_else(|| nanos(&object["metadata"]["creationTimestamp"]));
            if let (Some(at), "Event") = (at, object["kind"].as_str().unwrap_or("Event")) {
                redact::object(&mut object);
                let (kind, event) = (ObjectKind::Event, WatchType::Added);
                self.seen.push(Seen {
                    at,
                    kind,
                    event,
                    object,
                });
            }
        }
        Ok(())
    }

    /// Events of `audit.k8s.io`, one a line. Objects are there where the policy records responses.
    fn audit(&mut self, file: &Path) -> Result<(), LogImportError> {
        let text = text(file)?;
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, l)| !l.trim().is_empty());
        for (i, line) in lines {
            let mut event: Value = serde_json::from_str(line)
                .map_err(|e| malformed(file, i + 1, e.to_string(), "an audit event as JSON"))?;
            self.audited(&mut event);
        }
        Ok(())
    }

    fn audited(&mut self, event: &mut Value) {
        let done = event["stage"] == "ResponseComplete";
        let good = event["responseStatus"]["code"]
            .as_i64()
            .is_some_and(|code| code < 300);
        let Some(at) = nanos(&event["stageTimestamp"]).filter(|_| done && good) else {
            return;
        };
        let (verb, of) = (
            event["verb"].as_str().unwrap_or_default(),
            &event["objectRef"],
        );
        let writes = matches!(verb, "create" | "update" | "patch" | "delete");
        let whole = of["subresource"].is_null();
        let deletes = verb == "delete" || of["subresource"] == "eviction";
        match of["resource"].as_str() {
            Some("deployments" | "statefulsets" | "daemonsets") if writes && whole => {
                self.asked.push(at)
            }
            Some("pods") if deletes => self.asked.push(at),
            _ => {}
        }
        let kind = event["responseObject"]["kind"].as_str();
        let kind = ObjectKind::ALL
            .into_iter()
            .find(|k| Some(k.as_str()) == kind);
        if let Some(kind) = kind.filter(|_| writes) {
            let mut object = event["responseObject"].take();
            redact::object(&mut object);
            let event = WatchType::Modified;
            self.seen.push(Seen {
                at,
                kind,
                event,
                object,
            });
        }
    }

    /// When pods or what makes them changed, ns since the epoch, in order.
    pub(crate) fn changes(&self) -> Vec<i64> {
        let mut deletions: BTreeMap<&str, i64> = BTreeMap::new();
        let mut changes: BTreeSet<i64> = self.asked.iter().copied().collect();
        for seen in &self.seen {
            match seen.kind {
                ObjectKind::Pod => {
                    let meta = &seen.object["metadata"];
                    let grace = meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
                    if let (Some(uid), Some(due)) =
                        (meta["uid"].as_str(), nanos(&meta["deletionTimestamp"]))
                    {
                        let at = due.saturating_sub(grace.saturating_mul(1_000_000_000));
                        let of = deletions.entry(uid).or_insert(at);
                        *of = at.min(*of);
                    }
                }
                ObjectKind::Event if CHANGES.iter().any(|r| seen.object["reason"] == *r) => {
                    changes.insert(seen.at);
                }
                _ => {}
            }
        }
        changes.extend(deletions.into_values());
        changes.into_iter().collect()
    }

    /// What was there at `from`, as it was then, and what changed until `to`.
    pub(crate) fn between(&self, from: i64, to: i64) -> Vec<Seen> {
        let first = self.seen.partition_point(|s| s.at < from);
        let last = self.seen.partition_point(|s| s.at <= to);
        let mut there: BTreeMap<(ObjectKind, String), &Seen> = BTreeMap::new();
        for seen in self.seen[..first]
            .iter()
            .filter(|s| s.kind != ObjectKind::Event)
        {
            let meta = &seen.object["metadata"];
            let uid = meta["uid"].as_str().or_else(|| meta["name"].as_str());
            let key = (seen.kind, uid.unwrap_or_default().to_owned());
            match seen.event {
                WatchType::Deleted => there.remove(&key),
                _ => there.insert(key, seen),
            };
        }
        let listed = there.into_values().map(|seen| Seen {
            at: from,
            event: WatchType::Added,
            ..seen.clone()
        });
        listed
            .chain(self.seen[first..last].iter().cloned())
            .collect()
    }
}

fn text(path: &Path) -> Result<String, LogImportError> {
    std::fs::read_to_string(path).map_err(|source| LogImportError::Read {
        path: path.to_owned(),
        source,
    })
}

fn malformed(path: &Path, line: usize, why: String, expected: &'static str) -> LogImportError {
    LogImportError::Malformed {
        path: path.to_owned(),
        line: line.max(1),
        why,
        expected,
    }
}

/// A time of the API, ns since the epoch.
fn nanos(time: &Value) -> Option<i64> {
    let time = OffsetDateTime::parse(time.as_str()?, &Rfc3339).ok()?;
    i64::try_from(time.unix_timestamp_nanos()).ok()
}
