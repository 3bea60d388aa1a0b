//! Journeys: users who go through their steps one after the other, run by goose beside the slots.
//!
//! goose is a program that became a library: it installs a Ctrl-C handler whatever its configuration, prints, and keeps
//! its state in statics. So it has a process of its own, which is this program with the command `journeys`: it reads a
//! [`Plan`](plan::JourneysPlan) and orders as JSON lines on its stdin, and writes a line for each step that is over on its
//! stdout. It is in a process group of its own, so that a Ctrl-C at the terminal does not reach it, and it ends with its
//! parent. goose's command line, reports, controllers and log files are all off; what it prints goes to stderr, of which
//! the parent keeps the last lines to say why it failed.
//!
//! Steps are closed loop: due when they are sent, in no slot, and neither late nor dropped. Each has a connection of its
//! own, because goose's client, reqwest, leaves hyper-util's `retry_canceled_requests` on and has no setting for it: a
//! request that finds a kept connection closed would be given to another one in silence. Without kept connections there
//! is nothing to re-send from; reqwest's own retries and redirects are off as well, and no response is decompressed.

mod attack;
mod client;
mod failure;
mod link;
mod plan;
mod process;
mod reader;
mod step;
mod walking;

pub(crate) use plan::{CheckPlan, StepPlan};
pub use process::main as journeys_main;
pub(crate) use walking::Walking;
