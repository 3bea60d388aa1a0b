//! The check as a whole: read, join, apply the rules, see what is allowed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rollscope_scenarios::RuleId;
use serde_json::Value as Json;

use crate::at::{At, Document};
use crate::context::Context;
use crate::dockerfile::Dockerfile;
use crate::finding::{AllowedBy, Finding, ObjectRef, Report, SCHEMA};
use crate::node::{Node, Value};
use crate::package_json::PackageJson;
use crate::problem::{BadInput, Problem};
use crate::rules;
use crate::settings::Settings;
use crate::workload::{Joined, Kind, Workload};
use crate::yaml;

/// The annotation of an object that accepts rules.
const ALLOW: &str = "rollscope.dev/allow";

/// A file: its name for messages, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// As it was given on the command line; `-` for stdin.
    pub name: String,
    /// The content.
    pub text: String,
}

/// What is checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Input {
    /// Manifests: YAML or JSON, each with any number of documents.
    pub manifests: Vec<Source>,
    /// Objects of a cluster, with their name for messages.
    pub objects: Vec<(String, Json)>,
    /// The Dockerfile of the application's image.
    pub dockerfile: Option<Source>,
    /// The application's package.json.
    pub package_json: Option<Source>,
    /// What nothing of these says.
    pub settings: Settings,
    /// What could not be read, in words; it goes into the report.
    pub notes: Vec<String>,
}

/// Checks what is in `input`.
///
/// # Errors
///
/// Everything that cannot be read, with line and column: syntax, fields of another type than Kubernetes has, unknown
/// rules in an annotation, an input without a workload.
pub fn check(input: &Input) -> Result<Report, BadInput> {
    let mut problems = Vec::new();
    let documents = documents(input, &mut problems);
    let dockerfile = input
        .dockerfile
        .as_ref()
        .map(|f| Dockerfile::read(&f.name, &f.text));
    let package = input
        .package_json
        .as_ref()
        .map(|f| PackageJson::read(&f.name, &f.text));
    let dockerfile = dockerfile
        .transpose()
        .map_err(|p| problems.push(p))
        .ok()
        .flatten();
    let package = package
        .transpose()
        .map_err(|p| problems.push(p))
        .ok()
        .flatten();
    let unreadable = !problems.is_empty();
    let objects: Vec<Object<'_>> = documents.iter().filter_map(Object::read).collect();
    let workloads = join(&objects);
    if workloads.is_empty() && !unreadable {
        problems.push(no_workload(input));
    }
    let main = main_workload(&workloads);
    let mut findings = Vec::new();
    for (i, workload) in workloads.iter().enumerate() {
        let of_program = main == Some(i);
        let cx = Context {
            workload,
            settings: &input.settings,
            dockerfile: dockerfile.as_ref().filter(|_| of_program),
            package: package.as_ref().filter(|_| of_program),
        };
        let mut found = rules::check(&cx);
        allow(&mut found, workload, &objects, &input.settings);
        findings.extend(found);
    }
    problems.extend(documents.iter().flat_map(|d| d.problems.borrow().clone()));
    if let Some(package) = &package {
        problems.extend(package.document().problems.borrow().clone());
    }
    if let Some(bad) = BadInput::of(problems) {
        return Err(bad);
    }
    let workloads: Vec<ObjectRef> = workloads.iter().map(|w| w.object.clone()).collect();
    Ok(Report {
        schema: SCHEMA,
        findings: ordered(findings, &workloads),
        workloads,
        notes: input.notes.clone(),
    })
}

/// The documents of every source, the items of a List each as one.
fn documents(input: &Input, problems: &mut Vec<Problem>) -> Vec<Document> {
    let mut documents = Vec::new();
    for source in &input.manifests {
        for root in yaml::read(&source.name, &source.text, problems) {
            add(&source.name, root, &mut documents);
        }
    }
    for (name, object) in &input.objects {
        add(name, Node::of_json(object), &mut documents);
    }
    documents
}

fn add(file: &str, root: Node, documents: &mut Vec<Document>) {
    let is_list = matches!(root.entry("kind").map(|e| &e.node.value), Some(Value::Text(kind)) if kind.ends_with("List"));
    if is_list
        && let Some(items) = root.entry("items")
        && let Value::List(items) = &items.node.value
    {
        for item in items {
            add(file, item.clone(), documents);
        }
        return;
    }
    documents.push(Document {
        file: file.to_owned(),
        root,
        problems: RefCell::default(),
    });
}

fn no_workload(input: &Input) -> Problem {
    let names = input.manifests.iter().map(|s| s.name.as_str());
    let names: Vec<&str> = names
        .chain(input.objects.iter().map(|(n, _)| n.as_str()))
        .collect();
    Problem {
        file: names.join(", "),
        at: None,
        path: String::new(),
        found: "no workload".to_owned(),
        expected: "a Deployment, StatefulSet, DaemonSet, Pod, Job, CronJob or Argo Rollout"
            .to_owned(),
    }
}

/// An object with its kind.
#[derive(Debug)]
struct Object<'a> {
    api_version: String,
    joined: Joined<'a>,
}

impl<'a> Object<'a> {
    /// The object in a document; one that has no kind is a problem.
    fn read(document: &'a Document) -> Option<Self> {
        let root = At::root(document);
        if !matches!(document.root.value, Value::Map(_)) {
            root.problem("a Kubernetes object: a mapping with apiVersion and kind");
            return None;
        }
        let (kind, version) = (root.key("kind"), root.key("apiVersion"));
        if !kind.is_there() {
            kind.problem("the kind of the object, such as `Deployment`");
        }
        let meta = root.key("metadata");
        let name = meta
            .key("name")
            .plain()
            .or_else(|| meta.key("generateName").plain());
        Some(Self {
            api_version: version.text().unwrap_or_default().to_owned(),
            joined: Joined {
                object: ObjectRef {
                    kind: kind.text()?.to_owned(),
                    namespace: meta.key("namespace").plain(),
                    name: name.unwrap_or_default(),
                },
                root,
            },
        })
    }

    fn is(&self, kind: &str) -> bool {
        self.joined.object.kind == kind
    }
}

/// The workloads, each with the objects that go with it.
fn join<'a>(objects: &[Object<'a>]) -> Vec<Workload<'a>> {
    let services_known = objects.iter().any(|o| o.is("Service"));
    objects
        .iter()
        .filter_map(|o| {
            let kind = Kind::of(&o.api_version, &o.joined.object.kind)?;
            let mut workload = Workload::read(kind, o.joined.object.clone(), o.joined.root.clone());
            workload.services_known = services_known;
            join_one(&mut workload, objects);
            Some(workload)
        })
        .collect()
}

fn join_one<'a>(workload: &mut Workload<'a>, objects: &[Object<'a>]) {
    let near: Vec<&Object<'a>> = objects
        .iter()
        // Charts often leave the namespace to the installation.
        .filter(|o| {
            let (a, b) = (&o.joined.object.namespace, &workload.object.namespace);
            a.is_none() || b.is_none() || a == b
        })
        .collect();
    let kind = |k: &'static str| {
        near.iter()
            .filter(move |o| o.is(k))
            .map(|o| o.joined.clone())
    };
    let labels = &workload.labels;
    workload.services = kind("Service")
        .filter(|s| matches(&s.root.keys(&["spec", "selector"]), labels))
        .collect();
    workload.budgets = kind("PodDisruptionBudget")
        .filter(|b| selects(&b.root.keys(&["spec", "selector"]), labels))
        .collect();
    let object = &workload.object;
    workload.autoscaler = kind("HorizontalPodAutoscaler").find(|h| {
        let target = h.root.keys(&["spec", "scaleTargetRef"]);
        target.key("kind").plain().as_deref() == Some(&object.kind)
            && target.key("name").plain().as_deref() == Some(&object.name)
    });
    let names: Vec<String> = workload
        .services
        .iter()
        .map(|s| s.object.name.clone())
        .collect();
    workload.ingresses = kind("Ingress").filter(|i| sends_to(i, &names)).collect();
}

/// Whether every pair of a plain selector is among the labels. An empty one selects nothing.
fn matches(selector: &At<'_>, labels: &BTreeMap<String, String>) -> bool {
    let pairs = selector.entries();
    !pairs.is_empty()
        && pairs
            .iter()
            .all(|(key, value)| labels.get(*key) == value.plain().as_ref())
}

/// Whether a label selector with matchLabels and matchExpressions selects the labels.
fn selects(selector: &At<'_>, labels: &BTreeMap<String, String>) -> bool {
    let (plain, expressions) = (
        selector.key("matchLabels"),
        selector.key("matchExpressions"),
    );
    let by_labels = plain.entries().is_empty() || matches(&plain, labels);
    let expressions = expressions.items();
    let any = !plain.entries().is_empty() || !expressions.is_empty();
    any && by_labels
        && expressions.iter().all(|e| {
            let value = labels.get(e.key("key").text().unwrap_or_default());
            let values = e.key("values").texts().unwrap_or_default();
            match e.key("operator").text() {
                Some("In") => value.is_some_and(|v| values.contains(v)),
                Some("NotIn") => value.is_none_or(|v| !values.contains(v)),
                Some("Exists") => value.is_some(),
                Some("DoesNotExist") => value.is_none(),
                _ => false,
            }
        })
}

/// Whether an Ingress sends to one of the Services.
fn sends_to(ingress: &Joined<'_>, services: &[String]) -> bool {
    let spec = ingress.root.key("spec");
    let paths = spec
        .key("rules")
        .items()
        .into_iter()
        .flat_map(|r| r.keys(&["http", "paths"]).items());
    let backends = paths
        .map(|p| p.key("backend"))
        .chain([spec.key("defaultBackend")]);
    let names = backends.filter_map(|b| b.keys(&["service", "name"]).plain());
    names.into_iter().any(|n| services.contains(&n))
}

/// The workload that the Dockerfile and the package.json belong to: the first that serves, else the first.
fn main_workload(workloads: &[Workload<'_>]) -> Option<usize> {
    let serving = workloads.iter().position(Workload::serves);
    serving.or(if workloads.is_empty() { None } else { Some(0) })
}

/// Marks the findings that somebody accepts.
fn allow(
    findings: &mut [Finding],
    workload: &Workload<'_>,
    objects: &[Object<'_>],
    settings: &Settings,
) {
    let mut annotated = annotated(&workload.root.key("metadata"));
    annotated.extend(self::annotated(&workload.template.key("metadata")));
    for finding in findings {
        let other = finding
            .fix
            .patch
            .object
            .as_ref()
            .filter(|o| **o != workload.object);
        let of_object = other.and_then(|object| {
            let found = objects.iter().find(|o| &o.joined.object == object)?;
            Some(self::annotated(&found.joined.root.key("metadata")))
        });
        let by_annotation = annotated.contains(&finding.rule)
            || of_object.is_some_and(|rules| rules.contains(&finding.rule));
        finding.allowed_by = match settings.allow.contains(&finding.rule) {
            true => Some(AllowedBy::Settings),
            false => by_annotation.then_some(AllowedBy::Annotation),
        };
    }
}

/// The rules that the annotation in `metadata` accepts; an unknown one is a problem.
fn annotated(metadata: &At<'_>) -> Vec<RuleId> {
    let at = metadata.key("annotations").key(ALLOW);
    let Some(text) = at.text() else {
        return Vec::new();
    };
    let ids = text
        .split([',', ' '])
        .map(str::trim)
        .filter(|i| !i.is_empty());
    ids.filter_map(|id| match id.parse::<RuleId>() {
        Ok(rule) => Some(rule),
        Err(_) => {
            let found = format!("the unknown rule `{}`", crate::problem::shown(id));
            at.problem_with(
                found,
                "ids of pre-flight rules such as `RS101`, separated by commas",
            );
            None
        }
    })
    .collect()
}

/// The worst workload first, then in the order of the input; within one the worst finding first.
fn ordered(mut findings: Vec<Finding>, workloads: &[ObjectRef]) -> Vec<Finding> {
    let mut worst = BTreeMap::new();
    for finding in findings.iter().filter(|f| f.allowed_by.is_none()) {
        let entry = worst
            .entry(finding.workload.clone())
            .or_insert(finding.severity);
        *entry = finding.severity.max(*entry);
    }
    findings.sort_by_key(|f| {
        let place = workloads.iter().position(|w| *w == f.workload);
        (
            std::cmp::Reverse(worst.get(&f.workload).copied()),
            place,
            f.allowed_by.is_some(),
            std::cmp::Reverse(f.severity),
            f.rule,
            f.place.clone(),
        )
    });
    findings
}
