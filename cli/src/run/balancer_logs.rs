//! The logs of the front end's program, recorded while the load goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use rollscope_records::{BalancerLog, BalancerRecord, RecordingWriter, RunClock, redact};
use rollscope_sandbox::front_end::FrontEnd;

use crate::exit::Failure;

/// How often they are read.
const EVERY: Duration = Duration::from_millis(100);

/// So many times in a row without a line, and none is to come.
const QUIET: u32 = 3;

/// Somebody else may use the front end as well: it ends all the same.
const MOST_ROUNDS: u32 = 30;

/// Runs `load` and records meanwhile what the front end logs; in the end the program is told to finish, so that the
/// line of every request is there. A thread of its own reads: the load must not wait for it.
pub(super) async fn recorded<T>(
    front_end: Arc<FrontEnd>,
    clock: RunClock,
    recorder: &RecordingWriter,
    load: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let logs = front_end.logs();
    if logs.is_empty() {
        return load.await;
    }
    for (log, what) in (0..).zip(logs) {
        recorder.balancer(BalancerRecord::Log(BalancerLog {
            log,
            balancer: what.balancer.to_owned(),
            format: what.format,
            clock: None,
        }));
    }
    let over = Arc::new(AtomicBool::new(false));
    let reader = {
        let recorder = recorder.clone();
        let over = Arc::clone(&over);
        let follow = move || follow(&front_end, clock, &recorder, &over);
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
/// ends the program, and reads what it had left to say.
fn follow(front_end: &FrontEnd, clock: RunClock, recorder: &RecordingWriter, over: &AtomicBool) {
    let (mut quiet, mut rounds) = (0, 0);
    while quiet < QUIET && rounds < MOST_ROUNDS {
        thread::sleep(EVERY);
        let is_over = over.load(SeqCst);
        let written = read(front_end, clock, recorder);
        quiet = if is_over && written == 0 {
            quiet + 1
        } else {
            0
        };
        rounds += u32::from(is_over);
    }
    front_end.quit();
    read(front_end, clock, recorder);
}

/// Records the lines that have come; says how many.
fn read(front_end: &FrontEnd, clock: RunClock, recorder: &RecordingWriter) -> usize {
    let lines = front_end.read_logs();
    let written = lines.len();
    for (log, line) in lines {
        recorder.balancer(BalancerRecord::Line {
            request: None,
            log: u32::try_from(log).unwrap_or(u32::MAX),
            at: clock.now(),
            line: redact::line(&line).into_owned(),
        });
    }
    written
}
