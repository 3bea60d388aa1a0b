//! nginx with a small fixed response, on a port of its own.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running nginx; ends with this.
pub(crate) struct Nginx {
    child: Child,
    port: u16,
    _dir: TempDir,
}

impl Nginx {
    /// Starts it and waits until it listens.
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let config = format!(
            "daemon off;\nmaster_process off;\npid {0}/nginx.pid;\nerror_log {0}/error.log;\n\
             events {{ worker_connections 8192; }}\n\
             http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {0}/b; proxy_temp_path {0}/p;\n\
             fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;\n\
             server {{ listen 127.0.0.1:{port} backlog=8192; location / {{ return 200 'ok'; }} }} }}\n",
            dir.path().display()
        );
        let file = dir.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let child = Command::new("nginx")
            .arg("-c")
            .arg(&file)
            .arg("-p")
            .arg(dir.path())
            .spawn()
            .expect("nginx (Debian: nginx-core) is needed");
        wait_for(port);
        Self {
            child,
            port,
            _dir: dir,
        }
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free now.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Waits until somebody listens on `port`.
pub(crate) fn wait_for(port: u16) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "nobody listens on {port}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
