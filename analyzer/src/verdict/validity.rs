//! Reasons for which a run proves nothing.

use rollscope_records::{ABSENT, EndKind, Fate, Field, marks};

use super::{Grounds, shards};
use crate::analysis::StageReport;
use crate::journeys;
use crate::words::{count, span};

/// Every reason, in words; none for a valid run.
pub(super) fn reasons(g: &Grounds<'_>) -> Vec<String> {
    let mut all = Vec::new();
    ending(g, &mut all);
    load(g, &mut all);
    shards::reasons(g, &mut all);
    all.extend(journeys::doubts(g.recording));
    observation(g, &mut all);
    exercised(g, &mut all);
    rollout(g, &mut all);
    all
}

/// A rollout that no request met was not put to the test.
fn exercised(g: &Grounds<'_>, all: &mut Vec<String>) {
    let rollouts = g
        .stages
        .iter()
        .filter(|s| matches!(s.kind.as_str(), "restart" | "exec" | "signal" | "deploy"));
    for stage in rollouts {
        let from = stage.from_ms.0;
        let met = |r: rollscope_records::Request<'_>| r.dispatched.is_some_and(|d| d >= from);
        if g.counts.sent > 0 && !g.recording.requests.iter().rev().any(met) {
            all.push(format!(
                "no request was sent from the beginning of the {} stage on: the rollout was not put to the test{}",
                stage.kind,
                if stage.kind == "deploy" { "" } else { "; raise load.rate" }
            ));
        }
    }
}

fn ending(g: &Grounds<'_>, all: &mut Vec<String>) {
    match &g.recording.run.end {
        None => all.push(
            "the recording has no end: the tool was killed before the run was over".to_owned(),
        ),
        Some(end) if end.how == EndKind::StageFailed => all.push(format!(
            "a stage failed: {}",
            end.reason.as_deref().unwrap_or("no reason was recorded")
        )),
        Some(_) => {}
    }
    let failed = g.stages.iter().filter(|s| s.end == "failed");
    for s in failed {
        let detail = s.detail.as_deref().unwrap_or("no reason was recorded");
        let reason = format!("stage {} failed: {detail}", s.kind);
        if !all.iter().any(|r| r.contains(detail)) {
            all.push(reason);
        }
    }
}

fn load(g: &Grounds<'_>, all: &mut Vec<String>) {
    let c = g.counts;
    let gate = &g.recording.run.gate;
    if c.planned == 0 {
        all.push("no request was planned: nothing was put to the test".to_owned());
        return;
    }
    if c.sent == 0 {
        all.push("no request was sent".to_owned());
        return;
    }
    if c.dropped > gate.max_dropped {
        all.push(format!(
            "{} dropped at the cap of requests in flight, {} allowed",
            count(c.dropped, "slot"),
            gate.max_dropped
        ));
    }
    let (slots, in_time) = slots(g, |_| true);
    // In thousandths of what was planned, rounded down: 98.99 % is not 99 %.
    if in_time.saturating_mul(1000) < slots.saturating_mul(u64::from(gate.min_rate_permille)) {
        all.push(format!(
            "the rate was not held: {in_time} of {} were sent within {} of their time, {} in 1000 are needed",
            count(slots, "slot"),
            span(gate.in_time_nanos),
            gate.min_rate_permille
        ));
    }
    if let Some(generator) = &g.recording.generator {
        if generator.lost_records > 0 {
            all.push(format!(
                "{} of requests could not be written",
                count(generator.lost_records, "record")
            ));
        }
        if generator.planned > slots {
            all.push(format!(
                "the recording has {slots} of {} that the generator planned",
                count(generator.planned, "slot")
            ));
        }
    }
}

/// The slots of the schedule whose numbers are meant, and how many of them were sent in time. What is held open has no
/// time to keep: it must not make up for slots that were late.
pub(super) fn slots(g: &Grounds<'_>, meant: impl Fn(u64) -> bool + Sync) -> (u64, u64) {
    let allowed = g.recording.run.gate.in_time_nanos;
    let requests = &g.recording.requests;
    let stretches = requests.by_stretch(|blocks| {
        let mut unpacked = requests.unpacked([Field::Seq, Field::Dispatched, Field::Fate]);
        let (mut slots, mut in_time) = (0, 0);
        for block in blocks {
            let [seqs, dispatched, fates] = unpacked.block(block);
            for ((seq, late), fate) in seqs.iter().zip(dispatched).zip(fates) {
                if Fate::from_number(*fate).lane().has_slot() && meant(seq.cast_unsigned()) {
                    slots += 1;
                    in_time += u64::from(*late != ABSENT && *late <= allowed);
                }
            }
        }
        (slots, in_time)
    });
    let both = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b + d);
    stretches.into_iter().fold((0, 0), both)
}

fn observation(g: &Grounds<'_>, all: &mut Vec<String>) {
    for gap in g.gaps.iter().filter(|gap| gap.matters) {
        let to = gap
            .to_ms
            .map_or_else(|| "the end".to_owned(), |t| span(t.0.nanos()));
        all.push(format!(
            "{} was not observed from {} to {to}: {}",
            gap.source,
            span(gap.from_ms.0.nanos()),
            gap.reason
        ));
    }
    for loss in &g.recording.losses {
        all.push(format!(
            "the recording is damaged: {}: {}",
            loss.file, loss.what
        ));
    }
    let completed = g
        .recording
        .run
        .end
        .as_ref()
        .is_some_and(|e| e.how == EndKind::Completed);
    if !completed {
        return;
    }
    let unfinished: Vec<&str> = g
        .timeline
        .terminating()
        .filter(|(_, p, _)| p.end.is_none() && p.over.is_none())
        .map(|(_, p, _)| p.name.as_str())
        .collect();
    if let Some(first) = unfinished.first() {
        all.push(format!(
            "the end of {} was not observed ({first})",
            count(unfinished.len() as u64, "terminating pod")
        ));
    }
}

fn rollout(g: &Grounds<'_>, all: &mut Vec<String>) {
    if g.recording.run.target.kind == "none" {
        return;
    }
    for stage in g.stages {
        let what = match stage.kind.as_str() {
            "restart" => "nothing was rolled out in the restart stage: no pod was replaced",
            "signal" => "nothing was stopped in the signal stage: no pod was deleted",
            _ => continue,
        };
        if stage.end != "failed" && !rolled_out(g, stage) {
            all.push(what.to_owned());
        }
    }
    let foreign = g
        .stages
        .iter()
        .flat_map(|s| &s.marks)
        .find(|m| m.mark == marks::FOREIGN_ROLLOUT);
    if let Some(mark) = foreign {
        all.push(format!(
            "somebody else changed the workload's template during the run, at {}",
            span(mark.at_ms.0.nanos())
        ));
    }
}

/// A pod was created or deleted while the stage lasted.
fn rolled_out(g: &Grounds<'_>, stage: &StageReport) -> bool {
    let from = stage.from_ms.0;
    let until = stage.to_ms.map(|t| t.0);
    let within = |t: rollscope_records::RunOffset| t >= from && until.is_none_or(|u| t <= u);
    g.timeline.pods.iter().any(|p| {
        (!p.listed && within(p.first_seen)) || p.deletion.as_ref().is_some_and(|d| within(d.seen))
    })
}
