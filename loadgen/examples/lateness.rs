//! Measures the generator against a small server in the same process, on loopback:
//!
//!     cargo run -p rollscope-loadgen --example lateness -- RATE SECONDS [new|reused]
//!
//! Prints lateness of dispatch, latencies, and the generator's own CPU time per request.
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
use rollscope_records::{ConnectionRecord, Lane, RequestRecord, RunClock};
use rollscope_scenarios::{Load, RequestSpec, StatusRange};
use tokio::net::TcpListener;

/// Keeps nothing.
struct Nowhere;

impl RecordSink for Nowhere {
    fn request(&self, _: RequestRecord) {}
    fn connection(&self, _: ConnectionRecord) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let rate: f64 = args.next().as_deref().unwrap_or("1000").parse()?;
    let seconds: u64 = args.next().as_deref().unwrap_or("5").parse()?;
    let lane = match args.next().as_deref() {
        Some("new") => Lane::New,
        _ => Lane::Reused,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(serve(listener));
        let load = RunningLoad::start(LoadConfig {
            load: load(rate, lane),
            base_url,
            env: Box::new(|_| None),
            clock: RunClock::start(),
            recorder: Arc::new(Nowhere),
            dialer: Arc::new(Direct),
        })?;
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        println!("{:#?}", load.stats());
        let record = load.stop(Duration::from_secs(5)).await;
        println!("{record:#?}");
        let cpu = record.cpu_us as f64 / record.sent.max(1) as f64;
        println!("generator CPU: {cpu:.1} us per request");
        Ok(())
    })
}

fn load(rate_per_second: f64, connections: Lane) -> Load {
    Load {
        base_url: None,
        rate_per_second,
        max_in_flight: 1000,
        pod_header: None,
        requests: vec![RequestSpec {
            name: "root".to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            weight: 1,
            headers: Vec::new(),
            body: None,
            deadline: Duration::from_secs(5),
            expect: vec![StatusRange { from: 200, to: 299 }],
            connections,
        }],
    }
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let answer = service_fn(|_: Request<_>| async {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}
