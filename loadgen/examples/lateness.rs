//! Measures the generator against a small server in the same process, on loopback:
//!
//!     cargo run -p rollscope-loadgen --example lateness -- RATE SECONDS [new|reused] [adaptive|exact]
//!
//! Prints lateness of dispatch, latencies, and per request the generator's own CPU time and how often its threads went to
//! sleep. The latter does not depend on how the program was built, nor much on what else the machine does.
#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rollscope_loadgen::{Direct, LoadConfig, RecordSink, RunningLoad};
use rollscope_records::{ConnectionRecord, Lane, RequestRecord, RunClock, Text};
use rollscope_scenarios::{Load, Rate, RequestSpec};
use tokio::net::TcpListener;

/// Keeps nothing.
struct Nowhere;

impl RecordSink for Nowhere {
    fn records(&self, _: Vec<RequestRecord<Text>>, _: Vec<ConnectionRecord>) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let rate: f64 = args.next().as_deref().unwrap_or("1000").parse()?;
    let seconds: u64 = args.next().as_deref().unwrap_or("5").parse()?;
    let lane = match args.next().as_deref() {
        Some("new") => Lane::New,
        _ => Lane::Reused,
    };
    let exact = args.next().as_deref() == Some("exact");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(serve(listener));
        let load = RunningLoad::start(LoadConfig {
            load: load(rate, lane, exact),
            base_url,
            env: Box::new(|_| None),
            clock: RunClock::start(),
            recorder: Arc::new(Nowhere),
            dialer: Arc::new(Direct),
            share: None,
            program: None,
        })?;
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        println!("{:#?}", load.stats());
        let slept = sleeps()?;
        let record = load.stop(Duration::from_secs(5)).await;
        println!("{record:#?}");
        println!(
            "went to sleep {:.3} times per request",
            slept as f64 / record.sent.max(1) as f64
        );
        let cpu = record.cpu_us as f64 / record.sent.max(1) as f64;
        println!("generator CPU: {cpu:.1} us per request");
        Ok(())
    })
}

/// How often the generator's threads have gone to sleep so far.
fn sleeps() -> std::io::Result<u64> {
    let mut slept = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let status = std::fs::read_to_string(task?.path().join("status"))?;
        if status.starts_with("Name:\tloadgen") {
            let line = status
                .lines()
                .find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
            slept += line.and_then(|n| n.trim().parse().ok()).unwrap_or(0);
        }
    }
    Ok(slept)
}

fn load(rate_per_second: f64, connections: Lane, exact: bool) -> Load {
    let request = RequestSpec {
        connections,
        ..RequestSpec::new("root", "GET", "/")
    };
    let mut load = Load {
        max_in_flight: 1000,
        ..Load::new(Rate::Constant(rate_per_second), vec![request])
    };
    load.pacing.tolerance = exact.then_some(Duration::ZERO);
    load
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let answer = service_fn(|_: Request<_>| async {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}
