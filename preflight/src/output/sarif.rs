//! The report as SARIF 2.1.0, for code scanning.

use rollscope_scenarios::RuleId;
use serde_json::{Map, Value, json};

use crate::about::about;
use crate::finding::{AllowedBy, Finding, Report};

/// The report as SARIF 2.1.0 with a newline at its end. Findings that somebody accepts are in it, suppressed.
///
/// # Panics
///
/// Never: every map of a report has strings as its keys.
pub fn sarif(report: &Report, version: &str) -> String {
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "rollscope preflight",
                "version": version,
                "informationUri": "https://github.com/rollscope/rollscope",
                "rules": RuleId::ALL.iter().map(|r| rule(*r)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": report.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).expect("a report is plain data");
    text.push('\n');
    text
}

fn rule(rule: RuleId) -> Value {
    let about = about(rule);
    json!({
        "id": rule.code(),
        "name": rule.name(),
        "shortDescription": { "text": about.finds },
        "fullDescription": { "text": about.finds },
        "help": { "text": "Each result says why with the numbers of its manifest, and has the fix as a patch." },
        "defaultConfiguration": { "level": about.severity.as_str() },
    })
}

fn result(finding: &Finding) -> Value {
    let index = RuleId::ALL.iter().position(|r| *r == finding.rule);
    let patch = &finding.fix.patch;
    let command = patch
        .command
        .as_deref()
        .unwrap_or("JSON patch: see the properties of this result");
    let mut result = json!({
        "ruleId": finding.rule.code(),
        "ruleIndex": index,
        "level": finding.severity.as_str(),
        "message": { "text": format!("{}. Fix: {}. {command}", finding.why, finding.fix.text) },
        "locations": [location(finding)],
        "partialFingerprints": { "rollscope/v1": fingerprint(finding) },
        "properties": { "patchType": patch.kind.as_str(), "patch": patch.body },
    });
    if let Some(by) = finding.allowed_by {
        let kind = match by {
            AllowedBy::Settings => "external",
            AllowedBy::Annotation => "inSource",
        };
        result["suppressions"] = json!([{ "kind": kind }]);
    }
    result
}

fn location(finding: &Finding) -> Value {
    let workload = &finding.workload;
    let namespace = workload.namespace.as_deref().unwrap_or_default();
    let name = format!("{namespace}/{}/{}", workload.kind, workload.name);
    let mut location = json!({ "logicalLocations": [{
        "name": finding.place.path,
        "fullyQualifiedName": format!("{}#{}", name.trim_start_matches('/'), finding.place.path),
        "kind": "object",
    }] });
    // What comes from a cluster is in no file.
    if let (Some(line), Some(column)) = (finding.place.line, finding.place.column) {
        let mut region = Map::new();
        region.insert("startLine".to_owned(), json!(line));
        region.insert("startColumn".to_owned(), json!(column));
        location["physicalLocation"] = json!({
            "artifactLocation": { "uri": uri(&finding.place.file) },
            "region": region,
        });
    }
    location
}

/// A file's name as a relative reference of RFC 3986.
fn uri(file: &str) -> String {
    if file == "-" {
        return "stdin".to_owned();
    }
    let file = file.trim_start_matches("./");
    let kept = |b: u8| b.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&b);
    file.bytes()
        .map(|b| match kept(b) {
            true => char::from(b).to_string(),
            false => format!("%{b:02X}"),
        })
        .collect()
}

/// The same for the same finding, wherever its line has moved to: FNV-1a over rule, workload, file and field.
fn fingerprint(finding: &Finding) -> String {
    let workload = &finding.workload;
    let text = format!(
        "{}\0{}\0{}\0{}\0{}",
        finding.rule, workload.kind, workload.name, finding.place.file, finding.place.path
    );
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
