//! A Pod as the analysis reads it.

use serde_json::Value;

use super::{at, int_at, list_at, str_at};
use crate::signal::SignalledProcess;

/// A borrowed `v1` Pod.
#[derive(Clone, Copy)]
pub(crate) struct PodView<'a>(pub(crate) &'a Value);

/// A preStop hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreStop {
    /// In words: `sleep 5 s`, `exec`, `httpGet`.
    pub(crate) words: String,
    /// How long it takes, where the manifest itself says so (the `sleep` action), seconds.
    pub(crate) sleep_seconds: Option<i64>,
}

/// A probe's timing, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) period: i64,
    pub(crate) threshold: i64,
    pub(crate) timeout: i64,
    /// It only connects: it cannot fail before the listener is closed.
    pub(crate) connects: bool,
}

impl Probe {
    /// The longest time from a server that stops being ready to the condition that says so.
    pub(crate) fn shows_within_seconds(self) -> i64 {
        self.period
            .saturating_mul(self.threshold)
            .saturating_add(self.timeout)
    }
}

/// A container's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContainerState<'a> {
    Waiting,
    Running { started_at: Option<&'a str> },
    Terminated(TerminatedView<'a>),
    Unknown,
}

/// `state.terminated` or `lastState.terminated`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TerminatedView<'a> {
    pub(crate) exit_code: i64,
    pub(crate) reason: &'a str,
    pub(crate) started_at: Option<&'a str>,
    pub(crate) finished_at: Option<&'a str>,
    pub(crate) container_id: Option<&'a str>,
}

impl<'a> PodView<'a> {
    pub(crate) fn name(self) -> Option<&'a str> {
        str_at(self.0, &["metadata", "name"])
    }

    pub(crate) fn uid(self) -> Option<&'a str> {
        str_at(self.0, &["metadata", "uid"])
    }

    pub(crate) fn created_at(self) -> Option<&'a str> {
        str_at(self.0, &["metadata", "creationTimestamp"])
    }

    /// The `pod-template-hash` label, else the name of the controlling owner.
    pub(crate) fn template_hash(self) -> Option<&'a str> {
        str_at(self.0, &["metadata", "labels", "pod-template-hash"]).or_else(|| {
            list_at(self.0, &["metadata", "ownerReferences"])
                .iter()
                .find_map(|o| str_at(o, &["name"]))
        })
    }

    /// The signals that the sandbox's kubelet has written down on it, oldest first.
    pub(crate) fn signals(self) -> Vec<SignalView> {
        let text = str_at(
            self.0,
            &["metadata", "annotations", "sandbox.rollscope.dev/signals"],
        );
        let list = text.and_then(|t| serde_json::from_str::<Value>(t).ok());
        let list = list.as_ref().and_then(Value::as_array);
        let signals = list.into_iter().flatten().take(MOST_SIGNALS);
        signals.filter_map(signal).collect()
    }

    pub(crate) fn node(self) -> Option<&'a str> {
        str_at(self.0, &["spec", "nodeName"])
    }

    pub(crate) fn ip(self) -> Option<&'a str> {
        str_at(self.0, &["status", "podIP"])
    }

    pub(crate) fn phase(self) -> Option<&'a str> {
        str_at(self.0, &["status", "phase"])
    }

    pub(crate) fn deletion_timestamp(self) -> Option<&'a str> {
        str_at(self.0, &["metadata", "deletionTimestamp"])
    }

    pub(crate) fn deletion_grace(self) -> Option<i64> {
        int_at(self.0, &["metadata", "deletionGracePeriodSeconds"]).map(seconds)
    }

    pub(crate) fn spec_grace(self) -> Option<i64> {
        int_at(self.0, &["spec", "terminationGracePeriodSeconds"]).map(seconds)
    }

    /// Condition Ready; `None` when the object does not have it.
    pub(crate) fn ready(self) -> Option<bool> {
        list_at(self.0, &["status", "conditions"])
            .iter()
            .find(|c| str_at(c, &["type"]) == Some("Ready"))
            .and_then(|c| str_at(c, &["status"]))
            .map(|s| s == "True")
    }

    /// The container that serves: the first with a readiness probe, else the first with a port, else the first; a proxy
    /// only where there is nothing else.
    fn main_container(self) -> Option<&'a Value> {
        let all = list_at(self.0, &["spec", "containers"]);
        let serves = |of: &dyn Fn(&Value) -> bool| {
            all.iter()
                .find(|c| of(c) && at(c, &["readinessProbe"]).is_some())
                .or_else(|| {
                    all.iter()
                        .find(|c| of(c) && !list_at(c, &["ports"]).is_empty())
                })
                .or_else(|| all.iter().find(|c| of(c)))
        };
        serves(&|c| !is_proxy(c)).or_else(|| serves(&|_| true))
    }

    /// The names of the containers through which the traffic of the serving one goes.
    pub(crate) fn proxies(self) -> impl Iterator<Item = &'a str> {
        let serving = self.main_container_name();
        list_at(self.0, &["spec", "containers"])
            .iter()
            .filter(|c| is_proxy(c))
            .filter_map(|c| str_at(c, &["name"]))
            .filter(move |name| Some(*name) != serving)
    }

    /// The reason of a condition `DisruptionTarget` that is true.
    pub(crate) fn disrupted(self) -> Option<&'a str> {
        list_at(self.0, &["status", "conditions"])
            .iter()
            .find(|c| str_at(c, &["type"]) == Some("DisruptionTarget"))
            .filter(|c| str_at(c, &["status"]) == Some("True"))
            .map(|c| str_at(c, &["reason"]).unwrap_or("DisruptionTarget"))
    }

    /// The workload that owns it: its controller, less the hash of a template.
    pub(crate) fn workload(self) -> Option<&'a str> {
        let owners = list_at(self.0, &["metadata", "ownerReferences"]);
        let name = owners.iter().find_map(|o| str_at(o, &["name"]))?;
        let hash = str_at(self.0, &["metadata", "labels", "pod-template-hash"]);
        let of_template = hash.and_then(|h| name.strip_suffix(h)?.strip_suffix('-'));
        Some(of_template.unwrap_or(name))
    }

    pub(crate) fn main_container_name(self) -> Option<&'a str> {
        self.main_container().and_then(|c| str_at(c, &["name"]))
    }

    pub(crate) fn readiness_probe(self) -> Option<Probe> {
        let p = at(self.main_container()?, &["readinessProbe"])?;
        let field =
            |name: &str, default: i64| seconds(int_at(p, &[name]).unwrap_or(default)).max(1);
        Some(Probe {
            period: field("periodSeconds", 10),
            threshold: field("failureThreshold", 3),
            timeout: field("timeoutSeconds", 1),
            connects: at(p, &["tcpSocket"]).is_some(),
        })
    }

    /// The number of the port that the readiness probe asks.
    pub(crate) fn readiness_port(self) -> Option<i64> {
        let container = self.main_container()?;
        let probe = at(container, &["readinessProbe"])?;
        let port = at(probe, &["httpGet", "port"])
            .or_else(|| at(probe, &["tcpSocket", "port"]))
            .or_else(|| at(probe, &["grpc", "port"]))?;
        port.as_i64().or_else(|| {
            let name = port.as_str()?;
            list_at(container, &["ports"])
                .iter()
                .find(|p| str_at(p, &["name"]) == Some(name))
                .and_then(|p| int_at(p, &["containerPort"]))
                .or_else(|| name.parse().ok())
        })
    }

    /// The manifest names the command; else it is the image's and not seen.
    pub(crate) fn commanded(self) -> bool {
        self.main_container()
            .is_some_and(|c| !list_at(c, &["command"]).is_empty())
    }

    /// The command leaves a shell or a package manager in front of the server: `sh -c` without `exec`, `npm start`.
    pub(crate) fn wrapped(self) -> bool {
        let Some(container) = self.main_container() else {
            return false;
        };
        let words: Vec<&str> = ["command", "args"]
            .iter()
            .flat_map(|f| list_at(container, &[f]))
            .filter_map(Value::as_str)
            .collect();
        let Some(program) = words.first().and_then(|w| w.rsplit('/').next()) else {
            return false;
        };
        match program {
            "npm" | "npx" | "yarn" | "pnpm" => true,
            "sh" | "bash" | "ash" | "dash" => {
                words
                    .get(1)
                    .is_some_and(|w| w.starts_with('-') && w.contains('c'))
                    && !words.iter().skip(2).any(|script| script.contains("exec "))
            }
            _ => false,
        }
    }

    pub(crate) fn pre_stop(self) -> Option<PreStop> {
        let hook = at(self.main_container()?, &["lifecycle", "preStop"])?;
        let sleep_seconds = int_at(hook, &["sleep", "seconds"]).map(seconds);
        let words = match sleep_seconds {
            Some(s) => format!("sleep {s} s"),
            None if at(hook, &["exec"]).is_some() => "exec".to_owned(),
            None if at(hook, &["httpGet"]).is_some() => "httpGet".to_owned(),
            None if at(hook, &["tcpSocket"]).is_some() => "tcpSocket".to_owned(),
            None => "a hook".to_owned(),
        };
        Some(PreStop {
            words,
            sleep_seconds,
        })
    }

    /// No ordinary container runs any more, and one has ended.
    pub(crate) fn has_ended(self) -> bool {
        let mut states = self.containers().map(|(_, state, ..)| state).peekable();
        states.peek().is_some() && states.all(|s| matches!(s, ContainerState::Terminated(_)))
    }

    /// `(name, state, last state, restart count)` of every ordinary container.
    pub(crate) fn containers(
        self,
    ) -> impl Iterator<Item = (&'a str, ContainerState<'a>, Option<TerminatedView<'a>>, i64)> {
        list_at(self.0, &["status", "containerStatuses"])
            .iter()
            .filter_map(|c| {
                Some((
                    str_at(c, &["name"])?,
                    state(c),
                    at(c, &["lastState", "terminated"]).map(terminated),
                    int_at(c, &["restartCount"]).unwrap_or(0),
                ))
            })
    }
}

/// Signals of a pod that are read.
const MOST_SIGNALS: usize = 16;

/// A signal as it was written down.
#[derive(Debug, Clone)]
pub(crate) struct SignalView {
    pub(crate) name: String,
    pub(crate) at: String,
    pub(crate) processes: Vec<SignalledProcess>,
}

fn signal(written: &Value) -> Option<SignalView> {
    let processes = list_at(written, &["processes"]).iter();
    let process = |p: &Value| {
        Some(SignalledProcess {
            pid: int_at(p, &["pid"])?,
            name: str_at(p, &["name"])?.to_owned(),
            action: str_at(p, &["action"])?.to_owned(),
        })
    };
    Some(SignalView {
        name: str_at(written, &["signal"])?.to_owned(),
        at: str_at(written, &["at"])?.to_owned(),
        processes: processes.filter_map(process).collect(),
    })
}

/// By the names that meshes and clouds give to theirs.
fn is_proxy(container: &Value) -> bool {
    let name = str_at(container, &["name"]).unwrap_or("");
    ["proxy", "envoy", "sidecar", "dataplane"]
        .iter()
        .any(|word| name.contains(word))
}

/// A manifest's seconds (or a count), in a range in which arithmetic is safe.
fn seconds(n: i64) -> i64 {
    n.clamp(0, 1_000_000)
}

fn state(status: &Value) -> ContainerState<'_> {
    if let Some(t) = at(status, &["state", "terminated"]) {
        ContainerState::Terminated(terminated(t))
    } else if let Some(r) = at(status, &["state", "running"]) {
        ContainerState::Running {
            started_at: str_at(r, &["startedAt"]),
        }
    } else if at(status, &["state", "waiting"]).is_some() {
        ContainerState::Waiting
    } else {
        ContainerState::Unknown
    }
}

fn terminated(t: &Value) -> TerminatedView<'_> {
    TerminatedView {
        exit_code: int_at(t, &["exitCode"]).unwrap_or(-1),
        reason: str_at(t, &["reason"]).unwrap_or(""),
        started_at: str_at(t, &["startedAt"]),
        finished_at: str_at(t, &["finishedAt"]),
        container_id: str_at(t, &["containerID"]),
    }
}
