//! The report for people.

use std::fmt::Write as _;

use super::snippet::yaml;
use crate::finding::{AllowedBy, Finding, ObjectRef, Place, Report, Severity};
use crate::problem::shown;

/// The report as text: a paragraph for each workload, the worst first, with the fix of each finding.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    let mut shown_of: Vec<&ObjectRef> = Vec::new();
    for finding in &report.findings {
        if !shown_of.contains(&&finding.workload) {
            shown_of.push(&finding.workload);
            heading(&finding.workload, report, &mut text);
        }
        match finding.allowed_by {
            Some(by) => allowed(finding, by, &mut text),
            None => open(finding, &mut text),
        }
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {note}");
    }
    closing(report, &mut text);
    text
}

fn heading(workload: &ObjectRef, report: &Report, text: &mut String) {
    let findings: Vec<&Finding> = report.open().filter(|f| &f.workload == workload).collect();
    let counts = counts(findings.iter().map(|f| f.severity));
    let _ = writeln!(text, "{}: {counts}", object(workload));
}

/// `Deployment web in shop`.
fn object(object: &ObjectRef) -> String {
    let namespace = object
        .namespace
        .as_ref()
        .map_or_else(String::new, |n| format!(" in {}", shown(n)));
    format!("{} {}{namespace}", shown(&object.kind), shown(&object.name))
}

/// `1 error, 2 warnings`.
fn counts(severities: impl Iterator<Item = Severity> + Clone) -> String {
    let words: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter_map(|of| {
            let count = severities.clone().filter(|s| *s == of).count();
            let plural = if count == 1 { "" } else { "s" };
            (count > 0).then(|| format!("{count} {}{plural}", of.as_str()))
        })
        .collect();
    match words.is_empty() {
        true => "nothing to complain of".to_owned(),
        false => words.join(", "),
    }
}

/// `deploy.yaml:24:11 spec.template.spec.containers[0].command`.
fn place(place: &Place) -> String {
    let mut text = shown(&place.file);
    if let (Some(line), Some(column)) = (place.line, place.column) {
        let _ = write!(text, ":{line}:{column}");
    }
    if !place.path.is_empty() {
        let _ = write!(text, " {}", place.path);
    }
    text
}

fn open(finding: &Finding, text: &mut String) {
    let _ = writeln!(
        text,
        "\n  {} {} {}",
        finding.severity.as_str(),
        finding.rule,
        finding.name
    );
    let _ = writeln!(text, "    where: {}", place(&finding.place));
    let _ = writeln!(text, "    why:   {}", finding.why);
    let _ = writeln!(text, "    fix:   {}", finding.fix.text);
    text.push_str(&yaml(&finding.fix.patch.body, 11));
    match (&finding.fix.patch.command, &finding.fix.patch.file) {
        (Some(command), _) => {
            let _ = writeln!(text, "           {command}");
        }
        (None, Some(file)) => {
            let _ = writeln!(text, "           (a JSON patch of {})", shown(file));
        }
        (None, None) => {}
    }
}

fn allowed(finding: &Finding, by: AllowedBy, text: &mut String) {
    let by = match by {
        AllowedBy::Settings => "by the scenario or --allow",
        AllowedBy::Annotation => "by annotation",
    };
    let _ = writeln!(
        text,
        "\n  allowed {by}: {} {} at {}",
        finding.rule,
        finding.name,
        place(&finding.place)
    );
}

fn closing(report: &Report, text: &mut String) {
    let count = report.workloads.len();
    let plural = if count == 1 { "" } else { "s" };
    let allowed = report.findings.len() - report.open().count();
    let allowed = match allowed {
        0 => String::new(),
        n => format!(" ({n} allowed)"),
    };
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{count} workload{plural} checked: {}{allowed}",
        counts(
            report
                .open()
                .map(|f| f.severity)
                .collect::<Vec<_>>()
                .into_iter()
        )
    );
}
