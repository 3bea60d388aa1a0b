//! `target`: what the rollout runs on.

use std::path::PathBuf;

use super::Checker;
use super::field::{Field, shown};
use super::scenario::TargetKind;
use super::section::Section;
use crate::keys::Shape;
use crate::model::{FrontEnd, HealthCheck, KubernetesTarget, SandboxTarget, Target};
use crate::tree::Value;
use crate::{units, words};

/// Which kind of target is written, when it is exactly one.
pub(super) fn kind(section: &Section<'_>) -> Option<TargetKind> {
    match (
        section.get("sandbox").is_some(),
        section.get("kubernetes").is_some(),
        section.get("none").is_some(),
    ) {
        (true, false, false) => Some(TargetKind::Sandbox),
        (false, true, false) => Some(TargetKind::Kubernetes),
        (false, false, true) => Some(TargetKind::None),
        _ => None,
    }
}

/// The target; every kind that is written is checked, also when there are too many.
pub(super) fn target(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Target> {
    let sandbox = section.section("sandbox", checker);
    let sandbox = sandbox.and_then(|s| self::sandbox(&s, checker));
    let kubernetes = section.section("kubernetes", checker);
    let kubernetes = kubernetes.and_then(|s| self::kubernetes(&s, checker));
    let none = section.get("none").filter(|f| nothing(f, checker));
    match kind(section)? {
        TargetKind::Sandbox => sandbox.map(Target::Sandbox),
        TargetKind::Kubernetes => kubernetes.map(Target::Kubernetes),
        TargetKind::None => none.map(|_| Target::None),
    }
}

/// Whether a value is `{}` or left out; reports anything else.
pub(super) fn nothing(field: &Field<'_>, checker: &mut Checker<'_>) -> bool {
    match &field.node.value {
        Value::Null => true,
        Value::Map(entries) if entries.is_empty() => true,
        Value::Map(entries) => {
            for entry in entries {
                let found = format!("the unknown key `{}`", shown(&entry.key));
                checker.problem(
                    entry.at,
                    &field.path,
                    found,
                    Shape::Nothing.expected(),
                    None,
                );
            }
            false
        }
        _ => {
            checker.unexpected(field, &Shape::Nothing.expected(), None);
            false
        }
    }
}

fn sandbox(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<SandboxTarget> {
    let manifest = manifest(section, checker);
    let front_end = front_end(section, checker);
    let endpoint_lag = section.parsed("endpoint_lag", checker, units::duration_range);
    let seed = section.whole("seed", checker);
    let retries = section.whole("retries", checker);
    let health_check = health_check(section, checker);
    Some(SandboxTarget {
        manifest: manifest?,
        front_end: front_end?,
        endpoint_lag: endpoint_lag?,
        seed: seed?,
        retries: small(retries?),
        health_check: health_check?,
    })
}

/// How `health_checked` asks, or its defaults.
fn health_check(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<HealthCheck> {
    if section.get("health_check").is_none() {
        return Some(HealthCheck::default());
    }
    let section = section.section("health_check", checker)?;
    let over_zero = |t: &str| units::duration(t).filter(|d| !d.is_zero());
    let period = section.parsed("period", checker, over_zero);
    let unhealthy_after = section.whole("unhealthy_after", checker);
    let healthy_after = section.whole("healthy_after", checker);
    Some(HealthCheck {
        period: period?,
        unhealthy_after: small(unhealthy_after?),
        healthy_after: small(healthy_after?),
    })
}

/// A number that its table has bounded.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The manifest's path, resolved; it must be there.
fn manifest(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<PathBuf> {
    let path = section.parsed("manifest", checker, |t| {
        (!t.is_empty()).then(|| PathBuf::from(t))
    })?;
    let path = checker.base_dir.join(path);
    let found = match std::fs::metadata(&path) {
        Ok(meta) if !meta.is_dir() => return Some(path),
        Ok(_) => format!("the directory `{}`", path.display()),
        Err(error) => format!("`{}`, which cannot be read ({error})", path.display()),
    };
    let field = section.get("manifest")?;
    checker.problem(
        field.at,
        &field.path,
        found,
        "a file with a Deployment and a Service",
        None,
    );
    None
}

fn front_end(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<FrontEnd> {
    match section.choice("front_end", checker)? {
        "l4" => Some(FrontEnd::L4),
        "nginx" => Some(FrontEnd::Nginx),
        "haproxy" => Some(FrontEnd::Haproxy),
        "health_checked" => Some(FrontEnd::HealthChecked),
        _ => Some(FrontEnd::Http),
    }
}

fn kubernetes(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<KubernetesTarget> {
    let own = |t: &str| t.to_owned();
    let allow_contexts = section.texts("allow_contexts", checker);
    let namespace = section.parsed("namespace", checker, |t| {
        words::is_dns_label(t).then(|| own(t))
    });
    let workload = section.parsed("workload", checker, |t| {
        words::is_workload(t).then(|| own(t))
    });
    let services = match section.get("services") {
        Some(_) => section.texts("services", checker),
        None => Some(Vec::new()),
    };
    Some(KubernetesTarget {
        allow_contexts: allow_contexts?,
        namespace: namespace?,
        workload: workload?,
        services: services?,
    })
}
