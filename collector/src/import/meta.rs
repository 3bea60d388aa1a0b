//! `meta.json` and `manifest.json`: what was done when, and with which objects.

use std::path::Path;

use serde_json::Value;

use super::{ImportError, files};

/// What `meta.json` tells.
#[derive(Debug, Default)]
pub(super) struct Meta {
    /// The namespace.
    pub(super) namespace: Option<String>,
    /// The marks, in order of time.
    pub(super) timeline: Vec<Entry>,
    /// Paths that were requested on purpose, whatever status they give.
    pub(super) hits: Vec<String>,
    /// The deadline of the requests, seconds.
    pub(super) deadline_seconds: Option<f64>,
}

/// An entry of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// ns since the epoch.
    pub(super) nanos: i64,
    pub(super) what: String,
    /// Exit code of a command.
    pub(super) code: Option<i64>,
    /// The address that the load went to.
    pub(super) service: Option<String>,
}

/// What `manifest.json` tells.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Manifest {
    pub(super) deployment: Option<String>,
    pub(super) services: Vec<String>,
    /// The first port of the first Service.
    pub(super) port: Option<i64>,
}

pub(super) fn read_meta(dir: &Path, warnings: &mut Vec<String>) -> Result<Meta, ImportError> {
    let Some(json) = document(dir, "meta.json", warnings)? else {
        return Ok(Meta::default());
    };
    let timeline = json["timeline"].as_array().into_iter().flatten();
    let mut timeline: Vec<Entry> = timeline.filter_map(entry).collect();
    timeline.sort_by_key(|e| e.nanos);
    let config = &json["config"];
    let hits = config["hits"].as_array().into_iter().flatten();
    Ok(Meta {
        namespace: json["namespace"].as_str().map(str::to_owned),
        timeline,
        hits: hits.filter_map(|h| hit(h.as_str()?)).collect(),
        deadline_seconds: option(&config["load"], "--timeout"),
    })
}

fn entry(entry: &Value) -> Option<Entry> {
    Some(Entry {
        nanos: entry["t_ns"].as_i64()?,
        what: entry["what"].as_str()?.to_owned(),
        code: entry["rc"].as_i64(),
        service: entry["service"].as_str().map(str::to_owned),
    })
}

/// `1.5:/leak?mb=4096`: seconds after the restart, and the path.
fn hit(hit: &str) -> Option<String> {
    let (_, path) = hit.split_once(':')?;
    path.starts_with('/').then(|| path.to_owned())
}

/// The value after an option of the load's command line.
fn option(arguments: &Value, name: &str) -> Option<f64> {
    let arguments = arguments.as_array()?;
    let at = arguments.iter().position(|a| a == name)?;
    let value = arguments.get(at + 1)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

pub(super) fn read_manifest(
    dir: &Path,
    warnings: &mut Vec<String>,
) -> Result<Manifest, ImportError> {
    let Some(json) = document(dir, "manifest.json", warnings)? else {
        return Ok(Manifest::default());
    };
    let items = json["items"].as_array().into_iter().flatten();
    let mut manifest = Manifest::default();
    for object in items {
        let name = object["metadata"]["name"].as_str().map(str::to_owned);
        match (object["kind"].as_str(), name) {
            (Some("Deployment"), name) => manifest.deployment = manifest.deployment.or(name),
            (Some("Service"), Some(name)) => {
                manifest.services.push(name);
                let port = object["spec"]["ports"][0]["port"].as_i64();
                manifest.port = manifest.port.or(port);
            }
            _ => {}
        }
    }
    Ok(manifest)
}

fn document(
    dir: &Path,
    name: &str,
    warnings: &mut Vec<String>,
) -> Result<Option<Value>, ImportError> {
    let Some((path, text)) = files::read(dir, name)? else {
        warnings.push(format!("{name} is not in the folder"));
        return Ok(None);
    };
    match serde_json::from_str(&text) {
        Ok(json) => Ok(Some(json)),
        Err(e) => Err(ImportError::Malformed {
            path,
            line: e.line(),
            why: e.to_string(),
            expected: "a JSON document",
        }),
    }
}
