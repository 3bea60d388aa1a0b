//! What follows the journeys' process to its end: its records go into the recording, its questions are answered.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{ChildStderr, ChildStdout, ExitStatus};
use std::sync::Arc;

use rollscope_records::{JourneysRecord, RequestRecord, redact};

use super::failure::number_of;
use super::plan::{Order, Said};
use super::walking::{Counts, Process};
use crate::recording::RecordSink;
use crate::running::Checked;

/// Records that are handed over at once, at most.
const BATCH: usize = 512;

/// Lines of the process's stderr that are kept to say why it failed.
const LAST_WORDS: usize = 3;

/// What follows the process to its end.
pub(super) struct Reader {
    pub(super) checked: Checked,
    pub(super) counts: Arc<Counts>,
    pub(super) process: Arc<Process>,
}

impl Reader {
    /// What goose says in the end, or why it does not.
    pub(super) fn read(&self, out: ChildStdout, err: ChildStderr) -> JourneysRecord {
        let last_words = std::thread::Builder::new()
            .name("loadgen-journeys-err".to_owned())
            .spawn(move || last_lines(err));
        let said = self.follow(out);
        let status = self.process.end();
        let last_words = last_words
            .ok()
            .and_then(|t| t.join().ok())
            .unwrap_or_default();
        said.unwrap_or_else(|| self.broke_off(status, &last_words))
    }

    fn broke_off(&self, status: io::Result<ExitStatus>, last_words: &str) -> JourneysRecord {
        let status = status.map_or_else(|e| e.to_string(), |s| s.to_string());
        let words = match last_words {
            "" => String::new(),
            words => format!(": {words}"),
        };
        JourneysRecord {
            users: u64::from(self.checked.plan.load.users),
            failure: Some(format!(
                "their process ended before the load did ({status}){words}"
            )),
            ..JourneysRecord::default()
        }
    }

    /// Takes in what the process says, to the end.
    fn follow(&self, out: ChildStdout) -> Option<JourneysRecord> {
        let mut lines = BufReader::with_capacity(1 << 16, out);
        let (mut records, mut line, mut said) = (Vec::new(), Vec::new(), None);
        loop {
            line.clear();
            match lines.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            match serde_json::from_slice(&line) {
                Ok(Said::Step(record)) => {
                    self.counts.add(record.outcome);
                    records.push(*record);
                }
                Ok(Said::Dial(id)) => self.dial(id),
                Ok(Said::Over(record)) => said = Some(record),
                Err(_) => break,
            }
            if lines.buffer().is_empty() || records.len() >= BATCH {
                hand_over(self.checked.sink.as_ref(), &mut records);
            }
        }
        hand_over(self.checked.sink.as_ref(), &mut records);
        said
    }

    fn dial(&self, id: u64) {
        let asked = self.checked.plan.destination.known().first();
        let dialled = asked.map_or(Err(io::ErrorKind::AddrNotAvailable.into()), |service| {
            self.checked.dialer.dial(*service)
        });
        let dialled: Result<SocketAddr, i32> = dialled.map_err(|e| number_of(&e));
        let _ = self.process.order(&Order::Dialled(id, dialled));
    }
}

fn hand_over(sink: &dyn RecordSink, records: &mut Vec<RequestRecord>) {
    if !records.is_empty() {
        let shared = records.drain(..).map(|r| r.to_shared()).collect();
        sink.records(shared, Vec::new());
    }
}

/// The last lines of `from`, joined, without secrets.
fn last_lines(from: impl Read) -> String {
    let mut last = VecDeque::new();
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        if last.len() == LAST_WORDS {
            last.pop_front();
        }
        last.push_back(redact::line(line.trim()).into_owned());
    }
    Vec::from(last).join("; ")
}
