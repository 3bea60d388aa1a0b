//! What is allowed but probably not meant.

use crate::model::{HeaderSource, Load, Scenario, Stage, StageKind};
use crate::redacted::is_harmless_header;

impl Scenario {
    /// What is allowed but probably not meant, in sentences.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        warnings.extend(cap_warning(&self.load));
        warnings.extend(settle_warning(&self.stages));
        if self.load.tls.insecure {
            warnings.push(
                "load.tls: `insecure: true` takes any certificate: whoever stands between can read and change everything"
                    .to_owned(),
            );
        }
        for request in self.load.all_requests() {
            for (name, source) in &request.headers {
                if matches!(source, HeaderSource::Literal(_)) && is_secret_header(name) {
                    warnings.push(format!(
                        "request `{}`: the value of the header `{name}` is written in the scenario; \
                         take it from the environment with `{name}: {{ env: VARIABLE }}`",
                        request.name
                    ));
                }
            }
        }
        warnings
    }
}

/// Warns where requests that take their whole deadline do not fit under the cap.
fn cap_warning(load: &Load) -> Option<String> {
    let weights: f64 = load.requests.iter().map(|r| f64::from(r.weight)).sum();
    let deadline: f64 = load
        .requests
        .iter()
        .map(|r| {
            let patience = r.abort_after.map_or(r.deadline, |a| a.min(r.deadline));
            f64::from(r.weight) / weights * patience.as_secs_f64()
        })
        .sum();
    let rate = load.rate.highest();
    let most = (rate * deadline).ceil();
    (most > load.max_in_flight as f64).then(|| {
        format!(
            "load: {rate} requests/s with a mean deadline of {deadline:.1} s can have {most} requests in flight, \
             `max_in_flight` is {cap}: when the service hangs, requests will be dropped and the run be invalid",
            cap = load.max_in_flight,
        )
    })
}

/// Warns where the run would end with its last rollout.
fn settle_warning(stages: &[Stage]) -> Option<String> {
    let last = stages.last()?;
    matches!(last.kind, StageKind::Restart | StageKind::Exec(_)).then(|| {
        format!(
            "stages: the run ends with `{}`; failures that come after it are only seen with a `settle` stage",
            last.kind.as_str()
        )
    })
}

/// Whether a header usually carries a secret.
fn is_secret_header(name: &str) -> bool {
    let marks = [
        "auth",
        "cookie",
        "token",
        "key",
        "secret",
        "session",
        "password",
        "credential",
    ];
    !is_harmless_header(name) && marks.iter().any(|m| name.contains(m))
}
