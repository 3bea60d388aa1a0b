//! Figures for a pull request comment, as SVG and PNG: timeline, outcomes, latency, propagation lag, shutdown.

mod axis;
mod drawing;
mod latency;
mod outcomes;
mod propagation;
mod render;
mod shutdown;
mod timeline;

use rollscope_analyzer::{Analysis, PodReport};
use rollscope_records::{Recording, RunOffset};

use drawing::Drawing;
pub use render::DrawError;

/// Pods of a figure at most; how many are left out is written in it.
const MOST_PODS: usize = 24;

/// A figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Stages, pods with their phases, failed requests and bursts.
    Timeline,
    /// Requests by kind of outcome, a column a second.
    Outcomes,
    /// Latency from the due time, second by second.
    Latency,
    /// How long new connections went on to come to each pod after its deletion.
    Propagation,
    /// The stages of each pod's shutdown against its deadline.
    Shutdown,
}

impl Figure {
    /// Every figure.
    pub const ALL: [Self; 5] = [
        Self::Timeline,
        Self::Outcomes,
        Self::Latency,
        Self::Propagation,
        Self::Shutdown,
    ];

    /// The name of its files, without the extension.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeline => "timeline",
            Self::Outcomes => "outcomes",
            Self::Latency => "latency",
            Self::Propagation => "propagation",
            Self::Shutdown => "shutdown",
        }
    }

    /// The figure as an SVG document, 840 pixels wide. It has no script, no link and no image in it.
    ///
    /// # Errors
    ///
    /// [`DrawError`] when plotters refuses.
    pub fn svg(self, a: &Analysis, recording: &Recording) -> Result<String, DrawError> {
        render::svg(&self.drawing(a, recording))
    }

    /// The figure as a PNG file, 1680 pixels wide.
    ///
    /// # Errors
    ///
    /// [`DrawError`] when plotters refuses.
    pub fn png(self, a: &Analysis, recording: &Recording) -> Result<Vec<u8>, DrawError> {
        render::png(&self.drawing(a, recording))
    }

    fn drawing(self, a: &Analysis, recording: &Recording) -> Drawing {
        match self {
            Self::Timeline => timeline::drawing(a, recording),
            Self::Outcomes => outcomes::drawing(a, recording),
            Self::Latency => latency::drawing(recording),
            Self::Propagation => propagation::drawing(a),
            Self::Shutdown => shutdown::drawing(a),
        }
    }
}

/// The pods that were deleted: all there are of them, and the first [`MOST_PODS`].
fn deleted(a: &Analysis) -> (usize, Vec<&PodReport>) {
    let pods = a.pods.iter().filter(|p| p.deletion_requested_ms.is_some());
    let pods: Vec<_> = pods.collect();
    (pods.len(), pods.into_iter().take(MOST_PODS).collect())
}

/// When a pod ended: the point that its margin is measured from, or the middle of what is known.
fn end_of(pod: &PodReport) -> Option<RunOffset> {
    let exit = pod.exit.as_ref()?.at_ms.0;
    let measured = pod.deadline_ms.zip(pod.margin_to_deadline_ms);
    Some(measured.map_or(exit.mid(), |(deadline, margin)| {
        deadline.0.hi.plus_nanos(-margin.0)
    }))
}

/// What a figure says of the pods that it leaves out.
fn left_out(all: usize, drawn: usize) -> String {
    match all - drawn {
        0 => String::new(),
        n => format!(" {} of {all} pods are drawn, {n} are left out.", drawn),
    }
}
