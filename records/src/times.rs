//! Every time of a recording, in one place.

use crate::{BalancerRecord, JobRecord, Recording, RunOffset, WatchRecord};

impl Recording {
    /// Changes every moment on the run's clock. Lengths of time (idle times, ages, resolutions) and what other clocks
    /// wrote stay as they are.
    pub fn map_times(&mut self, change: impl Fn(RunOffset) -> RunOffset) {
        let map = |t: &mut RunOffset| *t = change(*t);
        self.requests.edit_each(|r| {
            map(&mut r.scheduled);
            let others = [
                &mut r.dispatched,
                &mut r.connected,
                &mut r.written,
                &mut r.first_byte,
                &mut r.ended,
            ];
            others.into_iter().flatten().for_each(map);
        });
        self.connections.edit_each(|c| {
            map(&mut c.started);
            [&mut c.established, &mut c.secured, &mut c.closed]
                .into_iter()
                .flatten()
                .for_each(map);
        });
        for s in &mut self.streams {
            [&mut s.first_message, &mut s.last_message]
                .into_iter()
                .flatten()
                .for_each(map);
        }
        for job in &mut self.jobs {
            match job {
                JobRecord::Plan(_) => {}
                JobRecord::Event { at, .. }
                | JobRecord::Read { at }
                | JobRecord::Unread { at, .. } => map(at),
            }
        }
        for w in &mut self.watch {
            match w {
                WatchRecord::Event { at, .. } => map(at),
                WatchRecord::Gap(gap) => {
                    map(&mut gap.from);
                    gap.to.iter_mut().for_each(map);
                }
            }
        }
        self.logs.iter_mut().for_each(|l| map(&mut l.at));
        for record in &mut self.balancers {
            if let BalancerRecord::Line { at, .. } = record {
                map(at);
            }
        }
        self.stages.iter_mut().for_each(|s| map(&mut s.at));
        for c in &mut self.clocks {
            map(&mut c.before);
            map(&mut c.after);
        }
        if let Some(g) = &mut self.generator {
            map(&mut g.from);
            map(&mut g.to);
        }
        if let Some(end) = &mut self.run.end {
            map(&mut end.at);
        }
    }

    /// Puts every list in the order of its records' own time.
    pub(crate) fn sort(&mut self) {
        self.requests.sort();
        self.connections.sort();
        self.streams.sort_by_key(|s| s.seq);
        self.jobs.sort_by_key(JobRecord::at);
        self.watch.sort_by_key(|w| match w {
            WatchRecord::Event { at, .. } => *at,
            WatchRecord::Gap(gap) => gap.from,
        });
        self.logs.sort_by_key(|l| l.at);
        self.stages.sort_by_key(|s| s.at);
        self.clocks.sort_by_key(|c| c.after);
    }
}
