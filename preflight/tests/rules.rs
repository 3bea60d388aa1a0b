//! Each rule on a bad and a good manifest: a folder `<RULE>[-what]` in `tests/rules/` is a case.
//!
//! A bad manifest has exactly one finding, of its rule; the fix, applied by kubectl, takes it away and brings no new one.
//! A good one has no finding at all.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rollscope_preflight::{Finding, PatchKind, Severity, about, check};
use rollscope_scenarios::RuleId;
use serde_json::Value;

use support::{input, json_patched, kubectl_patched};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    cases.sort();
    cases
}

fn rule_of(case: &Path) -> RuleId {
    let name = case.file_name().unwrap().to_str().unwrap();
    name.split('-').next().unwrap().parse().unwrap()
}

fn told(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|f| format!("{} {}: {}", f.rule, f.place.path, f.why))
        .collect()
}

#[test]
fn every_rule_has_a_case() {
    let covered: BTreeSet<RuleId> = cases().iter().map(|c| rule_of(c)).collect();
    assert_eq!(covered, RuleId::ALL.iter().copied().collect());
}

#[test]
fn a_bad_manifest_has_one_finding_of_its_rule_with_its_place() {
    for case in cases() {
        let report = check(&input(&case.join("bad"))).unwrap();
        let rules: Vec<RuleId> = report.findings.iter().map(|f| f.rule).collect();
        assert_eq!(
            rules,
            [rule_of(&case)],
            "{}: {:#?}",
            case.display(),
            told(&report.findings)
        );
        let finding = &report.findings[0];
        let text = std::fs::read_to_string(case.join("bad").join(&finding.place.file)).unwrap();
        let line = text.lines().nth(finding.place.line.unwrap() - 1).unwrap();
        let rest: String = line
            .chars()
            .skip(finding.place.column.unwrap() - 1)
            .collect();
        assert!(
            !rest.is_empty() && !rest.starts_with(' '),
            "{}: {line:?}",
            case.display()
        );
    }
}

#[test]
fn a_good_manifest_has_no_finding() {
    for case in cases() {
        let report = check(&input(&case.join("good"))).unwrap();
        assert_eq!(
            told(&report.findings),
            Vec::<String>::new(),
            "{}",
            case.display()
        );
    }
}

#[test]
fn the_fix_takes_the_finding_away_and_brings_no_new_one() {
    for case in cases() {
        let mut input = input(&case.join("bad"));
        let report = check(&input).unwrap();
        let patch = &report.findings[0].fix.patch;
        match &patch.object {
            Some(object) => {
                let manifest = &mut input.manifests[0];
                let documents = manifest.text.split("\n---\n").map(|document| {
                    let is = |line: String| document.lines().any(|l| l == line);
                    let named = is(format!("  name: {}", object.name));
                    if !named || !is(format!("kind: {}", object.kind)) {
                        return document.to_owned();
                    }
                    match (patch.kind, object.kind.as_str()) {
                        // kubectl knows no kind of its own for what a cluster's extension defines.
                        (PatchKind::Json, _) => {
                            json_patched(&support::yaml(document), &patch.body).to_string()
                        }
                        (PatchKind::Strategic, _) => kubectl_patched(document, &patch.body),
                    }
                });
                manifest.text = documents.collect::<Vec<_>>().join("\n---\n");
            }
            None => {
                let package = input.package_json.as_mut().unwrap();
                assert_eq!(patch.file.as_ref(), Some(&package.name));
                let json: Value = serde_json::from_str(&package.text).unwrap();
                package.text = json_patched(&json, &patch.body).to_string();
            }
        }
        let after = check(&input).unwrap();
        assert_eq!(
            told(&after.findings),
            Vec::<String>::new(),
            "{}: after {}\n{}",
            case.display(),
            patch.body,
            input.manifests[0].text
        );
    }
}

#[test]
fn every_finding_says_numbers_or_names_and_has_a_command() {
    for case in cases() {
        let report = check(&input(&case.join("bad"))).unwrap();
        let finding = &report.findings[0];
        assert!(
            finding.why.len() > 40 && !finding.fix.text.is_empty(),
            "{}",
            case.display()
        );
        assert_ne!(finding.fix.patch.body, Value::Null, "{}", case.display());
        let command = finding.fix.patch.command.as_deref();
        let for_object = finding.fix.patch.object.is_some();
        assert_eq!(
            command.is_some_and(|c| c.starts_with("kubectl patch ")),
            for_object
        );
        assert!(about(finding.rule).severity >= Severity::Note);
    }
}
