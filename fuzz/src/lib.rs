//! What the fuzz targets do with their bytes.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use rollscope_analyzer::analyze;
use rollscope_records::{
    ClockSample, EndKind, Lane, LogRecord, LogSource, ObjectKind, Outcome, Recording,
    RecordingWriter, RequestRecord, RunEnd, RunOffset, RunRecord, StageRecord, TargetFacts,
    WatchRecord, WatchType,
};
use serde_json::{Value, json};

/// Damages the files of a good recording as `data` says and reads them: an error or a recording with its losses, which
/// is analysed.
///
/// `data` is a list of damages of four bytes and more: which file, what to do (cut, write over, insert, remove, put twice,
/// empty), where (two bytes, as a share of the file), and for two of them a byte with the number of bytes that follow.
pub fn reader(data: &[u8]) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut files: Vec<(String, Vec<u8>)> = good().to_vec();
    let mut rest = data;
    while let [which, what, hi, lo, more @ ..] = rest {
        let at = u16::from_be_bytes([*hi, *lo]);
        let many = files.len();
        rest = damage(&mut files[usize::from(*which) % many].1, *what, at, more);
    }
    for (name, bytes) in &files {
        // A file that was emptied altogether is missing.
        if !bytes.is_empty() {
            fs::write(dir.path().join(name), bytes).expect("the temporary folder can be written");
        }
    }
    match Recording::open(dir.path()) {
        Ok(recording) => check(&recording),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn damage<'d>(file: &mut Vec<u8>, what: u8, at: u16, more: &'d [u8]) -> &'d [u8] {
    let at = file.len() * usize::from(at) / (usize::from(u16::MAX) + 1);
    let (with, rest) = match more {
        [n, tail @ ..] if what % 6 == 1 || what % 6 == 2 => {
            tail.split_at(usize::from(*n).min(tail.len()))
        }
        _ => (&[][..], more),
    };
    match what % 6 {
        0 => file.truncate(at),
        1 => {
            for (old, new) in file[at..].iter_mut().zip(with) {
                *old = *new;
            }
        }
        2 => drop(file.splice(at..at, with.iter().copied())),
        3 => drop(file.drain(at..(at + 7).min(file.len()))),
        4 => {
            let twice = file[at..].to_vec();
            file.extend(twice);
        }
        _ => file.clear(),
    }
    rest
}

/// Reads `data` as lines of JSON, each a record or a part of a run, and analyses what is understood.
pub fn analyzer(data: &[u8]) {
    let mut recording = Recording::new(run());
    let mut requests: Vec<RequestRecord> = Vec::new();
    for line in data.split(|b| *b == b'\n') {
        if let Ok(value) = serde_json::from_slice::<Value>(line) {
            take(&mut recording, &mut requests, value);
        }
    }
    recording.requests = requests.into_iter().collect();
    check(&recording);
}

fn take(recording: &mut Recording, requests: &mut Vec<RequestRecord>, line: Value) {
    fn read<T: for<'d> serde::Deserialize<'d>>(value: &Value) -> Option<T> {
        serde_json::from_value(value.clone()).ok()
    }
    requests.extend(read::<RequestRecord>(&line));
    recording.watch.extend(read::<WatchRecord>(&line));
    recording.logs.extend(read::<LogRecord>(&line));
    recording.stages.extend(read::<StageRecord>(&line));
    recording.clocks.extend(read::<ClockSample>(&line));
    if let Some(run) = read::<RunRecord>(&line) {
        recording.run = run;
    }
}

/// The records of a recording as [`analyzer`] reads them.
pub fn lines(recording: &Recording) -> Vec<u8> {
    let mut all = vec![json!(recording.run)];
    all.extend(recording.watch.iter().map(|w| json!(w)));
    all.extend(recording.logs.iter().map(|l| json!(l)));
    all.extend(recording.stages.iter().map(|s| json!(s)));
    all.extend(recording.clocks.iter().map(|c| json!(c)));
    recording.requests.clone().edit_each(|r| all.push(json!(r)));
    let lines: Vec<String> = all.iter().map(Value::to_string).collect();
    lines.join("\n").into_bytes()
}

/// What holds of every analysis.
fn check(recording: &Recording) {
    let analysis = analyze(recording);
    let c = &analysis.requests;
    let in_bursts: u64 = analysis.bursts.iter().map(|b| b.failed).sum();
    assert_eq!(c.planned, recording.requests.len() as u64);
    assert_eq!(c.planned, c.sent + c.dropped);
    assert_eq!(c.sent, c.ok + c.failed + c.aborted);
    assert_eq!(in_bursts + analysis.unattributed, c.failed);
    assert!(serde_json::to_string(&analysis).is_ok());
}

/// The files of a small good recording, in order of their names.
fn good() -> &'static [(String, Vec<u8>)] {
    static FILES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary folder");
        write(&dir.path().join("good.rollscope"));
        let files = fs::read_dir(dir.path().join("good.rollscope")).expect("it was written");
        let mut files: Vec<(String, Vec<u8>)> = files
            .map(|entry| {
                let path = entry.expect("a file").path();
                let name = path.file_name().unwrap_or_default();
                let bytes = fs::read(&path).expect("it can be read");
                (name.to_string_lossy().into_owned(), bytes)
            })
            .collect();
        files.sort();
        files
    })
}

fn write(dir: &Path) {
    let writer = RecordingWriter::create(dir, &run()).expect("a new recording");
    for seq in 0..20_u32 {
        let at = RunOffset::from_millis(50 * i64::from(seq));
        let mut r = RequestRecord::scheduled(u64::from(seq), Lane::New, "list", at);
        r.outcome = if seq == 7 {
            Outcome::ConnectRefused
        } else {
            Outcome::Ok
        };
        (r.dispatched, r.ended) = (Some(at), Some(at.plus_nanos(1_000_000)));
        writer.request(r);
    }
    let source = LogSource::Container {
        pod: "old".to_owned(),
        container: "web".to_owned(),
    };
    writer.log(LogRecord {
        at: RunOffset::from_millis(300),
        source,
        timestamp: Some("2026-11-30T11:08:42.3Z".to_owned()),
        line: "SIGTERM, shutting down".to_owned(),
    });
    writer.watch(WatchRecord::Event {
        at: RunOffset::from_millis(290),
        kind: ObjectKind::Pod,
        event: WatchType::Modified,
        object: json!({"metadata": {"name": "old", "uid": "u", "deletionTimestamp": "2026-11-30T11:09:12Z",
            "deletionGracePeriodSeconds": 30}, "status": {"phase": "Running"}}),
    });
    writer.finish(None, &run()).expect("it can be written");
}

fn run() -> RunRecord {
    RunRecord {
        rate_per_second: 20.0,
        end: Some(RunEnd {
            at: RunOffset::from_millis(1_000),
            how: EndKind::Completed,
            reason: None,
        }),
        ..RunRecord::new(
            "run",
            "web",
            "fuzz",
            1_796_036_922_000_000_000,
            TargetFacts::of("kubernetes"),
        )
    }
}
