//! What a scenario needs to know of a workload, from its objects.

use serde_json::Value;

/// A Deployment with what leads to its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload {
    /// The Deployment's name.
    pub(crate) name: String,
    /// `spec.replicas`, 1 where it is not set.
    pub(crate) replicas: u64,
    /// Pods that a rollout replaces at a time.
    pub(crate) at_once: u64,
    /// The grace of its pods, s.
    pub(crate) grace: u64,
    /// How long a new pod takes at least until it counts: `minReadySeconds` and the probe's first delay, s.
    pub(crate) ready_after: u64,
    /// Services that select its pods, with their first port.
    pub(crate) services: Vec<(String, u64)>,
    /// Where users reach it, and which object says so.
    pub(crate) entry: Option<(String, String)>,
    /// The path of the Ingress that leads to it, if it is not `/`.
    pub(crate) path: Option<String>,
    /// An autoscaler that may change the replicas meanwhile.
    pub(crate) autoscaler: Option<String>,
}

/// What Kubernetes takes where a Deployment says nothing.
const DEFAULT_GRACE: u64 = 30;

impl Workload {
    /// The first Deployment among `objects`, with the Services, Ingress and autoscaler that belong to it.
    pub(crate) fn of(objects: &[Value]) -> Option<Self> {
        let of_kind = |kind: &'static str| objects.iter().filter(move |o| o["kind"] == kind);
        let deployment = of_kind("Deployment").next()?;
        let name = deployment["metadata"]["name"].as_str()?.to_owned();
        let spec = &deployment["spec"];
        let template = &spec["template"];
        let replicas = spec["replicas"].as_u64().unwrap_or(1);
        let services: Vec<&Value> = of_kind("Service")
            .filter(|s| selects(s, template))
            .collect();
        let ingress = of_kind("Ingress").find_map(|i| leads(i, &services));
        let autoscaler = of_kind("HorizontalPodAutoscaler")
            .find(|h| h["spec"]["scaleTargetRef"]["name"] == name.as_str());
        let pod = &template["spec"];
        let probe = &pod["containers"][0]["readinessProbe"]["initialDelaySeconds"];
        Some(Self {
            at_once: at_once(spec, replicas),
            grace: pod["terminationGracePeriodSeconds"]
                .as_u64()
                .unwrap_or(DEFAULT_GRACE),
            ready_after: spec["minReadySeconds"].as_u64().unwrap_or(0)
                + probe.as_u64().unwrap_or(0),
            entry: ingress
                .as_ref()
                .map(|(entry, _)| entry.clone())
                .or_else(|| balancer(&services)),
            path: ingress.and_then(|(_, path)| path),
            services: services.iter().filter_map(|s| named(s)).collect(),
            autoscaler: autoscaler
                .and_then(|h| h["metadata"]["name"].as_str())
                .map(str::to_owned),
            name,
            replicas,
        })
    }
}

/// Whether the Service's selector fits the template's labels.
fn selects(service: &Value, template: &Value) -> bool {
    let labels = &template["metadata"]["labels"];
    let selector = service["spec"]["selector"].as_object();
    selector.is_some_and(|s| !s.is_empty() && s.iter().all(|(key, value)| labels[key] == *value))
}

fn named(service: &Value) -> Option<(String, u64)> {
    let port = service["spec"]["ports"][0]["port"].as_u64()?;
    Some((service["metadata"]["name"].as_str()?.to_owned(), port))
}

/// The URL of an Ingress that leads to one of the services, and its path.
fn leads(ingress: &Value, services: &[&Value]) -> Option<((String, String), Option<String>)> {
    let name = ingress["metadata"]["name"].as_str()?;
    let rules = ingress["spec"]["rules"].as_array()?;
    rules.iter().find_map(|rule| {
        let host = rule["host"].as_str()?;
        let path = rule["http"]["paths"].as_array()?.iter().find(|path| {
            let service = &path["backend"]["service"]["name"];
            services.iter().any(|s| s["metadata"]["name"] == *service)
        })?;
        let secured = ingress["spec"]["tls"].as_array().is_some_and(|tls| {
            let hosts = tls.iter().filter_map(|t| t["hosts"].as_array()).flatten();
            hosts.into_iter().any(|h| h == host)
        });
        let scheme = if secured { "https" } else { "http" };
        let own = path["path"]
            .as_str()
            .filter(|p| *p != "/" && p.starts_with('/'));
        // A pattern is no path that could be asked for.
        let own = own.filter(|p| !p.contains(['(', '*', '$', '\\']));
        let entry = (format!("{scheme}://{host}"), format!("Ingress {name}"));
        Some((entry, own.map(str::to_owned)))
    })
}

/// The address of a Service of type LoadBalancer.
fn balancer(services: &[&Value]) -> Option<(String, String)> {
    services.iter().find_map(|service| {
        let at = &service["status"]["loadBalancer"]["ingress"][0];
        let host = at["hostname"].as_str().or_else(|| at["ip"].as_str())?;
        let (name, port) = named(service)?;
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        Some((format!("http://{host}:{port}"), format!("Service {name}")))
    })
}

/// Pods that may be new or missing at once, as `maxSurge` (rounded up) and `maxUnavailable` (rounded down) say.
fn at_once(spec: &Value, replicas: u64) -> u64 {
    if spec["strategy"]["type"] == "Recreate" {
        return replicas.max(1);
    }
    let of = |key: &str, up: bool| {
        let value = &spec["strategy"]["rollingUpdate"][key];
        let share = match value.as_str() {
            Some(text) => text.trim_end_matches('%').parse::<u64>().ok(),
            None if value.is_null() => Some(25),
            None => None,
        };
        match share {
            Some(share) if up => (replicas * share).div_ceil(100),
            Some(share) => replicas * share / 100,
            None => value.as_u64().unwrap_or(0),
        }
    };
    (of("maxSurge", true) + of("maxUnavailable", false)).max(1)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment() -> Value {
        json!({"kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"replicas": 10, "template": {
            "metadata": {"labels": {"app": "shop", "tier": "web"}},
            "spec": {"containers": [{"name": "shop"}]}}}})
    }

    fn service(name: &str, selector: &Value) -> Value {
        json!({"kind": "Service", "metadata": {"name": name}, "spec": {"selector": selector, "ports": [{"port": 80}]}})
    }

    #[test]
    fn services_ingress_and_autoscaler_are_those_that_lead_to_the_pods() {
        let ingress = json!({"kind": "Ingress", "metadata": {"name": "front"}, "spec": {
            "tls": [{"hosts": ["shop.example"]}],
            "rules": [
                {"host": "other.example", "http": {"paths": [{"path": "/", "backend": {"service": {"name": "other"}}}]}},
                {"host": "shop.example", "http": {"paths": [{"path": "/cart", "backend": {"service": {"name": "shop"}}}]}}]}});
        let objects = [
            deployment(),
            service("other", &json!({"app": "other"})),
            service("shop", &json!({"app": "shop"})),
            ingress,
            json!({"kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": {"scaleTargetRef": {"name": "shop"}}}),
        ];
        let workload = Workload::of(&objects).unwrap();
        assert_eq!(workload.services, [("shop".to_owned(), 80)]);
        let entry = (
            "https://shop.example".to_owned(),
            "Ingress front".to_owned(),
        );
        assert_eq!(workload.entry, Some(entry));
        assert_eq!(workload.path.as_deref(), Some("/cart"));
        assert_eq!(workload.autoscaler.as_deref(), Some("h"));
    }

    #[test]
    fn without_an_ingress_the_address_of_a_load_balancer_is_the_entry() {
        let mut balanced = service("shop", &json!({"app": "shop"}));
        balanced["status"] = json!({"loadBalancer": {"ingress": [{"ip": "fd00::7"}]}});
        let workload = Workload::of(&[deployment(), balanced]).unwrap();
        let entry = ("http://[fd00::7]:80".to_owned(), "Service shop".to_owned());
        assert_eq!(workload.entry, Some(entry));
    }

    #[test]
    fn a_share_is_rounded_up_for_the_surge_and_down_for_what_may_be_missing() {
        assert_eq!(at_once(&deployment()["spec"], 10), 3 + 2);
        let one = json!({"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}});
        assert_eq!(at_once(&one, 10), 1);
        let recreate = json!({"strategy": {"type": "Recreate"}});
        assert_eq!(at_once(&recreate, 10), 10);
    }
}
