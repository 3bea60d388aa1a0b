//! Evictions of a case's pods, as a drain of their node makes them.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::json;

use super::truth::{self, wall_nanos};

/// The stage that waits for the evictions; files in the case's folder are what it and the runner tell each other by.
pub(super) const STAGE: &str =
    r#"exec: "touch drain-begun; until [ -e drain-over ]; do sleep 0.1; done""#;

const BEGUN: &str = "drain-begun";
const OVER: &str = "drain-over";

/// How long the API may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// How long after the last eviction the wait for ready pods ends.
const LONGEST: Duration = Duration::from_secs(60);

/// Draws the time between two evictions, milliseconds: none, or what a disruption budget makes a drain wait.
pub(super) fn evictions(rng: &mut StdRng) -> Option<u64> {
    if !rng.random_ratio(1, 12) {
        return None;
    }
    let at_once = rng.random_ratio(1, 4);
    let pause = rng.random_range(1000..8000);
    Some(if at_once { 0 } else { pause })
}

/// The evictions of a run.
#[derive(Debug)]
pub(super) struct Evictions<'a> {
    root: &'a Path,
    truth: &'a Path,
    pause: Duration,
    /// Those that are still to go; `None` before the stage has begun.
    left: Option<Vec<String>>,
    gone: Vec<String>,
    /// Ready endpoints that there are before and after.
    replicas: u64,
    next: Instant,
    over: bool,
}

impl<'a> Evictions<'a> {
    /// Those of a run in the folder `root`.
    pub(super) fn new(root: &'a Path, truth: &'a Path, pause_ms: u64, replicas: u32) -> Self {
        Self {
            replicas: u64::from(replicas),
            root,
            truth,
            pause: Duration::from_millis(pause_ms),
            left: None,
            gone: Vec::new(),
            next: Instant::now(),
            over: false,
        }
    }

    /// Does what is due.
    pub(super) fn step(&mut self) -> Result<(), String> {
        if self.over || !self.root.join(BEGUN).exists() {
            return Ok(());
        }
        let truth = self.truth;
        let left = self.left.get_or_insert_with(|| truth::alive(truth));
        while let Some(pod) = left.last()
            && Instant::now() >= self.next
        {
            evict(self.root, pod).map_err(|e| format!("eviction of {pod}: {e}"))?;
            note(truth, pod).map_err(|e| format!("evictions.jsonl: {e}"))?;
            self.gone.extend(left.pop());
            self.next = Instant::now() + self.pause;
        }
        if left.is_empty() && self.is_over() {
            self.over = true;
            fs::write(self.root.join(OVER), "").map_err(|e| format!("{OVER}: {e}"))?;
        }
        Ok(())
    }

    /// The evicted pods are gone and others are ready, if they ever are.
    fn is_over(&self) -> bool {
        let (alive, ready) = (truth::alive(self.truth), truth::ready(self.truth));
        let replaced = ready >= self.replicas || self.next.elapsed() > LONGEST;
        replaced && !self.gone.iter().any(|pod| alive.contains(pod))
    }
}

fn note(truth: &Path, pod: &str) -> io::Result<()> {
    let path = truth.join("evictions.jsonl");
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{}", json!({"t": wall_nanos(), "pod": pod}))
}

/// Asks the sandbox's API, whose address the program has printed.
fn evict(root: &Path, pod: &str) -> Result<(), String> {
    let said = fs::read_to_string(root.join("output.txt")).map_err(|e| e.to_string())?;
    let after = |option: &str| {
        let rest = said.split_once(option)?.1;
        rest.split_whitespace().next()
    };
    let (Some(server), Some(namespace)) = (after("--server "), after("--namespace ")) else {
        return Err("the program did not print the API's address".to_owned());
    };
    let address = server.trim_start_matches("http://");
    let body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}});
    let answer = post(
        address,
        &format!("/api/v1/namespaces/{namespace}/pods/{pod}/eviction"),
        &body.to_string(),
    )
    .map_err(|e| format!("{server}: {e}"))?;
    match answer.split_whitespace().nth(1) {
        // Gone by itself meanwhile.
        Some("201" | "404") => Ok(()),
        _ => Err(answer.lines().next().unwrap_or_default().to_owned()),
    }
}

fn post(address: &str, path: &str, body: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER))?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
