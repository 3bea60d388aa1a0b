//! A real nginx of the test's own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::wait_until;

/// One process on a free port of loopback, with its files in a folder; it ends with this value.
#[derive(Debug)]
pub struct Nginx {
    server: Child,
    /// Where it listens.
    pub port: u16,
}

impl Nginx {
    /// Starts it and waits until it listens. `http` is what stands in its `http` block: `PORT` and `DIR` in it are
    /// replaced.
    pub fn start(dir: &Path, http: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let config = format!(
            "daemon off; master_process off; pid DIR/nginx.pid; error_log DIR/error.log;
             events {{ worker_connections 512; }}
             http {{
               client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f;
               uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
               {http}
             }}"
        );
        let folder = dir.display().to_string();
        let config = config
            .replace("DIR", &folder)
            .replace("PORT", &port.to_string());
        let file = dir.join("nginx.conf");
        fs::write(&file, config).unwrap();
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        let server = Command::new("nginx")
            .arg("-c")
            .arg(&file)
            .arg("-e")
            .arg(dir.join("error.log"))
            .env("PATH", path)
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx, from the package nginx-light");
        let listens = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        wait_until("nginx listens", Duration::from_secs(10), listens);
        Self { server, port }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
