//! A run as the index of a folder shows it: what its `report.json` says, in short.

use std::collections::BTreeMap;

use rollscope_analyzer::SCHEMA;
use serde_json::Value;

/// One run of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEntry {
    /// The scenario's name.
    pub name: String,
    /// What was rolled out, `deployment/<name>`, where it is known.
    pub workload: Option<String>,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// How it ended: `passed`, `gate_failed`, `invalid`, `interrupted`, `environment_failed`.
    pub outcome: String,
    /// The exit code.
    pub exit_code: u64,
    /// Requests sent.
    pub sent: u64,
    /// Requests failed.
    pub failed: u64,
    /// Failed requests by cause.
    pub causes: BTreeMap<String, u64>,
    /// The longest time for which new connections still reached a terminating pod, ms.
    pub longest_lag_ms: Option<f64>,
    /// The least time between the end of a pod and its deadline, ms; negative when it ended after it.
    pub tightest_margin_ms: Option<f64>,
    /// Where its timeline is, as a path relative to the index, `/` between its parts. `None` where there is none.
    pub timeline: Option<String>,
}

/// Why a `report.json` could not be shown in an index.
#[derive(Debug, thiserror::Error)]
pub enum RunEntryError {
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is of a version that is not known here, or no report at all.
    #[error("its schema is {found:?}, not {SCHEMA:?}; write it again with `rollscope report`")]
    Schema {
        /// The schema that it names; empty when it names none.
        found: String,
    },
}

impl RunEntry {
    /// The run that a `report.json` tells of. Fields that are not there are shown as not known.
    ///
    /// # Errors
    ///
    /// [`RunEntryError`] when the text is no report of a known version.
    pub fn from_report(json: &str, timeline: Option<String>) -> Result<Self, RunEntryError> {
        let report: Value = serde_json::from_str(json)?;
        let found = report["schema"].as_str().unwrap_or_default();
        if found != SCHEMA {
            return Err(RunEntryError::Schema {
                found: found.to_owned(),
            });
        }
        let text = |pointer: &str| {
            report
                .pointer(pointer)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let mut causes = BTreeMap::new();
        for burst in report["bursts"].as_array().into_iter().flatten() {
            let cause = burst["cause"].as_str().unwrap_or("unknown").to_owned();
            *causes.entry(cause).or_default() += burst["failed"].as_u64().unwrap_or(0);
        }
        let of_pods = |field: &str| {
            let pods = report["pods"].as_array().into_iter().flatten();
            pods.filter_map(|pod| pod[field].as_f64())
                .collect::<Vec<_>>()
        };
        Ok(Self {
            name: text("/run/name").unwrap_or_default(),
            workload: text("/run/workload"),
            started_at: text("/run/started_at").unwrap_or_default(),
            outcome: text("/verdict/outcome").unwrap_or_default(),
            exit_code: number("/verdict/exit_code"),
            sent: number("/requests/sent"),
            failed: number("/requests/failed"),
            causes,
            longest_lag_ms: of_pods("propagation_lag_ms").into_iter().reduce(f64::max),
            tightest_margin_ms: of_pods("margin_to_deadline_ms")
                .into_iter()
                .reduce(f64::min),
            timeline,
        })
    }

    /// The address of its timeline in an index: every character that could mean something else is escaped.
    pub(super) fn href(&self) -> Option<String> {
        let mut href = String::from(".");
        for part in self.timeline.as_ref()?.split('/') {
            href.push('/');
            for byte in part.bytes() {
                if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                    href.push(char::from(byte));
                } else {
                    href.push_str(&format!("%{byte:02X}"));
                }
            }
        }
        Some(href)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use crate::html::fixtures::analysis_of;
    use crate::report_json;

    #[test]
    fn an_entry_is_what_the_report_says() {
        let mut analysis = analysis_of(&["a", "b"], &[(1, &["a"]), (2, &["b"])]);
        analysis.requests.failed = 2;
        analysis.pods[0].propagation_lag_ms = Some(rollscope_analyzer::MsLength(1_500_000_000));
        analysis.pods[1].propagation_lag_ms = Some(rollscope_analyzer::MsLength(2_500_000_000));
        analysis.pods[1].margin_to_deadline_ms = Some(rollscope_analyzer::MsLength(-40_000_000));
        let entry = RunEntry::from_report(&report_json(&analysis), None).unwrap();
        assert_eq!((entry.failed, entry.outcome.as_str()), (2, "gate_failed"));
        assert_eq!(entry.causes, BTreeMap::from([("unknown".to_owned(), 2)]));
        assert_eq!(entry.longest_lag_ms, Some(2_500.0));
        assert_eq!(entry.tightest_margin_ms, Some(-40.0));
    }

    #[test]
    fn another_version_is_refused_with_what_to_do() {
        let error = RunEntry::from_report(r#"{"schema":"rollscope/report/v9"}"#, None).unwrap_err();
        assert!(error.to_string().contains("rollscope/report/v9"), "{error}");
        assert!(error.to_string().contains("rollscope report"), "{error}");
    }

    #[test]
    fn a_link_stays_a_path_below_the_index() {
        let mut entry = RunEntry::from_report(&report_json(&analysis_of(&[], &[])), None).unwrap();
        let mut href = |timeline: &str| {
            entry.timeline = Some(timeline.to_owned());
            entry.href().unwrap()
        };
        assert_eq!(href("run-1/timeline.html"), "./run-1/timeline.html");
        assert_eq!(href("javascript:alert(1)"), "./javascript%3Aalert%281%29");
        assert_eq!(href("a \"b\"?#é"), "./a%20%22b%22%3F%23%C3%A9");
    }
}
