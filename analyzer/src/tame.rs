//! Times that no run can have are cut to a range in which arithmetic is safe: a recording is data from outside.

use std::borrow::Cow;

use rollscope_records::{ABSENT, Field, Recording, Requests, RunOffset, WatchRecord};

/// No run is longer than this, ns (more than nine years): sums of eight such times do not overflow.
pub(crate) const LIMIT: i64 = 300_000_000_000_000_000;

/// A time within the limit.
pub(crate) fn tame_offset(t: RunOffset) -> RunOffset {
    RunOffset(tame_nanos(t.0))
}

/// A number of ns within the limit.
pub(crate) fn tame_nanos(nanos: i64) -> i64 {
    nanos.clamp(-LIMIT, LIMIT)
}

/// The recording itself, or a copy with its times cut where some are beyond the limit.
pub(crate) fn tame(recording: &Recording) -> Cow<'_, Recording> {
    if !wild(recording) {
        return Cow::Borrowed(recording);
    }
    let mut tamed = recording.clone();
    cut(&mut tamed);
    Cow::Owned(tamed)
}

fn beyond(t: RunOffset) -> bool {
    tame_offset(t) != t
}

fn wild(recording: &Recording) -> bool {
    let watch = |w: &WatchRecord| match w {
        WatchRecord::Event { at, .. } => beyond(*at),
        WatchRecord::Gap(g) => beyond(g.from) || g.to.is_some_and(beyond),
    };
    wild_requests(&recording.requests)
        || recording.watch.iter().any(watch)
        || recording.logs.iter().any(|l| beyond(l.at))
        || recording.jobs.iter().any(|j| beyond(j.at()))
        || recording.stages.iter().any(|s| beyond(s.at))
        || recording.clocks.iter().any(|c| {
            beyond(c.before)
                || beyond(c.after)
                || tame_nanos(c.resolution_nanos) != c.resolution_nanos
        })
        || recording.run.end.as_ref().is_some_and(|e| beyond(e.at))
}

fn wild_requests(requests: &Requests) -> bool {
    let beyond = |nanos: i64| tame_nanos(nanos) != nanos;
    let stretches = requests.by_stretch(|blocks| {
        let mut due = requests.unpacked([Field::Scheduled]);
        let mut times = requests.unpacked([
            Field::Dispatched,
            Field::Connected,
            Field::Written,
            Field::FirstByte,
            Field::Ended,
        ]);
        let mut idle = requests.unpacked([Field::Idle]);
        blocks.into_iter().any(|block| {
            let ([due], [idle]) = (due.block(block), idle.block(block));
            let time =
                |(due, after): (&i64, &i64)| *after != ABSENT && beyond(due.wrapping_add(*after));
            let times = times.block(block);
            due.iter().any(|t| beyond(*t))
                || times.iter().any(|of| due.iter().zip(*of).any(time))
                || idle.iter().any(|nanos| *nanos != ABSENT && beyond(*nanos))
        })
    });
    stretches.contains(&true)
}

fn cut(recording: &mut Recording) {
    recording.map_times(tame_offset);
    recording
        .requests
        .edit_each(|r| r.idle = r.idle.map(tame_nanos));
    for c in &mut recording.clocks {
        c.resolution_nanos = tame_nanos(c.resolution_nanos);
    }
}
