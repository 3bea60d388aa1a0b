//! Response bodies.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full, combinators::BoxBody};
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::connection::Track;

/// The body of any response.
pub(super) type AppBody = BoxBody<Bytes, Infallible>;

/// A body that is sent at once.
pub(super) fn full(text: impl Into<Bytes>) -> AppBody {
    Full::new(text.into()).boxed()
}

/// No body.
pub(super) fn empty() -> AppBody {
    Empty::new().boxed()
}

/// Pieces of a stream, evenly spaced.
const PIECES: u32 = 10;

/// A body of [`PIECES`] pieces over `length`; the last one comes at its end.
pub(super) fn stream(length: Duration) -> AppBody {
    let first = Instant::now() + length / PIECES;
    Stream {
        sent: 0,
        every: length / PIECES,
        next: Box::pin(sleep_until(first)),
    }
    .boxed()
}

struct Stream {
    sent: u32,
    every: Duration,
    next: Pin<Box<Sleep>>,
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.sent == PIECES {
            return Poll::Ready(None);
        }
        ready!(self.next.as_mut().poll(cx));
        self.sent += 1;
        let due = self.next.deadline() + self.every;
        self.next.as_mut().reset(due);
        let piece = format!("{} of {PIECES}\n", self.sent);
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }
}

/// A body that tells its connection when all of it has been taken.
pub(super) struct TrackedBody {
    body: AppBody,
    ended: bool,
    request: u64,
    status: u16,
    track: Arc<Track>,
}

impl TrackedBody {
    pub(super) fn new(body: AppBody, request: u64, status: u16, track: Arc<Track>) -> Self {
        Self {
            body,
            ended: false,
            request,
            status,
            track,
        }
    }
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) {
            self.ended = true;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if self.ended || self.body.is_end_stream() {
            self.track.body_taken(self.request, self.status);
        }
    }
}
