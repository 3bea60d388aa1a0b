//! A server on raw sockets that answers, or fails, by the path that it is asked for, and counts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What it has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Requests by path.
    pub(crate) asked: BTreeMap<String, u64>,
    /// Users that it has told apart by its cookie, on `/who`.
    pub(crate) users: BTreeSet<String>,
    /// Requests for `/who` without the cookie.
    pub(crate) strangers: u64,
    /// Connections that carried more than one request.
    pub(crate) kept: u64,
    /// Cookies that were given.
    given: u64,
}

/// The server; it ends with the test.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: String,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::<Mutex<Seen>>::default();
        let counted = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&counted);
                std::thread::spawn(move || serve(&stream, &seen));
            }
        });
        Self { address, seen }
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }

    pub(crate) fn asked(&self, path: &str) -> u64 {
        self.with(|seen| seen.asked.get(path).copied().unwrap_or(0))
    }
}

/// A line without its end; byte by byte, so that what comes after it stays unread.
fn line(mut stream: &TcpStream) -> Option<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    loop {
        match stream.read(&mut byte) {
            Ok(1) if byte[0] == b'\n' => break,
            Ok(1) => line.push(byte[0]),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn serve(stream: &TcpStream, seen: &Mutex<Seen>) {
    let mut requests = 0;
    while let Some(first) = line(stream) {
        requests += 1;
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        {
            let mut seen = seen.lock().unwrap();
            *seen.asked.entry(path.clone()).or_default() += 1;
            // The load of slots keeps its connections; journeys must not.
            seen.kept += u64::from(requests > 1 && path != "/home");
        }
        if path == "/rst" {
            // What is left unread makes the close a reset.
            return;
        }
        let mut headers = Vec::new();
        while let Some(header) = line(stream).filter(|h| !h.is_empty()) {
            headers.push(header.to_ascii_lowercase());
        }
        if answer(stream, &path, &headers, seen).is_none() {
            return;
        }
    }
}

/// Answers; `None` where the connection is to be closed.
fn answer(mut out: &TcpStream, path: &str, headers: &[String], seen: &Mutex<Seen>) -> Option<()> {
    let cookie = headers.iter().find_map(|h| h.strip_prefix("cookie: user="));
    let text = match path {
        "/eof" => return None,
        "/garbage" => {
            let _ = out.write_all(b"this is not HTTP\r\n\r\n");
            return None;
        }
        "/cut" => {
            let _ = out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this");
            return None;
        }
        "/stall" | "/silent" => {
            // Until the client gives up, or the test is over.
            let _ = out.set_read_timeout(Some(Duration::from_secs(60)));
            let _ = out.read(&mut [0]);
            return None;
        }
        "/redirect" => {
            "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n".to_owned()
        }
        "/busy" => "HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy".to_owned(),
        "/login" if cookie.is_none() => {
            let mut seen = seen.lock().unwrap();
            seen.given += 1;
            format!(
                "HTTP/1.1 200 OK\r\nset-cookie: user={}\r\ncontent-length: 2\r\n\r\nok",
                seen.given
            )
        }
        "/who" => {
            let mut seen = seen.lock().unwrap();
            match cookie {
                Some(user) => drop(seen.users.insert(user.to_owned())),
                None => seen.strangers += 1,
            }
            "HTTP/1.1 200 OK\r\nx-pod-name: web-1\r\ncontent-length: 2\r\n\r\nok".to_owned()
        }
        _ => "HTTP/1.1 200 OK\r\nx-pod-name: web-1\r\ncontent-length: 2\r\n\r\nok".to_owned(),
    };
    out.write_all(text.as_bytes()).ok()
}
