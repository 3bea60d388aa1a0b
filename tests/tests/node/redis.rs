//! A real Redis of the test's own.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rollscope_tests::wait_until;
use serde_json::Value;

/// A server on a free port of loopback, without a file; it ends with this value.
pub(crate) struct Redis {
    server: Child,
    port: u16,
    _dir: tempfile::TempDir,
}

impl Redis {
    pub(crate) fn start() -> Self {
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

    pub(crate) fn url(&self) -> String {
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
    pub(crate) fn cli(&self, words: &[&str]) -> String {
        self.try_cli(words).unwrap()
    }

    /// The fields of a hash, with numbers as values.
    pub(crate) fn numbers(&self, key: &str) -> Vec<(String, u64)> {
        let answer = self.cli(&["HGETALL", key]);
        let lines: Vec<_> = answer.lines().collect();
        let pairs = lines.chunks_exact(2);
        pairs
            .map(|p| (p[0].to_owned(), p[1].parse().unwrap()))
            .collect()
    }

    /// The jobs' events so far: `job`, `event`, `pod`, `t`.
    pub(crate) fn events(&self) -> Vec<Value> {
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
