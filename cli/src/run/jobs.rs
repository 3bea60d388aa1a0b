//! Jobs of a run: what is known of them beforehand, and who reads what becomes of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rollscope_collector::{Document, JobsFrom, JobsObserver, JobsReading, Query, RedisList, Route};
use rollscope_loadgen::{Dialer, tls_config};
use rollscope_records::{JobPlan, JobRecord, RecordingWriter, RunClock, RunRecord};
use rollscope_scenarios::{
    HttpJobs, JobKey, JobSource, PostgresqlJobs, Scenario, TlsSpec, environment_of_jobs,
};

use crate::exit::Failure;

/// Records the plan of the scenario's jobs. How the load carries their keys.
pub(super) fn begin(
    scenario: &Scenario,
    run: &RunRecord,
    recorder: &RecordingWriter,
) -> Option<JobKey> {
    let jobs = scenario.jobs.as_ref()?;
    let key_prefix = key_prefix(run);
    recorder.job(JobRecord::Plan(JobPlan {
        submit: jobs.submit.clone(),
        key_prefix: key_prefix.clone(),
        source: jobs.source.as_str().to_owned(),
        log_pattern: match &jobs.source {
            JobSource::Logs(pattern) => Some(pattern.clone()),
            _ => None,
        },
        complete_within_nanos: nanos(jobs.complete_within),
        max_repeats: jobs.max_repeats,
        lease_nanos: jobs.lease.map(nanos),
    }));
    Some(JobKey {
        request: jobs.submit.clone(),
        header: jobs.key_header.clone(),
        prefix: key_prefix,
    })
}

/// Begins to read their events, where they are not in the logs. A path of theirs is one of `base_url`.
pub(super) fn observe(
    scenario: &Scenario,
    (base_url, dialer): (&str, &Arc<dyn Dialer>),
    (clock, run): (RunClock, &RunRecord),
    recorder: &RecordingWriter,
) -> Result<Option<JobsObserver>, Failure> {
    let Some(jobs) = &scenario.jobs else {
        return Ok(None);
    };
    let values =
        environment_of_jobs(jobs, |name| std::env::var_os(name)).map_err(Failure::usage)?;
    let from = match &jobs.source {
        JobSource::Logs(_) => return Ok(None),
        JobSource::Redis { address, list } => JobsFrom::Redis(RedisList::new(address, list)),
        JobSource::Http(http) => {
            let document = document(http, base_url, &values, &scenario.load.tls)?;
            JobsFrom::Http(match route(http, base_url, dialer) {
                Some(route) => document.by(route),
                None => document,
            })
        }
        JobSource::Postgresql(of) => JobsFrom::Postgresql(query(of, &values)?),
    };
    let reading = JobsReading {
        from,
        every: jobs.poll,
        key_prefix: key_prefix(run),
    };
    Ok(Some(JobsObserver::start(reading, clock, recorder.clone())))
}

fn document(
    of: &HttpJobs,
    base_url: &str,
    headers: &[(String, String)],
    tls: &TlsSpec,
) -> Result<Document, Failure> {
    let url = match of.url.starts_with('/') {
        true => format!("{}{}", base_url.trim_end_matches('/'), of.url),
        false => of.url.clone(),
    };
    let secured = url.starts_with("https://").then(|| tls_config(tls));
    let secured = secured.transpose().map_err(Failure::usage)?;
    Document::new(&url, headers, (&of.list, &of.fields), secured).map_err(Failure::usage)
}

/// Where connections to the target are not made to its own address, a document of its own is asked for as they are.
fn route(of: &HttpJobs, base_url: &str, dialer: &Arc<dyn Dialer>) -> Option<Route> {
    if dialer.is_direct() || !of.url.starts_with('/') {
        return None;
    }
    let address: SocketAddr = base_url.strip_prefix("http://")?.parse().ok()?;
    let dialer = Arc::clone(dialer);
    Some(Route::new(move || dialer.dial(address)))
}

fn query(of: &PostgresqlJobs, values: &[(String, String)]) -> Result<Query, Failure> {
    let trusted = TlsSpec {
        ca: of.ca.clone(),
        ..TlsSpec::default()
    };
    let secured = of.is_secured().then(|| tls_config(&trusted));
    let mut secured = secured.transpose().map_err(Failure::usage)?;
    if let Some(tls) = &mut secured {
        // It is not HTTP that is spoken there.
        tls.alpn_protocols.clear();
    }
    let password = values.first().map(|(_, value)| value.as_str());
    Query::new(&of.url, password, &of.query, secured).map_err(Failure::usage)
}

/// The run's id tells its jobs from those of another run in the same queue.
fn key_prefix(run: &RunRecord) -> String {
    format!("{}-", run.run_id)
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
