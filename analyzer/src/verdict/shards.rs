//! Several generators: one that is missing, or proves nothing, makes the whole prove nothing.

use rollscope_records::{EndKind, Shard, Shards};

use super::{Grounds, validity};
use crate::words::{count, span};

/// Every reason, in words.
pub(super) fn reasons(g: &Grounds<'_>, all: &mut Vec<String>) {
    let Some(shards) = &g.recording.run.shards else {
        return;
    };
    let missing: Vec<String> = shards.missing().map(|i| i.to_string()).collect();
    if !missing.is_empty() {
        all.push(format!(
            "{} of {} missing ({}): analyse the recordings of all of them together",
            count(missing.len() as u64, "generator"),
            shards.of,
            missing.join(", ")
        ));
    }
    for shard in &shards.present {
        let reasons = of_one(g, shards, shard);
        all.extend(
            reasons
                .into_iter()
                .map(|reason| format!("generator {} of {}: {reason}", shard.index, shards.of)),
        );
    }
}

/// What one generator lacks.
fn of_one(g: &Grounds<'_>, shards: &Shards, shard: &Shard) -> Vec<String> {
    let alone = shards.present.len() == 1;
    let run = &g.recording.run;
    let end = if alone { &run.end } else { &shard.end };
    let generator = if alone {
        &g.recording.generator
    } else {
        &shard.generator
    };
    let mut reasons = Vec::new();
    if generator.is_none() {
        reasons.push("it was killed before it could say what it did".to_owned());
    }
    let of = shards.of.max(1);
    let (slots, in_time) = validity::slots(g, |seq| seq % of == shard.index);
    if slots.saturating_mul(u64::from(run.gate.min_rate_permille)) > in_time.saturating_mul(1000) {
        reasons.push(format!(
            "its rate was not held: {in_time} of {} were sent within {} of their time",
            count(slots, "slot"),
            span(run.gate.in_time_nanos)
        ));
    }
    let completed = end.as_ref().is_some_and(|e| e.how == EndKind::Completed);
    let wanted = shards.slots_of(shard.index);
    if completed && slots != wanted {
        reasons.push(format!(
            "the recording has {slots} of its {}",
            count(wanted, "slot")
        ));
    }
    reasons
}
