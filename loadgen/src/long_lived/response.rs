//! A response whose body goes on: server-sent events, or chunks.

use std::rc::Rc;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use rollscope_records::{Outcome, Phase, StreamEnd};
use rollscope_scenarios::StreamKind;
use tokio::time::timeout;

use super::events::Events;
use super::place::{Ended, Life, stopped};
use crate::connection::{Connection, connect};
use crate::context::Context;
use crate::outcome::{Ending, head_failure};
use crate::plan::PreparedStream;
use crate::recording::Slot;

/// Opens the response and reads it to its end.
pub(super) async fn live(life: &mut Life<'_>) -> Ended {
    let (connection, response) = match life.opened(open).await {
        Ok(opened) => opened,
        Err(ended) => return ended,
    };
    life.beat.opened(life.now());
    read(life, &connection, response).await
}

async fn open(
    context: &Rc<Context>,
    slot: &mut Slot,
    stream: &PreparedStream,
) -> Result<(Connection, Response<Incoming>), Ending> {
    let request = &stream.request;
    let mut connection = connect(context, slot, request.lane).await?;
    connection.link.begin_request();
    slot.enter(Phase::Head);
    let response = connection
        .sender
        .send_request(request.message(slot.seq()))
        .await;
    let response = response.map_err(|error| {
        let malformed = error.is_parse() && !error.is_incomplete_message();
        head_failure(&connection.link.facts.borrow(), malformed)
    })?;
    slot.head(context.facts(&response));
    let wrong = |outcome| Ending {
        outcome,
        phase: Phase::Head,
        errno: None,
    };
    if !request.expects(response.status().as_u16()) {
        return Err(wrong(Outcome::Status));
    }
    if stream.kind == StreamKind::Sse && !is_event_stream(response.headers()) {
        return Err(wrong(Outcome::Protocol));
    }
    Ok((connection, response))
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    kind.and_then(|k| k.split(';').next())
        .is_some_and(|k| k.trim().eq_ignore_ascii_case("text/event-stream"))
}

async fn read(life: &mut Life<'_>, connection: &Connection, response: Response<Incoming>) -> Ended {
    // A body that only the end of the connection ends cannot tell its end from a cut.
    let has_end = [TRANSFER_ENCODING, CONTENT_LENGTH]
        .iter()
        .any(|h| response.headers().contains_key(h));
    let mut body = response.into_body();
    let mut events = Events::default();
    loop {
        let frame = tokio::select! {
            order = stopped(&mut life.orders) => return Ended::ordered(order),
            frame = timeout(life.stream.max_silence, body.frame()) => frame,
        };
        match frame {
            Err(_) => return Ended::silent(),
            Ok(None) if has_end => return Ended::closed(life.stream.orderly_end(), None),
            Ok(None | Some(Err(_))) => return cut(connection),
            Ok(Some(Ok(frame))) => {
                let data = frame.data_ref().map_or(&[][..], |d| d);
                let messages = match life.stream.kind {
                    StreamKind::Sse => events.completed_by(data),
                    _ => u64::from(!data.is_empty()),
                };
                life.beat.came(messages, life.now());
            }
        }
    }
}

fn cut(connection: &Connection) -> Ended {
    let facts = *connection.link.facts.borrow();
    match facts.end {
        Some(_) => Ended::broken(&facts),
        // The end of the connection was the end of the body, and is not noted as a failure of the wire.
        None => {
            let ending = Ending {
                outcome: Outcome::TruncatedBody,
                phase: Phase::Body,
                errno: None,
            };
            Ended::open(ending, StreamEnd::Eof)
        }
    }
}
