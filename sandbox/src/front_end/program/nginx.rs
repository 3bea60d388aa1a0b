//! nginx: a configuration file for each state of the routes, and a reload.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::log_tail::{LogTail, ProgramLog};
use super::{APPLY_LIMIT, POLL, ProgramCommand};

/// What a line of the access log has: enough to join it with a request, and to tell nginx's own statuses from those of
/// upstreams.
const LOG_FORMAT: &str = r#"$remote_addr:$remote_port $msec $request_time "$request" $status $body_bytes_sent $sent_http_content_length "$request_completion" "$http_x_request_id" [$upstream_addr] [$upstream_status] [$upstream_connect_time] [$upstream_header_time] [$upstream_response_time]"#;

/// Where a worker says which configuration it has.
const GENERATION: &str = "/-/rollscope/generation";

/// nginx's configuration.
#[derive(Debug, Clone)]
pub(super) struct Nginx {
    dir: PathBuf,
    address: SocketAddr,
    retries: u32,
    generation: u64,
}

impl Nginx {
    pub(super) const fn new(dir: PathBuf, address: SocketAddr, retries: u32) -> Self {
        Self {
            dir,
            address,
            retries,
            generation: 0,
        }
    }

    fn file(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    pub(super) fn command(&self) -> ProgramCommand {
        let (dir, errors) = (self.dir.display().to_string(), self.file("error.log"));
        let config = self.file("nginx.conf");
        let args = ["-p", &dir, "-e", &errors, "-c", &config];
        ProgramCommand {
            program: "nginx",
            package: "nginx-light",
            args: args.map(str::to_owned).to_vec(),
            stdout: None,
        }
    }

    pub(super) fn logs(&self) -> Vec<LogTail> {
        let of = |format: Option<String>, file: &str| {
            let what = ProgramLog {
                balancer: "nginx",
                format,
            };
            LogTail::new(what, self.dir.join(file))
        };
        vec![
            of(Some(format!("nginx:{LOG_FORMAT}")), "access.log"),
            of(None, "error.log"),
        ]
    }

    /// Writes the configuration for these upstreams.
    pub(super) fn configure(&self, upstreams: &[SocketAddr]) -> io::Result<()> {
        std::fs::write(self.dir.join("nginx.conf"), self.config(upstreams))
    }

    fn config(&self, upstreams: &[SocketAddr]) -> String {
        let dir = self.dir.display();
        let Self {
            address,
            generation,
            ..
        } = self;
        let user = if nix::unistd::geteuid().is_root() {
            "user root;"
        } else {
            ""
        };
        let (mut servers, mut pass) = (String::new(), "return 503;".to_owned());
        if !upstreams.is_empty() {
            let mut each = upstreams.iter();
            let listed = each.try_for_each(|u| writeln!(servers, "server {u} max_fails=0;"));
            debug_assert!(listed.is_ok());
            servers = format!(
                "upstream pods {{\n{servers}keepalive 320; keepalive_requests 100000000;\n}}"
            );
            pass = format!(
                "proxy_pass http://pods; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
                 proxy_set_header Host $http_host; proxy_connect_timeout 5s; proxy_read_timeout 60s;\n{}",
                self.next_upstream()
            );
        }
        format!(
            "daemon off; worker_processes 2; pid {dir}/nginx.pid; {user}\n\
             error_log {dir}/error.log error; worker_shutdown_timeout 60s; worker_rlimit_nofile 16384;\n\
             events {{ worker_connections 8192; }}\n\
             http {{\n\
             client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;\n\
             uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;\n\
             log_format rollscope '{LOG_FORMAT}'; access_log {dir}/access.log rollscope;\n\
             client_max_body_size 0; keepalive_timeout 75s; keepalive_requests 100000000;\n\
             {servers}\n\
             server {{\nlisten {address} backlog=1024;\n\
             location = {GENERATION} {{ access_log off; return 200 \"{generation}.\"; }}\n\
             location / {{\n{pass}\n}}\n}}\n}}\n"
        )
    }

    fn next_upstream(&self) -> String {
        match self.retries {
            0 => "proxy_next_upstream off;".to_owned(),
            n => format!(
                "proxy_next_upstream error timeout; proxy_next_upstream_tries {};",
                n.saturating_add(1)
            ),
        }
    }

    /// Reloads with these upstreams, and waits until a worker answers that has them.
    pub(super) async fn apply(&mut self, upstreams: &[SocketAddr], pid: Pid) -> io::Result<()> {
        self.generation += 1;
        self.configure(upstreams)?;
        kill(pid, Signal::SIGHUP)?;
        let begun = Instant::now();
        let expected = format!("\r\n\r\n{}.", self.generation);
        while begun.elapsed() < APPLY_LIMIT {
            let asked = timeout(APPLY_LIMIT, self.ask()).await;
            if asked.is_ok_and(|a| a.is_ok_and(|answer| answer.ends_with(&expected))) {
                return Ok(());
            }
            sleep(POLL).await;
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    async fn ask(&self) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.address).await?;
        let request = format!("GET {GENERATION} HTTP/1.0\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}
