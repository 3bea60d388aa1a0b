//! Running a load and looking at its records.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rollscope_loadgen::{Dialer, Direct, LoadConfig, LoadStats, RecordSink, RunningLoad};
use rollscope_records::{
    ConnectionRecord, GeneratorRecord, Lane, Outcome, RequestRecord, RunClock, StreamRecord, Text,
};
use rollscope_scenarios::{Load, Rate, RequestSpec};

use crate::server::Server;

/// Keeps the records in memory.
#[derive(Default)]
pub(crate) struct Sink {
    requests: Mutex<Vec<RequestRecord>>,
    connections: Mutex<Vec<ConnectionRecord>>,
    streams: Mutex<Vec<StreamRecord>>,
}

impl RecordSink for Sink {
    fn records(&self, requests: Vec<RequestRecord<Text>>, connections: Vec<ConnectionRecord>) {
        let requests = requests.iter().map(RequestRecord::to_record);
        self.requests.lock().unwrap().extend(requests);
        self.connections.lock().unwrap().extend(connections);
    }

    fn stream(&self, record: StreamRecord) {
        self.streams.lock().unwrap().push(record);
    }
}

/// What a load left behind.
#[derive(Debug)]
pub(crate) struct Run {
    /// In the order of their slots.
    pub(crate) requests: Vec<RequestRecord>,
    /// In the order of their attempts.
    pub(crate) connections: Vec<ConnectionRecord>,
    /// In the order of their attempts.
    pub(crate) streams: Vec<StreamRecord>,
    pub(crate) generator: GeneratorRecord,
}

impl Run {
    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        let with = |r: &&RequestRecord| r.outcome == outcome;
        self.requests.iter().filter(with).count()
    }

    /// Checks what holds for every run, and against what `server` saw: nothing was sent twice, nothing but what was
    /// recorded was sent.
    pub(crate) fn check(&self, server: &Server) {
        let generator = &self.generator;
        assert_eq!(generator.planned, generator.sent + generator.dropped);
        assert_eq!(generator.planned, self.requests.len() as u64);
        let seqs: Vec<u64> = self.requests.iter().map(|r| r.seq).collect();
        assert!(
            seqs.into_iter().eq(0..generator.planned),
            "one record a slot"
        );
        let mut unmatched: Vec<_> = server.seen().iter().map(|s| (s.port, s.ordinal)).collect();
        let (answered, others): (Vec<_>, Vec<_>) =
            self.requests.iter().partition(|r| r.status.is_some());
        for request in answered.into_iter().chain(others) {
            let Some(port) = request.local_port else {
                continue;
            };
            let sent = (port, request.ordinal.unwrap());
            match unmatched.iter().position(|seen| *seen == sent) {
                Some(place) => drop(unmatched.swap_remove(place)),
                // Written in part, or into a connection whose other end was closed already.
                None => assert_eq!(request.status, None, "{request:?}"),
            }
        }
        assert_eq!(unmatched, [], "sent without a record, or twice");
    }
}

/// `GET /` with a deadline of 5 s.
pub(crate) fn get(lane: Lane) -> RequestSpec {
    RequestSpec {
        connections: lane,
        ..RequestSpec::new("root", "GET", "/")
    }
}

pub(crate) fn load(rate_per_second: f64, requests: Vec<RequestSpec>) -> Load {
    Load {
        max_in_flight: 100,
        pod_header: Some("x-pod-name".to_owned()),
        ..Load::new(Rate::Constant(rate_per_second), requests)
    }
}

/// A load that is running, and what it has recorded.
pub(crate) struct Running {
    pub(crate) load: RunningLoad,
    sink: Arc<Sink>,
}

pub(crate) fn start(url: &str, load: Load, dialer: Arc<dyn Dialer>) -> Running {
    let sink = Arc::<Sink>::default();
    let load = RunningLoad::start(LoadConfig {
        load,
        base_url: url.to_owned(),
        env: Box::new(|_| None),
        clock: RunClock::start(),
        recorder: sink.clone(),
        dialer,
        share: None,
        program: None,
    })
    .unwrap();
    Running { load, sink }
}

impl Running {
    /// Waits until `done`, ten seconds at most.
    pub(crate) fn wait(&self, done: impl Fn(&LoadStats) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !done(&self.load.stats()) {
            assert!(Instant::now() < deadline, "{:?}", self.load.stats());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until a connection that was held is over, ten seconds at most.
    pub(crate) fn wait_for_stream(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.sink.streams.lock().unwrap().is_empty() {
            assert!(Instant::now() < deadline, "{:?}", self.load.stats());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn stop(self, drain: Duration) -> Run {
        let generator = block_on(self.load.stop(drain));
        self.sink.run(generator)
    }

    /// Stops with a drain that is cut short at once.
    pub(crate) fn stop_impatiently(self, drain: Duration) -> Run {
        let generator = block_on(self.load.stop_unless(drain, std::future::ready(())));
        self.sink.run(generator)
    }

    /// Lets go of the load without stopping it.
    pub(crate) fn forget(self) -> Arc<Sink> {
        self.sink
    }

    pub(crate) fn abort(self) -> Run {
        let generator = block_on(self.load.abort());
        self.sink.run(generator)
    }
}

impl Sink {
    pub(crate) fn recorded(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    fn run(&self, generator: GeneratorRecord) -> Run {
        let mut requests = std::mem::take(&mut *self.requests.lock().unwrap());
        requests.sort_by_key(|r| r.seq);
        let mut connections = std::mem::take(&mut *self.connections.lock().unwrap());
        connections.sort_by_key(|c| c.id);
        let mut streams = std::mem::take(&mut *self.streams.lock().unwrap());
        streams.sort_by_key(|s| s.seq);
        Run {
            requests,
            connections,
            streams,
            generator,
        }
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// Ends of requests so far.
pub(crate) fn ended(stats: &LoadStats) -> u64 {
    stats.ok + stats.failed
}

/// Sends at `rate` until `requests` of them are over.
pub(crate) fn run(server: &Server, rate: f64, spec: RequestSpec, requests: u64) -> Run {
    let running = start(&server.url(), load(rate, vec![spec]), Arc::new(Direct));
    running.wait(|s| ended(s) >= requests);
    let run = running.stop(Duration::from_secs(5));
    run.check(server);
    run
}

/// Sends a single request, and gives back its record and that of its connection.
pub(crate) fn one(server: &Server, spec: RequestSpec) -> (RequestRecord, ConnectionRecord) {
    let mut run = run(server, 0.001, spec, 1);
    assert_eq!(run.requests.len(), 1);
    assert_eq!(run.connections.len(), 1);
    (run.requests.remove(0), run.connections.remove(0))
}
