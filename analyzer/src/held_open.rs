//! What the connections that were held open say, by their name in the scenario.

use std::collections::BTreeMap;

use rollscope_records::{StreamEnd, StreamRecord};

use crate::analysis::{MsLength, StreamReport};

/// One report for each name, in order of the names.
pub(crate) fn stream_reports(streams: &[StreamRecord]) -> Vec<StreamReport> {
    let mut by_name: BTreeMap<&str, StreamReport> = BTreeMap::new();
    for s in streams {
        let report = by_name
            .entry(&s.name)
            .or_insert_with(|| StreamReport::new(&s.name, s.cadence_nanos));
        report.connections += 1;
        report.messages += s.messages;
        report.silences += s.silences;
        let longest = report.longest_silence_ms.0.max(s.longest_silence_nanos);
        report.longest_silence_ms = MsLength(longest);
        *report.ends.entry(end_word(s.end).to_owned()).or_default() += 1;
        if let Some(code) = s.close_code {
            *report.close_codes.entry(code.to_string()).or_default() += 1;
        }
        if s.resumes.is_some() {
            report.resumed += u64::from(s.resumption_nanos.is_some());
            let longest = report.longest_resumption_ms;
            report.longest_resumption_ms = longest.max(s.resumption_nanos.map(MsLength));
        }
    }
    by_name.into_values().collect()
}

impl StreamReport {
    fn new(name: &str, cadence_nanos: i64) -> Self {
        Self {
            name: name.to_owned(),
            cadence_ms: MsLength(cadence_nanos),
            connections: 0,
            messages: 0,
            silences: 0,
            longest_silence_ms: MsLength(0),
            ends: BTreeMap::new(),
            close_codes: BTreeMap::new(),
            resumed: 0,
            longest_resumption_ms: None,
        }
    }
}

const fn end_word(end: StreamEnd) -> &'static str {
    match end {
        StreamEnd::NotOpened => "not_opened",
        StreamEnd::Held => "held",
        StreamEnd::Aborted => "aborted",
        StreamEnd::Closed => "closed",
        StreamEnd::Eof => "eof",
        StreamEnd::Reset => "reset",
        StreamEnd::Silence => "silence",
        StreamEnd::Protocol => "protocol",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn stream(seq: u64, name: &str, end: StreamEnd) -> StreamRecord {
        StreamRecord {
            seq,
            name: name.to_owned(),
            place: 0,
            cadence_nanos: 250 * MS,
            messages: 10,
            first_message: None,
            last_message: None,
            silences: 0,
            longest_silence_nanos: 300 * MS,
            end,
            close_code: None,
            resumes: None,
            resumption_nanos: None,
        }
    }

    #[test]
    fn ends_silences_and_resumptions_are_told_by_name() {
        let mut cut = stream(1, "feed", StreamEnd::Eof);
        (cut.silences, cut.longest_silence_nanos) = (2, 900 * MS);
        let mut next = stream(2, "feed", StreamEnd::Held);
        (next.resumes, next.resumption_nanos) = (Some(1), Some(1200 * MS));
        let mut chat = stream(3, "chat", StreamEnd::Closed);
        chat.close_code = Some(1001);
        let reports = stream_reports(&[cut, next, chat]);
        let [chat, feed] = reports.as_slice() else {
            panic!("{reports:?}")
        };
        assert_eq!(chat.close_codes, BTreeMap::from([("1001".to_owned(), 1)]));
        assert_eq!((feed.connections, feed.messages), (2, 20));
        assert_eq!(feed.ends["eof"], 1);
        assert_eq!(feed.ends["held"], 1);
        assert_eq!((feed.silences, feed.longest_silence_ms.0), (2, 900 * MS));
        assert_eq!(feed.resumed, 1);
        assert_eq!(feed.longest_resumption_ms, Some(MsLength(1200 * MS)));
    }
}
