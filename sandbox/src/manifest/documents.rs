//! Splits a manifest into its objects and reads each through its Kubernetes type.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Problem, strict};

/// An object of the manifest and the line on which its document begins.
#[derive(Debug)]
pub(super) struct Located {
    /// The object, as its Kubernetes type writes it.
    pub(super) object: Value,
    /// The document's first line, from 1.
    pub(super) line: usize,
}

/// What was found in the file.
#[derive(Debug, Default)]
pub(super) struct Documents {
    pub(super) deployments: Vec<Located>,
    pub(super) services: Vec<Located>,
    pub(super) warnings: Vec<String>,
    pub(super) problems: Vec<Problem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: Option<String>,
    kind: Option<String>,
}

/// Reads every document.
///
/// # Errors
/// The text is not YAML: what comes after the broken place can't be judged.
pub(super) fn read(text: &str) -> Result<Documents, Vec<Problem>> {
    let mut documents = Documents::default();
    for (line, document) in split(text) {
        documents.add(line, &document)?;
    }
    Ok(documents)
}

impl Documents {
    fn add(&mut self, line: usize, document: &str) -> Result<(), Vec<Problem>> {
        let raw: Option<Value> = parse(document).map_err(|p| vec![p])?;
        let Some(raw) = raw.filter(|r| !r.is_null()) else {
            return Ok(());
        };
        if !raw.is_object() {
            return Err(vec![Problem {
                line: Some(line),
                text: "expected a Kubernetes object (apiVersion, kind, metadata ...)".to_owned(),
            }]);
        }
        if raw["kind"] == "List" {
            for item in raw["items"].as_array().into_iter().flatten() {
                self.add_object(line, item.clone(), None);
            }
        } else {
            self.add_object(line, raw, Some(document));
        }
        Ok(())
    }

    fn add_object(&mut self, line: usize, raw: Value, document: Option<&str>) {
        let head: Head = match serde_json::from_value(raw.clone()) {
            Ok(head) => head,
            Err(e) => return self.problem(line, format!("apiVersion and kind: {e}")),
        };
        let (Some(version), Some(kind)) = (head.api_version, head.kind) else {
            return self.problem(line, "the object has no apiVersion or no kind".to_owned());
        };
        match (version.as_str(), kind.as_str()) {
            ("apps/v1", "Deployment") => {
                if let Some(object) = self.typed::<Deployment>(line, &raw, document) {
                    self.deployments.push(object);
                }
            }
            ("v1", "Service") => {
                if let Some(object) = self.typed::<Service>(line, &raw, document) {
                    self.services.push(object);
                }
            }
            ("v1", "Namespace" | "ConfigMap") => (),
            (_, "Deployment" | "Service") => self.problem(
                line,
                format!(
                    "{kind} of apiVersion {version:?}: expected apps/v1 Deployment or v1 Service"
                ),
            ),
            _ => {
                let name = raw["metadata"]["name"].as_str().unwrap_or("without a name");
                self.warnings.push(format!(
                    "{kind} {name} ({version}) is ignored: the sandbox knows Deployment and Service"
                ));
            }
        }
    }

    /// Reads through the Kubernetes type, which checks the types of all fields; unknown fields are problems, as
    /// kubectl's strict validation has it.
    fn typed<T>(&mut self, line: usize, raw: &Value, document: Option<&str>) -> Option<Located>
    where
        T: DeserializeOwned + Serialize,
    {
        let read = match document {
            Some(document) => parse::<T>(document),
            None => serde_json::from_value(raw.clone()).map_err(|e| Problem {
                line: Some(line),
                text: format!("in an item of the List: {e}"),
            }),
        };
        let object = match read.map(|typed| serde_json::to_value(&typed)) {
            Ok(Ok(object)) => object,
            Ok(Err(e)) => {
                self.problem(line, e.to_string());
                return None;
            }
            Err(problem) => {
                self.problems.push(problem);
                return None;
            }
        };
        for path in strict::unknown_fields(raw, &object) {
            let found = document.and_then(|d| locate(d, &path));
            self.problem(
                found.unwrap_or(line),
                format!("unknown field {:?}", path.join(".")),
            );
        }
        Some(Located { object, line })
    }

    fn problem(&mut self, line: usize, text: String) {
        self.problems.push(Problem {
            line: Some(line),
            text,
        });
    }
}

pub(super) fn parse<T: DeserializeOwned>(document: &str) -> Result<T, Problem> {
    serde_saphyr::from_str(document).map_err(|e| {
        let line = e.location().and_then(|l| usize::try_from(l.line()).ok());
        Problem {
            line: line.filter(|l| *l > 0),
            text: without_place(&e.without_snippet().to_string()),
        }
    })
}

/// The first line of an error's text without its " at line 1, column 2".
fn without_place(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let bare = first.rsplit_once(" at line ").map(|(bare, _)| bare);
    bare.unwrap_or(first).to_owned()
}

/// The documents of a YAML stream, each padded with empty lines so that its lines keep their numbers, and the line of
/// its first content.
pub(super) fn split(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut close = |document: &mut String, lines: usize| {
        let whole = std::mem::replace(document, "\n".repeat(lines));
        let first = whole
            .lines()
            .position(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#'));
        if let Some(first) = first {
            found.push((first + 1, whole));
        }
    };
    for (index, line) in text.lines().enumerate() {
        match line.strip_prefix("---") {
            Some(rest) if rest.is_empty() || rest.starts_with([' ', '\t']) => {
                close(&mut current, index);
                current.push_str(rest);
            }
            _ => current.push_str(line),
        }
        current.push('\n');
    }
    close(&mut current, 0);
    found
}

/// The line, from 1, on which the last key of `path` stands, found by its keys in order.
pub(super) fn locate(document: &str, path: &[String]) -> Option<usize> {
    let mut lines = document.lines().enumerate();
    let mut found = None;
    for key in path.iter().filter(|k| k.parse::<usize>().is_err()) {
        let hit = lines.find(|(_, line)| {
            let line = line.trim_start_matches(|c: char| c.is_whitespace() || c == '-');
            let line = line.trim_start_matches('"');
            line.strip_prefix(key.as_str())
                .is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with(':'))
        });
        found = Some(hit?.0 + 1);
    }
    found
}
