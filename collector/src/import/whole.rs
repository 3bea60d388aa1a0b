//! A whole folder as a recording.

use std::path::Path;

use rollscope_records::{
    EndKind, LogRecord, ObjectKind, Recording, RecordingWriter, RequestRecord, RunEnd, RunOffset,
    RunRecord, TargetFacts, WatchRecord,
};

use super::meta::{Manifest, Meta};
use super::requests::{Context, Row};
use super::{ImportError, facts, logs, meta, requests, stages, watch};

/// Deadline of a request where the folder does not tell it, seconds.
const DEFAULT_DEADLINE_SECONDS: f64 = 30.0;

/// A folder that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The recording.
    pub recording: Recording,
    /// What was missing or could not be told, in words; also in the recording's run.
    pub warnings: Vec<String>,
}

/// What was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportSummary {
    /// Requests.
    pub requests: usize,
    /// Watch events.
    pub watch_events: usize,
    /// Log lines.
    pub log_lines: usize,
    /// Gaps: streams that are not in the folder.
    pub gaps: usize,
    /// What was missing or could not be told, in words.
    pub warnings: Vec<String>,
}

/// Makes a recording in the folder `out` from the streams in the folder `dir`.
///
/// `dir` holds `pods.watch`, `replicasets.watch`, `deployments.watch`, `endpointslices.watch`, `events.watch`, `node.watch`
/// (`<receive time, ns since the epoch> <watch event as JSON>`, one a line), `requests.jsonl` (one finished request a
/// line), `logs/<pod>.<container>.<restart>.api.log` (`<receive time, ns> <runtime timestamp> <line>`), `meta.json` and
/// `manifest.json`; each may be compressed as `<name>.gz`. What is absent becomes a gap or a warning.
///
/// # Errors
///
/// An [`ImportError`] when nothing can be read, a line in the middle of a file is damaged, or `out` cannot be written.
pub fn import_watch(dir: &Path, out: &Path) -> Result<ImportSummary, ImportError> {
    let Imported {
        recording,
        warnings,
    } = read_watch_dir(dir)?;
    let gaps = recording.gaps().count();
    let summary = ImportSummary {
        requests: recording.requests.len(),
        watch_events: recording.watch.len() - gaps,
        log_lines: recording.logs.len(),
        gaps,
        warnings,
    };
    write(recording, out)?;
    Ok(summary)
}

fn write(recording: Recording, out: &Path) -> Result<(), ImportError> {
    let writer = RecordingWriter::create(out, &recording.run)?;
    recording
        .requests
        .iter()
        .for_each(|r| writer.request(r.to_record()));
    recording
        .connections
        .iter()
        .for_each(|c| writer.connection(c.to_record()));
    recording.watch.into_iter().for_each(|w| writer.watch(w));
    recording.logs.into_iter().for_each(|l| writer.log(l));
    recording.stages.into_iter().for_each(|s| writer.stage(s));
    writer.finish(recording.generator.as_ref(), &recording.run)?;
    Ok(())
}

/// Reads the folder `dir` into a recording in memory. See [`import_watch`] for what it holds.
///
/// # Errors
///
/// As [`import_watch`], except for writing.
pub fn read_watch_dir(dir: &Path) -> Result<Imported, ImportError> {
    let mut warnings = Vec::new();
    let parts = Parts {
        rows: requests::read(dir, &mut warnings)?,
        streams: watch::read(dir, &mut warnings)?,
        logs: logs::read(dir, &mut warnings)?,
        meta: meta::read_meta(dir, &mut warnings)?,
        manifest: meta::read_manifest(dir, &mut warnings)?,
    };
    if parts.rows.is_none() && parts.streams.absent.len() == ObjectKind::ALL.len() {
        return Err(ImportError::Empty(dir.to_owned()));
    }
    Ok(parts.assemble(warnings))
}

struct Parts {
    rows: Option<Vec<Row>>,
    streams: watch::Streams,
    logs: Option<Vec<logs::Received>>,
    meta: Meta,
    manifest: Manifest,
}

impl Parts {
    fn assemble(self, mut warnings: Vec<String>) -> Imported {
        let zero = self.zero();
        self.remark(&mut warnings);
        let rows = self.rows.as_deref().unwrap_or_default();
        let context = Context {
            hits: &self.meta.hits,
            peer: self.peer(),
            zero,
        };
        let requests = requests::to_records(rows, &context, &mut warnings);
        let connections = requests::connections(&requests);
        let stages = stages::of(&self.meta.timeline, zero, &mut warnings);
        let target = self.target();
        let gaps = facts::gaps(&self.streams.absent, &mut warnings);
        let mut run = self.run(zero, target, &requests);
        run.warnings.clone_from(&warnings);
        let generator = self.rows.is_some().then(|| facts::generator(&requests));
        let at = |nanos: i64| RunOffset(nanos - zero);
        let events = self.streams.events.into_iter().map(|e| WatchRecord::Event {
            at: at(e.nanos),
            kind: e.kind,
            event: e.event,
            object: e.object,
        });
        let logs = self.logs.into_iter().flatten().map(|l| LogRecord {
            at: at(l.nanos),
            source: l.source,
            timestamp: l.timestamp,
            line: l.line,
        });
        let mut recording = Recording::new(run);
        recording.requests = requests.into();
        recording.connections = connections.into();
        recording.watch = gaps.into_iter().chain(events).collect();
        recording.logs = logs.collect();
        recording.stages = stages;
        recording.generator = generator;
        Imported {
            recording,
            warnings,
        }
    }

    fn remark(&self, warnings: &mut Vec<String>) {
        let remark = match self.rows {
            Some(_) => {
                "when a request was due is not in the files: each counts as due when it started"
            }
            None => "requests.jsonl is not in the folder: there is no load to judge",
        };
        warnings.push(remark.to_owned());
        if self.logs.is_none() {
            warnings.push("no logs are in the folder".to_owned());
        }
    }

    /// Run time zero: the first thing that was received or sent, ns since the epoch.
    fn zero(&self) -> i64 {
        let requests = self.rows.iter().flatten().map(Row::start_nanos);
        let events = self.streams.events.iter().map(|e| e.nanos);
        let logs = self.logs.iter().flatten().map(|l| l.nanos);
        let marks = self.meta.timeline.iter().map(|e| e.nanos);
        requests
            .chain(events)
            .chain(logs)
            .chain(marks)
            .min()
            .unwrap_or(0)
    }

    /// The address that the load went to: the Service's own, with its port.
    fn peer(&self) -> Option<String> {
        let address = self.service_address()?;
        Some(format!("{address}:{}", self.manifest.port?))
    }

    fn service_address(&self) -> Option<std::net::IpAddr> {
        let mut services = self.meta.timeline.iter().filter_map(|e| e.service.as_ref());
        services.next()?.parse().ok()
    }

    fn target(&self) -> TargetFacts {
        let mut objects = self.streams.events.iter();
        let namespace = objects.clone().find_map(|e| {
            let namespace = e.object["metadata"]["namespace"].as_str()?;
            (e.kind == ObjectKind::Pod).then(|| namespace.to_owned())
        });
        let deployment = objects.clone().find(|e| e.kind == ObjectKind::Deployment);
        let deployment = deployment.and_then(|e| e.object["metadata"]["name"].as_str());
        let deployment = deployment.or(self.manifest.deployment.as_deref());
        let kubelet = objects.find_map(|e| {
            let version = e.object["status"]["nodeInfo"]["kubeletVersion"].as_str()?;
            (e.kind == ObjectKind::Node).then(|| version.to_owned())
        });
        TargetFacts {
            kind: "kubernetes".to_owned(),
            namespace: namespace.or_else(|| self.meta.namespace.clone()),
            workload: deployment.map(|name| format!("deployment/{name}")),
            services: self.services(),
            // The load went straight to the Service's address: an endpoint is chosen when a connection is made.
            front_end: self.service_address().map(|_| "l4".to_owned()),
            kubelet_version: kubelet,
        }
    }

    /// From the manifest, else from the labels of the slices.
    fn services(&self) -> Vec<String> {
        if !self.manifest.services.is_empty() {
            return self.manifest.services.clone();
        }
        let slices = self.streams.events.iter();
        let mut services: Vec<String> = slices
            .filter(|e| e.kind == ObjectKind::EndpointSlice)
            .filter_map(|e| e.object["metadata"]["labels"]["kubernetes.io/service-name"].as_str())
            .map(str::to_owned)
            .collect();
        services.sort();
        services.dedup();
        services
    }

    fn run(&self, zero: i64, target: TargetFacts, requests: &[RequestRecord]) -> RunRecord {
        let workload = target.workload.as_deref().unwrap_or("workload");
        let name = workload.rsplit('/').next().unwrap_or(workload).to_owned();
        let last_mark = self.meta.timeline.last().map(|e| RunOffset(e.nanos - zero));
        let last_request = requests.iter().filter_map(|r| r.ended).max();
        let last_event = self
            .streams
            .events
            .last()
            .map(|e| RunOffset(e.nanos - zero));
        let end = last_mark
            .max(last_request)
            .max(last_event)
            .unwrap_or_default();
        RunRecord {
            requests: facts::kinds(requests, self.deadline_nanos()),
            rate_per_second: facts::rate(requests, &self.meta.hits),
            end: Some(RunEnd {
                at: end,
                how: EndKind::Completed,
                reason: None,
            }),
            ..RunRecord::new(
                format!("imported-{zero}"),
                name,
                format!("rollscope {} import-watch", env!("CARGO_PKG_VERSION")),
                zero,
                target,
            )
        }
    }

    fn deadline_nanos(&self) -> i64 {
        let seconds = self
            .meta
            .deadline_seconds
            .unwrap_or(DEFAULT_DEADLINE_SECONDS);
        (seconds * 1e9) as i64
    }
}
