//! The subjects' own account of what reached their sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The ledgers of all pods of a run, by pod name.
#[derive(Debug)]
pub struct Ledgers(pub BTreeMap<String, PodLedger>);

/// What one pod says that it received and answered. Requests for health checks, and the connections that carried
/// nothing else, are left out: they are the kubelet's.
#[derive(Debug, Default)]
pub struct PodLedger {
    /// Connections accepted that carried a request: of one that died before, nobody knows whether it was a probe's.
    pub accepted: u64,
    /// Requests received.
    pub received: u64,
    /// Requests answered to the last byte, by status.
    pub answered: BTreeMap<u16, u64>,
    /// Requests received and not answered.
    pub cut: u64,
    /// Those of `cut` whose response was about to leave when the process was killed: the client may have got it.
    pub undecided: u64,
}

impl Ledgers {
    /// Reads every `<pod>.ledger` of a folder.
    pub fn read(dir: &Path) -> Self {
        let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
        let ledgers = entries.map(|path| {
            let pod = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (pod, PodLedger::parse(&fs::read_to_string(&path).unwrap()))
        });
        Self(ledgers.collect())
    }

    /// Sum of a figure over all pods.
    pub fn total(&self, figure: impl Fn(&PodLedger) -> u64) -> u64 {
        self.0.values().map(figure).sum()
    }

    /// Requests answered with a status, over all pods.
    pub fn answered(&self, status: u16) -> u64 {
        self.total(|l| l.answered.get(&status).copied().unwrap_or(0))
    }
}

impl PodLedger {
    fn parse(text: &str) -> Self {
        let mut ledger = Self::default();
        // Processes number their connections anew.
        let mut process = 0_u64;
        let mut accepted = BTreeSet::new();
        let mut open = BTreeSet::new();
        let mut answering = BTreeSet::new();
        for line in text.lines() {
            // Each line begins with its time.
            let fields: Vec<_> = line.split(' ').skip(1).collect();
            match fields.as_slice() {
                ["started", _] => process += 1,
                ["received", _, _, _, path] if path.starts_with("/healthz") => {}
                ["received", conn, n, _, _] => {
                    accepted.insert((process, *conn));
                    open.insert((process, *conn, *n));
                    ledger.received += 1;
                }
                ["answering", conn, n] => {
                    answering.insert((process, *conn, *n));
                }
                ["unanswered", conn, n] => {
                    answering.remove(&(process, *conn, *n));
                }
                ["answered", conn, n, status] if open.remove(&(process, *conn, *n)) => {
                    *ledger.answered.entry(status.parse().unwrap()).or_default() += 1;
                }
                _ => {}
            }
        }
        ledger.accepted = accepted.len() as u64;
        ledger.cut = open.len() as u64;
        ledger.undecided = open.intersection(&answering).count() as u64;
        ledger
    }
}
