//! A recording survives its disk: whole, cut and damaged.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use polars::prelude::{ParquetReader, SerReader};
use proptest::prelude::*;
use rollscope_records::{
    EndKind, JobPlan, JobRecord, Lane, LogRecord, LogSource, ObjectKind, Outcome, Phase, ReadError,
    Recording, RecordingWriter, RequestRecord, RunEnd, RunOffset, RunRecord, TargetFacts,
    WatchRecord, WatchType, WriteError,
};

fn run() -> RunRecord {
    RunRecord {
        rate_per_second: 100.0,
        ..RunRecord::new(
            "r1",
            "test",
            "test",
            1_700_000_000_000_000_000,
            TargetFacts::of("none"),
        )
    }
}

fn request(seq: u64) -> RequestRecord {
    let mut r = RequestRecord::scheduled(
        seq,
        if seq.is_multiple_of(3) {
            Lane::New
        } else {
            Lane::Reused
        },
        "list",
        RunOffset(seq as i64 * 5_000_000),
    );
    r.dispatched = Some(r.scheduled.plus_nanos(12_345));
    r.ended = Some(r.scheduled.plus_nanos(900_001));
    r.status = Some(200);
    r.outcome = Outcome::Ok;
    r.phase = Phase::Done;
    r.connection = Some(seq % 7);
    r.ordinal = Some(4);
    r.local_port = Some(40_000);
    r.pod = seq.is_multiple_of(2).then(|| format!("web-{}", seq % 3));
    r
}

/// Waits until the stream holds `rows` rows, as somebody who opens a running recording would see it.
fn wait_for_rows(dir: &Path, rows: usize) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Recording::open(dir).unwrap().requests.len() < rows {
        assert!(
            Instant::now() < deadline,
            "the rows were not written in time"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_was_recorded_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("a.rollscope");
    let writer = RecordingWriter::create(&dir, &run()).unwrap();
    let requests: Vec<_> = (0..20_000).map(request).collect();
    requests
        .iter()
        .rev()
        .for_each(|r| writer.request(r.clone()));
    let log = LogRecord {
        at: RunOffset(5),
        source: LogSource::Container {
            pod: "p".into(),
            container: "c".into(),
        },
        timestamp: Some("2026-11-30T11:07:47.001573000Z".into()),
        line: "\u{1b}[31mhello".into(),
    };
    writer.log(log.clone());
    let watch = WatchRecord::Event {
        at: RunOffset(7),
        kind: ObjectKind::Pod,
        event: WatchType::Added,
        object: serde_json::json!({"metadata": {"name": "p"}}),
    };
    writer.watch(watch.clone());
    let end = RunEnd {
        at: RunOffset(9),
        how: EndKind::Completed,
        reason: None,
    };
    let ended = RunRecord {
        end: Some(end),
        ..run()
    };
    writer.finish(None, &ended).unwrap();
    let read = Recording::open(&dir).unwrap();
    assert_eq!(read.losses, []);
    assert_eq!(read.requests, requests.into());
    assert_eq!(
        (read.logs, read.watch, read.run),
        (vec![log], vec![watch], ended)
    );
    assert!(dir.join("requests.parquet").exists() && !dir.join("requests.arrows").exists());
}

#[test]
fn a_recording_that_was_never_finished_is_readable() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("a.rollscope");
    let writer = RecordingWriter::create(&dir, &run()).unwrap();
    (0..100).for_each(|i| writer.request(request(i)));
    wait_for_rows(&dir, 100);
    let read = Recording::open(&dir).unwrap();
    assert_eq!(
        (read.requests.len(), read.run.end, read.generator),
        (100, None, None)
    );
}

#[test]
fn an_existing_recording_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let _first = RecordingWriter::create(dir.path(), &run()).unwrap();
    assert!(matches!(
        RecordingWriter::create(dir.path(), &run()),
        Err(WriteError::Exists(_))
    ));
}

#[test]
fn what_is_not_a_recording_or_is_too_new_is_refused_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let refused = Recording::open(dir.path()).unwrap_err();
    assert!(matches!(refused, ReadError::NotARecording(_)), "{refused}");
    fs::write(dir.path().join("run.json"), r#"{"format_version": 99}"#).unwrap();
    let refused = Recording::open(dir.path()).unwrap_err();
    assert!(
        matches!(refused, ReadError::TooNew { found: 99, .. }),
        "{refused}"
    );
}

/// A stream of four batches, left behind as a killed program leaves it.
fn stream_of_four_batches() -> (tempfile::TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.rollscope");
    let writer = RecordingWriter::create(&path, &run()).unwrap();
    for batch in 0..4 {
        (batch * 50..(batch + 1) * 50).for_each(|i| writer.request(request(i)));
        wait_for_rows(&path, (batch as usize + 1) * 50);
    }
    let bytes = fs::read(path.join("requests.arrows")).unwrap();
    (dir, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn cuts_and_flipped_bits_lose_their_own_batches_and_say_so(
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 40)
    ) {
        let (dir, bytes) = stream_of_four_batches();
        let stream = dir.path().join("a.rollscope/requests.arrows");
        for (place, cut) in places {
            let at = place.index(bytes.len());
            let mut damaged = bytes.clone();
            if cut { damaged.truncate(at) } else { damaged[at] ^= 0x10 }
            fs::write(&stream, &damaged).unwrap();
            let read = Recording::open(&dir.path().join("a.rollscope")).unwrap();
            prop_assert!(!read.losses.is_empty(), "damage at {} was not noticed", at);
            prop_assert!(read.requests.iter().all(|r| r == request(r.seq).view()));
            if !cut && !read.requests.is_empty() {
                prop_assert!(read.requests.len() >= 100, "{} rows left", read.requests.len());
            }
        }
    }
}

#[test]
fn every_file_that_is_missing_or_changed_after_the_run_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("a.rollscope");
    let writer = RecordingWriter::create(&dir, &run()).unwrap();
    writer.request(request(0));
    let end = RunEnd {
        at: RunOffset(9),
        how: EndKind::Completed,
        reason: None,
    };
    let ended = RunRecord {
        end: Some(end),
        ..run()
    };
    writer.finish(Some(&Default::default()), &ended).unwrap();
    assert_eq!(Recording::open(&dir).unwrap().losses, []);
    let files: Vec<_> = fs::read_dir(&dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(files.len(), 9, "{files:?}");
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let whole = fs::read(&file).unwrap();
        let told = |what: &str| {
            let read = Recording::open(&dir).unwrap();
            assert!(
                read.losses.iter().any(|l| l.file == name),
                "{what} {name} was not noticed"
            );
        };
        if name != "run.json" {
            fs::remove_file(&file).unwrap();
            told("removed");
        }
        if name != "checksums.json" {
            fs::write(&file, [&whole[..], b" \n"].concat()).unwrap();
            told("appended to");
        }
        fs::write(&file, &whole).unwrap();
    }
}

#[test]
fn rows_that_came_in_the_order_of_their_ends_are_stored_in_that_of_their_schedule() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("a.rollscope");
    let writer = RecordingWriter::create(&dir, &run()).unwrap();
    // More than a row group, in batches, some rows thousands of places late.
    let rows = 100_000;
    let mut order: Vec<u64> = (0..rows).collect();
    order.sort_by_key(|seq| {
        seq + if seq.is_multiple_of(97) {
            20_000
        } else {
            seq % 50
        }
    });
    for batch in order.chunks(1_000) {
        let batch: Vec<_> = batch.iter().map(|seq| request(*seq)).collect();
        batch.into_iter().for_each(|r| writer.request(r));
    }
    writer.finish(None, &run()).unwrap();
    let parquet = fs::read(dir.join("requests.parquet")).unwrap();
    let frame = ParquetReader::new(std::io::Cursor::new(parquet))
        .finish()
        .unwrap();
    let seqs: Vec<_> = frame
        .column("seq")
        .unwrap()
        .u64()
        .unwrap()
        .iter()
        .flatten()
        .collect();
    assert!(seqs.into_iter().eq(0..rows));
    assert_eq!(writer.lost(), 0);
}

#[test]
fn a_load_that_is_too_fast_for_the_disk_loses_records_and_counts_them() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("a.rollscope");
    let writer = RecordingWriter::create(&dir, &run()).unwrap();
    let batch: Vec<_> = (0..1_000).map(request).collect();
    let mut sent = 0;
    while writer.lost() == 0 {
        writer.batch(
            batch.iter().map(RequestRecord::to_shared).collect(),
            Vec::new(),
        );
        sent += batch.len() as u64;
        assert!(sent < 100_000_000, "the disk is never too slow");
    }
    writer.finish(None, &run()).unwrap();
    let kept = Recording::open(&dir).unwrap().requests.len() as u64;
    assert_eq!(kept + writer.lost(), sent);
}

#[test]
fn what_a_peer_said_is_recorded_without_the_secrets_that_the_run_knows() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = vec!["open-sesame".to_owned()];
    let writer = RecordingWriter::create_without(secrets, dir.path(), &run()).unwrap();
    let mut echoed = request(0);
    echoed.pod = Some("web-open-sesame".to_owned());
    echoed.emitted_by = Some("via=open-sesame".to_owned());
    echoed.detail = Some("open-sesame".to_owned());
    writer.batch(vec![echoed.to_shared()], Vec::new());
    writer.finish(None, &run()).unwrap();
    let read = Recording::open(dir.path()).unwrap();
    let shown = format!("{:?}", read.requests);
    assert!(!shown.contains("open-sesame"), "{shown}");
}

#[test]
fn log_lines_are_recorded_without_the_secrets_that_the_run_knows() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = vec!["open-sesame".to_owned(), "a".to_owned()];
    let writer = RecordingWriter::create_without(secrets, dir.path(), &run()).unwrap();
    let source = LogSource::Exec {
        stage: 0,
        stream: "stdout".into(),
    };
    let line = "the password is open-sesame, always".to_owned();
    writer.log(LogRecord {
        at: RunOffset(1),
        source,
        timestamp: None,
        line,
    });
    writer.finish(None, &run()).unwrap();
    let read = Recording::open(dir.path()).unwrap();
    assert_eq!(read.logs[0].line, "the password is redacted, always");
}

#[test]
fn jobs_are_recorded_without_secrets_and_a_recording_without_jobs_has_no_file_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let (with, without) = (dir.path().join("with"), dir.path().join("without"));
    let secrets = vec!["open-sesame".to_owned()];
    let writer = RecordingWriter::create_without(secrets, &with, &run()).unwrap();
    let jobs = [
        JobRecord::Plan(JobPlan {
            submit: "enqueue".to_owned(),
            key_prefix: "r-".to_owned(),
            source: "redis".to_owned(),
            log_pattern: None,
            complete_within_nanos: 7,
            max_repeats: 1,
            lease_nanos: Some(3),
        }),
        JobRecord::Event {
            at: RunOffset(4),
            line: r#"{"job":"r-1","event":"done","pod":"open-sesame"}"#.to_owned(),
        },
        JobRecord::Read { at: RunOffset(5) },
        JobRecord::Unread {
            at: RunOffset(6),
            why: "it is gone".to_owned(),
            missing: false,
        },
    ];
    jobs.iter().for_each(|job| writer.job(job.clone()));
    writer.finish(None, &run()).unwrap();
    let read = Recording::open(&with).unwrap();
    assert_eq!(read.losses, []);
    assert_eq!((&read.jobs[0], &read.jobs[2..]), (&jobs[0], &jobs[2..]));
    let JobRecord::Event { line, .. } = &read.jobs[1] else {
        panic!("{:?}", read.jobs)
    };
    assert_eq!(line, r#"{"job":"r-1","event":"done","pod":"redacted"}"#);

    let writer = RecordingWriter::create(&without, &run()).unwrap();
    writer.finish(None, &run()).unwrap();
    let read = Recording::open(&without).unwrap();
    assert_eq!((read.jobs, read.losses), (Vec::new(), Vec::new()));
    assert!(!without.join("jobs.jsonl").exists());
}
