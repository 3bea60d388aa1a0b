//! Which changes of the workload's template are ours.

use serde_json::Value;

use crate::ClusterState;

/// Watches the Deployment's template for changes by somebody else.
#[derive(Debug, Default)]
pub(crate) struct OwnTemplates {
    own: Vec<Value>,
    /// How many of the state's templates were judged already.
    judged: usize,
}

impl OwnTemplates {
    /// Every template that the workload has had so far is accepted.
    pub(crate) fn accept_all(&mut self, state: &ClusterState) {
        self.judged = state.templates.len();
        if let Some(last) = state.templates.last() {
            self.accept(last.template.clone());
        }
    }

    /// This template is ours.
    pub(crate) fn accept(&mut self, template: Value) {
        if !self.own.contains(&template) {
            self.own.push(template);
        }
    }

    /// The generation of the first template since the last call that is not ours.
    pub(crate) fn foreign(&mut self, state: &ClusterState) -> Option<i64> {
        let new = state.templates.get(self.judged..).unwrap_or_default();
        let foreign = new.iter().find(|seen| !self.own.contains(&seen.template));
        let generation = foreign.map(|seen| seen.generation);
        self.judged = state.templates.len();
        // Named once; what follows is measured against it.
        if generation.is_some() {
            self.accept_all(state);
        }
        generation
    }
}
