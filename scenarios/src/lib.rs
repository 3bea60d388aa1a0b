//! The scenario file: raw YAML shape -> checked [`Scenario`], with every problem reported at once.

mod model;

pub use model::{
    DurationRange, ExecCommand, FrontEnd, Gate, HeaderSource, KubernetesTarget, Load, RequestSpec,
    SandboxTarget, Scenario, Stage, StageKind, StatusRange, Target,
};
