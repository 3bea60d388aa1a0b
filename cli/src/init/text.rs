//! The scenario's text. What only its user can know is marked with an arrow.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::workload::Workload;

/// Where the scenario runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the sandbox, from a manifest.
    Sandbox {
        /// As the scenario names it.
        manifest: PathBuf,
    },
    /// On a cluster.
    Cluster {
        /// The only context that is allowed.
        context: String,
        /// The workload's namespace.
        namespace: String,
    },
}

/// A container's start that nothing is known of, s.
const START: u64 = 30;

/// The whole file.
pub(crate) fn scenario(workload: &Workload, place: &Place) -> String {
    let mut text = String::new();
    let written = write(&mut text, workload, place);
    debug_assert!(written.is_ok());
    text
}

fn write(text: &mut String, workload: &Workload, place: &Place) -> std::fmt::Result {
    let name = &workload.name;
    writeln!(
        text,
        "# A restart of deployment/{name} under a constant load. It runs as it is; what only you know is marked with <-."
    )?;
    writeln!(text, "name: {name}-restart")?;
    match place {
        Place::Sandbox { manifest } => sandbox(text, manifest)?,
        Place::Cluster { context, namespace } => cluster(text, workload, context, namespace)?,
    }
    load(text, workload, place)?;
    stages(text, workload)?;
    writeln!(
        text,
        "gate: {{ max_failed: 0, assertions: warn }}   # assertions: fail makes a broken shutdown fail even if nothing was lost"
    )
}

fn sandbox(text: &mut String, manifest: &std::path::Path) -> std::fmt::Result {
    let manifest = quoted(&manifest.display().to_string());
    writeln!(text, "target:")?;
    writeln!(
        text,
        "  sandbox:                         # its command runs here as real processes; the image is ignored"
    )?;
    writeln!(text, "    manifest: {manifest}")?;
    writeln!(
        text,
        "    front_end: l4                  # as kube-proxy routes; http: as an ingress; nginx, haproxy: the real ones"
    )?;
    writeln!(
        text,
        "    endpoint_lag: 500ms..2s        # how long a change of the endpoints takes to reach it"
    )
}

fn cluster(
    text: &mut String,
    workload: &Workload,
    context: &str,
    namespace: &str,
) -> std::fmt::Result {
    let services: Vec<_> = workload
        .services
        .iter()
        .map(|(name, _)| quoted(name))
        .collect();
    writeln!(text, "target:")?;
    writeln!(text, "  kubernetes:")?;
    writeln!(
        text,
        "    allow_contexts: [{}]   # it runs nowhere else",
        quoted(context)
    )?;
    writeln!(text, "    namespace: {}", quoted(namespace))?;
    writeln!(text, "    workload: deployment/{}", workload.name)?;
    writeln!(text, "    services: [{}]", services.join(", "))?;
    if let Some(autoscaler) = &workload.autoscaler {
        writeln!(
            text,
            "    # HorizontalPodAutoscaler {autoscaler} may scale it meanwhile: keep the load below what makes it act."
        )?;
    }
    Ok(())
}

fn load(text: &mut String, workload: &Workload, place: &Place) -> std::fmt::Result {
    writeln!(text, "load:")?;
    if let Place::Cluster { namespace, .. } = place {
        let (url, from) = entry(workload, namespace);
        writeln!(text, "  base_url: {}   # {from}", quoted(&url))?;
    }
    let path = quoted(workload.path.as_deref().unwrap_or("/"));
    writeln!(
        text,
        "  rate: 50/s                       # <- about what these pods get in production"
    )?;
    writeln!(
        text,
        "  deadline: 10s                    # <- what your clients wait for"
    )?;
    writeln!(
        text,
        "  # pod_header: x-pod-name         # <- the response header in which your pods name themselves, if they do"
    )?;
    writeln!(
        text,
        "  requests:                        # <- paths of yours that users ask for, a slow one among them"
    )?;
    writeln!(
        text,
        "    # On kept and on new connections: a shutdown fails them for different reasons."
    )?;
    writeln!(
        text,
        "    - {{ name: kept, get: {path}, weight: 3, connections: reused }}"
    )?;
    writeln!(
        text,
        "    - {{ name: new, get: {path}, weight: 1, connections: new }}"
    )
}

/// Where it is reached, and which object says so.
fn entry(workload: &Workload, namespace: &str) -> (String, String) {
    if let Some((url, from)) = &workload.entry {
        return (url.clone(), format!("{from} says so"));
    }
    match workload.services.first() {
        Some((name, port)) => (
            format!("http://{name}.{namespace}.svc:{port}"),
            "<- the Service, which is reached from inside the cluster; its entry from outside is yours to say".to_owned(),
        ),
        None => (
            "http://localhost:8080".to_owned(),
            "<- where it is reached: no Service selects its pods".to_owned(),
        ),
    }
}

fn stages(text: &mut String, workload: &Workload) -> std::fmt::Result {
    let Workload {
        name,
        replicas,
        at_once,
        grace,
        ..
    } = workload;
    writeln!(text, "stages:")?;
    writeln!(text, "  - warmup: 10s")?;
    writeln!(
        text,
        "  - restart: {{}}                    # as kubectl rollout restart deployment/{name}"
    )?;
    writeln!(
        text,
        "    complete_within: {}m            # {replicas} replicas, {at_once} at a time, a grace of {grace} s",
        minutes(workload)
    )?;
    writeln!(
        text,
        "  - settle: 15s                    # begins when the last old pod is gone"
    )
}

/// Twice what a rollout takes whose pods start within half a minute.
fn minutes(workload: &Workload) -> u64 {
    let waves = workload.replicas.div_ceil(workload.at_once).max(1);
    let seconds = waves * (START + workload.ready_after) + workload.grace;
    (2 * seconds).div_ceil(60)
}

/// As YAML has it: bare where that is plain text, else in quotes.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    let bare =
        text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if bare && !word.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use rollscope_scenarios::{Scenario, Target};

    use super::*;

    fn workload() -> Workload {
        Workload {
            name: "shop".to_owned(),
            replicas: 6,
            at_once: 2,
            grace: 45,
            ready_after: 10,
            services: vec![("shop".to_owned(), 8080)],
            entry: None,
            path: Some("/cart".to_owned()),
            autoscaler: Some("shop".to_owned()),
        }
    }

    fn checked(text: &str) -> Scenario {
        let file = tempfile::NamedTempFile::with_suffix(".yaml").unwrap();
        std::fs::write(file.path(), text).unwrap();
        Scenario::load(file.path()).unwrap()
    }

    #[test]
    fn a_clusters_scenario_is_good_and_names_its_context_service_and_path() {
        let place = Place::Cluster {
            context: "arn:aws:eks:eu-1:7:cluster/staging".to_owned(),
            namespace: "store".to_owned(),
        };
        let scenario = checked(&super::scenario(&workload(), &place));
        let Target::Kubernetes(target) = &scenario.target else {
            panic!("{:?}", scenario.target);
        };
        assert_eq!(
            target.allow_contexts,
            ["arn:aws:eks:eu-1:7:cluster/staging"]
        );
        assert_eq!(target.services, ["shop"]);
        let base = scenario.load.base_url.as_deref();
        assert_eq!(base, Some("http://shop.store.svc:8080"));
    }

    #[test]
    fn a_rollout_has_twice_the_time_that_it_takes() {
        // Three times two pods, 40 s each, and the grace of the last.
        assert_eq!(minutes(&workload()), 6);
    }

    #[test]
    fn text_that_yaml_would_read_as_something_else_is_quoted() {
        assert_eq!(quoted("manifests/web.yaml"), "manifests/web.yaml");
        for text in ["no", "7", "a: b", "it's", "#x", "-x", ""] {
            assert_eq!(quoted(text), format!("{text:?}"));
        }
    }
}
