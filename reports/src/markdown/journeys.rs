//! The steps of journeys, as far as there is room.

use rollscope_analyzer::{Analysis, JourneyStepReport};

use super::escape::{code, inline};
use crate::text::{count, counted, millis, visible};

/// Steps that are told.
const MOST: usize = 4;

/// Lines beside the rows of steps: what they are, blank, head, rule, blank.
const AROUND: usize = 5;

/// A table of at most `room` lines, steps that failed or on which goose differs first; none without journeys.
pub(super) fn table(a: &Analysis, room: usize) -> Vec<String> {
    let Some(journeys) = &a.journeys else {
        return Vec::new();
    };
    let most = MOST.min(room.saturating_sub(AROUND));
    if most == 0 {
        return Vec::new();
    }
    let agrees = match (&journeys.failure, journeys.agree) {
        (Some(failure), _) => format!("not walked to the end: {}", inline(&visible(failure, 200))),
        (None, true) => "goose counted the same as was recorded".to_owned(),
        (None, false) => "**goose did not count what was recorded**".to_owned(),
    };
    let users = counted(journeys.users, "user", "users");
    let mut lines = vec![
        format!("**Journeys** of {users}, closed loop: {agrees}"),
        String::new(),
    ];
    let mut told: Vec<&JourneyStepReport> = journeys.steps.iter().collect();
    told.sort_by_key(|s| s.agree && s.ours.failed == 0);
    // One row less where the rest has to be counted.
    let shown = if told.len() > most {
        most - 1
    } else {
        told.len()
    };
    if shown > 0 {
        lines.push("| step | sent | by goose | failed | by goose | mean | by goose |".to_owned());
        lines.push("|:--|--:|--:|--:|--:|--:|--:|".to_owned());
        lines.extend(told.iter().take(shown).map(|step| row(step)));
        if told.len() > shown {
            let left = counted((told.len() - shown) as u64, "more step", "more steps");
            lines.push(format!("| and {left} | | | | | | |"));
        }
        lines.push(String::new());
    }
    lines
}

fn row(step: &JourneyStepReport) -> String {
    let (ours, goose) = (&step.ours, &step.goose);
    format!(
        "| {} | {} | {} | {} | {} | {} | {} |",
        code(&visible(&step.name, 100)),
        count(ours.count),
        count(goose.count),
        count(ours.failed),
        count(goose.failed),
        millis(ours.mean_ms),
        millis(goose.mean_ms)
    )
}
