//! The journeys' process: this program with the command `journeys`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use goose::trigger_killswitch;
use http::HeaderName;
use rollscope_records::JourneysRecord;
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::time::{ClockId, clock_gettime};

use super::attack::Attack;
use super::client::Target;
use super::link::{Clock, Link};
use super::plan::JourneysPlan;
use crate::connection::tls_config;

/// Runs journeys: a plan and orders come on stdin, records go out on stdout. Only this program itself starts it.
pub fn main() -> ExitCode {
    // Two ways to end with the parent: this one, and the end of stdin.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    match started() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "{problem}");
            ExitCode::FAILURE
        }
    }
}

fn started() -> Result<(), String> {
    let out = stdout_of_our_own().map_err(|e| format!("stdout cannot be kept apart: {e}"))?;
    let mut orders = BufReader::new(std::io::stdin());
    let mut first = String::new();
    orders
        .read_line(&mut first)
        .map_err(|e| format!("no plan came: {e}"))?;
    let plan: JourneysPlan =
        serde_json::from_str(&first).map_err(|e| format!("the plan cannot be read: {e}"))?;
    let clock = Clock::new(plan.zero_nanos);
    let link = Arc::new(Link::new(out, clock));
    let (users, following) = (u64::from(plan.users), Arc::clone(&link));
    std::thread::Builder::new()
        .name("journeys-orders".to_owned())
        .spawn(move || {
            following.follow(orders, users, || trigger_killswitch("the load is over"));
            // An order to abort has been carried out, or there is no parent any more.
            std::process::exit(0);
        })
        .map_err(|e| format!("the thread for orders could not be started: {e}"))?;
    walk(plan, &link)
}

/// goose prints on stdout, which must carry records alone: it gets stderr for it.
fn stdout_of_our_own() -> std::io::Result<File> {
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(own))
}

fn walk(plan: JourneysPlan, link: &Arc<Link>) -> Result<(), String> {
    let tls = match &plan.target.tls {
        Some(tls) => Some(tls_config(&tls.spec()).map_err(|e| e.to_string())?),
        None => None,
    };
    let pod_header = plan.pod_header.as_deref();
    let attack = Attack {
        users: plan.users,
        target: Arc::new(Target::new(plan.target, tls, Arc::clone(link))),
        pod_header: pod_header.and_then(|n| HeaderName::try_from(n).ok()),
        link: Arc::clone(link),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("no runtime could be made: {e}"))?;
    let users = u64::from(plan.users);
    let wait = plan.starts.nanos_since(link.clock().now());
    let steps = runtime.block_on(async {
        tokio::time::sleep(Duration::from_nanos(u64::try_from(wait).unwrap_or(0))).await;
        attack.run(plan.journeys).await
    });
    let (steps, failure) = match steps {
        Ok(steps) => (steps, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    runtime.shutdown_background();
    link.over(JourneysRecord {
        users,
        steps,
        cpu_us: cpu_us(),
        failure,
    });
    Ok(())
}

/// User and system time of this process so far, microseconds.
fn cpu_us() -> u64 {
    let spent = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default();
    u64::try_from(spent.as_micros()).unwrap_or(u64::MAX)
}
