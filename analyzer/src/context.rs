//! What every rule may look at.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rollscope_records::{Interval, RunOffset};

use crate::analysis::{Evidence, MsInterval, StageReport};
use crate::background::Baseline;
use crate::corners::Corner;
use crate::drain::Drain;
use crate::gaps::Gaps;
use crate::jobs::Jobs;
use crate::measure::Measures;
use crate::timeline::{LogBook, Pod, PodIx, Timeline};
use crate::traffic::{FailureIx, Traffic};

/// The facts of a recording.
pub(crate) struct Context<'a> {
    pub(crate) timeline: &'a Timeline,
    pub(crate) traffic: &'a Traffic<'a>,
    pub(crate) logs: &'a LogBook,
    pub(crate) drains: &'a BTreeMap<PodIx, Drain>,
    pub(crate) gaps: &'a Gaps,
    pub(crate) baseline: &'a Baseline,
    /// Measurements; empty while causes are judged.
    pub(crate) measures: &'a BTreeMap<PodIx, Measures>,
    /// What the rollout runs on: `sandbox`, `kubernetes` or `none`.
    pub(crate) target: &'a str,
    /// The jobs that the load submitted.
    pub(crate) jobs: Option<&'a Jobs>,
    /// The cluster at the corners of what is known of other clocks.
    pub(crate) corners: &'a [Corner],
    /// The scenario's stages; empty while causes are judged.
    pub(crate) stages: Vec<StageReport>,
    /// What more than one case asks.
    pub(crate) memo: &'a Memo,
}

/// Answers about all failures that do not depend on the case which asks.
#[derive(Default)]
pub(crate) struct Memo {
    /// By template: a failure that shows that its pods close at the signal.
    template_closes: Mutex<BTreeMap<String, Option<FailureIx>>>,
}

impl Memo {
    /// What was found for the template, or is now.
    pub(crate) fn template_closes(
        &self,
        template: &str,
        find: impl FnOnce() -> Option<FailureIx>,
    ) -> Option<FailureIx> {
        let known = || {
            self.template_closes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(found) = known().get(template) {
            return *found;
        }
        let found = find();
        known().insert(template.to_owned(), found);
        found
    }
}

impl<'a> Context<'a> {
    /// The same facts with another timeline.
    pub(crate) fn at<'c>(
        &'c self,
        timeline: &'c Timeline,
        drains: &'c BTreeMap<PodIx, Drain>,
        memo: &'c Memo,
    ) -> Context<'c>
    where
        'a: 'c,
    {
        Context {
            timeline,
            drains,
            traffic: self.traffic,
            logs: self.logs,
            gaps: self.gaps,
            baseline: self.baseline,
            measures: self.measures,
            jobs: self.jobs,
            target: self.target,
            corners: &[],
            stages: Vec::new(),
            memo,
        }
    }

    pub(crate) fn pod(&self, ix: PodIx) -> &Pod {
        self.timeline.pod(ix)
    }

    pub(crate) fn drain(&self, ix: PodIx) -> Option<&Drain> {
        self.drains.get(&ix)
    }

    /// A fact about a pod, seen at `at`.
    pub(crate) fn fact(
        &self,
        id: &str,
        pod: PodIx,
        at: Option<Interval>,
        text: impl AsRef<str>,
    ) -> Evidence {
        let name = &self.pod(pod).name;
        Evidence {
            id: id.to_owned(),
            text: format!("{name}: {}", text.as_ref()),
            at_ms: at.map(MsInterval),
            pod: Some(name.clone()),
        }
    }
}

/// A fact about no pod in particular.
pub(crate) fn general(id: &str, at: Option<RunOffset>, text: impl Into<String>) -> Evidence {
    Evidence {
        id: id.to_owned(),
        text: text.into(),
        at_ms: at.map(|t| MsInterval(Interval::at(t))),
        pod: None,
    }
}
