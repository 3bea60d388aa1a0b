//! What happens on connections that are held open.

use serde::{Deserialize, Serialize};

use crate::RunOffset;

/// How a held connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamEnd {
    /// It was never opened.
    NotOpened,
    /// The load ended first, and closed it.
    Held,
    /// The tool was interrupted.
    Aborted,
    /// The peer ended it in good order: the end of the body, or a close frame.
    Closed,
    /// The peer closed the connection (FIN) without ending the stream.
    Eof,
    /// The peer reset the connection (RST).
    Reset,
    /// Nothing came for longer than the scenario allows, and the client gave it up.
    Silence,
    /// The peer broke the protocol.
    Protocol,
}

/// One line of `streams.jsonl`: one connection that was held open, from the attempt to its end. Its times, addresses and
/// outcome are in the request record with the same `seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamRecord {
    /// The `seq` of its request record.
    pub seq: u64,
    /// Its name in the scenario.
    pub name: String,
    /// Which of the connections of that name it is, from 0; one that takes the place of another has its number.
    pub place: u32,
    /// How often a message was expected, ns.
    pub cadence_nanos: i64,
    /// Messages that came: events, chunks, echoes.
    pub messages: u64,
    /// When the first one came.
    pub first_message: Option<RunOffset>,
    /// When the last one came.
    pub last_message: Option<RunOffset>,
    /// Silences of more than twice the cadence.
    pub silences: u64,
    /// The longest time without a message while it was open, ns.
    pub longest_silence_nanos: i64,
    /// How it ended.
    pub end: StreamEnd,
    /// The code of the peer's close frame (1005 for a frame without one).
    pub close_code: Option<u16>,
    /// The `seq` of the one whose place it takes.
    pub resumes: Option<u64>,
    /// From the end of that one to the first message of this one, ns: how long the user was without.
    pub resumption_nanos: Option<i64>,
}
