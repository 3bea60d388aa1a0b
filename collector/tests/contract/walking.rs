//! The walk through the stages.

use std::time::Duration;

use rollscope_collector::{Progress, WalkEnd, walk};
use rollscope_records::{LogSource, Recording, RunClock, StageEvent, marks};
use rollscope_scenarios::{ExecCommand, Stage, StageKind};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::world::{
    DEPLOYMENTS, EVENTS, PODS, REPLICA_SETS, World, deployment, eventually, pod, recorder,
    replica_set, run_record, template,
};

fn stage(kind: StageKind, complete_within: Duration) -> Stage {
    Stage {
        kind,
        complete_within,
    }
}

fn shell(script: &str, complete_within: Duration) -> Stage {
    stage(
        StageKind::Exec(ExecCommand::Shell(script.to_owned())),
        complete_within,
    )
}

/// Marks and ends, as `restart: rollout_requested`.
fn in_short(recording: &Recording) -> Vec<String> {
    let records = recording.stages.iter().map(|r| {
        let what = match r.event {
            StageEvent::Started => "started",
            StageEvent::Mark => &r.detail,
            StageEvent::Completed => "completed",
            StageEvent::Failed => "failed",
        };
        format!("{}: {what}", r.kind)
    });
    records.collect()
}

/// Walks without a cluster.
async fn alone(stages: &[Stage], cancel: watch::Receiver<bool>) -> (WalkEnd, Recording) {
    let clock = RunClock::start();
    let (recorder, path, _dir) = recorder(&clock);
    let progress = watch::Sender::new(Progress::default());
    let end = walk(stages, None, clock, &recorder, &progress, cancel).await;
    let finished = tokio::task::spawn_blocking(move || recorder.finish(None, &run_record(&clock)));
    finished.await.unwrap().unwrap();
    (end, Recording::open(&path).unwrap())
}

fn not_cancelled() -> (watch::Sender<bool>, watch::Receiver<bool>) {
    watch::channel(false)
}

const SHORT: Duration = Duration::from_millis(30);
const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn stages_without_a_cluster_are_walked_in_order_and_output_is_recorded() {
    let stages = [
        stage(StageKind::Warmup(SHORT), SHORT),
        shell("echo out; echo token=abc123 >&2", LONG),
        stage(
            StageKind::Exec(ExecCommand::Argv(vec!["/bin/echo".into(), "a b".into()])),
            LONG,
        ),
        stage(StageKind::Settle(SHORT), SHORT),
    ];
    let (_keep, cancel) = not_cancelled();
    let (end, recording) = alone(&stages, cancel).await;
    assert_eq!(end, WalkEnd::Completed);
    assert_eq!(
        in_short(&recording),
        [
            "warmup: started",
            "warmup: completed",
            "exec: started",
            "exec: completed",
            "exec: started",
            "exec: completed",
            "settle: started",
            "settle: completed"
        ]
    );
    let lines: Vec<(usize, &str, &str)> = recording
        .logs
        .iter()
        .filter_map(|l| match &l.source {
            LogSource::Exec { stage, stream } => Some((*stage, stream.as_str(), l.line.as_str())),
            LogSource::Container { .. } => None,
        })
        .collect();
    for expected in [
        (1, "stdout", "out"),
        (1, "stderr", "token=redacted"),
        (2, "stdout", "a b"),
    ] {
        assert!(lines.contains(&expected), "{lines:?}");
    }
    let warmup = recording.stages[1].at.nanos_since(recording.stages[0].at);
    assert!(warmup >= 30_000_000, "{warmup} ns");
}

#[tokio::test]
async fn a_command_that_fails_ends_the_walk_with_its_code_and_last_words() {
    let stages = [
        shell("echo no such image >&2; exit 3", LONG),
        stage(StageKind::Settle(LONG), LONG),
    ];
    let (_keep, cancel) = not_cancelled();
    let (end, recording) = alone(&stages, cancel).await;
    let WalkEnd::StageFailed { stage: 0, reason } = end else {
        panic!("{end:?}");
    };
    for part in ["code 3", "no such image", "exit 3"] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(in_short(&recording), ["exec: started", "exec: failed"]);
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_an_environment_failure() {
    let argv = vec!["/no/such/command".to_owned()];
    let stages = [stage(StageKind::Exec(ExecCommand::Argv(argv)), LONG)];
    let (_keep, cancel) = not_cancelled();
    let (end, _) = alone(&stages, cancel).await;
    let WalkEnd::EnvironmentFailed { reason, .. } = end else {
        panic!("{end:?}");
    };
    assert!(
        reason.contains("/no/such/command") && reason.contains("check that"),
        "{reason}"
    );
}

/// Whether a process with exactly this command line lives.
fn lives(command_line: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
    lines.any(|l| {
        String::from_utf8_lossy(&l)
            .trim_end_matches('\0')
            .replace('\0', " ")
            == command_line
    })
}

#[tokio::test]
async fn the_deadline_kills_the_whole_process_group() {
    let child = format!("sleep 86{}", std::process::id());
    let stages = [shell(
        &format!("trap '' TERM; echo begun; {child} & {child}; wait"),
        Duration::from_millis(300),
    )];
    let (_keep, cancel) = not_cancelled();
    let (end, _) = alone(&stages, cancel).await;
    let WalkEnd::StageFailed { reason, .. } = end else {
        panic!("{end:?}");
    };
    assert!(
        reason.contains("did not end within 300ms") && reason.contains("begun"),
        "{reason}"
    );
    eventually("the children are gone", || !lives(&child)).await;
}

#[tokio::test]
async fn cancelling_stops_a_command_and_the_walk_at_once() {
    let child = format!("sleep 87{}", std::process::id());
    let stages = [shell(&child, LONG), stage(StageKind::Settle(LONG), LONG)];
    let (stop, cancel) = not_cancelled();
    let walking = tokio::spawn(async move { alone(&stages, cancel).await });
    eventually("the command", || lives(&child)).await;
    let cancelled = std::time::Instant::now();
    stop.send(true).unwrap();
    let (end, recording) = walking.await.unwrap();
    assert!(cancelled.elapsed() < Duration::from_secs(5));
    assert_eq!(end, WalkEnd::Interrupted);
    assert_eq!(in_short(&recording), ["exec: started", "exec: failed"]);
    assert!(!lives(&child));
}

#[tokio::test]
async fn output_held_open_by_a_background_process_does_not_hold_up_the_walk() {
    let child = format!("sleep 8{}", std::process::id() % 10);
    let stages = [shell(&format!("echo started; {child} & echo $!"), LONG)];
    let (_keep, cancel) = not_cancelled();
    let began = std::time::Instant::now();
    let (end, recording) = alone(&stages, cancel).await;
    assert_eq!(end, WalkEnd::Completed);
    assert!(began.elapsed() < Duration::from_secs(4));
    let pid = recording.logs.last().unwrap().line.parse().unwrap();
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
}

/// Walks these stages on the world's cluster while `act` plays the controllers.
async fn on_cluster<F: Future<Output = ()>>(
    world: &World,
    stages: &[Stage],
    act: impl FnOnce() -> F,
) -> (WalkEnd, Progress) {
    let progress = watch::Sender::new(Progress::default());
    let (_keep, cancel) = not_cancelled();
    let cluster = world.collector.cluster();
    let walking = walk(
        stages,
        Some(&cluster),
        world.clock,
        &world.recorder,
        &progress,
        cancel,
    );
    let (end, ()) = tokio::join!(walking, act());
    (end, progress.borrow().clone())
}

fn patches(world: &World) -> Vec<crate::standin::Asked> {
    let asked = world.standin.asked();
    asked.into_iter().filter(|a| a.method == "PATCH").collect()
}

async fn patched(world: &World) -> Value {
    eventually("the patch", || !patches(world).is_empty()).await;
    let body: Value = serde_json::from_str(&patches(world)[0].body).unwrap();
    let stamp =
        body["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"]
            .clone();
    template(stamp.as_str())
}

fn terminating(name: &str, hash: &str) -> Value {
    let mut object = pod(name, hash, true);
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    object["metadata"]["deletionGracePeriodSeconds"] = json!(1);
    object
}

/// Until the recording's file of stages holds this mark.
async fn marked(world: &World, mark: &str) {
    let stages =
        || std::fs::read_to_string(world.recorder.dir().join("stages.jsonl")).unwrap_or_default();
    eventually(mark, || stages().contains(mark)).await;
}

/// The controllers' part of a rollout of the template: the new pod, complete, then the end of the old one.
async fn roll(world: &World, generation: i64, template: Value) {
    world
        .standin
        .put(REPLICA_SETS, replica_set("bbb", template.clone()));
    world.standin.put(PODS, pod("web-bbb-1", "bbb", true));
    world.standin.put(PODS, terminating("web-aaa-1", "aaa"));
    world
        .standin
        .put(DEPLOYMENTS, deployment(generation, template, 1));
    marked(world, marks::ROLLOUT_COMPLETE).await;
    world.standin.delete(PODS, "web-aaa-1");
}

#[tokio::test]
async fn a_restart_sends_what_kubectl_sends_and_waits_for_the_last_old_pod() {
    let world = World::start().await;
    let stages = [stage(StageKind::Restart, LONG)];
    let (end, progress) = on_cluster(&world, &stages, || async {
        let template = patched(&world).await;
        roll(&world, 2, template).await;
    })
    .await;
    assert_eq!(end, WalkEnd::Completed);
    let patches = patches(&world);
    assert_eq!(patches.len(), 1);
    let patch = &patches[0];
    assert_eq!(patch.path(), format!("{DEPLOYMENTS}/web"));
    assert_eq!(
        patch.headers["content-type"],
        "application/strategic-merge-patch+json"
    );
    assert_eq!(patch.query("fieldManager").as_deref(), Some("rollscope"));
    let body: Value = serde_json::from_str(&patch.body).unwrap();
    let stamp =
        &body["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"];
    let expected = json!({"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": stamp}}}}});
    assert_eq!(body, expected, "nothing else is patched");
    let stamp = stamp.as_str().unwrap();
    assert_eq!(
        stamp.len(),
        "2026-01-01T00:00:00Z".len(),
        "whole seconds: {stamp}"
    );
    let pods = progress.pods.unwrap();
    assert_eq!((pods.old, pods.new, pods.terminating), (0, 1, 0));
    assert!(progress.done);
    let recording = world.finish().await;
    assert_eq!(
        in_short(&recording),
        [
            "restart: started",
            "restart: rollout_requested",
            "restart: rollout_complete",
            "restart: old_pods_gone",
            "restart: completed"
        ]
    );
}

#[tokio::test]
async fn a_rollout_that_is_not_complete_in_time_names_the_pod_its_events_and_its_last_lines() {
    let world = World::start().await;
    let stages = [stage(StageKind::Restart, Duration::from_secs(2))];
    let (end, _) = on_cluster(&world, &stages, || async {
        let template = patched(&world).await;
        world.standin.put(REPLICA_SETS, replica_set("bbb", template.clone()));
        let mut crashing = pod("web-bbb-1", "bbb", false);
        crashing["status"]["containerStatuses"][0] = json!({"name": "web", "restartCount": 2, "ready": false,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s"}}});
        world.standin.log("web-bbb-1/web", &["2026-01-01T00:00:01Z cannot open database"]);
        world.standin.put(PODS, crashing);
        world.standin.put(EVENTS, json!({"metadata": {"name": "e2", "uid": "uid-e2"}, "type": "Warning",
            "involvedObject": {"kind": "Pod", "name": "web-bbb-1"}, "reason": "BackOff",
            "message": "restarting failed container", "count": 4}));
        world.standin.put(DEPLOYMENTS, deployment(2, template, 0));
    })
    .await;
    let WalkEnd::StageFailed { reason, .. } = end else {
        panic!("{end:?}");
    };
    for part in [
        "deployment/web",
        "2s (complete_within)",
        "0 of 1 new replicas exist",
        "pod web-bbb-1",
        "CrashLoopBackOff",
        "restarted 2 times",
        "BackOff (x4)",
        "cannot open database",
    ] {
        assert!(reason.contains(part), "{part} is not in: {reason}");
    }
    world.finish().await;
}

#[tokio::test]
async fn progress_deadline_exceeded_fails_the_stage_before_its_deadline() {
    let world = World::start().await;
    let stages = [stage(StageKind::Restart, LONG)];
    let (end, _) = on_cluster(&world, &stages, || async {
        let template = patched(&world).await;
        let mut stuck = deployment(2, template, 0);
        stuck["status"]["conditions"] = json!([{"type": "Progressing", "status": "False",
            "reason": "ProgressDeadlineExceeded", "message": "ReplicaSet timed out"}]);
        world.standin.put(DEPLOYMENTS, stuck);
    })
    .await;
    assert!(
        matches!(&end, WalkEnd::StageFailed { reason, .. } if reason.contains("ReplicaSet timed out")),
        "{end:?}"
    );
    world.finish().await;
}

#[tokio::test]
async fn a_paused_deployment_is_not_restarted() {
    let world = World::start().await;
    let mut paused = deployment(2, template(None), 1);
    paused["spec"]["paused"] = json!(true);
    world.standin.put(DEPLOYMENTS, paused);
    let state = world.collector.state();
    eventually("paused", || {
        state.borrow().deployment.as_ref().unwrap().paused
    })
    .await;
    let (end, _) = on_cluster(&world, &[stage(StageKind::Restart, LONG)], || async {}).await;
    assert!(
        matches!(&end, WalkEnd::StageFailed { reason, .. } if reason.contains("rollout resume")),
        "{end:?}"
    );
    assert!(patches(&world).is_empty());
    world.finish().await;
}

#[tokio::test]
async fn a_refused_patch_is_an_environment_failure_that_names_the_verb() {
    let world = World::start().await;
    let path = format!("{DEPLOYMENTS}/web");
    world
        .standin
        .fault(&path, crate::standin::Fault::Status(403, None));
    let (end, _) = on_cluster(&world, &[stage(StageKind::Restart, LONG)], || async {}).await;
    assert!(
        matches!(&end, WalkEnd::EnvironmentFailed { reason, .. } if reason.contains("patch deployments")),
        "{end:?}"
    );
    world.finish().await;
}

#[tokio::test]
async fn somebody_elses_change_of_the_template_is_marked_once() {
    let world = World::start().await;
    let length = Duration::from_millis(700);
    let stages = [stage(StageKind::Warmup(length), length)];
    let (end, _) = on_cluster(&world, &stages, || async {
        world.standin.put(
            DEPLOYMENTS,
            deployment(2, template(Some("2026-01-01T00:00:00Z")), 1),
        );
        marked(&world, marks::FOREIGN_ROLLOUT).await;
        world.standin.put(
            DEPLOYMENTS,
            deployment(2, template(Some("2026-01-01T00:00:00Z")), 1),
        );
    })
    .await;
    assert_eq!(end, WalkEnd::Completed);
    let recording = world.finish().await;
    assert_eq!(
        in_short(&recording),
        [
            "warmup: started",
            "warmup: foreign_rollout",
            "warmup: completed"
        ]
    );
}

#[tokio::test]
async fn a_rollout_by_the_command_is_ours_and_is_waited_for() {
    let world = World::start().await;
    let stages = [
        shell("sleep 0.4", LONG),
        stage(StageKind::Settle(SHORT), SHORT),
    ];
    let (end, _) = on_cluster(&world, &stages, || async {
        let changed = template(Some("2026-01-01T00:00:00Z"));
        let mut new = deployment(2, changed.clone(), 0);
        new["status"]["observedGeneration"] = json!(1);
        world.standin.put(DEPLOYMENTS, new);
        marked(&world, marks::ROLLOUT_REQUESTED).await;
        roll(&world, 2, changed).await;
    })
    .await;
    assert_eq!(end, WalkEnd::Completed);
    let recording = world.finish().await;
    assert_eq!(
        in_short(&recording),
        [
            "exec: started",
            "exec: rollout_requested",
            "exec: rollout_complete",
            "exec: old_pods_gone",
            "exec: completed",
            "settle: started",
            "settle: completed"
        ]
    );
}

#[tokio::test]
async fn a_command_that_changes_nothing_is_not_waited_for() {
    let world = World::start().await;
    let (end, _) = on_cluster(&world, &[shell("true", LONG)], || async {}).await;
    assert_eq!(end, WalkEnd::Completed);
    let recording = world.finish().await;
    assert_eq!(in_short(&recording), ["exec: started", "exec: completed"]);
}

#[tokio::test]
async fn a_restart_without_a_cluster_says_what_to_use_instead() {
    let (_keep, cancel) = not_cancelled();
    let (end, _) = alone(&[stage(StageKind::Restart, LONG)], cancel).await;
    assert!(
        matches!(&end, WalkEnd::EnvironmentFailed { reason, .. } if reason.contains("exec stage")),
        "{end:?}"
    );
}
