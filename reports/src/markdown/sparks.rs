//! Failures over time in characters: a picture that needs no file and shows everywhere.

use rollscope_analyzer::{Analysis, Ms};
use rollscope_records::Recording;

use crate::series::{Second, Seconds};
use crate::text::{count, field};

/// Columns of the picture at most.
const COLUMNS: usize = 80;
/// Columns that a second has at most, where the run is short.
const WIDEST: usize = 5;
/// From nothing to the most.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Lines with failed requests over time and the stages under them; none without a failed request.
pub(super) fn figure(a: &Analysis, recording: &Recording) -> Vec<String> {
    let seconds = Seconds::of(&recording.requests);
    let length = seconds.each.len();
    if length == 0 || a.requests.failed == 0 {
        return Vec::new();
    }
    let width = length.div_ceil(COLUMNS);
    let repeat = (COLUMNS / length).clamp(1, WIDEST);
    let columns: Vec<u64> = seconds
        .each
        .chunks(width)
        .map(|chunk| chunk.iter().map(Second::failed).sum())
        .collect();
    let most = columns.iter().copied().max().unwrap_or(0);
    let unit = if width == 1 {
        "second".to_owned()
    } else {
        format!("{width} s")
    };
    let column = |at: Ms| {
        let s = at.0.nanos().div_euclid(1_000_000_000) - seconds.first;
        usize::try_from(s).unwrap_or(0) / width * repeat
    };
    vec![
        "```text".to_owned(),
        format!("failed a {unit}, most {}", count(most)),
        columns
            .iter()
            .flat_map(|n| std::iter::repeat_n(bar(*n, most), repeat))
            .collect(),
        stage_line(a, columns.len() * repeat, column),
        format!("{}–{} s of the run", seconds.first, seconds.end()),
        "```".to_owned(),
        String::new(),
    ]
}

fn bar(n: u64, most: u64) -> char {
    if n == 0 {
        return '·';
    }
    let step = (n * HEIGHTS.len() as u64).div_ceil(most.max(1));
    HEIGHTS[usize::try_from(step).unwrap_or(1).clamp(1, HEIGHTS.len()) - 1]
}

/// The stages' names, each from the column where it begins, as far as there is room.
fn stage_line(a: &Analysis, columns: usize, column: impl Fn(Ms) -> usize) -> String {
    let mut line: Vec<char> = vec![' '; columns];
    for (n, stage) in a.stages.iter().enumerate() {
        let from = column(stage.from_ms);
        let next = a.stages.get(n + 1).map_or(columns, |s| column(s.from_ms));
        let name: Vec<char> = field(&stage.kind).replace('`', "'").chars().collect();
        let label = std::iter::once('|').chain(name);
        for (at, c) in (from..next.min(columns)).zip(label) {
            line[at] = c;
        }
    }
    let line: String = line.into_iter().collect();
    line.trim_end().to_owned()
}
