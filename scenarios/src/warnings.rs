//! What is allowed but probably not meant.

use crate::model::{HeaderSource, Load, RequestSpec, Scenario, Stage, StageKind};
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
    let mixed = || load.requests.iter().filter(|r| load.is_mixed(r));
    let weights: f64 = mixed().map(|r| f64::from(r.weight)).sum();
    let patience = |r: &RequestSpec| {
        let patience = r.abort_after.map_or(r.deadline, |a| a.min(r.deadline));
        patience.as_secs_f64()
    };
    let of_mix: f64 = mixed()
        .map(|r| load.rate.highest() * f64::from(r.weight) / weights * patience(r))
        .sum();
    let own = load.requests.iter().filter(|r| !load.is_mixed(r));
    let own_rate = load.own_rate.as_ref().map_or(0.0, |own| own.per_second);
    let of_own: f64 = own.map(|r| own_rate * patience(r)).sum();
    let rate = load.highest_rate();
    let deadline = (of_mix + of_own) / rate;
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
