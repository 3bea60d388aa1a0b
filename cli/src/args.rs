//! The command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use rollscope_reports::Format;
use rollscope_scenarios::RuleId;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What does a deploy do to requests that are in flight, and why?
///
/// Exit codes: 0 passed, 1 the gate failed, 2 the command line or the scenario is wrong, 3 the run proves nothing,
/// 4 the environment failed, 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "rollscope", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario: load, rollout, recording, timeline, verdict.
    Run(RunArgs),
    /// Put one program to the test: start it as a container would, load it, send it the stop signal, report what it did.
    ///
    /// The program is PID 1 of a PID namespace of its own, with PORT in its environment. Exits with 1 when a request
    /// failed, or when the program did not end by itself with code 0 within the grace.
    Signal(Box<SignalArgs>),
    /// Make the reports again from a recording alone.
    Analyze(AnalyzeArgs),
    /// Write a recording's reports in other formats. Exits with 0 once they are written, whatever the verdict.
    Report(ReportArgs),
    /// Production after the fact: access logs, and what a cluster wrote down of its deploys, judged deploy by deploy. Exits
    /// with 1 when a deploy failed requests beyond what fails without one, with 3 when one was not seen whole.
    Import(Box<ImportArgs>),
    /// Make a recording from raw watch streams, logs and requests that were kept as files.
    ImportWatch(ImportWatchArgs),
    /// Write index.html of a folder of runs: every run, and the trend of failures, lags and margins.
    Index(IndexArgs),
    /// Set two recordings side by side: comparison.html, and a Markdown table on stdout. Exits with 1 when the second
    /// one is worse: more failed requests, or it fails the gate that the first one passed; with 3 when it proves nothing.
    Compare(CompareArgs),
    /// Check manifests, or a workload of a cluster, before any load: what will go wrong in a rollout, why, and the fix
    /// as a patch. Exits with 1 when there is a finding at or over --fail-on, with 2 when the input cannot be read.
    Preflight(PreflightArgs),
    /// Keep a sandbox running until Ctrl-C: a look-alike of a cluster for kubectl, and for `target: kubernetes`.
    Sandbox(SandboxArgs),
    /// Write a commented scenario for a manifest, or for a workload of a cluster: it runs as it is.
    Init(InitArgs),
    /// Check scenario files, or print their schema for an editor.
    #[command(subcommand)]
    Scenario(ScenarioCommand),
    /// A small server with one defined shutdown behaviour (the sandbox starts it).
    #[command(hide = true)]
    Subject,
    /// A container of an engine, as a process that is signalled like any other (`signal --docker` starts it).
    #[command(hide = true)]
    DockerPod(DockerPodArgs),
    /// Removes that container when its owner is gone.
    #[command(hide = true)]
    DockerGuard {
        /// The container.
        name: String,
    },
    /// The journeys of a load, in a process of their own (the load generator starts it).
    #[command(hide = true)]
    Journeys,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The scenario file. Without one, --url, --rate and --exec make a scenario.
    #[arg(required_unless_present = "url", conflicts_with_all = ["url", "rate", "exec"])]
    pub(crate) scenario: Option<PathBuf>,
    /// Folder for the recording and the reports; new or empty. Default: rollscope-runs/<name>-<time>
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Stop after the recording: no analysis, no reports, no gate.
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub(crate) record_only: bool,
    /// Show the run on the whole screen: rate, outcomes, latency, pods and events. q or Ctrl-C stops it.
    #[arg(long)]
    pub(crate) tui: bool,
    /// The context of `target: kubernetes`; one that the scenario allows. Default: the current one.
    #[arg(long)]
    pub(crate) context: Option<String>,
    /// The namespace of `target: kubernetes`, instead of the scenario's.
    #[arg(long, short = 'n')]
    pub(crate) namespace: Option<String>,
    /// The kubeconfig of `target: kubernetes`. Default: as kubectl finds it.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Folder where the sandbox writes down what it really did, apart from the recording.
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) truth: Option<PathBuf>,
    /// Be generator I of N (from 0) of a run that several share: send every Nth slot, and record only. Generator 0 drives
    /// the stages and observes; the others only load. `rollscope analyze` puts the N recordings together.
    #[arg(long, value_name = "I/N", requires = "start_at", conflicts_with_all = ["format", "json"])]
    pub(crate) shard: Option<ShardArg>,
    /// When all generators begin: RFC 3339 (2026-01-31T12:00:00Z) or seconds since the Unix epoch.
    #[arg(long, value_name = "TIME", requires = "shard", value_parser = start_at)]
    pub(crate) start_at: Option<OffsetDateTime>,
    /// Put a steady load on this URL ...
    #[arg(long, value_name = "URL", requires_all = ["rate", "exec"])]
    pub(crate) url: Option<String>,
    /// ... at this rate, as 100/s or 30/m ...
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// ... while this shell command deploys.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) exec: Option<String>,
    /// Load before the command of --exec.
    #[arg(long, value_name = "DURATION", requires = "url")]
    pub(crate) warmup: Option<String>,
    /// Load after the command of --exec has returned.
    #[arg(long, value_name = "DURATION", requires = "url")]
    pub(crate) settle: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SignalArgs {
    /// The command and its arguments, after `--`. With --manifest or --docker, instead of the container's own.
    #[arg(last = true, required_unless_present_any = ["manifest", "docker"], value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// A manifest with a Deployment: command, environment, probes, grace and preStop are its own, one replica is run.
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// Run this image in Docker instead of a local process.
    #[arg(long, value_name = "IMAGE", conflicts_with = "manifest")]
    pub(crate) docker: Option<String>,
    /// PORT in the program's environment, and where it is loaded. Default: 3000, or a free one where that is taken.
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// A variable of the program's environment, beside this shell's own (in Docker: beside the image's).
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// When it is ready: `port` (it accepts connections), a path that answers 2xx, or `log:REGEX`. Default: port.
    #[arg(long, value_name = "HOW")]
    pub(crate) ready: Option<String>,
    /// How long that may take. Default: 60s
    #[arg(long, value_name = "DURATION")]
    pub(crate) ready_within: Option<String>,
    /// The stop signal. Default: TERM
    #[arg(long, value_name = "SIGNAL")]
    pub(crate) signal: Option<String>,
    /// From the deletion to SIGKILL, the preStop sleep included. Default: 30s
    #[arg(long, value_name = "SECONDS")]
    pub(crate) grace: Option<String>,
    /// Sleep from the deletion to the signal, as a preStop hook does. Default: none
    #[arg(long, value_name = "SECONDS")]
    pub(crate) pre_stop: Option<String>,
    /// New connections are made for so long after the deletion, as routing takes to hear of it. Default: 1s
    #[arg(long, value_name = "DURATION")]
    pub(crate) endpoint_lag: Option<String>,
    /// A request that is sent later than this after it was due is not in time; with more than one in 100 of them the run
    /// proves nothing. Raise it on a slow machine. Default: 250ms
    #[arg(long, value_name = "DURATION")]
    pub(crate) in_time: Option<String>,
    /// The path that is asked for. Default: /
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// A path whose answer takes long (a slow query, a download): one request in five asks for it.
    #[arg(long, value_name = "PATH")]
    pub(crate) slow_path: Option<String>,
    /// Requests per second. Default: 50/s
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Deadline of each request. Default: 30s
    #[arg(long, value_name = "DURATION")]
    pub(crate) deadline: Option<String>,
    /// Load before the deletion. Default: 2s
    #[arg(long, value_name = "DURATION")]
    pub(crate) warmup: Option<String>,
    /// Load after the program's end. Default: 500ms
    #[arg(long, value_name = "DURATION")]
    pub(crate) settle: Option<String>,
    /// The response header that names the pod.
    #[arg(long, value_name = "HEADER")]
    pub(crate) pod_header: Option<String>,
    /// Failed requests that are still a pass.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_failed: u64,
    /// Whether a failed shutdown assertion fails the gate.
    #[arg(long, value_enum, default_value_t = Assertions::Fail)]
    pub(crate) assertions: Assertions,
    /// Run N times, the signal at another moment each time: under a steady load, before the first request, between
    /// requests, twice, in mid-body (with --slow-path). The exit code is the worst.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeat: u16,
    /// Folder for the recording and the reports; new or empty. Default: rollscope-runs/<name>-<time>
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Folder where the sandbox writes down what it really did, apart from the recording.
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) truth: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `NAME=VALUE`.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// What a failed shutdown assertion does to the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Assertions {
    /// It fails the gate.
    Fail,
    /// It is told, the gate does not ask.
    Warn,
}

#[derive(Debug, Args)]
pub(crate) struct DockerPodArgs {
    /// The image.
    pub(crate) image: String,
    /// The container's name.
    #[arg(long)]
    pub(crate) name: String,
    /// The signal that the container is stopped with; the image's own when left out.
    #[arg(long)]
    pub(crate) signal: Option<String>,
    /// Names of variables that the container gets from this process's environment.
    #[arg(long)]
    pub(crate) env: Vec<String>,
    /// Seconds from it to SIGKILL.
    #[arg(long)]
    pub(crate) time: u64,
    /// Arguments of the container.
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

/// What to write, and where to say it.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Reports to write, separated by commas: html, json, junit, md, trace, svg, png, hlog, parquet.
    #[arg(
        long,
        value_name = "FORMATS",
        value_delimiter = ',',
        default_values_t = Format::DEFAULT
    )]
    pub(crate) format: Vec<Format>,
    /// Print report.json alone on stdout; everything else goes to stderr.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// The recording's folder (<name>.rollscope). Of a run of several generators, all their recordings, or the folder
    /// that holds them.
    #[arg(required = true, value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Folder for the reports. Default: the folder that holds the recording; with several recordings it must be given.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The recording's folder (<name>.rollscope). Of a run of several generators, all their recordings, or the folder
    /// that holds them.
    #[arg(required_unless_present = "schema", value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Folder for the reports. Default: the folder that holds the recording; with several recordings it must be given.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the JSON Schema of report.json.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The run to measure against: a recording's folder, or the folder of its run.
    pub(crate) before: PathBuf,
    /// The run that may be worse.
    pub(crate) after: PathBuf,
    /// Folder for comparison.html. Default: the folder that holds the second recording.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// The folder: report.json of each run in a folder below it.
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Access logs of one format, plain or compressed with gzip, in any order.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// Their format: nginx, ingress-nginx, haproxy, envoy, istio, alb, traefik; `nginx:`, `haproxy:` or `envoy:` and the
    /// template that wrote them; `regex:` or `json:` and what to take.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: String,
    /// Zone of times without one, as +01:00.
    #[arg(long, value_name = "ZONE", value_parser = zone, allow_hyphen_values = true)]
    pub(crate) zone: Option<i32>,
    /// The deploys: `from,to[,name]` a line, RFC 3339. Default: found in what the cluster wrote down.
    #[arg(long, value_name = "FILE")]
    pub(crate) windows: Option<PathBuf>,
    /// A folder of watch streams and container logs, as import-watch reads it.
    #[arg(long, value_name = "DIR")]
    pub(crate) watch: Option<PathBuf>,
    /// The output of `kubectl get events -o json`.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// An audit log of the API server, one event a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// Name lines of the containers' logs: `drained='drained (?P<cut>\\d+) cut'`.
    #[arg(long, value_name = "NAME=REGEX", value_parser = variable)]
    pub(crate) mark: Vec<(String, String)>,
    /// Failed requests of a deploy, beyond what fails without one, that are still a pass.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_failed: u64,
    /// The folder to write: one folder for each deploy, deploys.json, and index.html with the trend.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// What to write.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `+01:00` in seconds.
fn zone(text: &str) -> Result<i32, String> {
    let expected = || "expected a zone as +01:00".to_owned();
    let (sign, rest) = match text.split_at_checked(1) {
        Some(("+", rest)) => (1, rest),
        Some(("-", rest)) => (-1, rest),
        _ => return Err(expected()),
    };
    let (hours, minutes) = rest.split_once(':').ok_or_else(expected)?;
    let number = |text: &str, most: i32| text.parse().ok().filter(|n| (0..=most).contains(n));
    match (number(hours, 14), number(minutes, 59)) {
        (Some(hours), Some(minutes)) => Ok(sign * (hours * 3600 + minutes * 60)),
        _ => Err(expected()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ImportWatchArgs {
    /// Folder with pods.watch, endpointslices.watch, deployments.watch, requests.jsonl, logs/ ...
    pub(crate) dir: PathBuf,
    /// The recording to make.
    #[arg(long, value_name = "RECORDING")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct PreflightArgs {
    /// Manifests (`-` for stdin), and workloads of a cluster such as deployment/checkout. Only reads are sent to it.
    #[arg(required_unless_present = "schema", value_name = "FILE|WORKLOAD")]
    pub(crate) inputs: Vec<String>,
    /// The Dockerfile of the application's image.
    #[arg(long, value_name = "FILE")]
    pub(crate) dockerfile: Option<PathBuf>,
    /// The application's package.json.
    #[arg(long, value_name = "FILE")]
    pub(crate) package_json: Option<PathBuf>,
    /// Take `preflight` and the endpoint lag from this scenario.
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Accept the findings of these rules, separated by commas.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub(crate) allow: Vec<RuleId>,
    /// How long routing takes to follow a deletion.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) lag: Option<Duration>,
    /// How long the program keeps serving after the stop signal.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) delay: Option<Duration>,
    /// How long requests in flight take once the program stops accepting.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) drain: Option<Duration>,
    /// How long a balancer keeps an idle connection to the program.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) balancer_idle: Option<Duration>,
    /// The least severity that makes the exit code 1.
    #[arg(long, value_name = "SEVERITY", value_enum, default_value = "warning")]
    pub(crate) fail_on: FailOn,
    /// Print the report as JSON alone on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report as SARIF 2.1.0 to this file, `-` for stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,
    /// The workload's namespace. Default: that of the context.
    #[arg(long, short = 'n')]
    pub(crate) namespace: Option<String>,
    /// The kubeconfig's context. Default: the current one.
    #[arg(long)]
    pub(crate) context: Option<String>,
    /// The kubeconfig. Default: as kubectl finds it.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Print the JSON Schema of --json.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    /// The manifest: a Deployment and its Service; the command is run, the image is ignored.
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// What stands before the pods: `l4`, as kube-proxy, or `http`, as an ingress.
    #[arg(long, value_enum, default_value = "http")]
    pub(crate) front_end: SandboxFrontEnd,
    /// Write a kubeconfig with the context `sandbox` here.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Seed of everything that is drawn at random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// What stands before the pods of a sandbox that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxFrontEnd {
    /// As kube-proxy.
    L4,
    /// As an ingress.
    Http,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// A manifest for the sandbox, or a workload of a cluster such as deployment/checkout. Only reads are sent to it.
    #[arg(value_name = "FILE|WORKLOAD")]
    pub(crate) input: String,
    /// The scenario to write; it must not exist. Default: stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The workload's namespace. Default: that of the context.
    #[arg(long, short = 'n')]
    pub(crate) namespace: Option<String>,
    /// The kubeconfig's context. Default: the current one.
    #[arg(long)]
    pub(crate) context: Option<String>,
    /// The kubeconfig. Default: as kubectl finds it.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// The least severity that makes the exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Only what cannot go well.
    Error,
    /// What loses requests too.
    Warning,
    /// Everything.
    Note,
}

/// A duration as a scenario has it.
fn duration(text: &str) -> Result<Duration, String> {
    let over_zero = rollscope_scenarios::duration(text).filter(|d| !d.is_zero());
    over_zero.ok_or_else(|| "expected a duration over 0 such as 500ms, 1m30s or 2h".to_owned())
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioCommand {
    /// Check a scenario file: all its problems at once, with line and column.
    Check {
        /// The file.
        file: PathBuf,
    },
    /// Print the JSON Schema of scenario files.
    Schema,
}

/// Generator `index` of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShardArg {
    pub(crate) index: u64,
    pub(crate) of: u64,
}

/// More generators than anybody has.
const MOST_SHARDS: u64 = 1000;

impl FromStr for ShardArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .split_once('/')
            .and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parsed {
            Some((index, of)) if index < of && of <= MOST_SHARDS => Ok(Self { index, of }),
            _ => Err(format!(
                "expected I/N with I from 0 to N-1 and N up to {MOST_SHARDS}, such as 0/4, 1/4, 2/4 and 3/4 for four generators"
            )),
        }
    }
}

/// A moment as RFC 3339 or as seconds since the Unix epoch.
fn start_at(text: &str) -> Result<OffsetDateTime, String> {
    let seconds = text.parse::<i64>().ok();
    let parsed = match seconds {
        Some(seconds) => OffsetDateTime::from_unix_timestamp(seconds).ok(),
        None => OffsetDateTime::parse(text, &Rfc3339).ok(),
    };
    parsed.ok_or_else(|| {
        "expected a time such as 2026-01-31T12:00:00Z, or whole seconds since the Unix epoch (as `date +%s` prints them), not milliseconds".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_counted_from_zero() {
        assert_eq!("3/4".parse(), Ok(ShardArg { index: 3, of: 4 }));
        for wrong in ["4/4", "-1/4", "1", "1/0", "a/b", "0/1001", ""] {
            let refused = wrong.parse::<ShardArg>();
            assert!(refused.is_err_and(|e| e.contains("0/4")), "{wrong}");
        }
    }

    #[test]
    fn a_start_is_read_from_both_notations() {
        let noon = start_at("2026-01-31T12:00:00Z");
        assert_eq!(noon, start_at("1769860800"));
        assert_eq!(noon, start_at("2026-01-31T13:00:00+01:00"));
        assert!(start_at("noon").is_err_and(|e| e.contains("RFC") || e.contains("2026-01-31")));
    }
}
