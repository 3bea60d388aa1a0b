//! A balancer that runs in a folder of its own, and a client of it.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long something that must come may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program, as long as this lives.
pub(crate) struct Balancer {
    child: Child,
    dir: tempfile::TempDir,
    address: SocketAddr,
}

impl Drop for Balancer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Balancer {
    /// Starts `program` with `config` in `config.cfg`; `DIR` stands for its folder there and in the arguments. What it
    /// says goes to `stdout.log` and `stderr.log`.
    pub(crate) fn start(program: &str, args: &[&str], config: &str, address: SocketAddr) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let own = |text: &str| text.replace("DIR", dir.path().to_str().unwrap());
        std::fs::write(dir.path().join("config.cfg"), own(config)).unwrap();
        let into = |name: &str| Stdio::from(File::create(dir.path().join(name)).unwrap());
        let child = Command::new(program)
            .args(args.iter().map(|a| own(a)))
            .stdin(Stdio::null())
            .stdout(into("stdout.log"))
            .stderr(into("stderr.log"))
            .spawn()
            .unwrap_or_else(|e| {
                panic!("{program} cannot be started: {e}: install Debian's package of it")
            });
        let mut balancer = Self {
            child,
            dir,
            address,
        };
        balancer.wait("the listener", |b| {
            if let Ok(Some(status)) = b.child.try_wait() {
                panic!("{program} ended with {status}:\n{}", b.read("stderr.log"));
            }
            TcpStream::connect(b.address).is_ok().then_some(())
        });
        balancer
    }

    fn wait<T>(&mut self, what: &str, mut until: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = until(self) {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} did not come");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// The whole response to a request, and our port.
    pub(crate) fn get(&self, path: &str, id: &str) -> (String, u16) {
        let mut stream = self.send(path, id);
        let mut answer = Vec::new();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A response that is cut is one too.
        let _ = stream.read_to_end(&mut answer);
        let port = stream.local_addr().unwrap().port();
        (String::from_utf8_lossy(&answer).into_owned(), port)
    }

    /// Sends a request and leaves.
    pub(crate) fn leave(&self, path: &str, id: &str, after: Duration) {
        let stream = self.send(path, id);
        std::thread::sleep(after);
        drop(stream);
    }

    fn send(&self, path: &str, id: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nx-request-id: {id}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// The line of a log in which `text` stands, once it is there.
    pub(crate) fn line(&mut self, log: &str, text: &str) -> String {
        self.wait(&format!("a line with {text:?} in {log}"), |b| {
            let content = b.read(log);
            let whole = &content[..content.rfind('\n').map_or(0, |end| end + 1)];
            whole.lines().find(|l| l.contains(text)).map(str::to_owned)
        })
    }
}
