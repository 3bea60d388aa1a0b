//! What signals a pod was sent, written down on the pod itself, where the pod asks for it.
//!
//! No kubelet does that: nobody who watches a cluster sees a signal. `rollscope signal` asks for it, because there the
//! signal is the subject.

use jiff::Timestamp;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::time::Duration;

use super::pod::Pod;
use super::run::Run;
use crate::process::{ProcessAtSignal, processes_at_signal};

/// The annotation that asks for it (`all`, or `times` for signals without the processes) and then holds the list.
const SIGNALS: &str = "sandbox.rollscope.dev/signals";
/// The annotation that asks for the stop signal once more: milliseconds after the first.
const AGAIN: &str = "sandbox.rollscope.dev/signal-again";

/// The signals of one container's end.
#[derive(Debug)]
pub(super) struct Witness {
    asked: Option<String>,
    sent: Vec<Value>,
}

impl Witness {
    /// Nothing sent yet.
    pub(super) fn of(pod: &Pod) -> Self {
        Self {
            asked: annotation(pod, SIGNALS),
            sent: Vec::new(),
        }
    }

    /// Sends a signal; what each process does at it is looked at just before.
    pub(super) fn send(&mut self, pod: &Pod, run: &Run, signal: Signal) {
        let looked = self.asked.as_deref() == Some("all") && signal != Signal::SIGKILL;
        let processes = if looked {
            processes_at_signal(run.process.pid, signal)
        } else {
            Vec::new()
        };
        let at = Timestamp::now();
        run.signal(signal);
        self.note(pod, signal, at, &processes);
    }

    fn note(&mut self, pod: &Pod, signal: Signal, at: Timestamp, processes: &[ProcessAtSignal]) {
        if self.asked.is_none() {
            return;
        }
        let at = at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        self.sent
            .push(json!({"signal": signal.as_str(), "at": at, "processes": processes}));
        let list = Value::Array(self.sent.clone()).to_string();
        pod.change_with(
            |_| (),
            |object| object["metadata"]["annotations"][SIGNALS] = json!(list),
        );
    }
}

/// Whether a signal is written down on a pod.
pub(crate) fn was_signalled(pod: &Value) -> bool {
    let list = pod["metadata"]["annotations"][SIGNALS].as_str();
    list.is_some_and(|l| l.starts_with('['))
}

/// How long after the first stop signal a second one is due, if the pod asks for one.
pub(super) fn again_after(pod: &Pod) -> Option<Duration> {
    let millis = annotation(pod, AGAIN)?.parse().ok()?;
    Some(Duration::from_millis(millis))
}

fn annotation(pod: &Pod, name: &str) -> Option<String> {
    let annotations = &pod.object["metadata"]["annotations"];
    annotations[name].as_str().map(str::to_owned)
}
