//! `load.rate`, `load.pacing` and `load.limits`: how many requests go when, and how exactly.

use std::time::Duration;

use super::Checker;
use super::field::text;
use super::section::Section;
use crate::keys::{Shape, Table};
use crate::model::{Limits, Pacing, Rate, RateStep};
use crate::tree::Value;
use crate::units;

/// A constant rate, or the shape that it goes in.
pub(super) fn rate(load: &Section<'_>, checker: &mut Checker<'_>) -> Option<Rate> {
    let field = load.get("rate")?;
    let Value::Map(_) = field.node.value else {
        let expected = load.expected("rate");
        return text(&field, checker, &expected, units::rate).map(Rate::Constant);
    };
    let section = Section::open(&field, shapes(load)?, checker)?;
    let steps = section.get("steps").map(|_| steps(&section, checker));
    let ramp = section.get("ramp").map(|_| ramp(&section, checker));
    match (steps, ramp) {
        (Some(steps), None) => steps,
        (None, Some(ramp)) => ramp,
        _ => None,
    }
}

fn shapes(load: &Section<'_>) -> Option<&'static Table> {
    match load.shape("rate") {
        Shape::RateOrSection(table) => Some(table),
        _ => None,
    }
}

fn steps(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Rate> {
    let sections = section.sections("steps", checker)?;
    let count = sections.len();
    let steps = sections.iter().enumerate().map(|(i, step)| {
        let step = step.as_ref()?;
        let per_second = step.parsed("rate", checker, units::rate);
        let lasts = step.duration("for", checker);
        lasting(step, i + 1 == count, checker).then_some(())?;
        Some(RateStep {
            per_second: per_second?,
            lasts: lasts?,
        })
    });
    let steps: Vec<_> = steps.collect();
    let steps: Option<Vec<_>> = steps.into_iter().collect();
    steps.map(Rate::Steps)
}

/// Every step but the last has an end.
fn lasting(step: &Section<'_>, is_last: bool, checker: &mut Checker<'_>) -> bool {
    match (step.get("for"), is_last) {
        (None, false) => {
            let expected = "`for` (only the last step goes on to the end of the run)";
            checker.problem(step.at, &step.path, "no key `for`", expected, None);
            false
        }
        (Some(field), true) => {
            let expected = "no `for` (the last step goes on to the end of the run)";
            let found = "`for` in the last step";
            checker.problem(field.key_at, &field.path, found, expected, None);
            false
        }
        _ => true,
    }
}

fn ramp(section: &Section<'_>, checker: &mut Checker<'_>) -> Option<Rate> {
    let ramp = section.section("ramp", checker)?;
    let from = ramp.parsed("from", checker, units::rate);
    let to = ramp.parsed("to", checker, units::rate);
    let over = ramp.duration("over", checker);
    Some(Rate::Ramp {
        from: from?,
        to: to?,
        over: over??,
    })
}

/// How exactly the schedule is kept; without `pacing` its defaults.
pub(super) fn pacing(load: &Section<'_>, checker: &mut Checker<'_>) -> Option<Pacing> {
    if load.get("pacing").is_none() {
        return Some(Pacing::default());
    }
    let section = load.section("pacing", checker)?;
    let precision = section.choice("precision", checker);
    let tolerance = match section.get("tolerance") {
        Some(_) => section
            .parsed("tolerance", checker, units::duration)
            .map(Some),
        None => Some(None),
    };
    let catch_up = section.whole("catch_up", checker);
    let threads = match section.get("threads") {
        Some(_) => section.whole("threads", checker).map(Some),
        None => Some(None),
    };
    if let (Some("exact"), Some(field)) = (precision, section.get("tolerance")) {
        let found = "`tolerance` beside `precision: exact`";
        let expected = "no `tolerance` (exact is without any)";
        checker.problem(field.key_at, &field.path, found, expected, None);
    }
    let exact = precision? == "exact";
    Some(Pacing {
        tolerance: if exact {
            Some(Duration::ZERO)
        } else {
            tolerance?
        },
        catch_up: u32::try_from(catch_up?).ok()?,
        threads: threads?.and_then(|t| u32::try_from(t).ok()),
    })
}

/// Beyond which the run is invalid; without `limits` their defaults.
pub(super) fn limits(load: &Section<'_>, checker: &mut Checker<'_>) -> Option<Limits> {
    if load.get("limits").is_none() {
        return Some(Limits::default());
    }
    let section = load.section("limits", checker)?;
    let longer_than_nothing = |t: &str| units::duration(t).filter(|d| !d.is_zero());
    let in_time = section.parsed("in_time", checker, longer_than_nothing);
    let min_in_time = section.whole("min_in_time", checker);
    let max_dropped = section.whole("max_dropped", checker);
    Some(Limits {
        in_time: in_time?,
        min_in_time: u32::try_from(min_in_time?).ok()?,
        max_dropped: max_dropped?,
    })
}
