//! What is judged: failures of one kind, near each other in time, on one pod or on the same suspects.

use rollscope_records::{Request, RunOffset};

use crate::context::Context;
use crate::timeline::{ContainerEnd, PodIx};
use crate::traffic::{Failure, FailureIx, Kind};

/// One case.
pub(crate) struct Case<'a> {
    pub(crate) kind: Kind,
    pub(crate) failures: Vec<FailureIx>,
    /// The pods that it can have been on, the likeliest first.
    pub(crate) suspects: Vec<PodIx>,
    /// The end that is judged, for [`Kind::PodEnd`].
    pub(crate) end: Option<&'a ContainerEnd>,
    /// They took as long as those that failed before the rollout, and not as long as a refusal does.
    pub(crate) usual: bool,
}

impl<'a> Case<'a> {
    /// The end of a container, judged without a failure.
    pub(crate) fn of_end(pod: PodIx, end: &'a ContainerEnd) -> Self {
        Self {
            kind: Kind::PodEnd,
            failures: Vec::new(),
            suspects: vec![pod],
            end: Some(end),
            usual: false,
        }
    }

    pub(crate) fn failures<'c>(
        &'c self,
        cx: &'c Context<'_>,
    ) -> impl Iterator<Item = &'c Failure> + Clone {
        self.failures.iter().map(|i| &cx.traffic.failures[*i])
    }

    pub(crate) fn requests<'c>(
        &'c self,
        cx: &'c Context<'_>,
    ) -> impl Iterator<Item = Request<'c>> + Clone {
        self.failures(cx).map(|f| cx.traffic.request(f))
    }

    /// The first moment of failure; the end itself where there is no failure.
    pub(crate) fn first(&self, cx: &Context<'_>) -> RunOffset {
        let end = self.end.map_or(RunOffset::ZERO, ContainerEnd::point);
        self.failures(cx).map(|f| f.at).min().unwrap_or(end)
    }

    /// The last moment of failure.
    pub(crate) fn last(&self, cx: &Context<'_>) -> RunOffset {
        let end = self.end.map_or(RunOffset::ZERO, ContainerEnd::point);
        self.failures(cx).map(|f| f.at).max().unwrap_or(end)
    }

    pub(crate) fn len(&self) -> u64 {
        self.failures.len() as u64
    }

    /// The end of a container of `pod` that the case is about: the judged one, or one that explains every cut.
    pub(crate) fn end_on<'p>(&self, pod: PodIx, cx: &'p Context<'_>) -> Option<&'p ContainerEnd> {
        let ends = || cx.pod(pod).ends();
        if let Some(judged) = self.end {
            return ends().find(|e| e.key == judged.key);
        }
        ends().find(|e| self.failures(cx).all(|f| e.explains_cut_at(f.at)))
    }

    /// The same, of the containers of `pod` that serve: not of one through which their traffic goes.
    pub(crate) fn own_end_on<'p>(
        &self,
        pod: PodIx,
        cx: &'p Context<'_>,
    ) -> Option<&'p ContainerEnd> {
        let p = cx.pod(pod);
        let mut own = p.ends().filter(|e| !p.proxies.contains(&e.container));
        match self.end {
            Some(judged) => own.find(|e| e.key == judged.key),
            None => own.find(|e| self.failures(cx).all(|f| e.explains_cut_at(f.at))),
        }
    }
}
