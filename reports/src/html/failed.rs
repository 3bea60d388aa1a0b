//! Every failed request, exact, as the script reads it: one row of numbers each, texts once.

use std::collections::BTreeMap;

use rollscope_records::{Recording, RequestRecord, RunOffset};
use serde_json::{Value, json};

use super::bins::series_of;
use super::placement::{Place, Placement};

/// Names of a row's columns. Times are ms on the run's clock, lengths are ms, texts are indexes into `texts`.
pub(super) const COLUMNS: [&str; 28] = [
    "seq",
    "lane",
    "name",
    "scheduled",
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
    "phase",
    "errno",
    "bytes_sent",
    "bytes_received",
    "close",
    "pod",
    "emitted_by",
    "maskable",
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
    fn add(&mut self, text: &str) -> usize {
        if let Some(index) = self.index.get(text) {
            return *index;
        }
        self.all.push(text.to_owned());
        self.index.insert(text.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    fn some(&mut self, text: Option<&str>) -> Value {
        text.map_or(Value::Null, |text| json!(self.add(text)))
    }
}

/// The table of failed requests, in order of the time at which they were due.
pub(super) fn failed_json(recording: &Recording, placement: &Placement<'_>) -> Value {
    let mut texts = Texts::default();
    let failed = recording.requests.iter().filter(|r| r.outcome.is_failure());
    let rows: Vec<_> = failed
        .map(|r| row(r, placement.of(r), &mut texts))
        .collect();
    json!({ "columns": COLUMNS, "rows": rows, "texts": texts.all })
}

fn row(r: &RequestRecord, place: Place, texts: &mut Texts) -> Value {
    let series = series_of(r.outcome);
    let outcome = texts.add(r.outcome.as_str());
    json!([
        r.seq,
        texts.add(r.lane.as_str()),
        texts.add(&r.name),
        ms(Some(r.scheduled)),
        ms(r.dispatched),
        ms(r.connected),
        ms(r.written),
        ms(r.first_byte),
        ms(r.ended),
        r.connection,
        r.ordinal,
        millis(r.connection_age),
        millis(r.idle),
        u8::from(r.reused),
        r.local_port,
        texts.some(r.peer.as_deref()),
        r.status,
        [outcome, series],
        texts.add(r.phase.as_str()),
        r.errno,
        r.bytes_sent,
        r.bytes_received,
        u8::from(r.close_requested) + 2 * u8::from(r.close_received),
        texts.some(r.pod.as_deref()),
        texts.some(r.emitted_by.as_deref()),
        u8::from(r.maskable),
        [json!(place.pod), json!(texts.add(place.basis.words()))],
        place.burst,
    ])
}

fn ms(at: Option<RunOffset>) -> Value {
    millis(at.map(RunOffset::nanos))
}

fn millis(nanos: Option<i64>) -> Value {
    nanos.map_or(Value::Null, |nanos| {
        json!((nanos as f64 / 1e3).round() / 1e3)
    })
}
