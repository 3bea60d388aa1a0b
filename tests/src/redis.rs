//! A real Redis of the test's own.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{Workdir, wait_until};

/// The address in the shipped scenarios of job workers and in their manifests.
const SHIPPED: &str = "redis://127.0.0.1:6379";

/// A server on a free port of loopback, without a file; it ends with this value.
#[derive(Debug)]
pub struct Redis {
    server: Child,
    port: u16,
    _dir: tempfile::TempDir,
}

impl Redis {
    /// Starts one and waits for its first answer.
    pub fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let server = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--port", &port.to_string(), "--dir"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server, from the package of that name");
        let redis = Self {
            server,
            port,
            _dir: dir,
        };
        let answers = || redis.try_cli(&["PING"]).is_some_and(|a| a == "PONG\n");
        wait_until("an answer of Redis", Duration::from_secs(10), answers);
        redis
    }

    /// One of its own for a Node.js subject that needs one: its scenario and manifest name it then.
    pub fn of_subject(workdir: &Workdir, subject: &str) -> Option<Self> {
        let files = [
            format!("scenarios/node/{subject}.yaml"),
            format!("scenarios/node/manifests/{subject}.yaml"),
        ];
        let texts = files
            .each_ref()
            .map(|f| fs::read_to_string(workdir.path().join(f)).unwrap());
        if !texts.iter().any(|text| text.contains(SHIPPED)) {
            return None;
        }
        let redis = Self::start();
        for (file, text) in files.iter().zip(&texts) {
            workdir.write(file, &text.replace(SHIPPED, &redis.url()));
        }
        Some(redis)
    }

    /// Its address, as clients take it.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn try_cli(&self, words: &[&str]) -> Option<String> {
        let output = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(words)
            .output()
            .expect("redis-cli, from the package redis-tools");
        let answer = String::from_utf8(output.stdout).unwrap();
        output.status.success().then_some(answer)
    }

    /// What redis-cli prints for a command.
    pub fn cli(&self, words: &[&str]) -> String {
        self.try_cli(words).unwrap()
    }

    /// The fields of a hash, with numbers as values.
    pub fn numbers(&self, key: &str) -> Vec<(String, u64)> {
        let answer = self.cli(&["HGETALL", key]);
        let lines: Vec<_> = answer.lines().collect();
        let pairs = lines.chunks_exact(2);
        pairs
            .map(|p| (p[0].to_owned(), p[1].parse().unwrap()))
            .collect()
    }

    /// The jobs' events so far: `job`, `event`, `pod`, `t`.
    pub fn events(&self) -> Vec<Value> {
        let answer = self.cli(&["LRANGE", "jobs:events", "0", "-1"]);
        let lines = answer.lines().filter(|l| !l.is_empty());
        lines.map(|l| serde_json::from_str(l).unwrap()).collect()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
