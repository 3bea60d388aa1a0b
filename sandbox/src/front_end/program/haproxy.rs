//! HAProxy: slots for servers, which the runtime API fills and empties.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::log_tail::{LogTail, ProgramLog};
use super::{APPLY_LIMIT, ProgramCommand};

/// `option httplog`, with the server's address and what joins a line with a request.
const LOG_FORMAT: &str = r#"%ci:%cp [%tr] %ft %b/%s %si:%sp %TR/%Tw/%Tc/%Tr/%Ta %ST %B %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq \"%[capture.req.hdr(0)]\" %{+Q}r"#;

/// Servers that there can be at once.
const SLOTS: usize = 64;

/// HAProxy's configuration, and which server is in which slot.
#[derive(Debug, Clone)]
pub(super) struct Haproxy {
    dir: PathBuf,
    address: SocketAddr,
    retries: u32,
    slots: Vec<Option<SocketAddr>>,
    /// The slot that was filled last: the others rest longer, so that a line never names the next server of a slot.
    last: usize,
}

impl Haproxy {
    pub(super) fn new(dir: PathBuf, address: SocketAddr, retries: u32) -> Self {
        Self {
            dir,
            address,
            retries,
            slots: vec![None; SLOTS],
            last: SLOTS - 1,
        }
    }

    pub(super) fn command(&self) -> ProgramCommand {
        let config = self.dir.join("haproxy.cfg").display().to_string();
        ProgramCommand {
            program: "haproxy",
            package: "haproxy",
            args: vec!["-db".to_owned(), "-f".to_owned(), config],
            stdout: Some(self.dir.join("access.log")),
        }
    }

    pub(super) fn logs(&self) -> Vec<LogTail> {
        let format = format!("haproxy:{}", LOG_FORMAT.replace('\\', ""));
        let of = |format, file: &str| {
            let what = ProgramLog {
                balancer: "haproxy",
                format,
            };
            LogTail::new(what, self.dir.join(file))
        };
        vec![of(Some(format), "access.log"), of(None, "stderr.log")]
    }

    /// Writes the configuration. Only the frontend logs: what happens to servers goes to standard error.
    pub(super) fn configure(&self) -> io::Result<()> {
        let dir = self.dir.display();
        let Self { address, .. } = self;
        let config = format!(
            "global\n  log stdout format raw local0 info\n  maxconn 8000\n  nbthread 1\n  hard-stop-after 2s\n  \
               stats socket {dir}/api.sock mode 600 level admin\n\
             defaults\n  mode http\n  option dontlognull\n  timeout connect 5s\n  timeout client 75s\n  timeout server 60s\n  \
               timeout queue 5s\n{}\
             frontend web\n  bind {address}\n  log global\n  capture request header x-request-id len 64\n  \
               log-format \"{LOG_FORMAT}\"\n  default_backend pods\n\
             backend pods\n  balance roundrobin\n  server-template pod 1-{SLOTS} 127.0.0.1:1 disabled\n",
            self.retrying()
        );
        std::fs::write(self.dir.join("haproxy.cfg"), config)
    }

    fn retrying(&self) -> String {
        match self.retries {
            0 => "  retries 0\n  no option redispatch\n".to_owned(),
            n => format!(
                "  retries {n}\n  option redispatch 1\n  retry-on conn-failure empty-response\n"
            ),
        }
    }

    /// Empties the slots of servers that are no more, then fills slots for new ones.
    pub(super) async fn apply(&mut self, servers: &[SocketAddr]) -> io::Result<()> {
        let mut commands = String::new();
        let kept = |server: &SocketAddr| servers.contains(server);
        for (i, slot) in self.slots.iter_mut().enumerate() {
            if slot.is_some_and(|s| !kept(&s)) {
                *slot = None;
                let _ = write!(commands, "set server pods/pod{} state maint;", i + 1);
            }
        }
        for server in servers {
            if self.slots.contains(&Some(*server)) {
                continue;
            }
            let next = (1..=SLOTS).map(|n| (self.last + n) % SLOTS);
            let Some(free) = next.into_iter().find(|i| self.slots[*i].is_none()) else {
                return Err(io::Error::other("there are more servers than slots"));
            };
            (self.slots[free], self.last) = (Some(*server), free);
            let (name, ip, port) = (free + 1, server.ip(), server.port());
            let _ = write!(
                commands,
                "set server pods/pod{name} addr {ip} port {port};set server pods/pod{name} state ready;"
            );
        }
        for command in commands.split_terminator(';') {
            let sent = timeout(APPLY_LIMIT, self.send(command)).await;
            sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        }
        Ok(())
    }

    /// Sends a command and waits until it is done.
    async fn send(&self, command: &str) -> io::Result<String> {
        let mut api = UnixStream::connect(self.dir.join("api.sock")).await?;
        api.write_all(format!("{command}\n").as_bytes()).await?;
        let mut answer = String::new();
        api.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}
