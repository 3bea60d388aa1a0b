//! Request rows, exact, as the script reads them: a table in columns, texts once.

use std::collections::BTreeMap;

use rollscope_records::{Request, RunOffset};
use serde_json::{Map, Value, json};

use super::bins::series_of;
use super::columns::{Cell, column_json};
use super::placement::{Place, Placement};
use crate::text::field;

/// Names of the columns. `scheduled` is microseconds of the run, the times after it are microseconds since it; lengths
/// are microseconds; `lane`, `name`, `peer`, `outcome`, `phase`, `pod`, `emitted_by` and `basis` are indexes into
/// `texts`, `series` and `place` are indexes into the page's series and pods.
const COLUMNS: [&str; 30] = [
    "seq",
    "scheduled",
    "lane",
    "name",
    "dispatched",
    "connected",
    "written",
    "first_byte",
    "ended",
    "connection",
    "ordinal",
    "connection_age",
    "idle",
    "reused",
    "local_port",
    "peer",
    "status",
    "outcome",
    "series",
    "phase",
    "errno",
    "bytes_sent",
    "bytes_received",
    "close",
    "pod",
    "emitted_by",
    "maskable",
    "place",
    "basis",
    "burst",
];

/// The columns that the timeline is drawn from; the others are of use when a request is looked at.
const DRAWN: [&str; 8] = [
    "seq",
    "scheduled",
    "lane",
    "dispatched",
    "ended",
    "series",
    "place",
    "burst",
];

/// Texts, each once, in the order in which they first came.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    index: BTreeMap<String, usize>,
}

impl Texts {
    fn add(&mut self, text: &str) -> Cell {
        let index = self.index.get(text).copied().unwrap_or_else(|| {
            self.all.push(field(text));
            self.index.insert(text.to_owned(), self.all.len() - 1);
            self.all.len() - 1
        });
        i64::try_from(index).ok()
    }

    fn some(&mut self, text: Option<&str>) -> Cell {
        text.and_then(|text| self.add(text))
    }
}

/// The table of `requests`, which are in the order of the time at which they were due. Its texts can be shown as they
/// are.
pub(super) fn rows_json<'a>(
    requests: impl Iterator<Item = Request<'a>>,
    placement: &Placement<'_>,
) -> Value {
    let mut texts = Texts::default();
    let mut columns: [Vec<Cell>; COLUMNS.len()] = Default::default();
    for request in requests {
        let row = row(&request, placement.of(&request), &mut texts);
        for (column, cell) in columns.iter_mut().zip(row) {
            column.push(cell);
        }
    }
    let columns_json: Map<String, Value> = COLUMNS
        .iter()
        .zip(&columns)
        .map(|(name, cells)| ((*name).to_owned(), column_json(cells)))
        .collect();
    json!({ "count": columns[0].len(), "columns": columns_json, "texts": texts.all })
}

/// Leaves a table the columns that are drawn; gives the others.
pub(super) fn without_drawn(table: &mut Value) -> Map<String, Value> {
    let Some(Value::Object(columns)) = table.get_mut("columns") else {
        return Map::new();
    };
    let all = std::mem::take(columns);
    let (drawn, others) = all
        .into_iter()
        .partition(|(name, _)| DRAWN.contains(&name.as_str()));
    *columns = drawn;
    others
}

fn row(r: &Request<'_>, place: Place, texts: &mut Texts) -> [Cell; COLUMNS.len()] {
    let scheduled = micros(r.scheduled.nanos());
    let after = |at: Option<RunOffset>| at.map(|at| micros(at.nanos()) - scheduled);
    let close = i64::from(r.close_requested) + 2 * i64::from(r.close_received);
    [
        i64::try_from(r.seq).ok(),
        Some(scheduled),
        texts.add(r.lane.as_str()),
        texts.add(r.name),
        after(r.dispatched),
        after(r.connected),
        after(r.written),
        after(r.first_byte),
        after(r.ended),
        r.connection.and_then(|id| i64::try_from(id).ok()),
        r.ordinal.map(i64::from),
        r.connection_age.map(micros),
        r.idle.map(micros),
        Some(i64::from(r.reused)),
        r.local_port.map(i64::from),
        texts.some(r.peer),
        r.status.map(i64::from),
        texts.add(r.outcome.as_str()),
        i64::try_from(series_of(r.outcome)).ok(),
        texts.add(r.phase.as_str()),
        r.errno.map(i64::from),
        i64::try_from(r.bytes_sent).ok(),
        i64::try_from(r.bytes_received).ok(),
        Some(close),
        texts.some(r.pod),
        texts.some(r.emitted_by),
        Some(i64::from(r.maskable)),
        place.pod.and_then(|pod| i64::try_from(pod).ok()),
        texts.add(place.basis),
        place.burst.map(i64::from),
    ]
}

/// Nanoseconds to the nearest microsecond, as `report.json` rounds.
fn micros(nanos: i64) -> i64 {
    (nanos as f64 / 1e3).round() as i64
}
