//! Whether a rollout is complete, as `kubectl rollout status` reads it.

use crate::DeploymentView;

/// The state of a Deployment's rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RolloutStatus {
    /// All replicas are of the new template and available, and no other replica counts any more. Old pods may still drain.
    Complete,
    /// Not yet, and for what it waits, in words.
    Waiting(String),
    /// It will not get any further by itself, and why.
    Failed(String),
}

impl RolloutStatus {
    /// The state of the rollout of `deployment`, once its spec has reached at least `generation`.
    pub fn of(deployment: &DeploymentView, generation: i64) -> Self {
        let d = deployment;
        if d.generation < generation || d.observed_generation < d.generation {
            return Self::Waiting("the controller has not seen the new spec yet".to_owned());
        }
        if d.progressing_reason == "ProgressDeadlineExceeded" {
            return Self::Failed(format!(
                "the Deployment exceeded its progressDeadlineSeconds: {}",
                d.progressing_message
            ));
        }
        if d.updated < d.desired {
            let mut why = format!("{} of {} new replicas exist", d.updated, d.desired);
            if let Some(failure) = &d.replica_failure {
                why.push_str(&format!("; creating pods fails: {failure}"));
            }
            return Self::Waiting(why);
        }
        if d.replicas > d.updated {
            let old = d.replicas - d.updated;
            return Self::Waiting(format!("{old} old replicas are not terminated yet"));
        }
        if d.available < d.updated {
            return Self::Waiting(format!(
                "{} of {} new replicas are available",
                d.available, d.updated
            ));
        }
        Self::Complete
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment(generation: i64, status: Value) -> DeploymentView {
        DeploymentView::read(&json!({
            "metadata": {"name": "web", "uid": "u", "generation": generation},
            "spec": {"replicas": 3, "template": {}},
            "status": status,
        }))
    }

    fn counts(observed: i64, replicas: i64, updated: i64, available: i64) -> Value {
        json!({"observedGeneration": observed, "replicas": replicas,
               "updatedReplicas": updated, "availableReplicas": available})
    }

    #[test]
    fn a_spec_that_the_controller_has_not_seen_is_not_complete() {
        let d = deployment(2, counts(1, 3, 3, 3));
        assert!(matches!(
            RolloutStatus::of(&d, 2),
            RolloutStatus::Waiting(_)
        ));
    }

    #[test]
    fn a_deployment_seen_before_our_change_is_not_complete() {
        let d = deployment(1, counts(1, 3, 3, 3));
        assert!(matches!(
            RolloutStatus::of(&d, 2),
            RolloutStatus::Waiting(_)
        ));
    }

    #[test]
    fn surplus_old_replicas_and_unavailable_new_ones_are_waited_for() {
        for status in [counts(2, 4, 3, 3), counts(2, 3, 3, 2), counts(2, 3, 2, 3)] {
            let d = deployment(2, status);
            assert!(matches!(
                RolloutStatus::of(&d, 2),
                RolloutStatus::Waiting(_)
            ));
        }
        let d = deployment(2, counts(2, 3, 3, 3));
        assert_eq!(RolloutStatus::of(&d, 2), RolloutStatus::Complete);
    }

    #[test]
    fn progress_deadline_exceeded_is_a_failure() {
        let mut status = counts(2, 4, 1, 3);
        status["conditions"] = json!([{"type": "Progressing", "status": "False",
            "reason": "ProgressDeadlineExceeded", "message": "timed out"}]);
        let failed = RolloutStatus::of(&deployment(2, status), 2);
        assert!(matches!(failed, RolloutStatus::Failed(why) if why.contains("timed out")));
    }
}
