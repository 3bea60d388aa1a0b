//! The front end that looks only at its own health check: an ALB, an nginx upstream, a Consul service.
//!
//! Every pod that the Service selects is a target for as long as it has an address. Each is asked for its readiness path
//! once a period; enough failures in a row take it out, enough successes take it in. EndpointSlices and deletions mean
//! nothing here: a pod that leaves must say so by its answer.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rollscope_scenarios::HealthCheck;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::endpoint::{Endpoint, PORT_ANNOTATION};
use super::propagation::EndpointChange;
use super::routes::Routes;
use crate::{Kind, Store};

/// Asks the pods of a Service how they are.
#[derive(Debug)]
pub(super) struct HealthChecks {
    store: Store,
    namespace: String,
    service: String,
    check: HealthCheck,
    routes: Arc<Routes>,
    targets: BTreeMap<String, Target>,
}

/// A pod as the front end sees it.
#[derive(Debug)]
struct Target {
    socket: SocketAddr,
    healthy: bool,
    /// Answers in a row that say otherwise.
    against: u32,
}

/// Where to ask.
#[derive(Debug, Clone)]
struct Question {
    name: String,
    socket: SocketAddr,
    path: String,
}

impl HealthChecks {
    pub(super) fn new(
        store: Store,
        (namespace, service): (String, String),
        check: HealthCheck,
        routes: Arc<Routes>,
    ) -> Self {
        Self {
            store,
            namespace,
            service,
            check,
            routes,
            targets: BTreeMap::new(),
        }
    }

    /// Asks for as long as it is polled.
    pub(super) async fn run(mut self) {
        let mut beats = interval(self.check.period);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let questions = self.questions();
            self.forget(&questions);
            let answers = ask(questions, self.check.period).await;
            self.judge(answers);
        }
    }

    /// The pods that the Service selects, while they have an address.
    fn questions(&self) -> Vec<Question> {
        let service = self
            .store
            .get(Kind::Service, &self.namespace, &self.service);
        let selector = service.map(|s| s["spec"]["selector"].clone());
        let selector = selector.as_ref().and_then(Value::as_object);
        let (pods, _) = self.store.list(Kind::Pod, Some(&self.namespace));
        let selected = |pod: &Value| {
            let labels = &pod["metadata"]["labels"];
            selector.is_some_and(|s| s.iter().all(|(key, value)| labels[key] == *value))
        };
        let over = |pod: &Value| {
            matches!(
                pod["status"]["phase"].as_str(),
                Some("Succeeded" | "Failed")
            )
        };
        let asked = pods.iter().filter(|p| selected(p) && !over(p));
        asked.filter_map(|pod| question(pod)).collect()
    }

    /// Deregisters pods that are gone.
    fn forget(&mut self, questions: &[Question]) {
        let known = |name: &String| questions.iter().any(|q| q.name == *name);
        let gone: Vec<String> = self.targets.keys().filter(|n| !known(n)).cloned().collect();
        let changes = gone.into_iter().map(|name| {
            self.targets.remove(&name);
            EndpointChange { name, state: None }
        });
        let changes: Vec<_> = changes.collect();
        if !changes.is_empty() {
            self.routes.apply(changes);
        }
    }

    fn judge(&mut self, answers: Vec<(Question, bool)>) {
        let mut changes = Vec::new();
        for (question, well) in answers {
            let target = self.targets.entry(question.name.clone()).or_insert(Target {
                socket: question.socket,
                healthy: false,
                against: 0,
            });
            target.socket = question.socket;
            if target.sees(well, &self.check) {
                changes.push(EndpointChange {
                    state: Some(Endpoint {
                        name: question.name.clone(),
                        socket: target.socket,
                        ready: target.healthy,
                        serving: target.healthy,
                        terminating: false,
                    }),
                    name: question.name,
                });
            }
        }
        if !changes.is_empty() {
            self.routes.apply(changes);
        }
    }
}

impl Target {
    /// Takes an answer; whether it turns.
    fn sees(&mut self, well: bool, check: &HealthCheck) -> bool {
        if well == self.healthy {
            self.against = 0;
            return false;
        }
        self.against += 1;
        let enough = if self.healthy {
            check.unhealthy_after
        } else {
            check.healthy_after
        };
        let turns = self.against >= enough;
        if turns {
            (self.healthy, self.against) = (well, 0);
        }
        turns
    }
}

fn question(pod: &Value) -> Option<Question> {
    let name = pod["metadata"]["name"].as_str()?;
    let ip: IpAddr = pod["status"]["podIP"].as_str()?.parse().ok()?;
    let port = pod["metadata"]["annotations"][PORT_ANNOTATION].as_str()?;
    let probe = &pod["spec"]["containers"][0]["readinessProbe"]["httpGet"];
    let path = probe["path"].as_str().unwrap_or("/");
    Some(Question {
        name: name.to_owned(),
        socket: SocketAddr::new(ip, port.parse().ok()?),
        path: path.to_owned(),
    })
}

async fn ask(questions: Vec<Question>, limit: Duration) -> Vec<(Question, bool)> {
    let mut asking = JoinSet::new();
    for question in questions {
        asking.spawn(async move {
            let answer = timeout(limit, is_well(&question)).await;
            (question, answer.ok().flatten().unwrap_or(false))
        });
    }
    asking.join_all().await
}

/// Whether the pod answers with a status of success; `None` without an answer.
async fn is_well(question: &Question) -> Option<bool> {
    let mut stream = TcpStream::connect(question.socket).await.ok()?;
    let Question { path, socket, .. } = question;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {socket}\r\nuser-agent: health-check\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.ok()?;
    let status = std::str::from_utf8(&head[9..]).ok()?.parse::<u16>().ok()?;
    Some((200..400).contains(&status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_turns_after_so_many_answers_in_a_row() {
        let check = HealthCheck {
            period: Duration::from_secs(1),
            unhealthy_after: 3,
            healthy_after: 2,
        };
        let mut target = Target {
            socket: SocketAddr::from(([127, 0, 0, 1], 1)),
            healthy: false,
            against: 0,
        };
        let answers = [
            true, false, true, true, false, false, true, false, false, false,
        ];
        let states = answers.map(|well| {
            target.sees(well, &check);
            target.healthy
        });
        let expected = [
            false, false, false, true, true, true, true, true, true, false,
        ];
        assert_eq!(states, expected);
    }
}
