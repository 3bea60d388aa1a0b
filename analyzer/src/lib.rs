//! Pure analysis: a [`Recording`](rollscope_records::Recording) in, an [`Analysis`] out. No I/O, no clock, no chance.

mod analysis;

pub use analysis::{
    Advice, Analysis, Assertion, Burst, ClockReport, EndpointState, Evidence, Finding, GapReport,
    Latency, LogMark, Ms, MsInterval, MsLength, PodExit, PodPhase, PodReport, Quantiles,
    RequestCounts, RuledOut, RunSummary, SCHEMA, Sign, StageMark, StageReport, Verdict,
    VerdictOutcome,
};
