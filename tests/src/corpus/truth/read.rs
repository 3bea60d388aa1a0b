//! Reads the truth of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rollscope_records::RunOffset;

use super::super::sidecar;
use super::sandbox::Line;
use super::{ContainerRun, Dialled, Ledger, PodTruth, Proxied, StopWhy};

/// What really happened in a run, on the run's clock.
#[derive(Debug, Clone, Default)]
pub(crate) struct Truth {
    /// The pods by name.
    pub(crate) pods: BTreeMap<String, PodTruth>,
    /// Every decision of the `l4` front end, in order.
    pub(crate) dialled: Vec<Dialled>,
    /// Every request of the `http` front end.
    pub(crate) proxied: Vec<Proxied>,
    /// How many endpoints were ready from when on.
    pub(crate) ready: Vec<(RunOffset, u64)>,
}

/// Whether a pod has been deleted.
pub(crate) fn rollout_began(dir: &Path) -> bool {
    let text = fs::read_to_string(dir.join("sandbox.jsonl")).unwrap_or_default();
    Line::all(&text).any(|line| line.ev == "deleted")
}

/// The pods whose process runs and is not being stopped, with its pid on the host.
pub(crate) fn serving(dir: &Path) -> Vec<(String, i32)> {
    let truth = Truth::read(dir, 0);
    let running = truth.pods.into_iter().filter_map(|(pod, truth)| {
        let last = truth.runs.last()?;
        let serves = last.exited.is_none() && last.stopping.is_none() && truth.deleted.is_none();
        serves.then_some((pod, last.pid))
    });
    running.collect()
}

/// The pods that are not deleted, or not gone yet.
pub(crate) fn alive(dir: &Path) -> Vec<String> {
    let truth = Truth::read(dir, 0);
    let gone = |pod: &PodTruth| {
        pod.deleted.is_some() && pod.runs.last().is_some_and(|run| run.exited.is_some())
    };
    let alive = truth.pods.into_iter().filter(|(_, pod)| !gone(pod));
    alive.map(|(name, _)| name).collect()
}

/// How many endpoints are ready.
pub(crate) fn ready(dir: &Path) -> u64 {
    let truth = Truth::read(dir, 0);
    truth.ready.last().map_or(0, |(_, ready)| *ready)
}

/// The wall clock, in nanoseconds since the Unix epoch.
pub(crate) fn wall_nanos() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Truth {
    /// Reads a run's folder of truth; `wall_start` is the wall clock at the run's start, ns since the Unix epoch.
    pub(crate) fn read(dir: &Path, wall_start: i64) -> Self {
        let at = |nanos: i64| RunOffset::ZERO.plus_nanos(nanos - wall_start);
        let mut truth = Self::default();
        let text = fs::read_to_string(dir.join("sandbox.jsonl")).unwrap_or_default();
        for line in Line::all(&text) {
            truth.note(at(line.t), at(line.from), line);
        }
        truth.dialled.sort_by_key(|d| d.at);
        for (name, pod) in &mut truth.pods {
            let text = fs::read_to_string(dir.join(format!("{name}.ledger"))).unwrap_or_default();
            for ledger in Ledger::parse(&text, at) {
                // The process starts after its container, and long before the container's next run.
                if let Some(run) = pod
                    .runs
                    .iter_mut()
                    .rfind(|r| r.started <= ledger.started.plus_nanos(200_000_000))
                {
                    run.ledger = ledger;
                }
            }
        }
        let kills = fs::read_to_string(dir.join("kills.jsonl")).unwrap_or_default();
        for line in kills.lines() {
            truth.killed(line, at);
        }
        let evictions = fs::read_to_string(dir.join("evictions.jsonl")).unwrap_or_default();
        for line in evictions.lines() {
            truth.evicted(line);
        }
        truth
    }

    fn killed(&mut self, line: &str, at: impl Fn(i64) -> RunOffset) {
        let Ok(kill) = serde_json::from_str::<serde_json::Value>(line) else {
            return;
        };
        let (t, pod) = (kill["t"].as_i64().unwrap_or(0), kill["pod"].as_str());
        let pod = pod.and_then(|p| self.pods.get_mut(p));
        let run = pod.and_then(|p| p.runs.iter_mut().rfind(|r| r.started <= at(t)));
        if let Some(run) = run {
            run.killed_by_us = Some(at(t));
        }
    }

    fn evicted(&mut self, line: &str) {
        let Ok(eviction) = serde_json::from_str::<serde_json::Value>(line) else {
            return;
        };
        let pod = eviction["pod"].as_str();
        if let Some(pod) = pod.and_then(|p| self.pods.get_mut(p)) {
            pod.evicted = true;
        }
    }

    fn note(&mut self, t: RunOffset, from: RunOffset, line: Line) {
        match line.ev.as_str() {
            "dialled" => self.dialled.push(Dialled {
                at: t,
                pod: line.pod,
                fallback: line.fallback,
            }),
            "proxied" => self.proxied.push(Proxied {
                from,
                to: t,
                client: line.client,
                pod: line.pod,
                how: line.how,
                fallback: line.fallback,
                reused: line.reused,
            }),
            "endpoints" => self.ready.push((t, line.ready)),
            _ => {
                if let Some(name) = &line.pod {
                    let pod = self.pods.entry(name.clone()).or_default();
                    note_pod(pod, t, &line);
                }
            }
        }
    }
}

fn note_pod(pod: &mut PodTruth, t: RunOffset, line: &Line) {
    if line.container == sidecar::CONTAINER {
        // It ends at its signal; that it has is seen a little later.
        if matches!(line.ev.as_str(), "signal" | "exited") {
            pod.proxy_ended.get_or_insert(t);
        }
        return;
    }
    match line.ev.as_str() {
        "deleted" => {
            pod.deleted.get_or_insert((t, line.grace));
        }
        "started" => pod.runs.push(ContainerRun {
            started: t,
            pid: line.pid,
            ..ContainerRun::default()
        }),
        event => {
            let Some(run) = pod.runs.last_mut() else {
                return;
            };
            match event {
                "stopping" => {
                    let restart = line.why.contains("will be restarted");
                    let why = if restart {
                        StopWhy::Probe
                    } else {
                        StopWhy::Deletion
                    };
                    run.stopping.get_or_insert((t, why));
                }
                "pre_stop_started" => run.pre_stop = Some((t, None)),
                "pre_stop_ended" => {
                    if let Some(hook) = &mut run.pre_stop {
                        hook.1 = Some(t);
                    }
                }
                "signal" if line.signal == "SIGKILL" => {
                    run.sigkill.get_or_insert(t);
                }
                "signal" => {
                    run.signal.get_or_insert(t);
                }
                "exited" => run.exited = Some((t, line.code)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledgers_go_to_the_runs_of_their_containers_and_kills_to_the_run_they_hit() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        let wall = 1_000_000_000_000;
        let line = |ms: i64, rest: &str| format!("{{\"t\":{},{rest}}}\n", wall + ms * 1_000_000);
        let lines = [
            line(10, r#""ev":"started","pod":"a","container":"web","pid":7"#),
            line(
                500,
                r#""ev":"exited","pod":"a","container":"web","code":137"#,
            ),
            line(900, r#""ev":"started","pod":"a","container":"web","pid":8"#),
            line(950, r#""ev":"deleted","pod":"a","grace":9"#),
            line(
                951,
                r#""ev":"stopping","pod":"a","why":"Stopping container web""#,
            ),
            line(952, r#""ev":"signal","pod":"a","signal":"SIGTERM""#),
            line(960, r#""ev":"dialled","pod":null,"fallback":true"#),
        ];
        write("sandbox.jsonl", &lines.concat());
        let micros = |ms: i64| wall / 1000 + ms * 1000;
        let ledger = format!(
            "{} started 1\n{} listening\n{} accepted 1 4242\n{} received 1 1 GET /\n{} started 1\n{} signal\n",
            micros(9),
            micros(20),
            micros(30),
            micros(31),
            micros(899),
            micros(953)
        );
        write("a.ledger", &ledger);
        write(
            "kills.jsonl",
            &format!("{{\"t\":{},\"pod\":\"a\"}}\n", wall + 499_000_000),
        );
        let at = |ms: i64| RunOffset::ZERO.plus_nanos(ms * 1_000_000);
        let truth = Truth::read(dir.path(), wall);
        let pod = &truth.pods["a"];
        assert_eq!(pod.deleted, Some((at(950), 9)));
        let [first, second] = &pod.runs[..] else {
            panic!("{:?}", pod.runs)
        };
        assert_eq!(first.killed_by_us, Some(at(499)));
        assert_eq!(first.ledger.step("listening"), Some(at(20)));
        assert_eq!(first.ledger.connection(4242, at(0), at(40)), Some(1));
        assert_eq!(first.ledger.received[&(1, 1)], at(31));
        assert_eq!(second.killed_by_us, None);
        assert_eq!(second.caught(), Some(at(953)));
        assert_eq!(second.stopping, Some((at(951), StopWhy::Deletion)));
        assert_eq!(truth.dialled[0].pod, None);
        assert!(truth.dialled[0].fallback);
    }
}
