//! The stages of each pod's shutdown, as far as there is room.

use rollscope_analyzer::{Analysis, PodReport, Shutdown};

use super::escape::code;
use crate::stages::{COLUMNS, order, owners, reached};
use crate::text::{counted, stage_words, visible};

/// Pods that are told.
const MOST: usize = 4;

/// Lines beside the rows of pods: head, rule, blank.
const AROUND: usize = 3;

/// A table of at most `room` lines, pods with something wrong first; none where no log tells of stages.
pub(super) fn table(a: &Analysis, room: usize) -> Vec<String> {
    let mut told: Vec<(&PodReport, &Shutdown)> = a
        .pods
        .iter()
        .filter_map(|p| Some((p, p.shutdown.as_ref()?)))
        .collect();
    told.sort_by_key(|(_, s)| s.in_order != Some(false) && s.owners < 2);
    let most = MOST.min(room.saturating_sub(AROUND));
    // One row less where the rest has to be counted.
    let shown = if told.len() > most {
        most.saturating_sub(1)
    } else {
        told.len()
    };
    if shown == 0 {
        return Vec::new();
    }
    let columns: Vec<&str> = COLUMNS
        .into_iter()
        .filter(|c| {
            told.iter()
                .any(|(_, s)| s.stages.iter().any(|x| x.stage == *c))
        })
        .collect();
    let names: Vec<_> = columns.iter().map(|c| stage_words(c)).collect();
    let mut lines = vec![
        format!(
            "| after the signal | {} | order | owners |",
            names.join(" | ")
        ),
        format!("|:--|{}:--|:--|", "--:|".repeat(columns.len())),
    ];
    lines.extend(
        told.iter()
            .take(shown)
            .map(|(pod, s)| row(pod, s, &columns)),
    );
    if told.len() > shown {
        let left = counted((told.len() - shown) as u64, "more pod", "more pods");
        lines.push(format!("| and {left} |{}", " |".repeat(columns.len() + 2)));
    }
    lines.push(String::new());
    lines
}

fn row(pod: &PodReport, shutdown: &Shutdown, columns: &[&str]) -> String {
    let cells: Vec<String> = columns
        .iter()
        .map(|c| match reached(pod, shutdown, c) {
            Some(r) if r.runs > 1 => format!("{} (×{})", r.after, r.runs),
            Some(r) => r.after,
            None => "–".to_owned(),
        })
        .collect();
    format!(
        "| {} | {} | {} | {} |",
        code(&visible(&pod.name, 100)),
        cells.join(" | "),
        order(shutdown).1,
        owners(shutdown)
    )
}
