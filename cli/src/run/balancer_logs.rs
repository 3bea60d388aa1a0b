//! The logs of balancers, recorded while the load goes on: of the sandbox's front end, and of those that the scenario
//! names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use rollscope_records::{BalancerLog, BalancerRecord, RecordingWriter, RunClock, redact};
use rollscope_sandbox::front_end::FrontEnd;

use super::followed_logs::FollowedLog;
use crate::exit::Failure;

/// How often they are read.
const EVERY: Duration = Duration::from_millis(100);

/// So many times in a row without a line, and none is to come.
const QUIET: u32 = 3;

/// Somebody else may use the balancer as well: it ends all the same.
const MOST_ROUNDS: u32 = 30;

/// What writes logs: the front end of the sandbox, and files of others.
pub(super) struct Balancers {
    pub(super) front_end: Option<Arc<FrontEnd>>,
    pub(super) followed: Vec<(BalancerLog, FollowedLog)>,
}

impl Balancers {
    /// What there is to record, in the order of the numbers; those of the front end come first.
    fn logs(&mut self) -> Vec<BalancerLog> {
        let own = self.front_end.iter().flat_map(|f| f.logs());
        let own: Vec<BalancerLog> = (0..)
            .zip(own)
            .map(|(log, what)| BalancerLog {
                log,
                balancer: what.balancer.to_owned(),
                format: what.format,
                clock: None,
            })
            .collect();
        for (log, (what, _)) in (own.len()..).zip(&mut self.followed) {
            what.log = u32::try_from(log).unwrap_or(u32::MAX);
        }
        own.into_iter()
            .chain(self.followed.iter().map(|(what, _)| what.clone()))
            .collect()
    }

    /// The lines that have come, each with the number of its log.
    fn read(&mut self) -> Vec<(u32, String)> {
        let own = self.front_end.iter().flat_map(|f| f.read_logs());
        let own = own.map(|(log, line)| (u32::try_from(log).unwrap_or(u32::MAX), line));
        let mut lines: Vec<(u32, String)> = own.collect();
        for (what, log) in &mut self.followed {
            lines.extend(log.read().into_iter().map(|line| (what.log, line)));
        }
        lines
    }
}

/// Runs `load` and records meanwhile what balancers log; in the end a front end is told to finish, so that the line of
/// every request is there. A thread of its own reads: the load must not wait for it.
pub(super) async fn recorded<T>(
    mut balancers: Balancers,
    clock: RunClock,
    recorder: &RecordingWriter,
    load: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let logs = balancers.logs();
    if logs.is_empty() {
        return load.await;
    }
    for log in logs {
        recorder.balancer(BalancerRecord::Log(log));
    }
    let over = Arc::new(AtomicBool::new(false));
    let reader = {
        let recorder = recorder.clone();
        let over = Arc::clone(&over);
        let follow = move || follow(balancers, clock, &recorder, &over);
        let named = thread::Builder::new().name("balancer-logs".to_owned());
        named.spawn(follow).map_err(Failure::environment)?
    };
    let loaded = load.await;
    over.store(true, SeqCst);
    // A panic there was reported already.
    let _ = tokio::task::spawn_blocking(move || reader.join()).await;
    loaded
}

/// Reads until all is over and nothing has been written for a while, since an answer can be faster than its line. Then
/// ends the front end's program, and reads what it had left to say.
fn follow(
    mut balancers: Balancers,
    clock: RunClock,
    recorder: &RecordingWriter,
    over: &AtomicBool,
) {
    let (mut quiet, mut rounds) = (0, 0);
    while quiet < QUIET && rounds < MOST_ROUNDS {
        thread::sleep(EVERY);
        let is_over = over.load(SeqCst);
        let written = read(&mut balancers, clock, recorder);
        quiet = if is_over && written == 0 {
            quiet + 1
        } else {
            0
        };
        rounds += u32::from(is_over);
    }
    if let Some(front_end) = &balancers.front_end {
        front_end.quit();
    }
    read(&mut balancers, clock, recorder);
}

/// Records the lines that have come; says how many.
fn read(balancers: &mut Balancers, clock: RunClock, recorder: &RecordingWriter) -> usize {
    let lines = balancers.read();
    let written = lines.len();
    for (log, line) in lines {
        recorder.balancer(BalancerRecord::Line {
            log,
            at: clock.now(),
            line: redact::line(&line).into_owned(),
            request: None,
        });
    }
    written
}
