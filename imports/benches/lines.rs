//! How long an import of many lines takes: `cargo bench -p rollscope-imports --bench lines -- [MILLIONS]`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark tells, and fails by panicking"
)]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rollscope_imports::{Sources, import};

const FORMAT: &str = r#"nginx:$remote_addr:$remote_port $msec $request_time "$request" $status $body_bytes_sent [$upstream_addr] [$upstream_status] [$upstream_connect_time] [$upstream_header_time]"#;

/// 2026-11-16T00:00:00Z, s.
const MONDAY: u64 = 1_794_787_200;

/// A week of lines, one request in a thousand failed.
fn log(path: &Path, lines: u64) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let step = 7 * 24 * 3_600_000 / lines.max(1);
    for i in 0..lines {
        let at = MONDAY * 1000 + i * step;
        let (status, tried) = if i % 1000 == 7 {
            (502, "502] [-] [-")
        } else {
            (200, "200] [0.001] [0.004")
        };
        writeln!(
            out,
            "192.0.2.{}:{} {}.{:03} 0.004 \"GET /orders/{} HTTP/1.1\" {status} 512 [10.1.0.{}:3000] [{tried}]",
            i % 250,
            1024 + i % 60_000,
            at / 1000,
            at % 1000,
            i % 9973,
            i % 5
        )
        .unwrap();
    }
}

/// Ten deploys of ten minutes.
fn windows(path: &Path) {
    let mut out = File::create(path).unwrap();
    for i in 0..10 {
        let (day, hour) = (16 + i * 2 / 3, i % 3 * 7 + 2);
        writeln!(
            out,
            "2026-11-{day:02}T{hour:02}:00:00Z,2026-11-{day:02}T{hour:02}:10:00Z"
        )
        .unwrap();
    }
}

/// A line of `/proc/self/status`, kB.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|l| l.starts_with(name)).unwrap();
    line.split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

fn main() {
    let millions = std::env::args()
        .skip(1)
        .find_map(|a| a.parse::<u64>().ok())
        .unwrap_or(10);
    let dir = std::env::temp_dir().join(format!("rollscope-lines-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (path, deploys) = (dir.join("access.log"), dir.join("windows.csv"));
    log(&path, millions * 1_000_000);
    windows(&deploys);
    let bytes = std::fs::metadata(&path).unwrap().len();
    let sources = Sources {
        logs: vec![path],
        format: FORMAT.parse().unwrap(),
        zone_seconds: 0,
        watch: None,
        events: None,
        audit: None,
        windows: Some(PathBuf::from(&deploys)),
        marks: Vec::new(),
        max_failed: 0,
    };
    let begun = Instant::now();
    let imported = import(&sources).unwrap();
    let took = begun.elapsed();
    let kept: usize = imported
        .deploys
        .iter()
        .map(|d| d.recording.requests.len())
        .sum();
    println!(
        "{} lines, {} MB: {:.1} s, {} requests in {} recordings, peak {} MiB",
        imported.lines,
        bytes / 1_000_000,
        took.as_secs_f64(),
        kept,
        imported.deploys.len(),
        status("VmHWM") / 1024
    );
    std::fs::remove_dir_all(&dir).unwrap();
}
