//! `stages`: what happens, in order.

use std::time::Duration;

use super::Checker;
use super::field::{Field, items_of};
use super::scenario::TargetKind;
use super::section::Section;
use super::target::nothing;
use crate::keys::Shape;
use crate::model::{ExecCommand, Stage, StageKind};
use crate::problem::Position;
use crate::tables::STAGES;
use crate::tree::Value;
use crate::units;

/// The stages of the scenario `top`.
pub(super) fn stages(
    top: &Section<'_>,
    target: Option<TargetKind>,
    checker: &mut Checker<'_>,
) -> Option<Vec<Stage>> {
    let sections = top.sections("stages", checker)?;
    order(&sections, target, checker);
    if let (Some(field), false) = (top.get("stages"), may_roll_out(&sections)) {
        let expected = "at least one stage that is a rollout (`restart` or `exec`)";
        checker.problem(field.at, &field.path, "no rollout", expected, None);
    }
    let stages: Vec<_> = sections
        .iter()
        .map(|s| s.as_ref().and_then(|s| stage(s, checker)))
        .collect();
    stages.into_iter().collect()
}

/// What a stage is, where it says so clearly enough.
fn kind_of(section: &Section<'_>) -> Option<(&'static str, Position)> {
    section
        .first(STAGES)
        .map(|(kind, field)| (kind, field.key_at))
}

/// Whether a stage is a rollout, or so wrong that it may have been meant as one.
fn may_roll_out(sections: &[Option<Section<'_>>]) -> bool {
    sections.iter().any(|s| match s.as_ref().map(kind_of) {
        Some(Some((kind, _))) => is_rollout(kind),
        Some(None) | None => true,
    })
}

fn is_rollout(kind: &str) -> bool {
    matches!(kind, "restart" | "exec")
}

fn order(sections: &[Option<Section<'_>>], target: Option<TargetKind>, checker: &mut Checker<'_>) {
    let mut rolled_out = false;
    for section in sections {
        let Some((section, kind)) = section.as_ref().map(|s| (s, kind_of(s))) else {
            rolled_out = true;
            continue;
        };
        match kind {
            Some(("restart", at)) if target == Some(TargetKind::None) => {
                let expected = "`exec` (target `none` has no workload to restart)";
                checker.problem(
                    at,
                    &section.path,
                    "`restart` with target `none`",
                    expected,
                    None,
                );
            }
            Some(("settle", at)) if !rolled_out => {
                let expected = "`settle` after a rollout (`restart` or `exec`)";
                checker.problem(
                    at,
                    &section.path,
                    "`settle` before any rollout",
                    expected,
                    None,
                );
            }
            _ => {}
        }
        rolled_out |= kind.is_none_or(|(k, _)| is_rollout(k));
    }
}

fn stage(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Stage> {
    let (name, field) = section.first(STAGES)?;
    let longer_than_nothing = |t: &str| units::duration(t).filter(|d| !d.is_zero());
    let complete_within = section.parsed("complete_within", checker, longer_than_nothing);
    let kind = match name {
        "warmup" => section
            .parsed(name, checker, units::duration)
            .map(StageKind::Warmup),
        "settle" => section
            .parsed(name, checker, units::duration)
            .map(StageKind::Settle),
        "restart" => nothing(&field, checker).then_some(StageKind::Restart),
        _ => command(&field, checker).map(StageKind::Exec),
    };
    let own_duration = match &kind {
        Some(StageKind::Warmup(d) | StageKind::Settle(d)) => Some(*d),
        _ => None,
    };
    if !is_rollout(name) {
        refuse_deadline(section, name, checker);
    }
    let complete_within: Duration = own_duration.or(complete_within)?;
    Some(Stage {
        kind: kind?,
        complete_within,
    })
}

fn refuse_deadline(section: &Section<'_>, kind: &str, checker: &mut Checker<'_>) {
    if let Some(field) = section.get("complete_within") {
        let found = format!("`complete_within` beside `{kind}`");
        let expected = format!("no `complete_within` (`{kind}` lasts as long as it says)");
        checker.problem(field.key_at, &field.path, found, expected, None);
    }
}

/// A command; its words are never shown, they may hold secrets.
fn command(field: &Field<'_>, checker: &mut Checker<'_>) -> Option<ExecCommand> {
    match &field.node.value {
        Value::Text(text) if usable(text) && !text.trim().is_empty() => {
            Some(ExecCommand::Shell(text.clone()))
        }
        Value::List(items) if !items.is_empty() => argv(field, checker),
        Value::Text(_) => {
            let found = "a blank command, or one with a zero byte";
            checker.problem(
                field.at,
                &field.path,
                found,
                Shape::Command.expected(),
                None,
            );
            None
        }
        _ => {
            checker.unexpected(field, &Shape::Command.expected(), None);
            None
        }
    }
}

fn argv(field: &Field<'_>, checker: &mut Checker<'_>) -> Option<ExecCommand> {
    let Value::List(items) = &field.node.value else {
        return None;
    };
    let mut words = Vec::new();
    for (i, item) in items_of(field, items).iter().enumerate() {
        match &item.node.value {
            Value::Text(text) if usable(text) && (i > 0 || !text.trim().is_empty()) => {
                words.push(text.clone())
            }
            Value::Text(_) => {
                let found = "a blank program, or a zero byte";
                checker.problem(
                    item.at,
                    &item.path,
                    found,
                    "a program and its arguments",
                    None,
                );
            }
            _ => checker.unexpected(item, "text (in quotes)", None),
        }
    }
    (words.len() == items.len()).then_some(ExecCommand::Argv(words))
}

/// No operating system takes a zero byte in a command.
fn usable(text: &str) -> bool {
    !text.contains('\0')
}
