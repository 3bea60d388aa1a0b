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
        "| requests | read, s (CPU) | analysed, s (CPU) | both, s (CPU) | rows/s | peak memory, MiB | plain scan, s (CPU) | rows/s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
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
        let analysis = best("analyze", &recording)?;
        let floor = best("floor", &recording)?;
        let [both, both_cpu, read, read_cpu, analysed, analysed_cpu, peak] = analysis[..] else {
            return Err("the analysis does not say what it took".into());
        };
        println!(
            "| {requests} | {read:.2} ({read_cpu:.2}) | {analysed:.2} ({analysed_cpu:.2}) | {both:.2} ({both_cpu:.2}) | {:.0} | {peak:.0} | {:.2} ({:.2}) | {:.0} |",
            requests as f64 / both,
            floor[0],
            floor[1],
            requests as f64 / floor[0],
        );
    }
    Ok(())
}

/// Times that each is measured; the quickest counts.
const TRIES: usize = 3;

/// What the quickest of several processes says that it took.
fn best(what: &str, recording: &Path) -> Result<Vec<f64>, Box<dyn Error>> {
    let tries: Vec<Vec<f64>> = (0..TRIES)
        .map(|_| measured(what, recording))
        .collect::<Result<_, _>>()?;
    let quickest = tries.into_iter().min_by(|a, b| a[0].total_cmp(&b[0]));
    quickest.ok_or_else(|| "nothing was measured".into())
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

/// The time on all cores that this process has taken, in seconds (Linux counts it in hundredths).
fn cpu() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let mut ticks = fields.split_whitespace().skip(11).take(2);
    let ticks = ticks.try_fold(0.0, |sum, n| n.parse::<f64>().map(|n| sum + n))?;
    Ok(ticks / 100.0)
}

/// Reads and analyses a recording; says how long both, and each, took, in seconds on the clock and on all cores, and the
/// most memory, in MiB.
pub(crate) fn analysis(dir: &Path) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let recording = Recording::open(dir)?;
    let (read, read_cpu) = (begun.elapsed().as_secs_f64(), cpu()?);
    if !recording.losses.is_empty() {
        return Err(format!("the recording is not whole: {:?}", recording.losses).into());
    }
    let begun = Instant::now();
    let analysis = analyze(&recording);
    let (analysed, both_cpu) = (begun.elapsed().as_secs_f64(), cpu()?);
    assert_eq!(analysis.requests.planned, recording.requests.len() as u64);
    println!(
        "{} {both_cpu} {read} {read_cpu} {analysed} {} {}",
        read + analysed,
        both_cpu - read_cpu,
        peak_mib()?
    );
    Ok(())
}

/// Decodes every column of the requests with nothing but polars; says how long that took, in seconds on the clock and on all
/// cores.
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
    println!("{} {}", begun.elapsed().as_secs_f64(), cpu()?);
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
