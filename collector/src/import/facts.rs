//! What the records as a whole tell: the kinds of requests, their rate, what is missing.

use rollscope_records::{
    Gap, GeneratorRecord, ObjectKind, RequestFacts, RequestRecord, RunOffset, WatchRecord,
};

use super::watch;

/// Each path is one kind of request. The files hold only GET.
pub(super) fn kinds(requests: &[RequestRecord], deadline_nanos: i64) -> Vec<RequestFacts> {
    let mut paths: Vec<&str> = requests.iter().map(|r| r.name.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    let fact = |path: &str| RequestFacts {
        name: path.to_owned(),
        method: "GET".to_owned(),
        path: rollscope_records::redact::line(path).into_owned(),
        deadline_nanos,
    };
    paths.into_iter().map(fact).collect()
}

/// Requests per second from the first to the last start, to a tenth; those that were made on purpose beside the load
/// do not count.
pub(super) fn rate(requests: &[RequestRecord], hits: &[String]) -> f64 {
    let mut starts = requests
        .iter()
        .filter(|r| !hits.contains(&r.name))
        .map(|r| r.scheduled);
    let Some(first) = starts.next() else {
        return 0.0;
    };
    let (intervals, last) = starts.fold((0u32, first), |(n, _), start| (n + 1, start));
    let seconds = last.nanos_since(first) as f64 / 1e9;
    if seconds <= 0.0 {
        return 0.0;
    }
    (f64::from(intervals) / seconds * 10.0).round() / 10.0
}

/// Every row was sent; how late, nobody wrote down.
pub(super) fn generator(requests: &[RequestRecord]) -> GeneratorRecord {
    let rows = requests.len() as u64;
    GeneratorRecord {
        planned: rows,
        sent: rows,
        from: requests.first().map(|r| r.scheduled).unwrap_or_default(),
        to: requests.last().map(|r| r.scheduled).unwrap_or_default(),
        ..GeneratorRecord::default()
    }
}

pub(super) fn gaps(absent: &[ObjectKind], warnings: &mut Vec<String>) -> Vec<WatchRecord> {
    let mut gaps = Vec::new();
    for kind in absent {
        let file = watch::file(*kind);
        if *kind == ObjectKind::Node {
            warnings.push(format!(
                "{file} is not in the folder: the kubelet's version is not known"
            ));
            continue;
        }
        warnings.push(format!("{file} is not in the folder"));
        gaps.push(WatchRecord::Gap(Gap {
            source: format!("watch/{}", kind.as_str()),
            from: RunOffset::ZERO,
            to: None,
            reason: format!("{file} is not in the imported folder"),
        }));
    }
    gaps
}
