//! The body of a response on its way from a pod to the client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::counters::Counters;
use super::upstream::{Sender, Upstream};

/// The pod's part of the response ended before it was complete.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(super) enum Truncated {
    #[error("the pod's connection ended within the body")]
    Cut,
    #[error("the pod sent nothing of the body for too long")]
    TimedOut,
}

/// A response body: of the front end's own, or relayed as it comes.
pub(super) enum RelayBody {
    Own(Full<Bytes>),
    Relayed(Box<Relayed>),
}

/// A body that comes from a pod.
pub(super) struct Relayed {
    body: Incoming,
    /// The connection that it comes on, until it is complete.
    sender: Option<Sender>,
    upstream: Arc<Upstream>,
    counters: Arc<Counters>,
    read_timeout: Duration,
    patience: Pin<Box<Sleep>>,
    truncated: Option<Truncated>,
}

impl RelayBody {
    /// A body of the front end's own.
    pub(super) fn own(text: String) -> Self {
        Self::Own(Full::new(text.into()))
    }

    /// The body that comes on the connection of `sender`, which goes back to its pool when the body is complete.
    pub(super) fn relayed(
        body: Incoming,
        sender: Sender,
        upstream: Arc<Upstream>,
        counters: Arc<Counters>,
        read_timeout: Duration,
    ) -> Self {
        let mut relayed = Relayed {
            body,
            sender: Some(sender),
            upstream,
            counters,
            read_timeout,
            patience: Box::pin(sleep(read_timeout)),
            truncated: None,
        };
        if relayed.body.is_end_stream() {
            relayed.complete();
        }
        Self::Relayed(Box::new(relayed))
    }
}

impl Relayed {
    fn complete(&mut self) {
        if let Some(sender) = self.sender.take() {
            self.upstream.give_back(sender);
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Truncated>>> {
        if let Some(truncated) = self.truncated {
            return Poll::Ready(Some(Err(truncated)));
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                self.patience
                    .as_mut()
                    .reset(Instant::now() + self.read_timeout);
                if self.body.is_end_stream() {
                    self.complete();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                self.complete();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(_))) => self.truncate(Truncated::Cut, cx),
            Poll::Pending if self.patience.as_mut().poll(cx).is_ready() => {
                self.truncate(Truncated::TimedOut, cx)
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Ends the body with an error, but one turn later: what has come so far must reach the client first, and an error
    /// makes hyper drop what it has not written yet.
    fn truncate<T>(&mut self, truncated: Truncated, cx: &Context<'_>) -> Poll<T> {
        self.counters
            .pod(self.upstream.name(), |pod| match truncated {
                Truncated::Cut => {
                    pod.cut += 1;
                    pod.truncated += 1;
                }
                Truncated::TimedOut => pod.timed_out += 1,
            });
        self.sender = None;
        self.truncated = Some(truncated);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Body for RelayBody {
    type Data = Bytes;
    type Error = Truncated;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Truncated>>> {
        match &mut *self {
            Self::Own(full) => Pin::new(full)
                .poll_frame(cx)
                .map_err(|never| match never {}),
            Self::Relayed(relayed) => relayed.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(full) => full.is_end_stream(),
            Self::Relayed(relayed) => relayed.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(full) => full.size_hint(),
            Self::Relayed(relayed) => relayed.body.size_hint(),
        }
    }
}
