//! A raw TCP server that does exactly what a test says, and counts what it reads.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::SockRef;

/// The smallest whole response.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A request that the server read to its end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    /// The client's port.
    pub(crate) port: u16,
    /// Requests that the connection had carried before.
    pub(crate) ordinal: u32,
    /// The request's head.
    pub(crate) head: String,
    /// Bytes of head and body.
    pub(crate) bytes: u64,
}

/// A running server on loopback. Dropping it stops it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    accepted: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server that treats each connection, in a thread of its own, as `behave` says.
    pub(crate) fn start(behave: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        Self::start_on(Ipv4Addr::LOCALHOST.into(), behave)
    }

    /// As [`start`](Self::start), on another address of this machine.
    pub(crate) fn start_on(ip: IpAddr, behave: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (accepted, stop) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let behave = Arc::new(behave);
        let thread = {
            let (seen, accepted, stop) = (seen.clone(), accepted.clone(), stop.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                    let stream = stream.unwrap();
                    let mut peer = Peer {
                        number: accepted.fetch_add(1, Ordering::SeqCst),
                        port: stream.peer_addr().unwrap().port(),
                        requests: 0,
                        stream: Some(stream),
                        seen: seen.clone(),
                    };
                    let behave = behave.clone();
                    std::thread::spawn(move || behave(&mut peer));
                }
            })
        };
        Self {
            address,
            seen,
            accepted,
            stop,
            thread: Some(thread),
        }
    }

    /// A server that answers every request with the same bytes, on connections kept open.
    pub(crate) fn answering(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |peer| {
            while peer.read_request().is_some() {
                peer.write(&response);
            }
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests that it read to their end, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Connections that it accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One accepted connection.
pub(crate) struct Peer {
    /// Which one, from 0.
    pub(crate) number: usize,
    port: u16,
    requests: u32,
    stream: Option<TcpStream>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Peer {
    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.stream.as_mut().unwrap()
    }

    /// Requests read so far.
    pub(crate) fn requests(&self) -> u32 {
        self.requests
    }

    /// Whether a byte has come that is not read yet.
    pub(crate) fn has_request(&mut self) -> bool {
        let stream = self.stream();
        stream.set_nonblocking(true).unwrap();
        let came = matches!(stream.peek(&mut [0]), Ok(1));
        stream.set_nonblocking(false).unwrap();
        came
    }

    /// Reads one request, with its body; `None` at the connection's end.
    pub(crate) fn read_request(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            bytes.push(self.read_byte()?);
        }
        let head = String::from_utf8(bytes).unwrap();
        let length = head
            .lines()
            .find_map(|l| l.strip_prefix("content-length: "))
            .map_or(0, |l| l.parse().unwrap());
        for _ in 0..length {
            self.read_byte()?;
        }
        self.seen.lock().unwrap().push(Seen {
            port: self.port,
            ordinal: self.requests,
            bytes: head.len() as u64 + length,
            head: head.clone(),
        });
        self.requests += 1;
        Some(head)
    }

    /// Notes a request that was read in another way.
    pub(crate) fn saw(&mut self, head: String) {
        self.seen.lock().unwrap().push(Seen {
            port: self.port,
            ordinal: self.requests,
            bytes: head.len() as u64,
            head,
        });
        self.requests += 1;
    }

    fn read_byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        match self.stream().read(&mut byte) {
            Ok(1) => Some(byte[0]),
            Ok(_) => None,
            Err(e) if e.kind() == ErrorKind::Interrupted => self.read_byte(),
            Err(_) => None,
        }
    }

    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream().write_all(bytes.as_ref());
    }

    /// Leaves everything unread for a while, then reads it all, answers nothing, and counts what it read.
    pub(crate) fn pause(&mut self, pause: Duration) {
        std::thread::sleep(pause);
        while self.read_request().is_some() {}
    }

    /// Sends FIN, and waits for the client's end.
    pub(crate) fn fin(&mut self) {
        let _ = self.stream().shutdown(Shutdown::Write);
        self.wait_for_end();
    }

    /// Sends RST.
    pub(crate) fn reset(&mut self) {
        let stream = self.stream.take().unwrap();
        SockRef::from(&stream)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
        drop(stream);
    }

    /// Reads, and throws away, until the client closes.
    pub(crate) fn wait_for_end(&mut self) {
        while self.read_byte().is_some() {}
    }
}
