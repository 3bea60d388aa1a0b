//! Connections that are held open beside the slots: server-sent events, responses that go on, WebSockets.
//!
//! Each connection has a place, and a place is held for as long as the load goes on: when its connection is lost, another
//! one is made at once, and how long its messages stayed away is recorded. Every connection, from the attempt to its end,
//! is one request record and one [`StreamRecord`](rollscope_records::StreamRecord). They have no slots: they neither fill
//! the cap of requests in flight nor count for the rate.

mod events;
mod heartbeat;
mod place;
mod response;
mod running;
mod websocket;

pub(crate) use running::{Holding, Order};
