//! The constant-rate load generator: pacing, connections, outcomes, recording.
