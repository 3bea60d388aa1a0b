//! `two-sigterm-owners`: libraries that each run a shutdown of their own.

use rollscope_scenarios::RuleId;
use serde_json::json;

use crate::context::Context;
use crate::finding::{Finding, Fix, Patch, PatchKind, Severity};
use crate::known::{Owner, owner};
use crate::patch::{self, Edit};
use crate::problem::shown;

pub(super) fn check(cx: &Context<'_>) -> Vec<Finding> {
    let Some(package) = cx.package else {
        return Vec::new();
    };
    let owners: Vec<_> = package
        .dependencies()
        .into_iter()
        .filter_map(|(name, at)| Some((name, owner(name)?, at)))
        .collect();
    let by_itself = owners
        .iter()
        .filter(|(_, o, _)| *o != Owner::Drains)
        .count();
    // A library that only drains is called from one listener; beside a framework's hooks that is a second one.
    let framework = owners.iter().any(|(_, o, _)| *o == Owner::Framework);
    if by_itself < 2 && !(framework && owners.len() > 1) {
        return Vec::new();
    }
    let names: Vec<String> = owners
        .iter()
        .map(|(n, ..)| format!("`{}`", shown(n)))
        .collect();
    // The framework's hooks stay where there are some, else the first.
    let keep = owners
        .iter()
        .position(|(_, o, _)| *o == Owner::Framework)
        .unwrap_or(0);
    let others: Vec<_> = owners
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != keep)
        .map(|(_, o)| o)
        .collect();
    let Some((_, _, at)) = others.first() else {
        return Vec::new();
    };
    let why = format!(
        "{} dependencies own the shutdown: {}. Each answers SIGTERM with its own order, so one closes what the other still drains, or both run it",
        owners.len(),
        names.join(", ")
    );
    let edits: Vec<Edit> = others.iter().map(|(_, _, at)| Edit::remove(at)).collect();
    let root = package.document().root.to_json();
    let fix = Fix {
        text: format!(
            "keep one owner ({}), and let it call everything else",
            names[keep]
        ),
        patch: Patch {
            kind: PatchKind::Json,
            object: None,
            file: Some(package.document().file.clone()),
            body: json!(patch::json_patch(&root, &edits)),
            command: None,
        },
    };
    vec![cx.finding(
        RuleId::TwoSigtermOwners,
        Severity::Warning,
        at.place(),
        why,
        fix,
    )]
}
