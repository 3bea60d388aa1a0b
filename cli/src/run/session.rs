//! From an open target to a whole recording.

use std::time::Duration;

use rollscope_collector::{Collector, IN_CLUSTER, Progress, WalkEnd, walk};
use rollscope_loadgen::{LoadConfig, RunningLoad};
use rollscope_records::{
    BalancerLog, EndKind, GeneratorRecord, RecordingWriter, RunClock, RunEnd, RunRecord, WriteError,
};
use rollscope_sandbox::{Sandbox, TruthLog};
use rollscope_scenarios::{JobKey, Load, Scenario, secret_values};
use tokio::sync::watch;

use super::balancer_logs::{self, Balancers};
use super::followed_logs::{self, FollowedLog};
use super::interrupt::Interrupt;
use super::jobs;
use super::output::Output;
use super::progress::Display;
use super::run_record;
use super::shard::OwnShard;
use super::target::{ClusterChoice, OneProgram, OpenCluster, Target};
use crate::exit::{Exit, Failure};
use crate::terminal;

/// How often the recording is asked whether it can still be written.
const CHECK_DISK_EVERY: Duration = Duration::from_millis(200);

/// What a run is beside its scenario.
#[derive(Default)]
pub(crate) struct Setup {
    /// Where the sandbox writes down what it really did.
    pub(crate) truth: TruthLog,
    /// Whether to use the whole screen.
    pub(crate) tui: bool,
    /// Which of several generators this is.
    pub(crate) shard: Option<OwnShard>,
    /// The one program that the sandbox runs, instead of the scenario's manifest.
    pub(crate) program: Option<OneProgram>,
    /// The cluster of `target: kubernetes`.
    pub(crate) cluster: ClusterChoice,
}

/// How the user watches the run and stops it.
struct User {
    interrupt: Interrupt,
    /// Whether to use the whole screen.
    tui: bool,
    /// Which of several generators this is.
    shard: Option<OwnShard>,
    /// Whether the load begins only when the program has been sent its signal.
    after_signal: bool,
}

/// Opens the target, records the run, and closes the target again, however it went.
pub(crate) async fn record(
    scenario: &Scenario,
    output: &Output,
    setup: Setup,
    interrupt: Interrupt,
) -> Result<Exit, Failure> {
    let user = User {
        interrupt,
        tui: setup.tui,
        shard: setup.shard,
        after_signal: setup.program.as_ref().is_some_and(|p| p.after_signal),
    };
    let mut interrupted = user.interrupt.stopped().clone();
    let target = tokio::select! {
        target = Target::open(scenario, setup.truth, setup.program, &setup.cluster) => target?,
        _ = interrupted.wait_for(|stop| *stop) => return Err(Failure {
            exit: Exit::Interrupted,
            message: "interrupted before the load began: nothing was recorded".to_owned(),
        }),
    };
    let ended = run_in(scenario, &target, output, &user).await;
    if !matches!(ended, Ok(Exit::Passed)) {
        left_as_it_is(&target, &setup.cluster);
    }
    if let Some(sandbox) = target.sandbox {
        let counters = sandbox.front_end().counters();
        sandbox.stop().await;
        if let Ok(json) = serde_json::to_vec_pretty(&counters) {
            // The front end's own account lies beside the recording, not in it: on a cluster nobody has it.
            let _ = std::fs::write(output.dir().join("front-end.json"), json);
        }
    }
    ended
}

/// Says that a workload of a cluster was left as it is by a run that did not come to its end, and the whole commands,
/// with kubeconfig, context and namespace, that look at it and take its rollout back.
fn left_as_it_is(target: &Target, choice: &ClusterChoice) {
    let Some(OpenCluster { api, scope }) =
        target.cluster.as_ref().filter(|_| target.sandbox.is_none())
    else {
        return;
    };
    let mut kubectl = "kubectl".to_owned();
    if let Some(file) = &choice.kubeconfig {
        kubectl += &format!(" --kubeconfig {}", file.display());
    }
    if api.name() != IN_CLUSTER {
        kubectl += &format!(" --context {}", api.name());
    }
    kubectl += &format!(" --namespace {}", scope.namespace);
    let deployment = &scope.deployment;
    terminal::note(&format!(
        "deployment/{deployment} is left as it is: if its rollout had begun, it goes on\n  to look at it:    {kubectl} rollout \
         status deployment/{deployment}\n  to take it back:  {kubectl} rollout undo deployment/{deployment}"
    ));
}

async fn run_in(
    scenario: &Scenario,
    target: &Target,
    output: &Output,
    user: &User,
) -> Result<Exit, Failure> {
    let clock = RunClock::start();
    let mut run = run_record::of(
        scenario,
        target.facts.clone(),
        target.warnings(),
        &clock,
        user.shard.as_ref(),
    );
    for warning in &run.warnings {
        terminal::note(&format!("warning: {warning}"));
    }
    let followed = followed_logs::open(&scenario.balancers)?;
    if let (None, Some(spec)) = (&run.target.front_end, scenario.balancers.first()) {
        run.target.front_end = Some(followed_logs::front_end(spec).to_owned());
    }
    let recorder =
        RecordingWriter::create_without(secret_values(scenario), &output.recording(), &run)
            .map_err(of_disk)?;
    let observed = observe(
        (scenario, followed),
        target,
        clock,
        &recorder,
        user,
        &mut run,
    )
    .await;
    let (generator, end) = match observed {
        Ok(ended) => ended,
        Err(failure) => (None, environment_failed(failure.message)),
    };
    let exit = match end.how {
        EndKind::Completed => Exit::Passed,
        EndKind::StageFailed => Exit::Invalid,
        EndKind::EnvironmentFailed => Exit::Environment,
        EndKind::Interrupted => Exit::Interrupted,
    };
    run.end = Some(RunEnd {
        at: clock.now(),
        ..end
    });
    recorder.finish(generator.as_ref(), &run).map_err(of_disk)?;
    Ok(exit)
}

/// Observation first, so that nothing is missed; then the load; then the stages. In the end the other way round.
async fn observe(
    (scenario, followed): (&Scenario, Vec<(BalancerLog, FollowedLog)>),
    target: &Target,
    clock: RunClock,
    recorder: &RecordingWriter,
    user: &User,
    run: &mut RunRecord,
) -> Result<(Option<GeneratorRecord>, RunEnd), Failure> {
    let drives = user.shard.is_none_or(|s| s.drives());
    let collector = match target.cluster.clone() {
        Some(OpenCluster { api, scope }) if drives => {
            let collector = Collector::start(api, scope, clock, recorder.clone()).await;
            Some(collector.map_err(Failure::environment)?)
        }
        _ => None,
    };
    let job_key = jobs::begin(scenario, run, recorder);
    let jobs = match drives {
        true => jobs::observe(
            scenario,
            (&target.base_url, &target.dialer),
            (clock, run),
            recorder,
        )?,
        false => None,
    };
    let loading = load(
        (scenario, job_key),
        target,
        clock,
        recorder,
        user,
        collector.as_ref(),
    );
    let balancers = Balancers {
        front_end: target.sandbox.as_ref().map(Sandbox::front_end),
        followed: if drives { followed } else { Vec::new() },
    };
    let loaded = balancer_logs::recorded(balancers, clock, recorder, loading).await;
    if let Some(jobs) = jobs {
        jobs.stop().await;
    }
    if let Some(collector) = collector {
        run.warnings.extend(collector.warnings());
        collector.stop().await;
    }
    loaded
}

async fn load(
    (scenario, job_key): (&Scenario, Option<JobKey>),
    target: &Target,
    clock: RunClock,
    recorder: &RecordingWriter,
    user: &User,
    collector: Option<&Collector>,
) -> Result<(Option<GeneratorRecord>, RunEnd), Failure> {
    let (progress, seen) = watch::channel(Progress::default());
    let cluster = collector.map(Collector::cluster);
    let interrupted = user.interrupt.stopped();
    let generators = user.shard.map_or(1, |s| s.of);
    let stages = || {
        walk(
            &scenario.stages,
            cluster.as_ref(),
            clock,
            recorder,
            &progress,
            interrupted.clone(),
        )
    };
    let walked = staged(user, &clock, &progress, stages);
    tokio::pin!(walked);
    let early = match &target.sandbox {
        Some(sandbox) if user.after_signal => tokio::select! {
            end = &mut walked => Some(end),
            () = sandbox.signalled() => None,
        },
        _ => None,
    };
    let load = RunningLoad::start(LoadConfig {
        load: Load {
            job_key,
            ..scenario.load.clone()
        },
        base_url: target.base_url.clone(),
        env: Box::new(|name| std::env::var(name).ok()),
        clock,
        recorder: std::sync::Arc::new(recorder.clone()),
        dialer: target.dialer.clone(),
        share: user.shard.map(|s| s.share(&clock)).transpose()?,
        program: Some(std::env::current_exe().map_err(Failure::environment)?),
    })
    .map_err(Failure::environment)?;
    let mut display = Display::new(scenario, generators, clock, user.tui);
    let shown = display.show(&seen, || load.stats(), collector, &user.interrupt);
    let end = tokio::select! {
        end = async { match early { Some(end) => end, None => walked.await } } => end,
        error = disk_error(recorder) => environment_failed(error),
        () = shown => unreachable!("the display never ends by itself"),
    };
    display.close();
    let generator = match end.how {
        EndKind::Completed | EndKind::StageFailed => {
            let awaited = scenario.load.requests.iter().chain(scenario.load.steps());
            let longest = awaited.map(|r| r.deadline).max();
            stop(load, longest.unwrap_or_default(), interrupted.clone()).await
        }
        EndKind::EnvironmentFailed | EndKind::Interrupted => load.abort().await,
    };
    Ok((Some(generator), end))
}

/// Takes the run through its stages; of several generators, at their common time, and only where this one drives.
async fn staged<W: Future<Output = WalkEnd>>(
    user: &User,
    clock: &RunClock,
    progress: &watch::Sender<Progress>,
    walk: impl FnOnce() -> W,
) -> RunEnd {
    let Some(shard) = user.shard else {
        return of_walk(walk().await);
    };
    let interrupted = user.interrupt.stopped();
    if !unless_stopped(shard.begun(clock), interrupted).await {
        return of_walk(WalkEnd::Interrupted);
    }
    let end = if shard.drives() {
        walk().await
    } else {
        shard.show(clock, progress);
        WalkEnd::Completed
    };
    if end == WalkEnd::Completed && !unless_stopped(shard.over(clock), interrupted).await {
        return of_walk(WalkEnd::Interrupted);
    }
    of_walk(end)
}

/// Waits; returns false when the user stops the run before that is over.
async fn unless_stopped(wait: impl Future<Output = ()>, stopped: &watch::Receiver<bool>) -> bool {
    let mut stopped = stopped.clone();
    tokio::select! {
        () = wait => true,
        _ = stopped.wait_for(|stop| *stop) => false,
    }
}

/// Lets the requests in flight come to their end, unless the user will not wait for them.
async fn stop(
    load: RunningLoad,
    drain: Duration,
    mut interrupted: watch::Receiver<bool>,
) -> GeneratorRecord {
    let impatience = async move {
        if interrupted.wait_for(|stop| *stop).await.is_err() {
            std::future::pending().await
        }
    };
    load.stop_unless(drain, impatience).await
}

/// Waits for the recording's first error.
async fn disk_error(recorder: &RecordingWriter) -> String {
    loop {
        tokio::time::sleep(CHECK_DISK_EVERY).await;
        if let Some(error) = recorder.error() {
            return error;
        }
    }
}

fn of_walk(end: WalkEnd) -> RunEnd {
    let at = rollscope_records::RunOffset::ZERO;
    match end {
        WalkEnd::Completed => RunEnd {
            at,
            how: EndKind::Completed,
            reason: None,
        },
        WalkEnd::StageFailed { stage, reason } => {
            let reason = Some(format!("stage {}: {reason}", stage + 1));
            RunEnd {
                at,
                how: EndKind::StageFailed,
                reason,
            }
        }
        WalkEnd::EnvironmentFailed { stage, reason } => {
            environment_failed(format!("stage {}: {reason}", stage + 1))
        }
        WalkEnd::Interrupted => {
            let reason = Some("interrupted by the user".to_owned());
            RunEnd {
                at,
                how: EndKind::Interrupted,
                reason,
            }
        }
    }
}

fn environment_failed(reason: String) -> RunEnd {
    let at = rollscope_records::RunOffset::ZERO;
    RunEnd {
        at,
        how: EndKind::EnvironmentFailed,
        reason: Some(reason),
    }
}

fn of_disk(error: WriteError) -> Failure {
    Failure::environment(error)
}
