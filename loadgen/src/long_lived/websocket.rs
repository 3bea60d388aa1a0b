//! A WebSocket that is sent a message at each cadence, to be echoed.

use std::rc::Rc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use http::header::{CONNECTION, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderValue, Request, Uri};
use rollscope_records::{Outcome, Phase};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::Order;
use super::place::{Ended, Life, stopped};
use crate::connection::{Wire, transport};
use crate::context::Context;
use crate::outcome::{Ending, head_failure};
use crate::plan::PreparedStream;
use crate::recording::{Link, Slot};

/// How long a peer has to answer our close frame.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// What a close frame without a code counts as (RFC 6455, 7.4.1).
const NO_CODE: u16 = 1005;

type Socket = WebSocketStream<Wire>;

/// Opens the WebSocket and keeps it alive to its end.
pub(super) async fn live(life: &mut Life<'_>) -> Ended {
    let (link, mut socket) = match life.opened(open).await {
        Ok(opened) => opened,
        Err(ended) => return ended,
    };
    life.beat.opened(life.now());
    let closed = exchange(life, &mut socket).await;
    match closed {
        Closed::ByFrame(code) => {
            // Our answer to the close frame.
            let _ = timeout(CLOSE_WITHIN, gone(&mut socket)).await;
            Ended::closed(outcome_of(life.stream, code), Some(code))
        }
        Closed::ByOrder(order) => {
            if order == Order::Finish {
                let _ = timeout(CLOSE_WITHIN, close(&mut socket)).await;
            }
            Ended::ordered(order)
        }
        Closed::Silent => Ended::silent(),
        Closed::Broken => Ended::broken(&link.facts.borrow()),
    }
}

async fn open(
    context: &Rc<Context>,
    slot: &mut Slot,
    stream: &PreparedStream,
) -> Result<(Rc<Link>, Socket), Ending> {
    let made = transport(context, slot, stream.request.lane).await?;
    let link = made.link;
    link.begin_request();
    slot.enter(Phase::Head);
    let failed = |outcome, phase| Ending {
        outcome,
        phase,
        errno: None,
    };
    let request = upgrade(context, stream).ok_or(failed(Outcome::Protocol, Phase::Send))?;
    let wire = Wire::new(made.stream, Rc::clone(&link), context.clock);
    match client_async_with_config(request, wire, None).await {
        Ok((socket, response)) => {
            slot.head(context.facts(&response));
            slot.switched();
            Ok((link, socket))
        }
        Err(Error::Http(response)) => {
            slot.head(context.facts(&response));
            Err(failed(Outcome::Status, Phase::Head))
        }
        Err(error) => {
            let cut = matches!(
                error,
                Error::Io(_) | Error::Protocol(ProtocolError::HandshakeIncomplete)
            );
            Err(head_failure(&link.facts.borrow(), !cut))
        }
    }
}

/// The request that asks for the upgrade. `None` where its parts make no URI.
fn upgrade(context: &Context, stream: &PreparedStream) -> Option<Request<()>> {
    let scheme = if context.tls.is_some() { "wss" } else { "ws" };
    let message = stream.request.message(0);
    let path = message.uri().path_and_query()?;
    let uri = Uri::builder()
        .scheme(scheme)
        .authority(context.plan.base.authority.as_str())
        .path_and_query(path.clone())
        .build()
        .ok()?;
    let mut request = Request::new(());
    *request.uri_mut() = uri;
    *request.headers_mut() = message.headers().clone();
    let headers = request.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    let key = HeaderValue::try_from(generate_key()).ok()?;
    headers.insert(SEC_WEBSOCKET_KEY, key);
    Some(request)
}

/// Why the exchange of messages ended.
enum Closed {
    ByFrame(u16),
    ByOrder(Order),
    Silent,
    Broken,
}

async fn exchange(life: &mut Life<'_>, socket: &mut Socket) -> Closed {
    let mut ticks = interval(life.stream.cadence);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sent = 0_u64;
    let mut patience = Instant::now() + life.stream.max_silence;
    loop {
        let message = tokio::select! {
            order = stopped(&mut life.orders) => return Closed::ByOrder(order),
            () = sleep_until(patience) => return Closed::Silent,
            message = socket.next() => message,
            _ = ticks.tick() => {
                let tick = Message::text(format!("rollscope {sent}"));
                sent += 1;
                match timeout(life.stream.max_silence, socket.send(tick)).await {
                    Ok(Ok(())) => continue,
                    // What the peer sent before it went is still to be read.
                    Ok(Err(_)) => socket.next().await,
                    Err(_) => return Closed::Silent,
                }
            }
        };
        match message {
            Some(Ok(Message::Text(_) | Message::Binary(_))) => {
                life.beat.came(1, life.now());
                patience = Instant::now() + life.stream.max_silence;
            }
            Some(Ok(Message::Close(frame))) => {
                return Closed::ByFrame(frame.map_or(NO_CODE, |f| f.code.into()));
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return Closed::Broken,
        }
    }
}

/// What a close frame with that code means.
fn outcome_of(stream: &PreparedStream, code: u16) -> Outcome {
    let restart = u16::from(CloseCode::Restart);
    match code {
        1000 | 1001 | NO_CODE => stream.orderly_end(),
        code if code == restart => stream.orderly_end(),
        _ => Outcome::CloseCode,
    }
}

async fn close(socket: &mut Socket) {
    let frame = CloseFrame {
        code: CloseCode::Normal,
        reason: "".into(),
    };
    if socket.close(Some(frame)).await.is_ok() {
        gone(socket).await;
    }
}

/// Reads until the connection is over.
async fn gone(socket: &mut Socket) {
    while let Some(Ok(_)) = socket.next().await {}
}
