//! The collector: everything that is observed of a workload, from one start to one stop.

use std::sync::Arc;
use std::time::Duration;

use rollscope_records::{ObjectKind, RecordingWriter, RunClock};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::error::Purpose;
use crate::logs::{LogTail, keep_following};
use crate::nodes;
use crate::resource::{Resource, plural};
use crate::warnings::Warnings;
use crate::watch::{KindWatch, WatchTiming};
use crate::{ApiFailure, ApiServer, ClusterState, CollectorError, clock_samples, selector};

/// How long a stop waits for the watches to write what they have.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// What is observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The workload's namespace.
    pub namespace: String,
    /// The Deployment's name.
    pub deployment: String,
    /// Services whose EndpointSlices are watched.
    pub services: Vec<String>,
}

/// A workload that is being observed: what a walk needs to change it and to see how it goes.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub(crate) api: ApiServer,
    pub(crate) scope: Scope,
    pub(crate) state: watch::Receiver<ClusterState>,
    pub(crate) tail: LogTail,
}

/// Observes a workload and records what it sees until it is stopped.
#[derive(Debug)]
pub struct Collector {
    cluster: Cluster,
    warnings: Warnings,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Collector {
    /// Starts observing. Returns when the first lists are in: from then on nothing of the workload is missed.
    ///
    /// # Errors
    ///
    /// A [`CollectorError`] when the API server cannot be reached, refuses, or does not have the Deployment.
    pub async fn start(
        api: ApiServer,
        scope: Scope,
        clock: RunClock,
        recorder: RecordingWriter,
    ) -> Result<Self, CollectorError> {
        Self::start_with(api, scope, WatchTiming::default(), clock, recorder).await
    }

    /// As [`Collector::start`], with another length of the watches.
    ///
    /// # Errors
    ///
    /// As [`Collector::start`].
    pub async fn start_with(
        api: ApiServer,
        scope: Scope,
        timing: WatchTiming,
        clock: RunClock,
        recorder: RecordingWriter,
    ) -> Result<Self, CollectorError> {
        let start = Start {
            api,
            scope,
            timing,
            clock,
            recorder,
        };
        start.run().await
    }

    /// The live view of the workload.
    pub fn state(&self) -> watch::Receiver<ClusterState> {
        self.cluster.state.clone()
    }

    /// The workload, for a walk.
    pub fn cluster(&self) -> Cluster {
        self.cluster.clone()
    }

    /// What could not be observed as it should have been, in words.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.all()
    }

    /// Stops observing. Interruptions that last until now become open gaps.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_WITHIN, all).await.is_err() {
            self.tasks.abort_all();
        }
    }
}

struct Start {
    api: ApiServer,
    scope: Scope,
    timing: WatchTiming,
    clock: RunClock,
    recorder: RecordingWriter,
}

impl Start {
    async fn run(self) -> Result<Collector, CollectorError> {
        self.first_clock_sample().await?;
        let deployment = self.deployment().await?;
        let state = Arc::new(watch::Sender::new(ClusterState::default()));
        let mut watches = Vec::new();
        for resource in self.resources(&deployment)? {
            let kind = resource.kind;
            let mut watch = self.kind_watch(resource, &state);
            watch
                .first_list()
                .await
                .map_err(|failure| self.failed("list", kind, None, failure))?;
            watches.push(watch);
        }
        let warnings = Warnings::default();
        if self.scope.services.is_empty() {
            warnings.add("no service is named: endpoints are not observed".to_owned());
        }
        Ok(self.observe(&state, watches, warnings))
    }

    fn observe(
        self,
        state: &Arc<watch::Sender<ClusterState>>,
        watches: Vec<KindWatch>,
        warnings: Warnings,
    ) -> Collector {
        let (stop, stopped) = watch::channel(false);
        let cluster = Cluster {
            api: self.api,
            scope: self.scope,
            state: state.subscribe(),
            tail: LogTail::default(),
        };
        let mut tasks = JoinSet::new();
        for watch in watches {
            tasks.spawn(watch.run(stopped.clone()));
        }
        let (clock, recorder) = (self.clock, self.recorder);
        tasks.spawn(keep_following(
            cluster.api.clone(),
            cluster.scope.namespace.clone(),
            clock,
            recorder.clone(),
            cluster.tail.clone(),
            state.subscribe(),
            stopped.clone(),
        ));
        tasks.spawn(nodes::keep_recording(
            cluster.api.clone(),
            clock,
            recorder.clone(),
            warnings.clone(),
            state.subscribe(),
            stopped.clone(),
        ));
        tasks.spawn(clock_samples::keep_sampling(
            cluster.api.clone(),
            clock,
            recorder,
            stopped,
        ));
        Collector {
            cluster,
            warnings,
            stop,
            tasks,
        }
    }

    fn kind_watch(
        &self,
        resource: Resource,
        state: &Arc<watch::Sender<ClusterState>>,
    ) -> KindWatch {
        KindWatch::new(
            self.api.clone(),
            resource,
            self.clock,
            self.recorder.clone(),
            Arc::clone(state),
            self.timing,
        )
    }

    /// Also finds out whether there is an API server at all.
    async fn first_clock_sample(&self) -> Result<(), CollectorError> {
        match clock_samples::sample(&self.api, self.clock).await {
            Ok(sample) => {
                self.recorder.clock_sample(sample);
                Ok(())
            }
            Err(failure @ (ApiFailure::Unreachable(_) | ApiFailure::Timeout(_))) => {
                Err(CollectorError::Unreachable {
                    phase: "connecting to the cluster",
                    server: self.api.name().to_owned(),
                    failure: Box::new(failure),
                })
            }
            // No version or no date for us: the clock stays unknown, the rest may well work.
            Err(_) => Ok(()),
        }
    }

    async fn deployment(&self) -> Result<Value, CollectorError> {
        let Scope {
            namespace,
            deployment,
            ..
        } = &self.scope;
        let deployments = Resource::new(ObjectKind::Deployment, namespace);
        let got = match deployments.get(deployment) {
            Ok(request) => self.api.json(request).await,
            Err(failure) => Err(failure),
        };
        got.map_err(|failure| {
            self.failed(
                "get",
                ObjectKind::Deployment,
                Some(deployment.clone()),
                failure,
            )
        })
    }

    /// Only what concerns the workload.
    fn resources(&self, deployment: &Value) -> Result<Vec<Resource>, CollectorError> {
        let namespace = &self.scope.namespace;
        let of_workload = selector::to_query(&deployment["spec"]["selector"]).ok_or_else(|| {
            CollectorError::Workload {
                phase: "reading the workload",
                what: format!("deployment/{} in namespace {namespace}", self.scope.deployment),
                why: "its spec.selector selects nothing that can be asked for; expected matchLabels or matchExpressions".to_owned(),
            }
        })?;
        let all = |kind| Resource::new(kind, namespace);
        let mut resources = vec![
            all(ObjectKind::Deployment).named(&self.scope.deployment),
            all(ObjectKind::ReplicaSet).labelled(of_workload.clone()),
            all(ObjectKind::Pod).labelled(of_workload),
            all(ObjectKind::Event),
        ];
        if let Some(of_services) = selector::of_services(&self.scope.services) {
            resources.push(all(ObjectKind::EndpointSlice).labelled(of_services));
        }
        Ok(resources)
    }

    fn failed(
        &self,
        verb: &'static str,
        kind: ObjectKind,
        name: Option<String>,
        failure: ApiFailure,
    ) -> CollectorError {
        let purpose = Purpose {
            phase: "starting to observe the workload",
            server: self.api.name().to_owned(),
            verb,
            resource: plural(kind),
            name,
            namespace: self.scope.namespace.clone(),
        };
        purpose.failed(failure)
    }
}
