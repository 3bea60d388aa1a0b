//! `load.streams[]`: connections that are held open.

use std::time::Duration;

use rollscope_records::Lane;

use super::Checker;
use super::load::deadline as own_deadline;
use super::request::headers;
use super::section::Section;
use crate::model::{RequestSpec, StatusRange, StreamKind, StreamSpec};
use crate::tables::STREAM_KINDS;
use crate::{units, words};

/// How many cadences may pass in silence where the scenario does not say.
const SILENT_CADENCES: u32 = 5;

/// The connections in `section`; `deadline` is the load's.
pub(super) fn stream(
    section: &Section<'_>,
    deadline: Option<Duration>,
    checker: &mut Checker<'_>,
) -> Option<StreamSpec> {
    let name = section.parsed("name", checker, |t| {
        words::is_label(t).then(|| t.to_owned())
    });
    let mut kind_and_path = None;
    for kind in STREAM_KINDS {
        let path = section.parsed(kind, checker, |t| words::is_path(t).then(|| t.to_owned()));
        kind_and_path = kind_and_path.or(path.and_then(|p| Some((StreamKind::named(kind)?, p))));
    }
    let count = section.whole("count", checker);
    let cadence = span(section, "cadence", checker);
    let max_silence = match section.get("max_silence") {
        Some(_) => span(section, "max_silence", checker),
        None => cadence.map(|c| c.saturating_mul(SILENT_CADENCES)),
    };
    let retry = span(section, "retry", checker);
    let expect = section.choice("expect", checker);
    let headers = headers(section, checker);
    let deadline = match section.get("deadline") {
        Some(_) => own_deadline(section, checker),
        None => deadline,
    };
    let (kind, path) = kind_and_path?;
    let status = match kind {
        StreamKind::WebSocket => StatusRange { from: 101, to: 101 },
        StreamKind::Sse | StreamKind::Chunked => StatusRange { from: 200, to: 299 },
    };
    Some(StreamSpec {
        kind,
        request: RequestSpec {
            headers: headers?,
            deadline: deadline?,
            expect: vec![status],
            connections: match kind {
                StreamKind::WebSocket => Lane::WebSocket,
                StreamKind::Sse | StreamKind::Chunked => Lane::Stream,
            },
            ..RequestSpec::new(&name?, "GET", &path)
        },
        count: u32::try_from(count?).ok()?,
        cadence: cadence?,
        max_silence: max_silence?,
        retry: retry?,
        may_end: expect? == "orderly_end",
    })
}

fn span(section: &Section<'_>, key: &str, checker: &mut Checker<'_>) -> Option<Duration> {
    section.parsed(key, checker, |t| {
        units::duration(t).filter(|d| !d.is_zero())
    })
}
