//! Connections that stay open: server-sent events, and a WebSocket that echoes. A drain that knows of them ends them in
//! good order once it closes connections; every other one leaves them to whatever ends the process.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use super::body::{self, AppBody};
use super::connection::Track;
use super::server::{Server, Stage};

/// How long a client has to answer a close frame.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// A body with an event at once and then one each `every`, until a drain ends it.
pub(super) fn events(server: &Arc<Server>, every: Duration) -> AppBody {
    let ending = Arc::clone(server);
    Events {
        sent: 0,
        every,
        next: Box::pin(sleep_until(Instant::now())),
        ending: Box::pin(async move { ending.streams_end().await }),
    }
    .boxed()
}

struct Events {
    sent: u64,
    every: Duration,
    next: Pin<Box<Sleep>>,
    ending: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ending.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        ready!(self.next.as_mut().poll(cx));
        self.sent += 1;
        let due = Instant::now() + self.every;
        self.next.as_mut().reset(due);
        let event = format!("id: {0}\ndata: {0}\n\n", self.sent);
        Poll::Ready(Some(Ok(Frame::data(event.into()))))
    }
}

/// Takes the connection over as a WebSocket, if that is what the request asks for.
pub(super) fn websocket(track: &Arc<Track>, mut request: Request<Incoming>) -> Response<AppBody> {
    let mut response = Response::new(body::empty());
    let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY) else {
        *response.status_mut() = StatusCode::UPGRADE_REQUIRED;
        return response;
    };
    let accept = derive_accept_key(key.as_bytes());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::try_from(accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    let path = request.uri().path().to_owned();
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(echo(Arc::clone(track), path, upgrade));
    response
}

/// Echoes until the client, a drain or the end of the connection ends it.
async fn echo(track: Arc<Track>, path: String, upgrade: OnUpgrade) {
    let Ok(upgraded) = upgrade.await else {
        return;
    };
    let server = track.server();
    let n = track.received("WEBSOCKET", &path);
    let io = TokioIo::new(upgraded);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
    loop {
        tokio::select! {
            () = server.streams_end() => {
                let away = CloseFrame { code: CloseCode::Away, reason: "draining".into() };
                let _ = socket.close(Some(away)).await;
                let _ = timeout(CLOSE_WITHIN, async { while let Some(Ok(_)) = socket.next().await {} }).await;
                return track.ended(n);
            }
            () = server.reached(Stage::Cut) => return,
            message = socket.next() => match message {
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => {
                    if socket.send(message).await.is_err() {
                        return;
                    }
                }
                // The answer to the client's close frame goes out as the rest is read.
                Some(Ok(Message::Close(_))) => track.ended(n),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
        }
    }
}
