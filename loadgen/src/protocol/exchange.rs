//! One slot, from its dispatch to its record.

use std::rc::Rc;
use std::time::Duration;

use hyper::body::Incoming;
use rollscope_records::{Lane, Outcome, Phase};
use tokio::time::{Instant, timeout_at};

use super::body::read;
use crate::connection::{Connection, Shared, connect};
use crate::context::Context;
use crate::outcome::{Ending, body_failure, deadline_passed, head_failure, stream_failure};
use crate::plan::PreparedRequest;
use crate::recording::Slot;

/// Sends the request of `slot` and waits for its end, which is at its deadline at the latest. The request is written
/// at most once.
pub(crate) async fn run_slot(context: Rc<Context>, mut slot: Slot, request: usize) {
    let request = &context.plan.requests[request];
    let dispatched = slot.dispatched();
    let begun = Instant::from_std(context.clock.instant(dispatched));
    let patience = request.patience();
    let exchange = async {
        match request.lane {
            Lane::Http2 => Box::pin(on_shared(&context, &mut slot, request))
                .await
                .map(|outcome| (None, outcome)),
            _ => on_own(&context, &mut slot, request)
                .await
                .map(|(connection, outcome)| (Some(connection), outcome)),
        }
    };
    match timeout_at(begun + patience, exchange).await {
        Ok(Ok((connection, outcome))) => {
            slot.answered(outcome);
            if let Some(connection) = connection {
                release(&context, connection, request, begun + request.deadline).await;
            }
        }
        Ok(Err(ending)) => slot.end(ending),
        Err(_) => {
            let ending = out_of_patience(request, patience, slot.phase());
            slot.end(ending);
        }
    }
}

/// What it means that the client's patience ended in `phase`: the deadline, or what the scenario says before that.
fn out_of_patience(request: &PreparedRequest, patience: Duration, phase: Phase) -> Ending {
    if patience < request.deadline {
        return Ending {
            outcome: Outcome::GaveUp,
            phase,
            errno: None,
        };
    }
    deadline_passed(phase)
}

/// A complete exchange on a connection that no other request uses: the connection, free again, and the outcome.
async fn on_own(
    context: &Rc<Context>,
    slot: &mut Slot,
    request: &PreparedRequest,
) -> Result<(Connection, Outcome), Ending> {
    if request.lane == Lane::Reused
        && let Some(mut pooled) = context.pool.take(context.clock.now())
    {
        slot.on_pooled(&pooled);
        let sent = send(context, slot, &mut pooled, request).await;
        let untouched = sent.is_err() && pooled.link.facts.borrow().sent == 0;
        if !untouched {
            return sent.map(|outcome| (pooled, outcome));
        }
        // The peer closed it before a byte of the request was written: nothing was lost, and nothing is sent twice.
        pooled.link.found_closed();
    }
    let mut fresh = Box::pin(connect(context, slot, request.lane)).await?;
    let outcome = send(context, slot, &mut fresh, request).await?;
    Ok((fresh, outcome))
}

/// Sends the request on `connection` and reads the response to its end.
async fn send(
    context: &Context,
    slot: &mut Slot,
    connection: &mut Connection,
    request: &PreparedRequest,
) -> Result<Outcome, Ending> {
    connection.link.begin_request();
    slot.enter(Phase::Head);
    let message = request.message(slot.seq());
    let response = connection.sender.send_request(message).await;
    let response = response.map_err(|error| {
        // A message that was cut short is no garbage, even if its beginning was not parsed.
        let malformed = error.is_parse() && !error.is_incomplete_message();
        let ending = head_failure(&connection.link.facts.borrow(), malformed);
        if ending.outcome == Outcome::Protocol {
            slot.because(error.to_string());
        }
        ending
    })?;
    finish(context, slot, response, request)
        .await
        .map_err(|_| body_failure(&connection.link.facts.borrow()))
}

/// A complete exchange on a connection that other requests use as well.
async fn on_shared(
    context: &Rc<Context>,
    slot: &mut Slot,
    request: &PreparedRequest,
) -> Result<Outcome, Ending> {
    let mut message = request.message(slot.seq());
    let body = request.body_length(&message);
    let mut tried = false;
    loop {
        let shared = context.multiplex.take(context, slot).await?;
        let _in_flight = shared.begin(context.clock);
        slot.on_shared(&shared.link, body);
        slot.enter(Phase::Head);
        match shared.sender.clone().try_send_request(message).await {
            Ok(response) => {
                let finished = finish(context, slot, response, request).await;
                return finished.map_err(|e| stream_failed(slot, &shared, &e, Phase::Body));
            }
            Err(mut failed) => match failed.take_message() {
                Some(unsent) if !tried => {
                    // The connection had ended before it took the request: nothing was lost, and nothing is sent twice.
                    slot.leave_shared();
                    shared.link.found_closed();
                    context.multiplex.forget(&shared.link);
                    (message, tried) = (unsent, true);
                }
                unsent => {
                    let phase = unsent.map_or_else(|| slot.phase(), |_| Phase::Send);
                    return Err(stream_failed(slot, &shared, failed.error(), phase));
                }
            },
        }
    }
}

fn stream_failed(slot: &mut Slot, shared: &Shared, error: &hyper::Error, phase: Phase) -> Ending {
    let facts = *shared.link.facts.borrow();
    let (ending, detail) = stream_failure(error, &facts, phase);
    if let Some(detail) = detail {
        slot.because(detail);
    }
    ending
}

/// Reads a response whose head has come, and says how it is.
async fn finish(
    context: &Context,
    slot: &mut Slot,
    response: http::Response<Incoming>,
    request: &PreparedRequest,
) -> Result<Outcome, hyper::Error> {
    slot.head(context.facts(&response));
    let expected = request.expects(response.status().as_u16());
    let check = request.check.as_ref().filter(|_| expected);
    let wrong = read(response.into_body(), check, |bytes| slot.came(bytes)).await?;
    Ok(match wrong {
        _ if !expected => Outcome::Status,
        Some(wrong) => {
            slot.because(wrong);
            Outcome::BodyMismatch
        }
        None => Outcome::Ok,
    })
}

/// What becomes of a connection after a response: the `new` lane closes it, the `reused` lane keeps it if the server
/// does.
async fn release(
    context: &Context,
    mut connection: Connection,
    request: &PreparedRequest,
    deadline: Instant,
) {
    if request.lane != Lane::Reused {
        return connection.close();
    }
    connection.last_response = Some(context.clock.now());
    // The protocol may still have to write the rest of a request that was answered early.
    let ready = connection.sender.is_ready()
        || matches!(
            timeout_at(deadline, connection.sender.ready()).await,
            Ok(Ok(()))
        );
    if ready {
        context.pool.put(connection);
    }
}
