//! What the check found.

use rollscope_scenarios::RuleId;
use serde::Serialize;
use serde_json::Value;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Works, but not as well as it could.
    Note,
    /// Requests are lost in rollouts, or can be.
    Warning,
    /// A rollout or a drain cannot go well.
    Error,
}

impl Severity {
    /// The word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// An object of the input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ObjectRef {
    /// `Deployment`.
    pub kind: String,
    /// Its namespace, where the object says it.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// Where a finding is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file's name as it was given, `-` for stdin, or the live object's name.
    pub file: String,
    /// The line, from 1; `None` in a live object.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The field, as `spec.template.spec.containers[0].command`; for one that is not there, where it belongs.
    pub path: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The rule's id.
    #[serde(serialize_with = "code")]
    pub rule: RuleId,
    /// The rule's name.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The workload that it is about.
    pub workload: ObjectRef,
    /// Where it is.
    pub place: Place,
    /// Why it is a problem, with the numbers of this manifest.
    pub why: String,
    /// What to do.
    pub fix: Fix,
    /// Who accepts it, if anybody does.
    pub allowed_by: Option<AllowedBy>,
}

fn code<S: serde::Serializer>(rule: &RuleId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.code())
}

/// Who accepts a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AllowedBy {
    /// The scenario or the command line.
    Settings,
    /// An annotation of the workload, or of the object that the finding is in.
    Annotation,
}

/// What to do about a finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fix {
    /// In words.
    pub text: String,
    /// As a patch.
    pub patch: Patch,
}

/// A patch that mends what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Patch {
    /// How it is applied.
    #[serde(rename = "type")]
    pub kind: PatchKind,
    /// The object that it is for; `None` where it is for a file.
    pub object: Option<ObjectRef>,
    /// The file that it is for (package.json); `None` where it is for an object.
    pub file: Option<String>,
    /// The patch itself.
    pub body: Value,
    /// The command that applies it to a cluster's object; `None` where it is for a file.
    pub command: Option<String>,
}

/// How a patch is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PatchKind {
    /// Strategic merge patch.
    Strategic,
    /// JSON patch (RFC 6902).
    Json,
}

impl PatchKind {
    /// The word for `kubectl patch --type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strategic => "strategic",
            Self::Json => "json",
        }
    }
}

/// Everything that was found, and what was looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The format's name and major version.
    pub schema: &'static str,
    /// The workloads that were checked, in the order of the input.
    pub workloads: Vec<ObjectRef>,
    /// Findings, those of the worst workload first, and the worst first within one.
    pub findings: Vec<Finding>,
    /// What could not be checked, and assumptions that were made, in words.
    pub notes: Vec<String>,
}

/// The name and major version of [`Report`] as JSON.
pub const SCHEMA: &str = "rollscope/preflight/v1";

impl Report {
    /// The findings that nobody accepts.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.allowed_by.is_none())
    }

    /// The worst severity of the findings that nobody accepts.
    pub fn worst(&self) -> Option<Severity> {
        self.open().map(|f| f.severity).max()
    }
}
