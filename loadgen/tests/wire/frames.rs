//! HTTP/2 at the level of frames (RFC 9113): a server that sends exactly the frames that a test says.

use std::io::{Read, Write};

use crate::server::{Peer, Server};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200` in HPACK: index 8 of the static table.
const STATUS_200: &[u8] = &[0x88];

/// Codes of RST_STREAM and GOAWAY.
pub(crate) const NO_ERROR: u32 = 0;
pub(crate) const INTERNAL_ERROR: u32 = 2;
pub(crate) const REFUSED_STREAM: u32 = 7;
pub(crate) const CANCEL: u32 = 8;
pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;

/// A frame that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// One HTTP/2 connection, as the server has it.
pub(crate) struct Frames<'p> {
    pub(crate) peer: &'p mut Peer,
}

/// A server that treats each HTTP/2 connection as `behave` says, once both sides have said hello.
pub(crate) fn http2(behave: impl Fn(&mut Frames<'_>) + Send + Sync + 'static) -> Server {
    Server::start(move |peer| {
        let mut preface = [0; PREFACE.len()];
        if peer.stream().read_exact(&mut preface).is_ok() && preface == PREFACE {
            peer.stream().set_nodelay(true).unwrap();
            let mut frames = Frames { peer };
            frames.send(SETTINGS, 0, 0, &[]);
            behave(&mut frames);
        }
    })
}

impl Frames<'_> {
    /// The next frame that is not about the connection itself (settings and pings are answered); `None` at its end.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            let frame = self.read()?;
            match frame.kind {
                SETTINGS | PING if frame.flags & ACK == 0 => {
                    self.send(
                        frame.kind,
                        ACK,
                        0,
                        if frame.kind == PING {
                            &frame.payload
                        } else {
                            &[]
                        },
                    );
                }
                HEADERS => {
                    self.peer.saw(format!("stream {}", frame.stream));
                    return Some(frame);
                }
                DATA | RST_STREAM | GOAWAY => return Some(frame),
                _ => {}
            }
        }
    }

    /// The stream of the next request; `None` at the connection's end.
    pub(crate) fn request(&mut self) -> Option<u32> {
        loop {
            let frame = self.next()?;
            if frame.kind == HEADERS {
                return Some(frame.stream);
            }
        }
    }

    fn read(&mut self) -> Option<Frame> {
        let mut header = [0; 9];
        self.peer.stream().read_exact(&mut header).ok()?;
        let [a, b, c, kind, flags, s0, s1, s2, s3] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.peer.stream().read_exact(&mut payload).ok()?;
        Some(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            payload,
        })
    }

    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let [_, a, b, c] = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut bytes = vec![a, b, c, kind, flags];
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        let _ = self.peer.stream().write_all(&bytes);
    }

    /// A whole answer: 200 with a body of two bytes.
    pub(crate) fn answer(&mut self, stream: u32) {
        self.head(stream);
        self.send(DATA, END_STREAM, stream, b"ok");
    }

    /// The head of an answer whose body is to follow.
    pub(crate) fn head(&mut self, stream: u32) {
        self.send(HEADERS, END_HEADERS, stream, STATUS_200);
    }

    /// A part of a body.
    pub(crate) fn data(&mut self, stream: u32, data: &[u8]) {
        self.send(DATA, 0, stream, data);
    }

    pub(crate) fn reset_stream(&mut self, stream: u32, code: u32) {
        self.send(RST_STREAM, 0, stream, &code.to_be_bytes());
    }

    /// Says that no stream over `last` was or will be looked at.
    pub(crate) fn goaway(&mut self, last: u32, code: u32) {
        let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
        self.send(GOAWAY, 0, 0, &payload);
    }
}
