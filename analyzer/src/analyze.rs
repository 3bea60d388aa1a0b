//! The analysis as a pipeline.

use std::collections::BTreeMap;

use rollscope_records::{
    ABSENT, Field, GeneratorRecord, JobRecord, Recording, Requests, RunOffset, WatchRecord,
    in_parallel,
};

use crate::analysis::{Analysis, Burst, MsLength, RunSummary, SCHEMA};
use crate::background::Baseline;
use crate::balancers::{Balancers, near_misses};
use crate::burst::{self, Cell, Merged};
use crate::clocks::Clocks;
use crate::context::{Context, Memo};
use crate::corners::{Corner, corners, judge_at_corners};
use crate::drain::drains;
use crate::gaps::Gaps;
use crate::held_open::stream_reports;
use crate::jobs::{Jobs, job_reports};
use crate::measure::{measure, pod_reports};
use crate::ordered::Ordered;
use crate::timeline::{LogBook, PodIx, Timeline, settle, stage_reports, timeline};
use crate::traffic::{Failure, How, Kind, Traffic, sharpen};
use crate::verdict::{Grounds, verdict};
use crate::{
    advice, assertions, balancers, counts, failures, findings, journeys, kube_time, latency, notes,
    signal, tame,
};

/// Analyses a recording. The same recording gives the same analysis, byte for byte.
pub fn analyze(recording: &Recording) -> Analysis {
    let tamed = tame::tame(recording);
    let recording = tamed.as_ref();
    let ordered = Ordered::of(recording);
    let clocks = Clocks::of(recording, &ordered);
    let gaps = Gaps::of(recording);
    let mut timeline = timeline(recording, &ordered, &clocks, &gaps);
    let logs = LogBook::of(recording, &ordered, &clocks, &timeline);
    settle(&mut timeline, &logs);
    let balancers = Balancers::of(recording, ordered.requests.as_ref(), &clocks);
    let mut traffic = Traffic::of(recording, &ordered, &timeline, &balancers);
    sharpen(&mut timeline, &traffic);
    traffic.suspect(&timeline, &logs);
    let corners = corners(&timeline, &traffic, &logs, &gaps, &clocks);
    let (cells, bursts) = judged(&timeline, &mut traffic, &logs, &gaps, &corners, recording);

    let drains = drains(&timeline, &traffic, &logs, &gaps);
    let measures = measure(&timeline, &traffic, &drains);
    let baseline = Baseline::of(&traffic, &timeline);
    let jobs = Jobs::of(recording, &timeline);
    let cx = Context {
        timeline: &timeline,
        traffic: &traffic,
        logs: &logs,
        drains: &drains,
        gaps: &gaps,
        baseline: &baseline,
        measures: &measures,
        jobs: jobs.as_ref(),
        target: &recording.run.target.kind,
        corners: &corners,
        stages: stage_reports(&ordered.stages),
        memo: &Memo::default(),
    };
    let facts = Facts {
        timeline: &timeline,
        logs: &logs,
        gaps: &gaps,
        clocks: &clocks,
    };
    let near = near_misses(recording, &ordered, &balancers, &facts);
    let mut analysis = assembled(
        recording,
        &clocks,
        burst::burst_reports(&bursts, &cells, &cx),
        &cx,
    );
    analysis.notes.extend(balancers.notes(recording));
    analysis.balancers = balancers::reports(&balancers, near);
    analysis
}

/// What is known apart from the requests.
pub(crate) struct Facts<'a> {
    pub(crate) timeline: &'a Timeline,
    pub(crate) logs: &'a LogBook,
    pub(crate) gaps: &'a Gaps,
    pub(crate) clocks: &'a Clocks,
}

/// The bursts of a recording whose requests, and what balancers say of them, are not those that the facts were taken
/// from.
pub(crate) fn judged_bursts(
    recording: &Recording,
    ordered: &Ordered<'_>,
    balancers: &Balancers,
    facts: &Facts<'_>,
) -> Vec<Burst> {
    let Facts {
        timeline,
        logs,
        gaps,
        clocks,
    } = *facts;
    let mut traffic = Traffic::of(recording, ordered, timeline, balancers);
    traffic.suspect(timeline, logs);
    let corners = corners(timeline, &traffic, logs, gaps, clocks);
    let (cells, bursts) = judged(timeline, &mut traffic, logs, gaps, &corners, recording);
    let drains = drains(timeline, &traffic, logs, gaps);
    let measures = measure(timeline, &traffic, &drains);
    let baseline = Baseline::of(&traffic, timeline);
    let cx = Context {
        timeline,
        traffic: &traffic,
        logs,
        drains: &drains,
        gaps,
        baseline: &baseline,
        measures: &measures,
        jobs: None,
        target: &recording.run.target.kind,
        corners: &corners,
        stages: stage_reports(&ordered.stages),
        memo: &Memo::default(),
    };
    burst::burst_reports(&bursts, &cells, &cx)
}

/// Puts the parts of the report together.
fn assembled(
    recording: &Recording,
    clocks: &Clocks,
    bursts: Vec<Burst>,
    cx: &Context<'_>,
) -> Analysis {
    let assertions = assertions::assertions(cx);
    let counts = counts::counts(cx.traffic.requests);
    let (first, last) = extent(recording);
    let gap_reports = cx.gaps.reports(cx.timeline, last);
    let stages = cx.stages.clone();
    Analysis {
        schema: SCHEMA,
        verdict: verdict(&Grounds {
            recording,
            counts: &counts,
            timeline: cx.timeline,
            gaps: &gap_reports,
            stages: &stages,
            assertions: &assertions,
            bursts: &bursts,
        }),
        run: run_summary(recording, first, last),
        unattributed: counts
            .failed
            .saturating_sub(bursts.iter().map(|b| b.failed).sum()),
        latency_ms: latency::latency(cx.traffic.requests),
        pods: pod_reports(cx),
        findings: findings::findings(&bursts, cx),
        failures: failures::failures(&bursts, cx),
        advice: advice::of_run(cx),
        budget: advice::budget_of_run(cx),
        clocks: clocks.reports(),
        // What goose says is in `journeys`, beside what was recorded.
        generator: recording.generator.clone().map(|g| GeneratorRecord {
            journeys: None,
            ..g
        }),
        journeys: journeys::journeys(recording),
        signal: signal::signal(recording, cx),
        notes: notes::notes(recording, cx),
        requests: counts,
        streams: stream_reports(&recording.streams),
        jobs: job_reports(cx.jobs, cx.timeline),
        balancers: Vec::new(),
        gaps: gap_reports,
        bursts,
        assertions,
        stages,
    }
}

/// Judges every cell, lays its failures at the door of the pod that the verdict names, and merges the cells.
fn judged(
    timeline: &Timeline,
    traffic: &mut Traffic<'_>,
    logs: &LogBook,
    gaps: &Gaps,
    corners: &[Corner],
    recording: &Recording,
) -> (Vec<Cell>, Vec<Merged>) {
    let gap = burst::gap(recording.run.rate_per_second);
    let drains = drains(timeline, traffic, logs, gaps);
    let baseline = Baseline::of(traffic, timeline);
    let cx = Context {
        timeline,
        traffic,
        logs,
        drains: &drains,
        gaps,
        baseline: &baseline,
        measures: &BTreeMap::new(),
        jobs: None,
        target: &recording.run.target.kind,
        corners,
        stages: Vec::new(),
        memo: &Memo::default(),
    };
    let name = |f: &Failure| traffic.request(f).name.to_string();
    let usual = |f: &Failure| !traffic.pinned && f.kind == Kind::Refused && baseline.alike(f);
    let cases = burst::cells(&traffic.failures, gap, timeline, name, usual);
    let judgements = in_parallel(&cases, |case| judge_at_corners(case, &cx));
    let judged = cases.into_iter().zip(judgements);
    let cells: Vec<Cell> = judged
        .map(|(case, judgement)| Cell {
            judgement,
            failures: case.failures,
        })
        .collect();
    for cell in &cells {
        for f in &cell.failures {
            blame(&mut traffic.failures[*f], cell.judgement.pod);
        }
    }
    let merged = burst::merge(&cells, &traffic.failures, gap);
    (cells, merged)
}

/// Lays a failure at the door of the pod that the verdict names, unless something better than time names another, or
/// the pod cannot have had it while another of its suspects can; a verdict that names no pod takes back what time
/// alone had suggested.
fn blame(failure: &mut Failure, pod: Option<PodIx>) {
    if !matches!(failure.how, How::Unknown | How::ByTime) {
        return;
    }
    let likeliest = failure.suspects.first().copied();
    failure.pod = pod.and_then(|p| {
        if failure.suspects.contains(&p) {
            Some(p)
        } else {
            likeliest.or(Some(p))
        }
    });
    failure.how = if failure.pod.is_some() {
        How::ByTime
    } else {
        How::Unknown
    };
}

fn run_summary(recording: &Recording, first: RunOffset, last: RunOffset) -> RunSummary {
    let run = &recording.run;
    RunSummary {
        id: run.run_id.clone(),
        name: run.name.clone(),
        tool: run.tool.clone(),
        target: run.target.kind.clone(),
        workload: run.target.workload.clone(),
        started_at: kube_time::rfc3339(run.wall_start_unix_nanos),
        duration_ms: MsLength(last.nanos_since(first)),
        rate_per_second: run.rate_per_second,
        rate_shape: run.rate_shape.clone(),
        max_failed: run.gate.max_failed,
    }
}

/// A job's event is a thing of the run; that its queue was asked is none.
const fn last_of_jobs(record: &JobRecord) -> Option<RunOffset> {
    match record {
        JobRecord::Event { at, .. } => Some(*at),
        _ => None,
    }
}

/// The first and the last thing recorded.
fn extent(recording: &Recording) -> (RunOffset, RunOffset) {
    let requests = extent_of(&recording.requests).into_iter().flatten();
    let watch = recording.watch.iter().map(|w| match w {
        WatchRecord::Event { at, .. } => *at,
        WatchRecord::Gap(gap) => gap.to.unwrap_or(gap.from),
    });
    let others = recording
        .logs
        .iter()
        .map(|l| l.at)
        .chain(recording.stages.iter().map(|s| s.at))
        .chain(recording.jobs.iter().filter_map(last_of_jobs))
        .chain(recording.run.end.as_ref().map(|e| e.at));
    let mut all = requests.chain(watch).chain(others);
    let Some(one) = all.next() else {
        return (RunOffset::ZERO, RunOffset::ZERO);
    };
    all.fold((one, one), |(lo, hi), t| (lo.min(t), hi.max(t)))
}

/// The first and the last moment at which a request was due or over.
fn extent_of(requests: &Requests) -> Option<[RunOffset; 2]> {
    let stretches = requests.by_stretch(|blocks| {
        let mut unpacked = requests.unpacked([Field::Scheduled, Field::Ended]);
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for block in blocks {
            let [scheduled, ended] = unpacked.block(block);
            for (due, after) in scheduled.iter().zip(ended) {
                let over = if *after == ABSENT {
                    *due
                } else {
                    due.wrapping_add(*after)
                };
                first = first.min(*due).min(over);
                last = last.max(*due).max(over);
            }
        }
        [first, last]
    });
    let both = |[a, b]: [i64; 2], [c, d]: [i64; 2]| [a.min(c), b.max(d)];
    Some(stretches.into_iter().reduce(both)?.map(RunOffset))
}
