//! One slot, from its dispatch to its record.

use std::rc::Rc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use rollscope_records::{Lane, Phase};
use tokio::time::{Instant, timeout_at};

use super::ResponseFacts;
use crate::connection::{Connection, connect};
use crate::context::Context;
use crate::outcome::{Ending, body_failure, deadline_passed, head_failure};
use crate::plan::PreparedRequest;
use crate::recording::Slot;

/// Sends the request of `slot` and waits for its end, which is at its deadline at the latest. The request is written
/// at most once.
pub(crate) async fn run_slot(context: Rc<Context>, mut slot: Slot, request: usize) {
    let request = &context.plan.requests[request];
    let dispatched = slot.dispatched();
    let deadline = Instant::from_std(context.clock.instant(dispatched)) + request.deadline;
    let exchange = exchange(&context, &mut slot, request);
    match timeout_at(deadline, exchange).await {
        Ok(Ok((connection, status))) => {
            slot.answered(request.expects(status));
            let keep = release(&context, connection, request.lane);
            let _ = timeout_at(deadline, keep).await;
        }
        Ok(Err(ending)) => slot.end(ending),
        Err(_) => {
            let ending = deadline_passed(slot.phase());
            slot.end(ending);
        }
    }
}

/// A complete exchange: the connection it went over, free again, and the response's status.
async fn exchange(
    context: &Rc<Context>,
    slot: &mut Slot,
    request: &PreparedRequest,
) -> Result<(Connection, u16), Ending> {
    if request.lane == Lane::Reused
        && let Some(mut pooled) = context.pool.take(context.clock.now())
    {
        slot.on_pooled(&pooled);
        let sent = send(context, slot, &mut pooled, request).await;
        let untouched = sent.is_err() && pooled.link.facts.borrow().sent == 0;
        if !untouched {
            return sent.map(|status| (pooled, status));
        }
        // The peer closed it before a byte of the request was written: nothing was lost, and nothing is sent twice.
        pooled.link.found_closed();
    }
    let mut fresh = connect(context, slot, request.lane).await?;
    let status = send(context, slot, &mut fresh, request).await?;
    Ok((fresh, status))
}

/// Sends the request on `connection` and reads the response to its end. Returns its status.
async fn send(
    context: &Context,
    slot: &mut Slot,
    connection: &mut Connection,
    request: &PreparedRequest,
) -> Result<u16, Ending> {
    connection.link.begin_request();
    slot.enter(Phase::Head);
    let response = connection.sender.send_request(message(request)).await;
    let response = response.map_err(|error| {
        // A message that was cut short is no garbage, even if its beginning was not parsed.
        let malformed = error.is_parse() && !error.is_incomplete_message();
        head_failure(&connection.link.facts.borrow(), malformed)
    })?;
    slot.head(ResponseFacts::new(
        &response,
        context.plan.pod_header.as_ref(),
    ));
    let status = response.status().as_u16();
    drain(response.into_body())
        .await
        .map_err(|_| body_failure(&connection.link.facts.borrow()))?;
    Ok(status)
}

fn message(request: &PreparedRequest) -> Request<Full<Bytes>> {
    let mut message = Request::new(Full::new(request.body.clone()));
    *message.method_mut() = request.method.clone();
    *message.uri_mut() = request.uri.clone();
    *message.headers_mut() = request.headers.clone();
    message
}

/// Reads a body to its end, keeping nothing of it.
async fn drain(mut body: Incoming) -> hyper::Result<()> {
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(())
}

/// What becomes of a connection after a response: the `new` lane closes it, the `reused` lane keeps it if the server
/// does.
async fn release(context: &Context, mut connection: Connection, lane: Lane) {
    match lane {
        Lane::New | Lane::Http2 => connection.close(),
        Lane::Reused => {
            connection.last_response = Some(context.clock.now());
            // The protocol may still have to write the rest of a request that was answered early.
            if connection.sender.ready().await.is_ok() {
                context.pool.put(connection);
            }
        }
    }
}
