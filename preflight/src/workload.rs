//! A workload as the rules see it, with what is joined to it.

use std::collections::BTreeMap;

use rollscope_records::budget::DEFAULT_GRACE;

use crate::at::{Amount, At};
use crate::container::Container;
use crate::finding::ObjectRef;

/// The kinds that make pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Deployment,
    StatefulSet,
    DaemonSet,
    Rollout,
    Pod,
    Job,
    CronJob,
}

impl Kind {
    pub(crate) fn of(api_version: &str, kind: &str) -> Option<Self> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Some(match (group, kind) {
            ("apps" | "extensions", "Deployment") => Self::Deployment,
            ("apps", "StatefulSet") => Self::StatefulSet,
            ("apps" | "extensions", "DaemonSet") => Self::DaemonSet,
            ("argoproj.io", "Rollout") => Self::Rollout,
            ("", "Pod") => Self::Pod,
            ("batch", "Job") => Self::Job,
            ("batch", "CronJob") => Self::CronJob,
            _ => return None,
        })
    }

    /// Whether its pods end by themselves and serve nobody.
    pub(crate) const fn is_job(self) -> bool {
        matches!(self, Self::Job | Self::CronJob)
    }

    /// Whether `kubectl` knows strategic merges of it: of Kubernetes' own kinds.
    pub(crate) const fn is_native(self) -> bool {
        !matches!(self, Self::Rollout)
    }

    /// Where its pod template is.
    const fn template(self) -> &'static [&'static str] {
        match self {
            Self::Pod => &[],
            Self::CronJob => &["spec", "jobTemplate", "spec", "template"],
            _ => &["spec", "template"],
        }
    }
}

/// A workload.
#[derive(Debug)]
pub(crate) struct Workload<'a> {
    pub(crate) kind: Kind,
    pub(crate) object: ObjectRef,
    pub(crate) root: At<'a>,
    /// Its pod template: what has `metadata` and `spec`.
    pub(crate) template: At<'a>,
    pub(crate) labels: BTreeMap<String, String>,
    /// Its containers, without native sidecars.
    pub(crate) containers: Vec<Container<'a>>,
    /// What is joined to it.
    pub(crate) services: Vec<Joined<'a>>,
    pub(crate) budgets: Vec<Joined<'a>>,
    pub(crate) autoscaler: Option<Joined<'a>>,
    pub(crate) ingresses: Vec<Joined<'a>>,
    /// Whether the input has Services at all.
    pub(crate) services_known: bool,
}

/// An object that is joined to a workload.
#[derive(Debug, Clone)]
pub(crate) struct Joined<'a> {
    pub(crate) object: ObjectRef,
    pub(crate) root: At<'a>,
}

/// How a rollout replaces pods, in pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) surge: i64,
    pub(crate) unavailable: i64,
}

impl<'a> Workload<'a> {
    /// The workload of the kind `kind` in an object.
    pub(crate) fn read(kind: Kind, object: ObjectRef, root: At<'a>) -> Self {
        let template = root.keys(kind.template());
        let spec = template.key("spec");
        let read: Vec<Container<'a>> = spec
            .key("containers")
            .items()
            .into_iter()
            .filter_map(Container::read)
            .collect();
        if read.is_empty() && !spec.key("containers").is_there() {
            spec.key("containers").problem("at least one container");
        }
        let all_proxies = read.iter().all(|c| c.is_proxy);
        let containers = read
            .into_iter()
            .map(|mut c| {
                c.is_proxy &= !all_proxies;
                c
            })
            .collect();
        let labels = template.keys(&["metadata", "labels"]).entries();
        Self {
            kind,
            object,
            labels: labels
                .iter()
                .filter_map(|(k, v)| Some(((*k).to_owned(), v.plain()?)))
                .collect(),
            root,
            template,
            containers,
            services: Vec::new(),
            budgets: Vec::new(),
            autoscaler: None,
            ingresses: Vec::new(),
            services_known: false,
        }
    }

    pub(crate) fn spec(&self) -> At<'a> {
        self.template.key("spec")
    }

    /// `terminationGracePeriodSeconds`.
    pub(crate) fn grace_at(&self) -> At<'a> {
        self.spec().key("terminationGracePeriodSeconds")
    }

    /// The grace, seconds.
    pub(crate) fn grace(&self) -> i64 {
        self.grace_at().whole().unwrap_or(DEFAULT_GRACE)
    }

    /// The grace in words.
    pub(crate) fn grace_words(&self) -> String {
        match self.grace_at().is_there() {
            true => format!("the grace of {} s", self.grace()),
            false => format!("the grace of {} s (it is not set)", self.grace()),
        }
    }

    /// Whether other programs send requests to it.
    pub(crate) fn serves(&self) -> bool {
        !self.kind.is_job() && !self.serving().is_empty()
    }

    /// The containers that requests go to.
    pub(crate) fn serving(&self) -> Vec<&Container<'a>> {
        if self.kind.is_job() || (self.services_known && self.services.is_empty()) {
            return Vec::new();
        }
        let apps: Vec<&Container<'a>> = self.apps().filter(|c| !c.is_exporter).collect();
        let with_ports: Vec<&Container<'a>> = apps
            .iter()
            .copied()
            .filter(|c| c.port().is_some())
            .collect();
        match with_ports.is_empty() && !self.services.is_empty() {
            true => apps.into_iter().take(1).collect(),
            false => with_ports,
        }
    }

    /// The containers that are not proxies.
    pub(crate) fn apps(&self) -> impl Iterator<Item = &Container<'a>> {
        self.containers.iter().filter(|c| !c.is_proxy)
    }

    /// How many replicas there are at least, and where that is said.
    pub(crate) fn replicas(&self) -> (i64, At<'a>) {
        if let Some(autoscaler) = &self.autoscaler {
            let at = autoscaler.root.keys(&["spec", "minReplicas"]);
            return (at.whole().unwrap_or(1), at);
        }
        let at = self.root.keys(&["spec", "replicas"]);
        (at.whole().unwrap_or(1), at)
    }

    /// `replicas: 3`, or what says so.
    pub(crate) fn replicas_words(&self) -> String {
        let (replicas, at) = self.replicas();
        let plural = if replicas == 1 { "replica" } else { "replicas" };
        match (&self.autoscaler, at.is_there()) {
            (Some(_), _) => format!("{replicas} {plural} (the least that the autoscaler keeps)"),
            (None, true) => format!("{replicas} {plural}"),
            (None, false) => format!("{replicas} {plural} (it is not set)"),
        }
    }

    /// Where `maxSurge` and `maxUnavailable` are; `None` for a kind or a strategy without them.
    pub(crate) fn rolling(&self) -> Option<At<'a>> {
        let strategy = self.root.keys(&["spec", "strategy"]);
        match self.kind {
            Kind::Deployment if strategy.key("type").text() == Some("Recreate") => None,
            Kind::Deployment => Some(strategy.key("rollingUpdate")),
            Kind::Rollout if strategy.key("blueGreen").is_there() => None,
            Kind::Rollout => Some(strategy.key("canary")),
            Kind::DaemonSet => {
                let strategy = self.root.keys(&["spec", "updateStrategy"]);
                let rolling = strategy.key("type").text() != Some("OnDelete");
                rolling.then(|| strategy.key("rollingUpdate"))
            }
            _ => None,
        }
    }

    /// The bounds of its rollout: a share is rounded up for the surge and down for the unavailable; where both come to
    /// 0, one may be unavailable.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        let rolling = self.rolling()?;
        let (replicas, _) = self.replicas();
        let default = match self.kind {
            Kind::DaemonSet => (Amount::Pods(0), Amount::Pods(1)),
            _ => (Amount::Percent(25), Amount::Percent(25)),
        };
        let surge = rolling
            .key("maxSurge")
            .amount()
            .unwrap_or(default.0)
            .up(replicas);
        let unavailable = rolling
            .key("maxUnavailable")
            .amount()
            .unwrap_or(default.1)
            .down(replicas);
        let stuck = surge == 0 && unavailable == 0;
        Some(Bounds {
            surge,
            unavailable: if stuck { 1 } else { unavailable },
        })
    }

    /// An annotation of the pod template.
    pub(crate) fn annotation(&self, name: &str) -> At<'a> {
        self.template.keys(&["metadata", "annotations"]).key(name)
    }
}
