//! What a client saw in one run.

use std::collections::BTreeMap;
use std::fmt;

use rollscope_records::{Outcome, RequestRecord};

use crate::Finished;

/// Failed requests by what the client saw, and by cause.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// The run proves something.
    Measured {
        /// By status or way of failing.
        failures: BTreeMap<String, u64>,
        /// By cause.
        causes: BTreeMap<String, u64>,
        /// What became of jobs, by the findings.
        jobs: Vec<String>,
    },
    /// The run ended without a verdict.
    Unmeasured {
        /// Its exit code, if no signal ended it.
        exit_code: Option<i32>,
    },
}

impl Cell {
    /// Of a run that has ended.
    pub(crate) fn of(run: &Finished) -> Self {
        if !matches!(run.exit_code, Some(0 | 1)) {
            return Self::Unmeasured {
                exit_code: run.exit_code,
            };
        }
        let recording = run.recording();
        let mut failures = BTreeMap::new();
        for request in recording.requests.iter().filter(|r| r.outcome.is_failure()) {
            *failures.entry(seen(&request)).or_default() += 1;
        }
        Self::Measured {
            failures,
            causes: run.causes(),
            jobs: of_jobs(run),
        }
    }
}

/// Findings about jobs that were lost or done twice.
fn of_jobs(run: &Finished) -> Vec<String> {
    let report = run.report();
    let findings = report["findings"].as_array().unwrap().iter();
    let mut jobs: Vec<_> = findings
        .filter_map(|f| f["cause"].as_str())
        .filter(|cause| cause.starts_with("job_"))
        .map(str::to_owned)
        .collect();
    jobs.dedup();
    jobs
}

/// A failure in a client's words.
fn seen(request: &RequestRecord<&str>) -> String {
    match (request.outcome, request.status) {
        (Outcome::Status, Some(status)) => status.to_string(),
        (Outcome::ConnectRefused, _) => "refused".to_owned(),
        (Outcome::EofBeforeHeaders, _) => "EOF".to_owned(),
        (Outcome::ResetBeforeHeaders, _) => "reset".to_owned(),
        (outcome, _) => outcome.as_str().replace('_', " "),
    }
}

/// The most frequent first.
fn ranked(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut ranked: Vec<_> = counts.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    ranked.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    ranked
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmeasured { exit_code } => match exit_code {
                Some(code) => write!(f, "not measured (exit code {code})"),
                None => f.write_str("not measured"),
            },
            Self::Measured {
                failures,
                causes,
                jobs,
            } => {
                let seen = ranked(failures).into_iter();
                let seen: Vec<_> = seen.map(|(kind, n)| format!("{n} {kind}")).collect();
                let causes = ranked(causes).into_iter().map(|(cause, _)| cause);
                let named = causes.chain(jobs.iter().map(String::as_str));
                let named: Vec<_> = named.map(|cause| format!("`{cause}`")).collect();
                match seen.is_empty() {
                    true => f.write_str("none")?,
                    false => f.write_str(&seen.join(", "))?,
                }
                match named.is_empty() {
                    true => Ok(()),
                    false => write!(f, ": {}", named.join(" ")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter().map(|(k, n)| ((*k).to_owned(), *n)).collect()
    }

    #[test]
    fn what_was_seen_most_comes_first() {
        let cell = Cell::Measured {
            failures: counts(&[("502", 3), ("refused", 40)]),
            causes: counts(&[("early_close", 42), ("several", 1)]),
            jobs: vec!["job_lost".to_owned()],
        };
        let told = "40 refused, 3 502: `early_close` `several` `job_lost`";
        assert_eq!(cell.to_string(), told);
    }

    #[test]
    fn no_failure_and_no_verdict_are_not_the_same() {
        let cell = Cell::Measured {
            failures: counts(&[]),
            causes: counts(&[]),
            jobs: Vec::new(),
        };
        assert_eq!(cell.to_string(), "none");
        let cell = Cell::Unmeasured { exit_code: Some(3) };
        assert_eq!(cell.to_string(), "not measured (exit code 3)");
    }
}
