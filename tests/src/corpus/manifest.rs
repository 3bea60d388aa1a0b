//! The files of a case: manifest and scenario.

use std::fmt::Write;
use std::path::Path;

use super::draw::{Case, Server};
use super::{evictions, sidecar};

/// The port of `ready-too-early`'s health checks, the same on each pod's own address.
const HEALTH_PORT: u16 = 9090;

/// The container that serves in the application's stead.
const PROXY: &str = r#"        - name: proxy
          image: example/proxy:1
          command: ["rollscope", "sidecar"]
          ports: [{ name: http, containerPort: 8080 }]
"#;

/// The manifest; the subjects keep their ledgers in `ledgers`.
pub(crate) fn manifest(case: &Case, ledgers: &Path) -> String {
    let mut text = String::from(
        "apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec:\n  selector: { app: web }\n  ports: [{ name: http, port: 80, targetPort: http }]\n---\n",
    );
    let strategy = match &case.rolling {
        None => "{ type: Recreate }".to_owned(),
        Some((surge, unavailable)) => format!(
            "{{ type: RollingUpdate, rollingUpdate: {{ maxSurge: {surge}, maxUnavailable: {unavailable} }} }}"
        ),
    };
    let _ = write!(
        text,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{ name: web, labels: {{ app: web }} }}\nspec:\n  replicas: {}\n  \
         strategy: {strategy}\n  selector: {{ matchLabels: {{ app: web }} }}\n  template:\n    \
         metadata: {{ labels: {{ app: web }} }}\n    spec:\n      terminationGracePeriodSeconds: {}\n      containers:\n{}        \
         - name: web\n          image: example/web:1\n          command: {}\n          {}env:\n",
        case.replicas,
        case.grace,
        if case.sidecar { PROXY } else { "" },
        command(case.server),
        if case.sidecar {
            ""
        } else {
            "ports: [{ name: http, containerPort: 3000 }]\n          "
        },
    );
    for (name, value) in environment(case, ledgers) {
        let _ = writeln!(text, "            - {{ name: {name}, value: {value:?} }}");
    }
    if case.memory_limit {
        text += "          resources: { limits: { memory: 256Mi } }\n";
    }
    text + &probes(case) + &pre_stop(case)
}

fn command(server: Server) -> &'static str {
    match server {
        Server::Subject(_) => r#"["rollscope", "subject"]"#,
        Server::ShellWrapped => r#"["sh", "-c", "rollscope subject; true"]"#,
        Server::HalfForwarded => {
            r#"["sh", "-c", "rollscope subject & trap 'echo npm error signal SIGTERM; echo npm error command sh -c node server.js; exit 143' TERM; wait"]"#
        }
        Server::ShellForwards => {
            r#"["sh", "-c", "rollscope subject & pid=$!; trap 'kill -TERM $pid' TERM; wait $pid; wait $pid"]"#
        }
    }
}

fn environment(case: &Case, ledgers: &Path) -> Vec<(&'static str, String)> {
    let mut env = vec![
        ("SUBJECT", case.server.subject().to_owned()),
        ("SUBJECT_LEDGER", ledgers.display().to_string()),
        ("KEEP_ALIVE_MS", case.keep_alive_ms.to_string()),
        ("DRAIN_DELAY_MS", case.drain_delay_ms.to_string()),
        ("DRAIN_DEADLINE_MS", case.drain_deadline_ms.to_string()),
        ("CLOSE_TRAVEL_MS", case.close_travel_ms.to_string()),
    ];
    if case.sidecar {
        env.push(("PORT", sidecar::APPLICATION.to_string()));
    }
    match case.server.as_str() {
        "ready-too-early" => {
            env.push(("HEALTH_PORT", HEALTH_PORT.to_string()));
            env.push(("LISTEN_DELAY_MS", case.listen_delay_ms.to_string()));
        }
        "forced-exit" => {
            env.extend(case.safety_ms.map(|ms| ("SAFETY_MS", ms.to_string())));
        }
        // Different for each case, the same for each pod of it.
        "crash" => env.push((
            "CRASH_AFTER_MS",
            (6000 + case.index * 7919 % 20_000).to_string(),
        )),
        _ => {}
    }
    env
}

fn probes(case: &Case) -> String {
    let mut text = String::new();
    if let Some((period, threshold)) = case.readiness {
        let port = match case.server.as_str() {
            "ready-too-early" => HEALTH_PORT.to_string(),
            _ => traffic_port(case),
        };
        let _ = writeln!(
            text,
            "          readinessProbe: {{ httpGet: {{ path: /healthz/ready, port: {port} }}, periodSeconds: {period}, failureThreshold: {threshold}, timeoutSeconds: 1 }}"
        );
    }
    if case.broken_liveness {
        let _ = writeln!(
            text,
            "          livenessProbe: {{ httpGet: {{ path: /missing, port: {} }}, periodSeconds: 3, failureThreshold: 3, timeoutSeconds: 1 }}",
            traffic_port(case)
        );
    }
    text
}

/// The application's own port, as its probes name it.
fn traffic_port(case: &Case) -> String {
    match case.sidecar {
        true => sidecar::APPLICATION.to_string(),
        false => "http".to_owned(),
    }
}

fn pre_stop(case: &Case) -> String {
    match case.pre_stop {
        None => String::new(),
        Some(hook) if hook.exec => format!(
            "          lifecycle: {{ preStop: {{ exec: {{ command: [sleep, \"{}\"] }} }} }}\n",
            hook.seconds
        ),
        Some(hook) => format!(
            "          lifecycle: {{ preStop: {{ sleep: {{ seconds: {} }} }} }}\n",
            hook.seconds
        ),
    }
}

/// The scenario.
pub(crate) fn scenario(case: &Case) -> String {
    let mut text = format!(
        "name: case-{}\ntarget:\n  sandbox:\n    manifest: manifest.yaml\n    front_end: {}\n    endpoint_lag: {}ms..{}ms\n    \
         seed: {}\nload:\n  rate: {}/s\n  max_in_flight: 4000\n  deadline: 10s\n",
        case.index,
        case.front_end,
        case.lag_ms.0,
        case.lag_ms.1,
        case.index + 1,
        case.rate
    );
    if case.pod_header {
        text += "  pod_header: x-pod-name\n";
    }
    text += "  requests:\n";
    for asked in &case.mix.0 {
        let _ = writeln!(
            text,
            "    - {{ name: {}, {}: {:?}, weight: {}, connections: {}, deadline: {}ms, expect: [{}] }}",
            asked.name,
            asked.method,
            asked.path,
            asked.weight,
            asked.connections,
            asked.deadline_ms,
            asked.expect
        );
    }
    if let Some(streams) = &case.streams {
        streams.write(&mut text);
    }
    let rollout = case.evict_ms.map_or("restart: {}", |_| evictions::STAGE);
    let _ = write!(
        text,
        "stages:\n  - warmup: 6s\n  - {rollout}\n    complete_within: 6m\n  - settle: 7s\ngate: {{ max_failed: 0 }}\n"
    );
    text
}
