//! The life of a pod on the node.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, PodSpec};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep, sleep_until};

use super::addresses::{AddressClaim, PortClaim, claim_address, claim_port};
use super::container::{ContainerRunner, Progress, Role};
use super::environment::manifest_port;
use super::events::{EventType, PodReference};
use super::node::Node;
use super::pod::{Orders, Pod, stopped};
use super::status::{ContainerModel, PodModel};
use crate::Kind;

/// By this annotation front ends and probes know on which port of the pod's address its first container listens.
const PORT_ANNOTATION: &str = "sandbox.rollscope.dev/port";
/// The least time between a pod's last status and its removal.
const REMOVAL: Duration = Duration::from_millis(200);

/// What the pod holds while it is on the node.
#[derive(Debug)]
struct Claims {
    _address: AddressClaim,
    _ports: Vec<PortClaim>,
}

/// Runs a pod from its admission to its removal.
pub(super) async fn run(node: Arc<Node>, object: Arc<Value>, mut orders: watch::Receiver<Orders>) {
    let reference = reference(&object);
    let (local, local_orders) = watch::channel(*orders.borrow_and_update());
    let local = Arc::new(local);
    let forward = {
        let local = Arc::clone(&local);
        tokio::spawn(async move {
            while orders.changed().await.is_ok() {
                local.send_replace(*orders.borrow_and_update());
            }
            local.send_replace(Orders::Abandon);
        })
    };
    match admit(&node, &object, &reference, local_orders) {
        Ok((pod, claims)) => {
            let pod = Arc::new(pod);
            live(&pod, &local).await;
            drop(claims);
        }
        Err(error) => node.events.record(
            &reference,
            "",
            EventType::Warning,
            "FailedCreatePodSandBox",
            &format!("Failed to create pod sandbox: {error}"),
        ),
    }
    forward.abort();
}

fn reference(object: &Value) -> PodReference {
    let text = |field: &str| {
        object["metadata"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    PodReference {
        namespace: text("namespace"),
        name: text("name"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
    }
}

/// Gives the pod its address and ports.
fn admit(
    node: &Arc<Node>,
    object: &Arc<Value>,
    reference: &PodReference,
    orders: watch::Receiver<Orders>,
) -> io::Result<(Pod, Claims)> {
    let spec: PodSpec = serde_json::from_value(object["spec"].clone())?;
    let mut rng = node.rng(&reference.name);
    let address = claim_address(&mut rng)?;
    let mut claimed = Vec::new();
    let mut ports = HashMap::new();
    for container in spec
        .init_containers
        .iter()
        .flatten()
        .chain(&spec.containers)
    {
        let port = match manifest_port(container) {
            Some(port) => port,
            None => {
                let claim = claim_port(&mut rng)?;
                let port = claim.port;
                claimed.push(claim);
                port
            }
        };
        ports.insert(container.name.clone(), port);
    }
    let model = model(&spec);
    let ip = address.ip.to_string();
    let claims = Claims {
        _address: address,
        _ports: claimed,
    };
    let pod = Pod::new(
        Arc::clone(node),
        reference.clone(),
        Arc::clone(object),
        spec,
        ip,
        ports,
        orders,
        model,
        rng,
    );
    Ok((pod, claims))
}

fn model(spec: &PodSpec) -> PodModel {
    let image = |c: &Container| c.image.clone().unwrap_or_default();
    let init = spec.init_containers.iter().flatten().map(|c| {
        let plain = role(c) == Role::Init;
        ContainerModel::new(&c.name, &image(c), plain)
    });
    let main = spec.containers.iter();
    let main = main.map(|c| ContainerModel::new(&c.name, &image(c), false));
    let init: Vec<_> = init.collect();
    PodModel {
        started: Timestamp::now(),
        ip: None,
        network: false,
        initialized: init.is_empty(),
        init,
        main: main.collect(),
        finished: false,
    }
}

/// The role of an init container.
fn role(container: &Container) -> Role {
    match container.restart_policy.as_deref() {
        Some("Always") => Role::Sidecar,
        _ => Role::Init,
    }
}

async fn live(pod: &Arc<Pod>, local: &watch::Sender<Orders>) {
    let mut orders = pod.orders.clone();
    pod.change_with(|_| (), |object| annotate(object, pod));
    let mut tasks = JoinSet::new();
    let made = tokio::select! {
        () = sleep(pod.delay(120..250)) => true,
        _ = stopped(&mut orders) => false,
    };
    if made {
        pod.change(|model| model.network = true);
        if !start_containers(pod, &mut tasks).await {
            end_by_itself(pod, local);
        }
    }
    run_to_end(pod, &mut tasks, local).await;
    if *orders.borrow() == Orders::Abandon {
        return;
    }
    sleep(pod.delay(140..340)).await;
    pod.change(PodModel::finish);
    let finished = Instant::now();
    if pod.is_there() {
        if !is_deleted(pod) {
            // A pod that ended by itself stays until somebody deletes it.
            pod_deleted(pod).await;
        }
        let seen = pod.node.relist_after(finished).max(finished + REMOVAL);
        tokio::select! {
            () = sleep_until(seen) => {}
            () = abandoned(&mut orders) => return,
        }
        remove(pod);
    }
    pod.node.events.forget(&pod.reference.uid);
    pod.node
        .logs
        .forget(&pod.reference.namespace, &pod.reference.name);
}

fn annotate(object: &mut Value, pod: &Pod) {
    let containers = &pod.spec.containers;
    let serves = |c: &&Container| c.ports.as_ref().is_some_and(|p| !p.is_empty());
    let server = containers.iter().find(serves).or(containers.first());
    if let Some(port) = server.and_then(|c| pod.ports.get(&c.name)) {
        if !object["metadata"]["annotations"].is_object() {
            object["metadata"]["annotations"] = json!({});
        }
        object["metadata"]["annotations"][PORT_ANNOTATION] = json!(port.to_string());
    }
}

/// Starts the containers in their order: init containers one after the other, then the main ones. False if an init
/// container failed for good.
async fn start_containers(pod: &Arc<Pod>, tasks: &mut JoinSet<()>) -> bool {
    let waiting = |_: &Container| watch::channel(Progress::Waiting).0;
    let init: Vec<&Container> = pod.spec.init_containers.iter().flatten().collect();
    let init_progress: Vec<_> = init.iter().map(|c| waiting(c)).collect();
    let main_progress: Vec<_> = pod.spec.containers.iter().map(waiting).collect();
    for (i, container) in init.iter().enumerate() {
        let role = role(container);
        // A sidecar ends after the main containers and the sidecars that were started after it.
        let later = init.iter().zip(&init_progress).skip(i + 1);
        let later = later.filter(|(c, _)| self::role(c) == Role::Sidecar);
        let after = main_progress.iter().chain(later.map(|(_, p)| p));
        let after = after.map(watch::Sender::subscribe).collect();
        let progress = init_progress[i].clone();
        let enough =
            |p: &Progress| p.is_done() || (role == Role::Sidecar && *p == Progress::Started);
        match start(pod, tasks, container, role, progress, after, enough).await {
            None => return true,
            Some(Progress::Done { clean: false }) if role == Role::Init => return false,
            Some(_) => {}
        }
    }
    pod.change(|model| model.initialized = true);
    for (container, progress) in pod.spec.containers.iter().zip(main_progress) {
        let tried = |p: &Progress| *p != Progress::Waiting;
        let role = Role::Main;
        let reached = start(pod, tasks, container, role, progress, Vec::new(), tried).await;
        if reached.is_none() {
            break;
        }
    }
    true
}

/// Starts one container and waits until it is far enough; `None` if the pod is stopped meanwhile.
async fn start(
    pod: &Arc<Pod>,
    tasks: &mut JoinSet<()>,
    container: &Container,
    role: Role,
    progress: watch::Sender<Progress>,
    after: Vec<watch::Receiver<Progress>>,
    enough: impl FnMut(&Progress) -> bool,
) -> Option<Progress> {
    let list = match role {
        Role::Main => "containers",
        Role::Init | Role::Sidecar => "initContainers",
    };
    let mut reached = progress.subscribe();
    let runner = ContainerRunner {
        pod: Arc::clone(pod),
        container: Arc::new(container.clone()),
        role,
        progress,
        after: if role == Role::Sidecar {
            after
        } else {
            Vec::new()
        },
        field_path: format!("spec.{list}{{{}}}", container.name),
    };
    tasks.spawn(runner.run());
    let mut orders = pod.orders.clone();
    tokio::select! {
        reached = reached.wait_for(enough) => reached.ok().map(|p| *p),
        _ = stopped(&mut orders) => None,
    }
}

/// Waits until every container has ended for good, and writes on the way what changes.
async fn run_to_end(pod: &Arc<Pod>, tasks: &mut JoinSet<()>, local: &watch::Sender<Orders>) {
    let mut orders = pod.orders.clone();
    let mut stopping = false;
    loop {
        let next_sync = pod.node.relist_after(Instant::now());
        tokio::select! {
            done = tasks.join_next() => match done {
                None => return,
                Some(_) if tasks.is_empty() => return,
                // Only sidecars are left: they end with the pod's work.
                Some(_) if !stopping && pod.work_is_done() => end_by_itself(pod, local),
                Some(_) => {}
            },
            () = sleep_until(next_sync), if stopping => pod.change(|_| ()),
            now = stopped(&mut orders), if !stopping => {
                stopping = true;
                if now != Orders::Abandon {
                    sleep(pod.delay(15..60)).await;
                    pod.acknowledge();
                }
            }
        }
    }
}

/// The pod's work is over: what still runs of it (sidecars) is stopped.
fn end_by_itself(pod: &Pod, local: &watch::Sender<Orders>) {
    let (grace, at) = (pod.grace_seconds(), Instant::now());
    local.send_if_modified(|o| o.delete(grace, at));
}

async fn pod_deleted(pod: &Pod) {
    let mut orders = pod.orders.clone();
    while !is_deleted(pod) && pod.is_there() && *orders.borrow_and_update() != Orders::Abandon {
        if orders.changed().await.is_err() {
            return;
        }
    }
}

async fn abandoned(orders: &mut watch::Receiver<Orders>) {
    let _ = orders.wait_for(|o| *o == Orders::Abandon).await;
}

fn is_deleted(pod: &Pod) -> bool {
    let reference = &pod.reference;
    let object = pod
        .node
        .store
        .get(Kind::Pod, &reference.namespace, &reference.name);
    object.is_some_and(|o| !o["metadata"]["deletionTimestamp"].is_null())
}

/// The last write of a deleted pod, and its removal.
fn remove(pod: &Pod) {
    let reference = &pod.reference;
    let (namespace, name) = (&reference.namespace, &reference.name);
    let store = &pod.node.store;
    let mut ours = false;
    // Somebody else may have removed it meanwhile.
    let _ = store.update(Kind::Pod, namespace, name, |object| {
        ours = object["metadata"]["uid"] == reference.uid.as_str();
        if ours {
            object["metadata"]["deletionTimestamp"] = json!(crate::timestamp::seconds_now());
            object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        }
    });
    if ours {
        let _ = store.remove(Kind::Pod, namespace, name);
    }
}
