//! A subject as a child process, and a raw HTTP client as the witness of what it does.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// No step of a test takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The subject's side: this test program starts itself again with only this test, which becomes the subject. Without
/// the variable it is an ordinary run of the tests, and there is nothing to do.
#[test]
fn child_process() {
    if std::env::var_os("ROLLSCOPE_TEST_SUBJECT").is_some() {
        let code = super::super::run::exit_code(&|name| std::env::var(name).ok());
        std::process::exit(i32::from(code));
    }
}

/// A running subject. Killed when dropped.
pub(super) struct Running {
    child: Child,
    address: SocketAddr,
    lines: Arc<Mutex<Vec<String>>>,
    folder: TempDir,
}

/// Starts a subject without waiting for it.
pub(super) fn spawn(subject: &str, vars: &[(&str, &str)]) -> Running {
    let address = free_address();
    let folder = TempDir::new().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "subjects::tests::child::child_process",
            "--nocapture",
        ])
        .env("ROLLSCOPE_TEST_SUBJECT", "1")
        .env("SUBJECT", subject)
        .env("POD_IP", address.ip().to_string())
        .env("PORT", address.port().to_string())
        .env("POD_NAME", "web-0")
        .env("SUBJECT_LEDGER", folder.path())
        .env("DRAIN_DELAY_MS", "1000")
        .env("DRAIN_DEADLINE_MS", "5000")
        .envs(vars.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let (kept, stdout) = (Arc::clone(&lines), child.stdout.take().unwrap());
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            kept.lock().unwrap().push(line);
        }
    });
    Running {
        child,
        address,
        lines,
        folder,
    }
}

/// Starts a subject and waits until it says that it listens.
pub(super) fn start(subject: &str, vars: &[(&str, &str)]) -> Running {
    let running = spawn(subject, vars);
    running.wait_for_event("listening");
    running
}

/// A loopback address of this process's own and a port that is free on it.
fn free_address() -> SocketAddr {
    let id = std::process::id();
    let ip = Ipv4Addr::new(127, 80 + (id >> 16) as u8 % 100, (id >> 8) as u8, id as u8);
    TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap()
}

/// Waits until `met` gives something.
pub(super) fn wait_for<T>(what: &str, mut met: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = met() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

impl Running {
    pub(super) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    /// Sends SIGTERM and waits until the subject has logged it.
    pub(super) fn terminate(&self) {
        self.signal(Signal::SIGTERM);
        self.wait_for_event("sigterm");
    }

    /// The exit code; the process must end by itself.
    pub(super) fn exit_code(&mut self) -> i32 {
        self.exit_status().code().expect("ended by itself")
    }

    /// The signal that killed it.
    pub(super) fn killed_by(&mut self) -> Option<i32> {
        self.exit_status().signal()
    }

    fn exit_status(&mut self) -> ExitStatus {
        wait_for("the end of the process", || self.child.try_wait().unwrap())
    }

    pub(super) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(super) fn stderr(&mut self) -> String {
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut text).unwrap();
        text
    }

    /// Whether the kernel says that the process has a handler for the signal.
    pub(super) fn handles(&self, signal: Signal) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let mask = status.lines().find_map(|l| l.strip_prefix("SigCgt:"));
        let mask = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap();
        mask >> (signal as i32 - 1) & 1 == 1
    }

    /// The log's lines so far, as they were written.
    pub(super) fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let json = lines.iter().filter(|l| l.starts_with('{'));
        json.cloned().collect()
    }

    /// The log so far.
    pub(super) fn log(&self) -> Vec<Value> {
        let lines = self.lines();
        let parsed = lines.iter().map(|l| serde_json::from_str(l).unwrap());
        parsed.collect()
    }

    pub(super) fn events(&self) -> Vec<String> {
        let name = |line: &Value| line["ev"].as_str().unwrap().to_owned();
        self.log().iter().map(name).collect()
    }

    pub(super) fn wait_for_event(&self, event: &str) -> Value {
        wait_for(event, || {
            self.log().into_iter().find(|line| line["ev"] == event)
        })
    }

    /// The ledger's events without their times, and without the port of an accepted connection.
    pub(super) fn ledger(&self) -> Vec<String> {
        let path = self.folder.path().join("web-0.ledger");
        let text = std::fs::read_to_string(path).unwrap();
        let event = |line: &str| {
            let (time, event) = line.split_once(' ').unwrap();
            assert!(
                time.parse::<u64>().unwrap() > 1_600_000_000_000_000,
                "{line}"
            );
            match event.strip_prefix("accepted ") {
                Some(accepted) => {
                    let (conn, port) = accepted.split_once(' ').unwrap();
                    assert!(port.parse::<u16>().unwrap() > 0, "{line}");
                    format!("accepted {conn}")
                }
                None => event.to_owned(),
            }
        };
        text.lines().map(event).collect()
    }

    /// Waits until `n` requests with this path were received and not yet answered.
    pub(super) fn wait_for_received(&self, path: &str, n: usize) {
        let end = format!(" {path}");
        wait_for(&format!("{n} received {path}"), || {
            let ledger = self.ledger();
            let received = ledger.iter().filter(|line| line.ends_with(&end)).count();
            (received == n).then_some(())
        });
    }

    pub(super) fn connect(&self) -> Client {
        self.try_connect().unwrap()
    }

    pub(super) fn try_connect(&self) -> std::io::Result<Client> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Client { stream })
    }

    pub(super) fn is_refusing(&self) -> bool {
        self.try_connect()
            .is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
    }

    /// One GET on a connection of its own.
    pub(super) fn get(&self, path: &str) -> Answer {
        self.connect().get(path).expect("an answer")
    }

    pub(super) fn with_port(mut self, port: u16) -> Self {
        self.address.set_port(port);
        self
    }

    pub(super) const fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A raw connection.
pub(super) struct Client {
    stream: TcpStream,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn says_close(&self) -> bool {
        self.head
            .to_ascii_lowercase()
            .contains("\r\nconnection: close\r\n")
    }
}

impl Client {
    pub(super) fn send(&mut self, method: &str, path: &str) {
        self.try_send(method, path).unwrap();
    }

    fn try_send(&mut self, method: &str, path: &str) -> std::io::Result<()> {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: web\r\n\r\n");
        self.stream.write_all(request.as_bytes())
    }

    /// Asks for a WebSocket on `/ws`, with the key of RFC 6455, 1.3. Returns the response's head.
    pub(super) fn upgrade(&mut self) -> String {
        let request = "GET /ws HTTP/1.1\r\nhost: web\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        self.stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.byte().unwrap());
        }
        String::from_utf8(head).unwrap()
    }

    /// Sends a WebSocket frame with a mask of zeros.
    pub(super) fn send_frame(&mut self, first: u8, payload: &[u8]) {
        let length = u8::try_from(payload.len()).unwrap();
        let bytes = [&[first, 0x80 | length, 0, 0, 0, 0], payload].concat();
        self.stream.write_all(&bytes).unwrap();
    }

    /// The next WebSocket frame: its first byte and its payload. `None` when the connection ends first.
    pub(super) fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let (first, length) = (self.byte()?, self.byte()?);
        let payload: Option<Vec<u8>> = (0..length).map(|_| self.byte()).collect();
        Some((first, payload?))
    }

    /// A GET on a connection that may have ended already.
    pub(super) fn try_get(&mut self, path: &str) -> Option<Answer> {
        self.try_send("GET", path).ok()?;
        self.answer()
    }

    /// A GET and its response; `None` when the connection ends first.
    pub(super) fn get(&mut self, path: &str) -> Option<Answer> {
        self.send("GET", path);
        self.answer()
    }

    /// The next response; `None` when the connection ends before it is complete.
    pub(super) fn answer(&mut self) -> Option<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.byte()?);
        }
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let header = |name: &str| {
            let lines = head.lines().filter_map(|l| l.split_once(": "));
            lines
                .filter(|(n, _)| n.eq_ignore_ascii_case(name))
                .map(|(_, v)| v)
                .next()
        };
        let body = if header("transfer-encoding") == Some("chunked") {
            self.chunks()?
        } else {
            let length: usize = header("content-length").unwrap().parse().unwrap();
            (0..length).map(|_| self.byte()).collect::<Option<_>>()?
        };
        let body = String::from_utf8(body).unwrap();
        Some(Answer { status, head, body })
    }

    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut size = Vec::new();
            while !size.ends_with(b"\r\n") {
                size.push(self.byte()?);
            }
            let size =
                usize::from_str_radix(std::str::from_utf8(&size).unwrap().trim(), 16).unwrap();
            for _ in 0..size {
                body.push(self.byte()?);
            }
            self.byte()?;
            self.byte()?;
            if size == 0 {
                return Some(body);
            }
        }
    }

    /// Waits for the end of the connection; panics when a byte comes instead.
    pub(super) fn expect_end(&mut self) {
        assert_eq!(self.byte(), None, "expected the end of the connection");
    }

    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(0) => None,
            Ok(_) => Some(byte[0]),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => None,
            Err(e) => panic!("reading: {e}"),
        }
    }
}
