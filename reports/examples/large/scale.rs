//! How long the analysis of a recording takes, and how much memory, beside a plain scan of the same columns.

use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use polars::prelude::{ParquetReader, SerReader};
use rollscope_analyzer::analyze;
use rollscope_records::{
    ClosedBy, ConnectionRecord, EndKind, Lane, Recording, RecordingWriter, RequestRecord, RunEnd,
    RunOffset, RunRecord,
};

use super::{Size, peak_mib, pods, requests, run};

/// Rows that are handed to the recording at once, and scanned at once.
const BATCH: usize = 1 << 15;

/// Records a run of each size, unless it lies there already, and prints what its analysis and the floor took.
pub(crate) fn table(dir: &Path, sizes: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let mut sizes: Vec<u64> = sizes.map(|n| n.parse()).collect::<Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = [1, 3, 10, 30].map(|millions| millions * 1_000_000).into();
    }
    println!(
        "| requests | read, s | analysed, s | rows/s | peak memory, MiB | plain scan, s | rows/s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for requests in sizes {
        let recording = dir.join(format!("{requests}.rollscope"));
        if !recording.join("checksums.json").exists() {
            let _ = std::fs::remove_dir_all(&recording);
            let size = Size {
                requests,
                pods: 500,
                failed: requests / 200,
            };
            record(&size, &recording)?;
        }
        let analysis = measured("analyze", &recording)?;
        let floor = measured("floor", &recording)?;
        let (read, analysed, peak) = (analysis[0], analysis[1], analysis[2]);
        println!(
            "| {requests} | {read:.2} | {analysed:.2} | {:.0} | {peak:.0} | {:.2} | {:.0} |",
            requests as f64 / (read + analysed),
            floor[0],
            requests as f64 / floor[0],
        );
    }
    Ok(())
}

/// What a process of its own says that it took.
fn measured(what: &str, recording: &Path) -> Result<Vec<f64>, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?)
        .arg(what)
        .arg(recording)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let said = String::from_utf8(output.stdout)?;
    Ok(said
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?)
}

/// Reads and analyses a recording; says how long each took, in seconds, and the most memory, in MiB.
pub(crate) fn analysis(dir: &Path) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let recording = Recording::open(dir)?;
    let read = begun.elapsed();
    if !recording.losses.is_empty() {
        return Err(format!("the recording is not whole: {:?}", recording.losses).into());
    }
    let begun = Instant::now();
    let analysis = analyze(&recording);
    let analysed = begun.elapsed();
    assert_eq!(analysis.requests.planned, recording.requests.len() as u64);
    println!(
        "{} {} {}",
        read.as_secs_f64(),
        analysed.as_secs_f64(),
        peak_mib()?
    );
    Ok(())
}

/// Decodes every column of the requests with nothing but polars; says how long that took, in seconds.
pub(crate) fn floor(dir: &Path) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let path = dir.join("requests.parquet");
    let rows = ParquetReader::new(File::open(&path)?).num_rows()?;
    let step = 32 * BATCH;
    for from in (0..rows).step_by(step) {
        let frame = ParquetReader::new(File::open(&path)?)
            .with_slice(Some((from, step)))
            .finish()?;
        assert_eq!(frame.height(), step.min(rows - from));
    }
    println!("{}", begun.elapsed().as_secs_f64());
    Ok(())
}

fn record(size: &Size, dir: &Path) -> Result<(), Box<dyn Error>> {
    let run = RunRecord {
        end: Some(RunEnd {
            at: RunOffset(size.length()),
            how: EndKind::Completed,
            reason: None,
        }),
        ..run()
    };
    let writer = RecordingWriter::create(dir, &run)?;
    let mut others = Recording::new(run.clone());
    pods::records(size, &mut others);
    others.watch.into_iter().for_each(|w| writer.watch(w));
    others.logs.into_iter().for_each(|l| writer.log(l));
    let mut all = requests::requests(size).peekable();
    while all.peek().is_some() {
        let batch: Vec<_> = all.by_ref().take(BATCH / 2).collect();
        let connections = batch.iter().filter_map(connection).collect();
        hand_over(&writer, batch, connections);
    }
    writer.finish(None, &run)?;
    Ok(())
}

/// Hands rows over as soon as the disk has kept up.
fn hand_over(
    writer: &RecordingWriter,
    requests: Vec<RequestRecord>,
    connections: Vec<ConnectionRecord>,
) {
    let requests: Vec<_> = requests.iter().map(RequestRecord::to_shared).collect();
    loop {
        let lost = writer.lost();
        writer.batch(requests.clone(), connections.clone());
        if writer.lost() == lost {
            return;
        }
        sleep(Duration::from_millis(2));
    }
}

/// The connection that a request made for itself.
fn connection(r: &RequestRecord) -> Option<ConnectionRecord> {
    let (id, started) = (r.connection?, r.dispatched?);
    (r.lane == Lane::New).then(|| ConnectionRecord {
        established: r.connected,
        closed: r.ended,
        closed_by: Some(ClosedBy::Client),
        requests: u32::from(r.connected.is_some()),
        local_port: r.local_port,
        peer: r.peer.clone(),
        ..ConnectionRecord::attempt(id, r.lane, started)
    })
}
