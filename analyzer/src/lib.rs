//! Pure analysis: a [`Recording`](rollscope_records::Recording) in, an [`Analysis`] out. No I/O, no clock, no chance.
//!
//! `ordered` -> `clocks` -> `timeline` -> `traffic` -> `drain` -> `burst` (judged by `signatures`, at the `corners` too)
//! -> `measure`, `findings`, `assertions` -> `verdict`. A new signature is one file in `signatures`.

mod advice;
mod analysis;
mod analyze;
mod assertions;
mod background;
mod balancers;
mod burst;
mod clocks;
mod context;
mod corners;
mod counts;
mod drain;
mod failures;
mod findings;
mod gaps;
#[cfg(test)]
mod golden;
mod held_open;
mod jobs;
mod journeys;
mod kube_time;
mod latency;
mod measure;
mod notes;
mod ordered;
#[cfg(test)]
mod properties;
mod signal;
mod signatures;
mod tame;
#[cfg(test)]
mod testing;
mod timeline;
mod traffic;
mod verdict;
mod view;
mod words;

pub use analysis::{
    Advice, Analysis, Assertion, BalancerReport, Budget, Burst, ClockReport, EndpointState,
    Evidence, FailureReport, Finding, GapReport, Latency, LogMark, Ms, MsInterval, MsLength,
    NearMiss, PodExit, PodPhase, PodReport, Quantiles, RequestCounts, RuledOut, RunSummary, SCHEMA,
    Shutdown, ShutdownStage, Sign, StageMark, StageReport, StreamReport, Verdict, VerdictOutcome,
};
pub use analyze::analyze;
pub use jobs::{JobEventReport, JobReport, JobsReport};
pub use journeys::{JourneyStepReport, Journeys, StepCounts};
pub use signal::{IdleConnections, InFlight, NewConnections, SignalReport, SignalledProcess};

/// The names of the causes that an analysis can find, `several`, `indeterminate` and `unknown` apart.
pub fn signature_names() -> impl Iterator<Item = &'static str> {
    signatures::names()
}
