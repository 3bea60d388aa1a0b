//! The scenario file: raw YAML shape -> checked [`Scenario`], with every problem reported at once.
//!
//! [`Scenario::load`] reads a file, [`parse`] a text, [`Scenario::from_flags`] the flags of a command line,
//! [`SignalPlan::from_flags`] those of `rollscope signal`. [`schema`]
//! is the file's JSON Schema, [`redacted`] the scenario as a recording keeps it, [`environment_headers`] resolves header
//! values that come from the environment.

mod check;
mod environment;
mod file;
mod flags;
mod job_tables;
mod jobs;
mod keys;
mod model;
mod problem;
mod redacted;
mod rule_id;
mod schema;
mod signal;
pub mod subjects;
mod tables;
mod template;
mod tree;
mod units;
mod warnings;
mod words;

pub use environment::{
    EnvironmentErrors, VariableError, VariableFault, environment_headers, environment_of_jobs,
    secret_values,
};
pub use file::parse;
pub use flags::ScenarioFlags;
pub use jobs::{HttpJobs, JobFields, JobKey, JobSource, JobsSpec, OwnRate, PostgresqlJobs};
pub use model::{
    Arrivals, BalancerSpec, BodyCheck, BodySource, DurationRange, ExecCommand, FrontEnd, Gate,
    HeaderSource, HealthCheck, JourneySpec, KubernetesTarget, Limits, Load, Pacing, PoolSpec,
    PreflightSpec, Rate, RateStep, RequestSpec, ResolveOverride, SandboxTarget, Scenario, Stage,
    StageKind, StatusRange, StreamKind, StreamSpec, Target, TlsSpec,
};
pub use problem::{Place, Position, Problem, ScenarioErrors};
pub use redacted::{redacted, redacted_path};
pub use rule_id::{RuleId, UnknownRule};
pub use schema::schema;
pub use signal::{Moment, Ready, RunPlan, SignalFlags, SignalPlan, stop_signal};
pub use template::{Template, TemplatePart};
pub use units::{duration, write_duration};
