//! One pod's ledger with its times.

use std::collections::BTreeMap;

use rollscope_records::RunOffset;

/// One process of the ledger.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    /// Its steps in order (`listening`, `signal`, `refusing`, ...), with their times.
    pub(crate) steps: Vec<(RunOffset, String)>,
    /// When it said that it ends, and with which code.
    pub(crate) exit: Option<(RunOffset, i32)>,
    /// Accepted connections: client's port, time, number.
    pub(crate) accepted: Vec<(u16, RunOffset, u64)>,
    /// Requests whose head was read, by connection and number.
    pub(crate) received: BTreeMap<(u64, u64), RunOffset>,
    /// Requests answered to the last byte.
    pub(crate) answered: BTreeMap<(u64, u64), RunOffset>,
    /// When the process started.
    pub(crate) started: RunOffset,
}

impl Ledger {
    /// The processes of a ledger file, in order. `at` makes a run time of nanoseconds since the Unix epoch.
    pub(crate) fn parse(text: &str, at: impl Fn(i64) -> RunOffset) -> Vec<Self> {
        let mut processes: Vec<Self> = Vec::new();
        for line in text.lines() {
            let Some((time, event)) = line.split_once(' ') else {
                continue;
            };
            let Ok(micros) = time.parse::<i64>() else {
                continue;
            };
            let at = at(micros * 1000);
            let fields: Vec<&str> = event.split(' ').collect();
            if fields[0] == "started" {
                processes.push(Self {
                    started: at,
                    ..Self::default()
                });
            } else if let Some(process) = processes.last_mut() {
                process.note(at, &fields);
            }
        }
        processes
    }

    fn note(&mut self, at: RunOffset, fields: &[&str]) {
        let number = |i: usize| {
            fields
                .get(i)
                .and_then(|f| f.parse::<u64>().ok())
                .unwrap_or(0)
        };
        match fields[0] {
            "accepted" => {
                let port = u16::try_from(number(2)).unwrap_or(0);
                self.accepted.push((port, at, number(1)));
            }
            "received" => {
                self.received.insert((number(1), number(2)), at);
            }
            "answered" => {
                self.answered.insert((number(1), number(2)), at);
            }
            "answering" | "unanswered" => {}
            "exit" => self.exit = Some((at, i32::try_from(number(1)).unwrap_or(-1))),
            step => self.steps.push((at, step.to_owned())),
        }
    }

    /// When it came to a step.
    pub(crate) fn step(&self, name: &str) -> Option<RunOffset> {
        self.steps.iter().find(|(_, s)| s == name).map(|(t, _)| *t)
    }

    /// The number of the connection that came from `port` at about `at` (within `slack` before).
    pub(crate) fn connection(&self, port: u16, from: RunOffset, to: RunOffset) -> Option<u64> {
        self.accepted
            .iter()
            .rev()
            .find(|(p, t, _)| *p == port && *t >= from && *t <= to)
            .map(|(_, _, conn)| *conn)
    }
}
